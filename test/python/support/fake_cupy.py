"""As much of CuPy as the runtime uses, on the emulator: device memory is the CPU's, kernels are emulated."""

from __future__ import annotations

import ctypes
import importlib
import weakref
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from bb.runtime.cuda.emulator import EmulatedModule


def with_cupy(monkeypatch: pytest.MonkeyPatch, cupy: object) -> None:
    """Let the runtime import this for CuPy; or raise it, if it is an error."""
    original = importlib.import_module

    def load(name: str, package: str | None = None) -> Any:
        if name == "cupy" and isinstance(cupy, Exception):
            raise cupy
        return cupy if name == "cupy" else original(name, package)

    monkeypatch.setattr("bb.runtime.cuda.device.importlib.import_module", load)


class DeviceArray:
    """An array that only says where it is."""

    def __init__(self, host: Any, cupy: FakeCupy):
        self.host, self.cupy = host, cupy

    shape = property(lambda self: self.host.shape)
    strides = property(lambda self: self.host.strides)
    dtype = property(lambda self: self.host.dtype)
    nbytes = property(lambda self: self.host.nbytes)

    @property
    def data(self) -> Any:
        def fill(value: int, size: int) -> None:
            assert size == self.host.nbytes
            self.host.reshape(-1).view(np.uint8)[:256] = value  # all of it would take long

        pointer = self.host.__array_interface__["data"][0]
        return SimpleNamespace(ptr=pointer, memset_async=fill, device_id=self.device_id)

    device_id = 0

    def view(self, dtype: Any) -> DeviceArray:
        return self.cupy.array_of(self.host.view(dtype))

    def copy(self) -> DeviceArray:
        return self.cupy.asarray(self.host)

    def reshape(self, shape: Any) -> DeviceArray:
        return self.cupy.array_of(self.host.reshape(shape))

    def transpose(self, axes: Any) -> DeviceArray:
        return self.cupy.array_of(self.host.transpose(axes))

    def __getitem__(self, key: Any) -> DeviceArray:
        return self.cupy.array_of(self.host[key])

    def __setitem__(self, key: Any, value: DeviceArray) -> None:
        self.host[key] = value.host

    def __dlpack_device__(self) -> tuple[int, int]:
        return 2, 0

    def __dlpack__(self, *, stream: int, max_version: Any = None) -> object:
        assert stream == (self.cupy.streams[-1].ptr or 1), "1 is the default stream"
        if self.host.dtype.kind != "V":
            return self.host.__dlpack__()
        capsule = self.host.view(np.uint16).__dlpack__()  # numpy has no word for bfloat16, DLPack has
        pointer = ctypes.pythonapi.PyCapsule_GetPointer
        pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
        type_code = pointer(capsule, b"dltensor") + 20
        assert ctypes.c_uint8.from_address(type_code).value == 1
        ctypes.c_uint8.from_address(type_code).value = 4
        return capsule


class CompileException(Exception):
    """Exception that CuPy raises if NVRTC refuses a source."""


class Event:
    """An event: of two in turn, the later is `cupy.pace` milliseconds after the earlier."""

    def __init__(self, cupy: FakeCupy, *, disable_timing: bool = False):
        self.cupy, self.recorded, self.done = cupy, 0, cupy.done

    def record(self) -> None:
        self.recorded = self.cupy.streams[-1].ptr

    def synchronize(self) -> None:
        self.done = True


class Stream:
    """A stream: what it was told to do is written down."""

    def __init__(self, cupy: FakeCupy, ptr: int):
        self.cupy, self.ptr = cupy, ptr

    def record(self, event: Any) -> Any:
        event.recorded = self.ptr
        return event

    def wait_event(self, event: Any) -> None:
        self.cupy.log.append(f"{self.ptr} waits for {event.recorded}")

    def is_capturing(self) -> bool:
        return False

    def synchronize(self) -> None:
        self.cupy.log.append(f"synchronize {self.ptr}")

    def __enter__(self) -> Stream:
        self.cupy.streams.append(self)
        return self

    def __exit__(self, *error: object) -> None:
        self.cupy.streams.pop()


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
        self.cupy.log.append(f"launch to {self.cupy.streams[-1].ptr}")


class RawModule:
    def __init__(self, cupy: FakeCupy, code: str, options: Sequence[str]):
        assert "-std=c++17" in options
        assert "bb/cuda.cuh" not in code or any(option.startswith("-I") for option in options)
        # The emulator has no clock, for which a kernel could wait.
        self.cupy, self.module = cupy, None if "clock64" in code else EmulatedModule(code)
        cupy.modules += 1

    def get_function(self, name: str) -> Any:
        if self.module is None:
            return lambda grid, block, arguments: self.cupy.log.append(f"{name}{arguments}")
        return RawKernel(self.cupy, self.module.get_function(name))


