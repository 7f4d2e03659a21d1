"""Plans of repeated calls on a GPU: work that depends only on the layouts of CuPy's arrays is done once
(`CallPlan`).

Without them, a kernel of a few microseconds would wait ten times as long until Python has looked at all
arrays. Arrays of other libraries, torch's too, are checked in every call, because streams have to wait for
each other.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..calls.call_plan import CallPlan, CallPlans, Read, Views
from .device import cupy_module, new_array


class DevicePlans(CallPlans):
    """The plans of an executable for a GPU, by the layout of the arrays and the device.

    Calls raise what CudaMemory and DeviceLibrary raise.
    """

    def __init__(self, bound: Views, known: Views):
        super().__init__(bound, known)
        self._cupy = cupy_module()

    def _run(self, plan: CallPlan, addresses: list[int], threads: int) -> list[Any]:
        """Launch the kernels on CuPy's current stream. Returns the new arrays."""
        made = [new_array(self._cupy, new.label, new.shape, new.dtype) for new in plan.new]
        addresses += [int(array.data.ptr) for array in made]
        words = {fixed.word: fixed.address for fixed in plan.fixed}
        for address, array in zip(addresses, plan.arrays, strict=True):
            for slot in array.slots:
                words[slot.word] = address + slot.offset
        memory = None
        if plan.intermediates.bytes:
            shape = (plan.intermediates.bytes,)
            memory = new_array(self._cupy, "memory for intermediate arrays", shape, np.dtype(np.uint8))
            base = int(memory.data.ptr)
            for slot in plan.intermediates.slots:
                words[slot.word] = base + slot.offset
        first = 0
        for each in plan.launches:
            after = first + 2 * len(each.strides)
            each.entry([np.uint64(words[number]) for number in range(first, after, 2)])
            first = after
        return made

    def _read(self, arrays: Sequence[object], outputs: Sequence[object]) -> Read | None:
        device = int(self._cupy.cuda.Device().id)
        key: list[object] = [device, len(arrays)]
        addresses: list[int] = []
        owners: list[Any] = []
        for value in (*arrays, *outputs):
            if type(value) is not self._cupy.ndarray:
                return None
            own: Any = value
            memory = own.data
            if memory.device_id != device:
                return None
            address = int(memory.ptr)
            # Where an array is not aligned, it has a kernel of its own.
            key += (own.dtype, own.shape, own.strides, address % 16)
            addresses.append(address)
            owners.append(own)
        return tuple(key), addresses, owners

    def _result(self, output: Any) -> Any:
        return output
