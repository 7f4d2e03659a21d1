"""A pipeline whose `block-fuse` passes keep records, those of `passes/fusion/trace/records.py`."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from ...passes.block.fuse import BlockFusePass
from ...passes.fusion.trace.records import Record
from ...passes.fusion.trace.story import read_trace
from . import Callback, PassPipeline


def run_with_records(
    passes: Sequence[ModulePass],
    module: ModuleOp,
    ctx: Context | None = None,
    *,
    programs: bool = False,
    callback: Callback | None = None,
) -> dict[int, list[Record]]:
    """Run passes on a program; the records of each `block-fuse` among them, by its position.

    `programs` asks for the pseudo-code after every step, too. Files that a pass was to write its trace to are
    not written. Raises what the passes raise.
    """
    with TemporaryDirectory(prefix="bb-records-") as folder:
        files: dict[int, Path] = {}
        traced = list(passes)
        for index, step in enumerate(traced):
            if isinstance(step, BlockFusePass):
                files[index] = Path(folder) / f"{index}.jsonl"
                traced[index] = dataclasses.replace(
                    step, trace=str(files[index]), programs=step.programs or programs
                )
        PassPipeline(traced, callback=callback).run(module, ctx)
        return {index: read_trace(file.read_text(encoding="utf-8")) for index, file in files.items()}