class FakeCupy:
    """The module; what was asked of it is counted."""

    def __init__(self, devices: int = 1, shared: int = 166912, registers: int = 32, capability: str = "80"):
        self.registers = registers
        self.launches: list[Any] = []
        self.log: list[str] = []
        self.modules = 0
        self.streams = [Stream(self, 0)]
        self.pace, self.done = 0.5, False
        self.__version__ = "14.0.fake"
        self._memory: dict[int, tuple[int, weakref.ref[Any]]] = {}
        self.ndarray = self._array_class()
        attributes = {
            "MaxSharedMemoryPerBlockOptin": shared,
            "MaxRegistersPerBlock": 65536,
            "MultiProcessorCount": 2,
            "ClockRate": 1_000_000,
            "MemoryClockRate": 1_000_000,
            "GlobalMemoryBusWidth": 4096,
            "L2CacheSize": 4096,
        }
        properties = {"name": b"Fake GPU"}
        runtime = SimpleNamespace(
            getDeviceCount=lambda: devices,
            getDeviceProperties=lambda device: properties,
            driverGetVersion=lambda: 13000,
            runtimeGetVersion=lambda: 13000,
        )
        device = SimpleNamespace(
            id=0,
            compute_capability=capability,
            attributes=attributes,
            synchronize=lambda: self.streams[0].synchronize(),
        )
        self.cuda = SimpleNamespace(
            runtime=runtime,
            Device=lambda: device,
            Event=lambda **options: Event(self, **options),
            get_elapsed_time=lambda start, end: self.pace,
            Stream=SimpleNamespace(from_external=self._from_external),
            compiler=SimpleNamespace(CompileException=CompileException),
            get_current_stream=lambda: self.streams[-1],
            UnownedMemory=lambda low, size, owner, device: (low, size, owner, device),
            MemoryPointer=lambda memory, offset: (memory, offset),
        )

    def _from_external(self, other: Any) -> Stream:
        if not hasattr(other, "__cuda_stream__"):
            raise TypeError("the object does not implement the CUDA stream protocol")
        return Stream(self, other.__cuda_stream__()[1])

    def like_version_13(self) -> None:
        """Know streams by their addresses alone."""
        self.cuda.Stream = SimpleNamespace()
        self.cuda.ExternalStream = lambda address: Stream(self, address)

    def _array_class(self) -> type[DeviceArray]:
        cupy = self

        class ndarray(DeviceArray):  # CuPy's name
            def __init__(self, shape: Any, dtype: Any, pointer: Any, strides: Any):
                (low, _, owner, _), offset = pointer
                assert owner is not None
                flat = cupy.at(low + offset)
                super().__init__(np.ndarray(shape, dtype, buffer=flat.data, strides=strides), cupy)

        return ndarray

    def get_default_memory_pool(self) -> Any:
        return SimpleNamespace(free_all_blocks=lambda: None)

    def RawModule(self, *, code: str, options: Sequence[str]) -> RawModule:
        return RawModule(self, code, options)

    def asarray(self, host: Any, order: str = "K") -> DeviceArray:
        own = self._allocated(np.shape(host), np.asarray(host).dtype)
        own[...] = host
        return self.array_of(own)

    def asnumpy(self, array: DeviceArray) -> Any:
        return array.host.copy()

    def empty(self, shape: Any, dtype: Any) -> DeviceArray:
        own = self._allocated(shape, np.dtype(dtype))
        own.view(np.uint8)[...] = 77
        return self.array_of(own)

    def array_of(self, host: Any) -> DeviceArray:
        """An array of this module's class, as CuPy makes them."""
        array = object.__new__(self.ndarray)
        DeviceArray.__init__(array, host, self)
        return array

    def _allocated(self, shape: Any, dtype: np.dtype[Any]) -> Any:
        """Memory of its own, aligned as a device's allocations are."""
        count = int(np.prod(shape)) * dtype.itemsize
        raw = np.empty(count + 256, np.uint8)
        address = raw.__array_interface__["data"][0]
        start = -address % 256
        self._memory[address + start] = count, weakref.ref(raw)
        # numpy keeps what owns memory alive for each view of it, and nothing between.
        return raw[start : start + count].view(dtype).reshape(shape)

    @property
    def allocations(self) -> list[int]:
        """The sizes in bytes of what is alive."""
        return [count for count, raw in self._memory.values() if raw() is not None]

    def at(self, address: int) -> Any:
        """The bytes of an allocation from an address on."""
        for start, (count, raw) in self._memory.items():
            own = raw()
            if own is not None and start <= address < start + max(1, count):
                first = start - own.__array_interface__["data"][0]
                return own[first + address - start : first + count]
        raise AssertionError(f"{address:#x} is nowhere on the device")
