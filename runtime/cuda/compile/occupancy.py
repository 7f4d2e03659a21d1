"""Number of blocks of a kernel that one streaming multiprocessor holds, by NVIDIA's published rules.

Source: the tables of compute capabilities and the section on occupancy in the CUDA C++ Programming Guide, and
`cuda_occupancy.h` of the CUDA toolkit, with which a test compares this module.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

WARP = 32
_REGISTER_UNIT = 256
_SHARED_UNIT = 128
_PARTITIONS = 4
_MOST_REGISTERS = 256
_KIB = 1024


@dataclass(frozen=True)
class Multiprocessor:
    """Limits of one streaming multiprocessor. Sizes of shared memory are in bytes.

    `carveouts` are the amounts of the unified cache that can be shared memory; `reserved` is what the driver
    takes of it for each block; `barriers` is how many hardware barriers there are, 0 where they are no limit.
    """

    threads: int
    blocks: int
    registers: int
    shared_per_block: int
    carveouts: tuple[int, ...]
    barriers: int
    reserved: int = 1024


def _kib(*sizes: int) -> tuple[int, ...]:
    return tuple(size * _KIB for size in sizes)


_AMPERE = _kib(0, 8, 16, 32, 64, 100, 132, 164)
_SMALL = _kib(0, 8, 16, 32, 64, 100)
_HOPPER = _kib(0, 8, 16, 32, 64, 100, 132, 164, 196, 228)

MULTIPROCESSORS = {
    80: Multiprocessor(2048, 32, 65536, 163 * _KIB, _AMPERE, 0),
    86: Multiprocessor(1536, 16, 65536, 99 * _KIB, _SMALL, 0),
    87: Multiprocessor(1536, 16, 65536, 163 * _KIB, _AMPERE, 0),
    89: Multiprocessor(1536, 24, 65536, 99 * _KIB, _SMALL, 0),
    90: Multiprocessor(2048, 32, 65536, 227 * _KIB, _HOPPER, 64),
    100: Multiprocessor(2048, 32, 65536, 227 * _KIB, _HOPPER, 64),
    103: Multiprocessor(2048, 32, 65536, 227 * _KIB, _HOPPER, 64),
    120: Multiprocessor(1536, 24, 65536, 99 * _KIB, _SMALL, 24),
}
"""Limits by compute capability times ten."""


def multiprocessor(arch: str) -> Multiprocessor:
    """The limits of `sm_90`, `sm_90a` and so on. Raises ValueError for one that is not in the table."""
    match = re.fullmatch(r"(?:sm|compute)_(\d+)[af]?", arch)
    found = MULTIPROCESSORS.get(int(match[1])) if match is not None else None
    if found is None:
        known = ", ".join(f"sm_{number}" for number in MULTIPROCESSORS)
        raise ValueError(f"the occupancy of '{arch}' is not known; that of {known} is")
    return found


@dataclass(frozen=True)
class Occupancy:
    """Resident blocks of a multiprocessor, and what limits them.

    `blocks` is 0 for a kernel that cannot be launched. `percent` is of the threads that the multiprocessor
    can hold. `limits` has the most blocks that each resource allows, `limited_by` names the scarcest.
    """

    blocks: int
    percent: float
    limits: dict[str, int]

    @property
    def limited_by(self) -> tuple[str, ...]:
        return tuple(name for name, limit in self.limits.items() if limit == self.blocks)


def _up(value: int, unit: int) -> int:
    return -(-value // unit) * unit


def _register_limit(registers: int, warps: int, limits: Multiprocessor) -> int:
    per_warp = _up(registers * WARP, _REGISTER_UNIT)
    # The hardware checks a launch as if all partitions got the same number of warps.
    if registers > _MOST_REGISTERS or limits.registers < per_warp * _up(warps, _PARTITIONS):
        return 0
    return limits.registers // _PARTITIONS // per_warp * _PARTITIONS // warps if per_warp else limits.blocks


def _shared_limit(shared: int, limits: Multiprocessor) -> int:
    each = _up(shared + limits.reserved, _SHARED_UNIT)
    # More than 48 KiB must be asked for, by max_dynamic_shared_size_bytes; that is taken for granted.
    if shared > limits.shared_per_block or each > limits.carveouts[-1]:
        return 0
    return limits.carveouts[-1] // each


def occupancy(arch: str, *, registers: int, shared: int, threads: int, barriers: int = 1) -> Occupancy:
    """The occupancy of a kernel with `threads` threads in a block.

    `registers` are those of a thread, `shared` the bytes of a block, static and dynamic together; `barriers`
    are the hardware barriers that it uses. Raises ValueError: unknown architecture, or a negative number.
    """
    limits = multiprocessor(arch)
    if min(registers, shared, barriers) < 0 or threads < 1:
        raise ValueError("registers, shared bytes and barriers are not negative, and a block has a thread")
    warps = -(-threads // WARP)
    most = {
        "blocks": limits.blocks,
        "threads": limits.threads // WARP // warps if threads <= 1024 else 0,
        "registers": _register_limit(registers, warps, limits),
        "shared memory": _shared_limit(shared, limits),
    }
    if limits.barriers and barriers:
        most["barriers"] = limits.barriers // barriers
    blocks = min(most.values())
    return Occupancy(blocks, 100.0 * blocks * warps * WARP / limits.threads, most)
