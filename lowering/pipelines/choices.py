"""Choices of a search, as data that can be kept and shared: how to fuse a program and cut it into blocks.

A choice turns the target's default pipeline into another one. It holds names and numbers alone, never passes:
a file of choices from a stranger cannot make the compiler do anything but fuse and cut otherwise.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import cast

from xdsl.passes import ModulePass

from . import PIPELINES, PassPipeline, split_after
from .levels import TO_BLOCKS

DEFAULT, UNFUSED = "default", "unfused"
WHOLE = "whole"
BUDGET = 8
"""Snapshots that are looked for where a choice names one by its number."""

MOST_DIMS = 64
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,99}", re.ASCII)
_LARGEST = 1 << 31


@dataclass(frozen=True)
class Choice:
    """Choices for one program.

    `fusion` is `default` (the default pipeline, as it is), `unfused` (that without fusion), or the number
    of a snapshot of `block-fuse`, before which the dims `whole` are one block. `sizes` has the block size of
    each dim, or `whole`; dims that it leaves out get those of `block-shapes`.
    """

    fusion: str | int = DEFAULT
    whole: tuple[str, ...] = ()
    sizes: Mapping[str, int | str] = field(default_factory=dict[str, int | str])

    @property
    def is_default(self) -> bool:
        """True for the default pipeline."""
        return self.fusion == DEFAULT

    def __str__(self) -> str:
        if isinstance(self.fusion, str):
            return self.fusion
        sizes = " ".join(f"{name}={size}" for name, size in self.sizes.items())
        whole = f", {' and '.join(self.whole)} whole before" if self.whole else ""
        return f"snapshot {self.fusion}{whole}" + (f", {sizes}" if sizes else "")

    def key(self) -> tuple[object, ...]:
        """Equal for choices that do the same."""
        return self.fusion, tuple(sorted(self.whole)), tuple(sorted(self.sizes.items()))

    def passes(self, target: str = "cpu") -> tuple[ModulePass, ...]:
        """The passes from arrays to kernels."""
        if self.fusion == UNFUSED:
            return PassPipeline(PIPELINES[f"{target}-unfused"]).passes
        passes = PassPipeline(PIPELINES[target]).passes
        if self.is_default:
            return passes
        from ...passes.block.fuse import BlockFusePass
        from ...passes.block.shapes import BlockShapesPass

        before, rest = split_after(passes, TO_BLOCKS)
        assert isinstance(self.fusion, int)
        chosen: tuple[ModulePass, ...] = (
            BlockFusePass(snapshot=self.fusion, extend=self.fusion > 0, whole=self.whole, budget=BUDGET),
            BlockShapesPass(sizes=tuple(f"{name}={size}" for name, size in self.sizes.items())),
        )
        own = {step.name for step in chosen}
        return (*before, *chosen, *(step for step in rest if step.name not in own))

    def record(self) -> dict[str, object]:
        """As JSON has it."""
        return {"fusion": self.fusion, "whole": list(self.whole), "sizes": dict(self.sizes)}


def choice_of(record: object) -> Choice:
    """A choice from what JSON holds. Raises ValueError that says what is wrong."""
    if not isinstance(record, dict):
        raise ValueError("a choice must be an object with keys")
    given = cast("dict[str, object]", record)
    if set(given) != {"fusion", "whole", "sizes"}:
        raise ValueError("a choice has the keys fusion, whole and sizes")
    fusion = given["fusion"]
    numbered = isinstance(fusion, int) and not isinstance(fusion, bool) and 0 <= fusion < 1000
    if not numbered and fusion not in (DEFAULT, UNFUSED):
        raise ValueError(f"'fusion' must be {DEFAULT}, {UNFUSED} or the number of a snapshot, got {fusion!r}")
    whole, sizes = given["whole"], given["sizes"]
    if not isinstance(whole, list) or not isinstance(sizes, dict):
        raise ValueError("'whole' must be a list of dims, and 'sizes' an object with one key for each dim")
    names = [*cast("Sequence[object]", whole), *cast("Mapping[str, object]", sizes)]
    if len(names) > 2 * MOST_DIMS:
        raise ValueError(f"a choice speaks of at most {MOST_DIMS} dims")
    for name in names:
        if not isinstance(name, str) or _NAME.fullmatch(name) is None:
            raise ValueError(f"{str(name)[:40]!r} is no name of a dim")
    for name, size in cast("Mapping[str, object]", sizes).items():
        number = isinstance(size, int) and not isinstance(size, bool) and 0 < size < _LARGEST
        if not number and size != WHOLE:
            raise ValueError(f"the size of dim {name} must be a number above 0 or {WHOLE}, got {size!r}")
    return Choice(
        cast("str | int", fusion),
        tuple(cast("list[str]", whole)),
        dict(cast("Mapping[str, int | str]", sizes)),
    )
