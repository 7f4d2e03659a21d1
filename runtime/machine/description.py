"""This machine as the cost model sees it: the processor description that is part of the package, adjusted to
measurements.

The speed of multiply-adds and of reads is measured (`machine_limits`, within about a second on first use,
then from disk). The sizes of the caches are those that the system reports. All other numbers keep their ratio
to these.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from xdsl.utils.exceptions import PassFailedException

from ...passes.analysis.cost.machine import DIRECTORY, Machine, Tier, read_machine, register_machine
from ..compilation.errors import HostCompilerError
from ..host.threads import usable_cpus
from .limits import MachineLimits, machine_limits

NAME = "cpu"
CACHES = Path("/sys/devices/system/cpu/cpu0/cache")

SUSTAINED = 0.8
"""The part of the best memory bandwidth that kernels reach that read and write several arrays."""


def this_machine() -> Machine:
    """Return the description of this machine with all its threads.

    Raises PassFailedException if it cannot be measured.
    """
    try:
        limits = machine_limits(usable_cpus())
    except HostCompilerError as error:
        raise PassFailedException(f"the target '{NAME}' cannot be measured: {error}") from error
    return described(limits, cache_sizes())


def described(limits: MachineLimits, caches: dict[int, int]) -> Machine:
    """Return a machine with these limits, and caches of so many bytes by level; other numbers are the
    model's.
    """
    model = read_machine(DIRECTORY / f"{NAME}.json")
    rate = limits.peak_float / limits.threads
    faster = rate / _peak(model)
    smallest = limits.bandwidths[0][1] / limits.threads
    tiers = {tier.name: tier for tier in model.tiers}
    sizes = {level: float(caches.get(level, tiers[f"L{level}"].capacity or 0)) for level in (1, 2, 3)}
    shared = next((speed for size, speed in limits.bandwidths if size >= 2 * sizes[2] * limits.threads), 0.0)
    memory = limits.bandwidths[-1][1] * SUSTAINED
    near = tiers["L1"]
    return replace(
        model,
        workers=limits.threads,
        contract={kind: speed * faster for kind, speed in model.contract.items()}
        | {"f64": model.contract["f64"] / model.contract["f32"] * limits.peak_double / limits.threads},
        vector=model.vector * faster,
        functions={name: seconds / faster for name, seconds in model.functions.items()},
        copy=model.copy / faster,
        tiers=(
            Tier("L1", sizes[1], near.bandwidth * faster, shared=False),
            Tier("L2", sizes[2], smallest, shared=False),
            Tier("L3", sizes[3], max(shared, memory), shared=True),
            Tier("memory", None, memory, shared=True),
        ),
    )


def _peak(model: Machine) -> float:
    """Return the peak that `machine_limits` would measure, which is a bit more than contractions reach."""
    return model.contract["f32"] / 0.95


def cache_sizes() -> dict[int, int]:
    """Bytes of the data caches of a core by level, as far as the system tells them."""
    sizes: dict[int, int] = {}
    for cache in sorted(CACHES.glob("index*")):
        with suppress(OSError, ValueError):
            if (cache / "type").read_text().strip() in ("Data", "Unified"):
                text = (cache / "size").read_text().strip()
                scale = {"K": 1 << 10, "M": 1 << 20}.get(text[-1:], 1)
                sizes[int((cache / "level").read_text())] = int(text.rstrip("KM")) * scale
    return sizes


def register_this_machine() -> None:
    """Let the target `cpu` of the cost model be this machine, measured when it is asked for."""
    register_machine(NAME, this_machine)
