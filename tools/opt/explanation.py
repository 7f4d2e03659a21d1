"""`bb-opt --explain`: a pipeline whose `block-fuse` passes keep their traces, and what these say.

`block-select` tells its reasons itself, as comments.
"""

from __future__ import annotations

from dataclasses import replace

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from ...lowering.pipelines import PassPipeline
from ...lowering.pipelines.fusion_records import run_with_records
from ...passes.block.fuse import BlockFusePass
from ...passes.block.select import BlockSelectPass
from ...passes.fusion.trace.explain import explain
from ...passes.fusion.trace.records import Record, write_trace
from ...passes.text.output import os_reason
from ..shared.files import ToolError


class Explanation(PassPipeline):
    """The same passes, with traces; `programs` asks for the pseudo-code after every step, too.

    Raises ToolError when there is neither `block-fuse` nor `block-select` among them.
    """

    def __init__(self, pipeline: PassPipeline, *, programs: bool = False):
        if not any(isinstance(step, BlockFusePass | BlockSelectPass) for step in pipeline.passes):
            raise ToolError("--explain tells what the pass block-fuse did, but there is none in the pipeline")
        passes = [
            replace(step, report=True) if isinstance(step, BlockSelectPass) else step
            for step in pipeline.passes
        ]
        super().__init__(passes, callback=pipeline.callback)
        self.programs = programs
        self.records: list[Record] = []
        """The traces of the last run, in the order of the passes."""

    def run(self, module: ModuleOp, ctx: Context | None = None) -> ModuleOp:
        """Run the passes and remember the traces.

        Raises what the passes raise, and ToolError where a trace cannot be written to the user's file.
        """
        found = run_with_records(self.passes, module, ctx, programs=self.programs, callback=self.callback)
        self.records = []
        for index, records in found.items():
            self.records += records
            self._keep(self.passes[index], records)
        return module

    def _keep(self, step: object, records: list[Record]) -> None:
        """Write the trace to the user's file."""
        if isinstance(step, BlockFusePass) and step.trace is not None:
            try:
                write_trace(records, step.trace)
            except OSError as error:
                raise ToolError(f"cannot write the trace to {step.trace}: {os_reason(error)}") from error

    def text(self) -> str:
        """The story of the last run."""
        return "" if not self.records else explain(self.records, programs=self.programs)
