"""Compiled programs, to call with arrays."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from threading import Lock

from xdsl.dialects.builtin import ModuleOp

from ...lowering.frontends.mlir_text import parse
from ...lowering.pipelines.fusion_records import run_with_records
from ...passes.analysis.traffic.report import FunctionTraffic, traffic_of_module
from ...passes.fusion.trace.records import Record
from ..arrays.dtypes import Array
from ..calls.compile_options import DEFAULT_OPTIONS, CompileOptions
from ..calls.library import Library
from ..errors import InputError
from ..host.threads import thread_count
from ..interpreter.arrays import Callback
from ..machine.description import register_this_machine
from ..profile.measure import profile_of
from ..profile.report import Profile
from ..program.constants import declare_constants, declared_constants
from ..program.functions import select_function
from .call import BoundFunction, CompiledFunction
from .targets import library_of, target_named

# Passes of compiled programs that ask the cost model mean this machine, unpickled programs' too.
register_this_machine()


class Executable:
    """A function of a program, compiled for a target.

    Call it with arrays, in the order of the arguments or by their names: numpy arrays, or anything on the CPU
    with `__dlpack__`. Any strides will do, without copies. It gives a numpy array, or a tuple where there is
    not one result; `out` takes arrays to write to instead. For the target `cuda` arrays are on the GPU, and
    results CuPy's. Threads may share it. What only the layout of numpy's or CuPy's arrays decides is
    remembered for later calls, and so is, on a CPU, up to 64 MiB of memory for intermediate arrays (for each
    call at once).
    Pickling keeps the program, and compiles it again.
    """

    def __init__(
        self,
        program: ModuleOp,
        options: CompileOptions = DEFAULT_OPTIONS,
        callbacks: Mapping[str, Callback] | None = None,
        library: Library | None = None,
    ):
        """Compile a function of a program of any level, or take it from a compiled library.

        Raises InputError (no such function), HostCompilerError, and what the passes raise.
        """
        self._text = str(program)
        self._options = options
        self._callbacks = dict(callbacks or {})
        self.library: Library = library_of(program, options) if library is None else library
        self.module = self.library.module
        """The program as kernels."""
        self.function = select_function(self.module, options.entry)
        self.compiled = CompiledFunction.of(
            self.function, self.library, target_named(options.target), self._callbacks
        )
        """The function with its library, of which `Prepared` binds arguments."""
        self.memory = self.compiled.memory
        """The memory of arguments and results."""
        self._unbound = BoundFunction(self.compiled, {}, {})
        self._specialised: dict[frozenset[str], Executable] = {}
        self._lock = Lock()

    @property
    def use_cache(self) -> bool:
        """True if what is compiled is kept in the user's cache."""
        return self._options.use_cache

    @property
    def source(self) -> str:
        """The C++ source of the kernels."""
        return self.library.source

    @cached_property
    def traffic(self) -> FunctionTraffic | None:
        """Bytes that the compiled program moves, and its operations, by the model of `block-traffic`.

        `print` shows it as a table, nest by nest; `total`, `dims` and `nests` hold the formulas, `number`
        gives their values where extents are known. None for a program that was given as kernels, or stays on
        arrays.
        """
        if self.library.blocks is None:
            return None
        wanted = self.function.sym_name.data
        reports = (report for report in traffic_of_module(self.library.blocks) if report.name == wanted)
        return next((report for report in reports if report.nests), None)

    @cached_property
    def trace(self) -> tuple[Record, ...]:
        """Records of what `block-fuse` did to the program, as `block-fuse{trace=FILE}` writes them.

        `bb.passes.fusion.trace.explain.explain` makes a story of them. The first use runs the passes again;
        without fusion among them there are none.
        """
        found = run_with_records(self.library.passes, self.library.given.clone())
        wanted = self.function.sym_name.data
        return tuple(
            record for records in found.values() for record in records if record["function"] == wanted
        )

    @cached_property
    def instrumented(self) -> Executable:
        """The same program, built with timers between statements. Only `profile` may call it."""
        return Executable(parse(self._text), replace(self._options, profiling=True), self._callbacks)

    def profile(
        self, *arrays: object, threads: int | None = None, runs: int | None = None, **named: object
    ) -> Profile:
        """Measure the time of a call with these arrays, by kernel and by statement.

        A second build of the kernels, with timers, takes turns with this one; each runs at least `runs` times
        (default: 20, and half a second). No other thread should be busy meanwhile.

        Raises what calls raise, HostCompilerError, and InputError for a program that has no kernels.
        """
        given = self._unbound.in_order(arrays, named)
        return profile_of(self._unbound, self.instrumented._unbound, given, thread_count(threads), runs)

    def __reduce__(self) -> tuple[object, ...]:
        return _restore, (self._text, self._options, self._callbacks)

    @property
    def argument_names(self) -> list[str]:
        """Names of the arguments, in order."""
        return list(self.compiled.names)

    def __call__(
        self, *arrays: object, out: object = None, threads: int | None = None, **named: object
    ) -> Array | tuple[Array, ...]:
        """Run the program. Raises InputError for arrays that do not fit, and MemoryError."""
        unbound = self._unbound
        return unbound.run(unbound.in_order(arrays, named), out, threads)

    def run_on_host_arrays(self, arrays: Sequence[Array], *, threads: int | None = None) -> list[Array]:
        """Run the program on numpy arrays; they and the results are copied if the target needs other
        memory.
        """
        given = [self.memory.from_host(array) for array in arrays]
        found = self(*given, threads=threads)
        return [self.memory.as_host(each) for each in (found if isinstance(found, tuple) else (found,))]

    def prepare(self, *, threads: int | None = None, **constants: object) -> Prepared:
        """Bind arguments that are the same in every call, such as weights, by name.

        Values that depend on them alone are computed now, once: weights are folded into each other, reshaped,
        converted, and packed in the order in which contractions read them. If arguments were not declared
        `constants` when the program was compiled, it is compiled once more with them, the first time that
        they are bound. The arrays must not change afterwards. For a GPU they may lie in the CPU's memory:
        they are copied once. Raises InputError, and MemoryError.
        """
        names = self.argument_names
        for name in constants:
            if name not in names:
                known = ", ".join(names) or "none"
                raise InputError(
                    f"'{self.function.sym_name.data}' has no argument '{name}'; there are: {known}"
                )
        executable = self._with_constants(constants)
        compiled = executable.compiled
        with compiled.memory.session(constants.values()):
            bound = compiled.inputs(constants, constant=True)
            return Prepared(executable, compiled.bind(bound, thread_count(threads)))

    def _with_constants(self, names: Collection[str]) -> Executable:
        """Return the same program, compiled with these arguments declared constant as well."""
        declared = declared_constants(select_function(self.library.given, self._options.entry))
        wanted = frozenset((*names, *declared))
        if wanted == declared or self.library.blocks is None:
            return self
        with self._lock:
            if wanted not in self._specialised:
                program = parse(self._text)
                declare_constants(select_function(program, self._options.entry), sorted(wanted))
                self._specialised[wanted] = Executable(program, self._options, self._callbacks)
            return self._specialised[wanted]


class Prepared:
    """An executable with some of its arguments bound, and the values that depend on those alone computed.

    Call it with the others.
    """

    def __init__(self, executable: Executable, function: BoundFunction):
        self.executable = executable
        self._function = function

    def __call__(
        self, *arrays: object, out: object = None, threads: int | None = None, **named: object
    ) -> Array | tuple[Array, ...]:
        """Run the program on the arguments that are not bound. Raises InputError and MemoryError."""
        function = self._function
        return function.run(function.in_order(arrays, named), out, threads)

    def profile(
        self, *arrays: object, threads: int | None = None, runs: int | None = None, **named: object
    ) -> Profile:
        """Measure as `Executable.profile` does, for the arguments that are not bound."""
        given = self._function.in_order(arrays, named)
        count = thread_count(threads)
        instrumented = self._function.moved_to(self.executable.instrumented.compiled, count)
        return profile_of(self._function, instrumented, given, count, runs)


def _restore(text: str, options: CompileOptions, callbacks: dict[str, Callback]) -> Executable:
    return Executable(parse(text), options, callbacks)
