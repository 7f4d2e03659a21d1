"""The careful run of a kernel whose masks may hide NaN and infinities: see `dialects/kernel/masked.py`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from xdsl.ir import Operation, SSAValue

from ....dialects import kernel
from .windows import DimNames, Plane


@dataclass(frozen=True)
class Masked:
    """The sums of one parallel loop that masks may spoil, by the operation after which they are complete."""

    sums: Mapping[Operation, Sequence[SSAValue]] = field(default_factory=dict[Operation, list[SSAValue]])

    @staticmethod
    def of(parallel: kernel.ParallelOp) -> Masked:
        """Find the sums of a parallel loop."""
        return Masked(kernel.masked_sums(parallel))

    def after(
        self, op: Operation, planes: Mapping[SSAValue, Plane], dims: Mapping[str, DimNames]
    ) -> list[str]:
        """The lines that look for NaN in the sums that an operation completes."""
        lines: list[str] = []
        for tile in self.sums.get(op, ()):
            plane = planes[tile]
            strides, widths = plane.elements(), [dims[dim].width for dim in plane.type.dims]
            nan = f"bb::any_nan({', '.join((plane.pointer, *strides, *widths))})"
            lines.append(f"again = again || (!careful && {nan});")
        return lines

    def repeated(self, body: Sequence[str]) -> list[str]:
        """A body that runs a second time, carefully, where the first time has spoilt a sum."""
        if not self.sums:
            return list(body)
        return [
            "// once, and again with care if a factor that a mask hides is NaN or infinite",
            "for (bool careful = false, again = true; again; careful = true) {",
            "  again = false;",
            *(f"  {line}" for line in body),
            "}",
        ]

    def at_once(self, body: Sequence[str]) -> list[str]:
        """A body that cannot run twice: it takes care in its one run."""
        if not self.sums:
            return list(body)
        return ["constexpr bool careful = true;", "bool again = false;", *body, "(void)again;"]


def only_if_careful(lines: Sequence[str]) -> list[str]:
    """A statement of careful runs."""
    return ["if (careful) {", *(f"  {line}" for line in lines), "}"]
