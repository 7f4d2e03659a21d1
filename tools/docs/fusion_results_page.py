"""docs/concepts/fusion-results.md: what fusion does to each example, in kernels, bytes and operations."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator
from dataclasses import dataclass

from xdsl.dialects.func import FuncOp

from ...dialects import block
from ...passes.analysis.traffic.block import ASSUMED_BLOCK_SIZE, Traffic, modelled_values, traffic_of_function
from ...passes.fusion.trace.records import measure
from ...passes.text.units import in_units
from .markdown import item, page, paragraph, table
from .programs import EXAMPLES, TO_BLOCKS, compiled, functions_of, moved_arrays

INTRODUCTION = f"""
This page compares two versions of each program in `examples/`: its block program after `{TO_BLOCKS}`, and
the same program after `block-fuse`. Extents are those of the examples. Blocks have {ASSUMED_BLOCK_SIZE}
elements, as `block-fuse` assumes for open block sizes; blocks of batch dims have one element.
"""

COLUMNS = (
    "A *kernel* is a nest at the top of the function.",
    "A *list* is a list of blocks or vectors that the program makes and reads again. If there is only one "
    "nest, it is private to an iteration.",
    "*Loaded* and *stored* are bytes between global and local memory.",
    "*Flops*: a multiply-add counts as two. *Recomputed* are flops of contractions beyond those of the "
    "unfused program.",
)

ROWS = (
    "The *first* snapshot is the result of the laws alone, which repeat no contraction.",
    "The *last* snapshot is the most fused one.",
    "*Least traffic* is the snapshot that moves the fewest bytes, of up to 30 snapshots.",
)

PROGRAMS = sorted(path.stem for path in EXAMPLES.glob("*.mlir"))


@dataclass(frozen=True)
class Version:
    """One row: a version of a function."""

    kernels: int
    lists: int
    bytes_loaded: int
    bytes_stored: int
    flops: int
    contraction_flops: int
    number: int | None = None

    @property
    def bytes(self) -> int:
        return self.bytes_loaded + self.bytes_stored

    @classmethod
    def of(cls, function: FuncOp, number: int | None = None) -> Version:
        """Measure a function."""
        total = sum((traffic for _, traffic in traffic_of_function(function)), Traffic())
        values = modelled_values(block.declared_dims(function) or {})
        moved, counted = total.evaluate(values), measure(function)
        return cls(
            counted["nests"],
            counted["lists"],
            moved["bytes_loaded"],
            moved["bytes_stored"],
            moved["flops"],
            counted["contraction_flops"],
            number,
        )


@dataclass(frozen=True)
class Result:
    """The versions of one function."""

    program: str
    name: str
    unfused: Version
    snapshots: tuple[Version, ...]
    """Those that were found, the first one first."""
    last: Version
    fused: FuncOp
    """The last one's program."""

    @property
    def best(self) -> Version:
        return min(self.snapshots, key=lambda version: (version.bytes, version.flops))


def results(program: str) -> Iterator[Result]:
    """The functions of an example, unfused and in every snapshot."""
    unfused = functions_of(compiled(program, TO_BLOCKS))
    found: dict[str, dict[int, Version]] = {}
    for function in functions_of(compiled(program, f"{TO_BLOCKS},block-fuse{{snapshot=all}}")):
        match = re.fullmatch(r"(.+)_snapshot(\d+)", function.sym_name.data)
        assert match is not None
        number = int(match[2])
        found.setdefault(match[1], {})[number] = Version.of(function, number)
    fused = functions_of(compiled(program, f"{TO_BLOCKS},block-fuse"))
    for before, after in zip(unfused, fused, strict=True):
        name = before.sym_name.data
        numbered = found[name]
        last = Version.of(after)
        number = next((n for n, version in numbered.items() if _same(version, last)), None)
        last = numbered[number] if number is not None else last
        snapshots = tuple(numbered[n] for n in sorted(numbered))
        yield Result(program, name, Version.of(before), snapshots, last, after)


def _same(left: Version, right: Version) -> bool:
    return dataclasses.replace(left, number=None) == dataclasses.replace(right, number=None)


def text() -> str:
    """The page."""
    everything = [result for program in PROGRAMS for result in results(program)]
    blocks = [_section(result) for result in everything]
    return page(
        "# What fusion does to the examples",
        paragraph(INTRODUCTION),
        "\n".join(map(item, (*COLUMNS, *ROWS))),
        _overview(everything),
        *blocks,
    )


def _overview(everything: list[Result]) -> str:
    rows: list[tuple[str, ...]] = []
    for result in everything:
        best = result.best
        rows.append(
            (
                f"[{_title(result)}](#{_title(result).replace('`', '').replace(' ', '-').replace(':', '')})",
                f"{result.unfused.kernels} → {result.last.kernels}",
                f"{result.unfused.lists} → {result.last.lists}",
                f"{in_units(result.unfused.bytes, 'B')} → {in_units(best.bytes, 'B')}",
                f"{result.unfused.bytes / best.bytes:.1f}×",
            )
        )
    head = ("program", "kernels", "lists", "moved, unfused → least traffic", "less")
    return table(head, rows, numbers=4)


def _title(result: Result) -> str:
    return result.program if result.program == result.name else f"{result.program}: {result.name}"


def _section(result: Result) -> str:
    before = result.unfused
    rows = [("unfused", before), ("first snapshot", result.snapshots[0]), ("last snapshot", result.last)]
    rows.append(("least traffic", result.best))
    cells = [(_label(label, version), *_cells(version, before)) for label, version in rows]
    head = ("version", "kernels", "lists", "loaded", "stored", "flops", "recomputed")
    moved = moved_arrays(result.fused)
    lists = f"; in between it stores and loads {_names(moved.lists)}" if moved.lists else ""
    stored = _names(moved.stored, but=moved.lists)
    check = f"The last snapshot loads {_names(moved.loaded)} and stores {stored}{lists}."
    return f"## {_title(result)}\n\n{table(head, cells, numbers=6)}\n\n{paragraph(check)}"


def _label(label: str, version: Version) -> str:
    return label if version.number is None else f"{label} ({version.number})"


def _names(names: tuple[str, ...], but: tuple[str, ...] = ()) -> str:
    shown = [f"`{name}`" for name in names if name not in but]
    return ", ".join(shown[:-1]) + " and " + shown[-1] if len(shown) > 1 else "".join(shown) or "nothing"


def _cells(version: Version, unfused: Version) -> tuple[str, ...]:
    again = max(0, version.contraction_flops - unfused.contraction_flops)
    counts = (version.kernels, version.lists, version.bytes_loaded, version.bytes_stored)
    return tuple(f"{number:,}" for number in (*counts, version.flops, again))
