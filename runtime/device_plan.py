"""Repeated calls on a GPU: what depends only on the layouts of CuPy's arrays is worked out once (`CallPlan`).

A kernel of a few microseconds would otherwise wait for ten times as long until Python has looked at all
arrays. Those of other libraries, torch's too, go the long way each time: streams have to wait for each other.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from xdsl.ir import SSAValue

from .arrays import ArrayView
from .call_plan import CallPlan, CallPlans, Read
from .cuda_device import cupy_module, new_array
from .scalar_semantics import Array


@dataclass(eq=False)
class DevicePlan(CallPlan):
    """The launches of calls with one layout, on a GPU. Raises what CudaMemory and DeviceLibrary raise."""

    cupy: Any = None

    def run(self, addresses: list[int], threads: int, spare: list[Array]) -> list[Any]:
        """Launch the kernels on CuPy's current stream. Returns the new arrays."""
        made = [new_array(self.cupy, new.label, new.shape, new.dtype) for new in self.new]
        addresses += [int(array.data.ptr) for array in made]
        words = {place: address for address, place in self.fixed}
        for address, places in zip(addresses, self.places, strict=True):
            for place, distance in places:
                words[place] = address + distance
        memory = None
        if self.intermediate_bytes:
            shape = (self.intermediate_bytes,)
            memory = new_array(self.cupy, "memory for intermediate arrays", shape, np.dtype(np.uint8))
            base = int(memory.data.ptr)
            for offset, place in self.offsets:
                words[place] = base + offset
        place = 0
        for each in self.launches:
            after = place + 2 * len(each.strides)
            each.entry([np.uint64(words[number]) for number in range(place, after, 2)])
            place = after
        return made


class DevicePlans(CallPlans):
    """The plans of an executable for a GPU, by the layout of the arrays and the device."""

    def __init__(self, bound: Mapping[SSAValue, ArrayView], known: Mapping[SSAValue, ArrayView]):
        self._cupy = cupy_module()
        super().__init__(bound, known, partial(DevicePlan, cupy=self._cupy))

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
