"""The pass ``block-traffic``: what a block program moves and computes, as a table or as JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp

from ..analysis.traffic.report import Json, TrafficReportPass, as_json, table_text, traffic_of_module


@dataclass(frozen=True)
class BlockTrafficPass(TrafficReportPass):
    """Show what each nest loads, stores and computes, as functions of the dims; the program stays as it is.

    ``format`` is ``table`` (comment lines, so that the output is still a program) or ``json``. ``file`` is
    where it goes instead of standard output; an existing file is replaced whole.
    """

    name = "block-traffic"

    def table(self, module: ModuleOp) -> str:
        return table_text(traffic_of_module(module))

    def json(self, module: ModuleOp) -> Mapping[str, Json]:
        return as_json(traffic_of_module(module))
