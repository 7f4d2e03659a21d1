"""The protocol of a program's compiled kernels: the parts that calls and tools use for any target."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Protocol

from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from ..arrays.views import ArrayView
from .call_plan import CallRecord
from .compile_options import CompileOptions

if TYPE_CHECKING:  # the names of targets need not wait for emitters
    from .counters import Profiler
    from .launch_plan import Launch


class Library(Protocol):
    """The kernels of a program: of one function of it, or of all."""

    @property
    def options(self) -> CompileOptions:
        """Options that the program was compiled with."""
        ...

    @property
    def given(self) -> ModuleOp:
        """The program before the passes."""
        ...

    @property
    def blocks(self) -> ModuleOp | None:
        """The block program from which the kernels were made; None if the program was given as kernels."""
        ...

    @property
    def module(self) -> ModuleOp:
        """The program as kernels."""
        ...

    @property
    def passes(self) -> tuple[ModulePass, ...]:
        """The passes that lowered the program to kernels."""
        ...

    @property
    def source(self) -> str:
        """The source of the kernels, in the target's language."""
        ...

    @property
    def entries(self) -> Mapping[str, Any]:
        """The kernels by name, as objects that only the library itself understands."""
        ...

    @property
    def profiler(self) -> Profiler | None:
        """Reader of the timers in the kernels, if they were built with any."""
        ...

    def begin_call(self) -> None:
        """Forget the reports of the last call."""
        ...

    def check(self, launch: Launch, lengths: list[int], threads: int) -> None:
        """Raise InputError if a kernel cannot run with these extents of its dims, in order."""
        ...

    def launch(
        self, launch: Launch, arrays: list[ArrayView], lengths: list[int], threads: int, record: CallRecord
    ) -> None:
        """Run a kernel on arrays, with the extents of its dims in order, and record the launch.

        Raises MemoryError, and the target's own errors.
        """
        ...
