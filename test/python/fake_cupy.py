"""As much of CuPy as the runtime uses, on the emulator: device memory is the CPU's, kernels are emulated."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from types import SimpleNamespace
from typing import Any

import numpy as np
from bb.runtime.cuda_emulator import EmulatedModule


class DeviceArray:
    """An array that only says where it is."""

    def __init__(self, host: Any):
        self.host = host

    shape = property(lambda self: self.host.shape)
    strides = property(lambda self: self.host.strides)
    dtype = property(lambda self: self.host.dtype)
    data = property(lambda self: SimpleNamespace(ptr=self.host.__array_interface__["data"][0]))

    def view(self, dtype: Any) -> DeviceArray:
        return DeviceArray(self.host.view(dtype))

    def copy(self) -> DeviceArray:
        return DeviceArray(self.host.copy())

    def reshape(self, shape: Any) -> DeviceArray:
        return DeviceArray(self.host.reshape(shape))

    def transpose(self, axes: Any) -> DeviceArray:
        return DeviceArray(self.host.transpose(axes))

    def __getitem__(self, key: Any) -> DeviceArray:
        return DeviceArray(self.host[key])

    def __setitem__(self, key: Any, value: DeviceArray) -> None:
        self.host[key] = value.host

    def __dlpack_device__(self) -> tuple[int, int]:
        return 2, 0

    def __dlpack__(self, *, stream: int, max_version: Any = None) -> object:
        assert stream == 1, "the default stream"
        return self.host.__dlpack__()


class RawKernel:
    def __init__(self, cupy: FakeCupy, kernel: Any):
        self.cupy, self.kernel = cupy, kernel
        self.max_dynamic_shared_size_bytes = 48 * 1024
        self.num_regs = cupy.registers

    def __call__(self, grid: Any, block: Any, args: Sequence[Any], shared_mem: int = 0) -> None:
        assert shared_mem <= self.max_dynamic_shared_size_bytes, "CuPy would refuse the launch"
        self.kernel.max_dynamic_shared_size_bytes = self.max_dynamic_shared_size_bytes
        arguments = []
        for value, parameter in zip(args, self.kernel.signature.parameters, strict=True):
            if isinstance(value, DeviceArray):
                value = value.host
            elif parameter.is_pointer:
                value = self.cupy.at(int(value))
            arguments.append(value)
        report = self.kernel.launch(grid, block, arguments, shared_mem)
        assert report.ok, report.findings
        self.cupy.launches.append((grid, block, shared_mem))


class RawModule:
    def __init__(self, cupy: FakeCupy, code: str, options: Sequence[str]):
        assert any(option.startswith("-I") for option in options)
        self.cupy, self.module = cupy, EmulatedModule(code)
        cupy.modules += 1

    def get_function(self, name: str) -> RawKernel:
        return RawKernel(self.cupy, self.module.get_function(name))


class FakeCupy:
    """The module; what was asked of it is counted."""

    def __init__(self, devices: int = 1, shared: int = 166912, registers: int = 32, capability: str = "80"):
        self.registers = registers
        self.launches: list[Any] = []
        self.modules = 0
        self._memory: dict[int, Any] = {}
        attributes = {
            "MaxSharedMemoryPerBlockOptin": shared,
            "MaxRegistersPerBlock": 65536,
            "MultiProcessorCount": 2,
        }
        device = SimpleNamespace(id=0, compute_capability=capability, attributes=attributes)
        self.cuda = SimpleNamespace(
            runtime=SimpleNamespace(getDeviceCount=lambda: devices),
            Device=lambda: device,
            get_current_stream=lambda: SimpleNamespace(ptr=0),
            ExternalStream=self._external,
            memory=SimpleNamespace(OutOfMemoryError=MemoryError),
            UnownedMemory=lambda low, size, owner: (low, size, owner),
            MemoryPointer=lambda memory, offset: (memory, offset),
        )

    def _external(self, stream: int) -> AbstractContextManager[object]:
        return nullcontext()

    def RawModule(self, *, code: str, options: Sequence[str]) -> RawModule:
        return RawModule(self, code, options)

    def asarray(self, host: Any) -> DeviceArray:
        return DeviceArray(self._kept(np.array(host, order="C")))

    def asnumpy(self, array: DeviceArray) -> Any:
        return array.host.copy()

    def empty(self, shape: Any, dtype: Any) -> DeviceArray:
        return DeviceArray(self._kept(np.full(shape, 77, dtype)))

    def ndarray(self, shape: Any, dtype: Any, pointer: Any, strides: Any) -> DeviceArray:
        (low, _, _), offset = pointer
        base = self.at(low + offset)
        flat = np.ndarray(
            (len(base) - 0,), np.uint8, buffer=base.data
        )  # the rest of the allocation, from the pointer on
        return DeviceArray(np.ndarray(shape, dtype, buffer=flat.data, strides=strides))

    def _kept(self, array: Any) -> Any:
        # Aligned as a device's allocations are.
        raw = np.empty(array.nbytes + 256, np.uint8)
        start = -raw.__array_interface__["data"][0] % 256
        own = raw[start : start + array.nbytes].view(array.dtype).reshape(array.shape)
        own[...] = array
        self._memory[own.__array_interface__["data"][0]] = own
        return own

    def at(self, address: int) -> Any:
        """The bytes of an allocation from an address on."""
        for start, array in self._memory.items():
            if start <= address < start + max(1, array.nbytes):
                return array.reshape(-1).view(np.uint8)[address - start :]
        raise AssertionError(f"{address:#x} is nowhere on the device")
