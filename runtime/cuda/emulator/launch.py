"""One launch in a process of its own: buffers in shared memory, a description, a report."""

from __future__ import annotations

import mmap
import os
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from typing import BinaryIO

import numpy as np
import numpy.typing as npt

from ...compilation.errors import HostCompilerError
from .arguments import PAGE, Arguments, Array, Buffer, Pointer, reach
from .program import KernelSignature, Program
from .report import LaunchReport
from .report_reader import Naming, read_report
from .settings import SCHEDULES, LaunchSettings

REPORT_BYTES = 1 << 20
_LONGEST_OUTPUT = 1 << 20
LARGEST_SPAN = 1 << 28
"""Bytes from the first element of an array to its last one that are copied with all that lies between."""


@dataclass(frozen=True)
class _Pages:
    """Place of a buffer in the file: its pages, and its offset in bytes from their beginning."""

    offset: int
    span: int
    lead: int


def run_launch(
    program: Program,
    signature: KernelSignature,
    grid: Sequence[int],
    block: Sequence[int],
    arguments: Arguments,
    shared_bytes: int,
    settings: LaunchSettings,
    variables: Sequence[tuple[int, npt.NDArray[np.uint8]]] = (),
) -> LaunchReport:
    """Run one launch and copy what the kernel wrote back into the arrays.

    `variables` are the module's, as their addresses in the executable and their bytes.

    Raises HostCompilerError where the program cannot be started or refuses the launch.
    """
    # Accesses count by their true sectors in check mode; without it, what lies after an array is better a
    # guard.
    alignment = 256 if program.check else 16
    pages: list[_Pages] = []
    end = REPORT_BYTES
    for buffer in arguments.buffers:
        padded = -(-buffer.size // alignment) * alignment
        span = -(-padded // PAGE) * PAGE
        pages.append(_Pages(end, span, span - padded))
        end += span
    places: list[int] = []
    for _, value in variables:
        places.append(end)
        end += value.size
    with _shared_file(end) as file, tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
        with mmap.mmap(file.fileno(), end) as memory:
            for buffer, place in zip(arguments.buffers, pages, strict=True):
                _copy_in(memory, buffer, place)
            for (_, value), offset in zip(variables, places, strict=True):
                _window(memory, offset, value.size)[:] = value
            description = _description(
                file.fileno(), program, signature, grid, block, arguments, pages, shared_bytes, settings
            )
            description += "".join(
                f"{address} {value.size} {offset}\n"
                for (address, value), offset in zip(variables, places, strict=True)
            ).encode()
            ended = _run_process(program, description, file.fileno(), output, errors, settings)
            for buffer, place in zip(arguments.buffers, pages, strict=True):
                _copy_out(memory, buffer, place)
            for (_, value), offset in zip(variables, places, strict=True):
                value[:] = _window(memory, offset, value.size)
            text = bytes(memory[:REPORT_BYTES])
        if ended == 3:
            errors.seek(0)
            raise HostCompilerError(f"the emulator refuses the launch: {errors.read(500).decode().strip()}")
        output.seek(0)
        printed = output.read(_LONGEST_OUTPUT).decode("utf-8", "replace")
    naming = Naming(program, tuple(buffer.name for buffer in arguments.buffers), tuple(block))
    return read_report(
        text, ended, signature.name, arguments.buffers, naming, settings, shared_bytes, printed
    )


def _shared_file(size: int) -> BinaryIO:
    if hasattr(os, "memfd_create"):
        file: BinaryIO = os.fdopen(os.memfd_create("bb-cuda-emulator"), "w+b")
    else:
        file = tempfile.TemporaryFile()  # noqa: SIM115 - the caller closes it
    file.truncate(size)
    return file


def _window(memory: mmap.mmap, offset: int, size: int) -> npt.NDArray[np.uint8]:
    return np.frombuffer(memory, np.uint8, size, offset)


def _on_device(memory: mmap.mmap, buffer: Buffer, place: _Pages, array: Array) -> Array:
    """The copy of an array in the file."""
    offset = place.offset + place.lead + int(array.ctypes.data) - buffer.address
    return np.ndarray(array.shape, array.dtype, buffer=memory, offset=offset, strides=array.strides)


def _copied(array: Array) -> Array:
    """Return what is copied of an array, as raw bits: all from its first element to its last one, so that a
    kernel that wrongly writes between them shows; only its elements if they lie far apart.
    """
    bits = array.view(np.dtype(f"V{array.itemsize}"))
    span = reach(array)
    if array.flags.c_contiguous or span > LARGEST_SPAN:
        return bits
    return np.lib.stride_tricks.as_strided(
        bits, (span // array.itemsize,), (array.itemsize,), writeable=array.flags.writeable
    )


def _copy_in(memory: mmap.mmap, buffer: Buffer, place: _Pages) -> None:
    for array in map(_copied, buffer.arrays):
        if array.size:
            _on_device(memory, buffer, place, array)[...] = array
    for array in buffer.undefined_arrays:
        if array.size:
            bits = array.view(np.dtype(f"V{array.itemsize}"))
            _on_device(memory, buffer, place, bits)[...] = np.void(b"\xff" * array.itemsize)


def _copy_out(memory: mmap.mmap, buffer: Buffer, place: _Pages) -> None:
    if buffer.read_only:
        return
    for array in map(_copied, buffer.arrays):
        if array.size and array.flags.writeable:
            array[...] = _on_device(memory, buffer, place, array)


def _description(
    file: int,
    program: Program,
    signature: KernelSignature,
    grid: Sequence[int],
    block: Sequence[int],
    arguments: Arguments,
    pages: Sequence[_Pages],
    shared_bytes: int,
    settings: LaunchSettings,
) -> bytes:
    """The launch as native/launch.cpp reads it."""
    lines = [
        f"{file}",
        f"{SCHEDULES.index(settings.schedule)} {settings.seed} {int(program.check)} "
        f"{int(program.check and settings.profile)} {int(settings.flush_denormals)} "
        f"{settings.max_findings} {max(1, int(1000 * settings.time_limit))}",
        f"{signature.number}",
        " ".join(map(str, grid)),
        " ".join(map(str, block)),
        f"{shared_bytes}",
        f"{len(arguments.buffers)}",
    ]
    for buffer, place in zip(arguments.buffers, pages, strict=True):
        flags = f"{int(buffer.read_only)} {int(buffer.undefined)}"
        lines.append(f"{place.offset} {place.span} {place.lead} {buffer.size} {flags}")
    for value in arguments.values:
        if isinstance(value, Pointer) and value.inside:
            lines.append(f"m {value.buffer} {value.offset} {value.at} {value.inside.hex()}")
        elif isinstance(value, Pointer):
            lines.append(f"p {value.buffer} {value.offset}")
        else:
            lines.append(f"v {value.hex()}")
    return ("\n".join(lines) + "\n").encode()


def _run_process(
    program: Program,
    description: bytes,
    file: int,
    output: BinaryIO,
    errors: BinaryIO,
    settings: LaunchSettings,
) -> int | None:
    """The exit status of the process; None where it had to be killed because it did not end."""
    environment = {"LC_ALL": "C"}
    if (libraries := os.environ.get("LD_LIBRARY_PATH")) is not None:
        environment["LD_LIBRARY_PATH"] = libraries
    with tempfile.TemporaryFile() as standard_input:
        standard_input.write(description)
        standard_input.seek(0)
        try:
            process = subprocess.Popen(
                [program.path],
                stdin=standard_input,
                stdout=output,
                stderr=errors,
                env=environment,
                pass_fds=(file,),
            )
        except OSError as error:
            raise HostCompilerError(f"the emulated program {program.path} cannot be run: {error}") from error
    try:
        # The process watches its CPU time itself; it may wait for a CPU, or do nothing at all.
        return process.wait(timeout=10 + 8 * settings.time_limit)
    except subprocess.TimeoutExpired:
        return None
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()
