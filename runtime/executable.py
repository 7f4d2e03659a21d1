"""Compiled programs, to call with arrays."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from threading import Lock
from typing import TYPE_CHECKING, cast, overload

from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.ir import Attribute, Operation, SSAValue

from ..dialects import kernel
from ..lowering.fusion_records import run_with_records
from ..lowering.programs import parse
from ..passes.trace import Record
from ..passes.traffic_report import FunctionTraffic, traffic_of_module
from .array_interpreter import Callback
from .array_memory import ArrayMemory
from .arrays import ArrayView, refuse_overlap
from .call_plan import CallPlans, Notes
from .constants import declare_constants, declared_constants
from .inputs import arguments_of
from .interpreter import InputError, public_functions, select_function
from .kernel_library import KernelLibrary
from .launch_plan import Extents, Launch, Plan, plan_of
from .lowered_program import DEFAULT_OPTIONS, CompileOptions, CudaOptions
from .machine_description import register_this_machine
from .profile import Profile, profile_of
from .ranged import RangedExecutable, Ranges, compile_ranges
from .scalar_semantics import Array, numpy_dtype
from .targets import COMPILED, library_of, memory_of, plans_of
from .threads import thread_count
from .tuning.choosing import Request, choice_for

if TYPE_CHECKING:  # what compiles for CPUs need not wait for it
    from .cuda_library import CudaLibrary

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
        library: KernelLibrary | CudaLibrary | None = None,
    ):
        """Compile a function of a program of any level, or take it from a library that has been compiled.

        Raises InputError (no such function), HostCompilerError, and what the passes raise.
        """
        self._text = str(program)
        self._options = options
        self._callbacks = dict(callbacks or {})
        self.library: KernelLibrary | CudaLibrary = (
            library_of(program, options) if library is None else library
        )
        self.memory: ArrayMemory = memory_of(options)
        self.module = self.library.module
        """The program as kernels."""
        self.function = select_function(self.module, options.entry)
        self._plan: Plan = plan_of(self.module, self.function)
        self._specialised: dict[frozenset[str], Executable] = {}
        self._lock = Lock()
        # Once, for a program's attributes take longer to read than a small kernel takes to run.
        self._argument_names = tuple(argument.name for argument in arguments_of(self.function))
        self._calls = plans_of(options)

    @property
    def use_cache(self) -> bool:
        """Whether what is compiled is kept in the user's cache."""
        return self._options.use_cache

    @property
    def source(self) -> str:
        """The C++ source of the kernels."""
        return self.library.source

    @cached_property
    def traffic(self) -> FunctionTraffic | None:
        """What the compiled program moves and computes by the model of `block-traffic`, nest by nest.

        `print` shows it as a table; `total`, `dims` and `nests` hold the formulas, `number` gives their
        values where extents are known. None for a program that was given as kernels, or stays on arrays.
        """
        if self.library.blocks is None:
            return None
        wanted = self.function.sym_name.data
        reports = (report for report in traffic_of_module(self.library.blocks) if report.name == wanted)
        return next((report for report in reports if report.nests), None)

    @cached_property
    def trace(self) -> tuple[Record, ...]:
        """What `block-fuse` did to the program: the records that `block-fuse{trace=FILE}` writes.

        `bb.passes.explain.explain` makes a story of them. The first use runs the passes once more; without
        fusion among them there are none.
        """
        found = run_with_records(self.library.passes, self.library.given.clone())
        wanted = self.function.sym_name.data
        return tuple(
            record for records in found.values() for record in records if record["function"] == wanted
        )

    @cached_property
    def watched(self) -> Executable:
        """The same program, with kernels that tell where their time goes. Only `profile` may call it."""
        return Executable(parse(self._text), replace(self._options, profiling=True), self._callbacks)

    def profile(
        self, *arrays: object, threads: int | None = None, runs: int | None = None, **named: object
    ) -> Profile:
        """Where the time of a call with these arrays goes: a second build of the kernels, which tells, is run
        beside this one, each at least `runs` times (default: 20, and half a second). No other thread should
        be busy meanwhile.

        Raises what calls raise, HostCompilerError, and InputError for a program that has no kernels.
        """
        given = self._given(arrays, named)
        return profile_of(self, self, self.watched, given, self._views(given), thread_count(threads), runs)

    def __reduce__(self) -> tuple[object, ...]:
        return _restore, (self._text, self._options, self._callbacks)

    @property
    def argument_names(self) -> list[str]:
        """The names of the arguments, in order."""
        return list(self._argument_names)

    def __call__(
        self, *arrays: object, out: object = None, threads: int | None = None, **named: object
    ) -> Array | tuple[Array, ...]:
        """Run the program. Raises InputError for arrays that do not fit, and MemoryError."""
        return self._run(self._calls, self._given(arrays, named), {}, {}, out, threads)

    def run_on_host_arrays(self, arrays: Sequence[Array]) -> list[Array]:
        """Run the program on copies of numpy arrays, and give copies of the results, wherever it runs."""
        given = [self.memory.from_host(array) for array in arrays]
        found = self(*given)
        return [self.memory.as_host(each) for each in (found if isinstance(found, tuple) else (found,))]

    def prepare(self, *, threads: int | None = None, **constants: object) -> Prepared:
        """Bind arguments that are the same in every call, such as weights, by name.

        What depends on them alone is computed now, once: weights folded into each other, reshaped, converted,
        and packed in the order in which contractions read them. The first time that arguments are bound which
        were not declared `constants` when the program was compiled, it is compiled once more, with them. The
        arrays must not change afterwards. For a GPU they may lie in the CPU's memory: they are copied once.
        Raises InputError, and MemoryError.
        """
        names = self.argument_names
        for name in constants:
            if name not in names:
                known = ", ".join(names) or "none"
                raise InputError(
                    f"'{self.function.sym_name.data}' has no argument '{name}'; there are: {known}"
                )
        executable = self._with_constants(constants)
        with executable.memory.session(constants.values()):
            bound = executable._views(constants, constant=True)
            return Prepared(executable, bound, thread_count(threads))

    def _with_constants(self, names: Collection[str]) -> Executable:
        """The same program, compiled with these arguments declared constant as well."""
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

    def _run(
        self,
        calls: CallPlans,
        given: Mapping[str, object],
        bound: Mapping[SSAValue, ArrayView],
        known: Mapping[SSAValue, ArrayView],
        out: object,
        threads: int | None,
    ) -> Array | tuple[Array, ...]:
        arrays = tuple(given.values())
        repeated = calls.call(arrays, out, threads)
        if repeated is not None:
            return repeated
        self._forget_reports()
        with self.memory.session(arrays):
            inputs = self._views(given)
            outputs = self._outputs(out)
            call = _Call(self, {**bound, **inputs}, outputs, known, thread_count(threads))
            results = call.run()
        calls.learn(arrays, out, list(inputs.values()), outputs, call.notes, self._plan.results)
        return results[0] if len(results) == 1 else tuple(results)

    def _forget_reports(self) -> None:
        if not isinstance(self.library, KernelLibrary):
            self.library.reports.clear()
            self.library.launched.clear()

    def _given(
        self, arrays: Sequence[object], named: Mapping[str, object], names: Sequence[str] | None = None
    ) -> dict[str, object]:
        """The arguments that are not bound already, by their names, in order. Raises InputError."""
        names = self._argument_names if names is None else names
        given: dict[str, object] = dict(zip(names, arrays, strict=False))
        if len(arrays) == len(names) and not named:
            return given
        name = self.function.sym_name.data
        if len(arrays) > len(names):
            raise InputError(f"'{name}' takes {len(names)} arrays, got {len(arrays)}")
        for key, value in named.items():
            if key not in names:
                raise InputError(f"'{name}' has no argument '{key}'; there are: {', '.join(names) or 'none'}")
            if key in given:
                raise InputError(f"argument %{key} of '{name}' is given twice")
            given[key] = value
        missing = [key for key in names if key not in given]
        if missing:
            raise InputError(f"'{name}' needs arrays for {', '.join(missing)}")
        return {key: given[key] for key in names}

    def _views(self, given: Mapping[str, object], *, constant: bool = False) -> dict[SSAValue, ArrayView]:
        read = self.memory.constant if constant else self.memory.input
        views: dict[SSAValue, ArrayView] = {}
        for key, argument in zip(self.argument_names, self.function.body.block.args, strict=True):
            if key in given:
                tensor = _tensor(argument.type)
                dtype = numpy_dtype(tensor.element_type, False)
                label = f"argument %{key} of '{self.function.sym_name.data}'"
                views[argument] = read(given[key], label, dtype, tensor.get_shape())
        return views

    def _outputs(self, out: object) -> list[ArrayView] | None:
        if out is None:
            return None
        name, types = self.function.sym_name.data, list(self.function.function_type.outputs)
        given = cast("list[object]", list(out) if isinstance(out, list | tuple) else [out])  # pyright: ignore[reportUnknownArgumentType]
        if len(given) != len(types):
            raise InputError(f"'{name}' has {len(types)} results, got {len(given)} arrays as `out`")
        views: list[ArrayView] = []
        for number, (value, type) in enumerate(zip(given, types, strict=True)):
            tensor = _tensor(type)
            dtype = numpy_dtype(tensor.element_type, False)
            label = f"result {number} of '{name}'"
            views.append(self.memory.output(value, label, dtype, tensor.get_shape()))
        return views


class Prepared:
    """An executable with some of its arguments bound, and what depends on those alone computed.

    Call it with the others.
    """

    def __init__(self, executable: Executable, bound: Mapping[SSAValue, ArrayView], threads: int):
        self.executable = executable
        self._bound = dict(bound)
        arguments = zip(executable.argument_names, executable.function.body.block.args, strict=True)
        self._names = [name for name, argument in arguments if argument not in bound]
        executable._forget_reports()  # pyright: ignore[reportPrivateUsage]
        self._known = _Call(executable, self._bound, None, {}, threads).constants()
        # Calls may come from other threads, and on a GPU to other streams.
        executable.memory.synchronize()
        self._calls = plans_of(executable._options, self._bound, self._known)  # pyright: ignore[reportPrivateUsage]

    def __call__(
        self, *arrays: object, out: object = None, threads: int | None = None, **named: object
    ) -> Array | tuple[Array, ...]:
        """Run the program on the arguments that are not bound. Raises InputError and MemoryError."""
        given = self.executable._given(arrays, named, self._names)  # pyright: ignore[reportPrivateUsage]
        return self.executable._run(self._calls, given, self._bound, self._known, out, threads)  # pyright: ignore[reportPrivateUsage]

    def profile(
        self, *arrays: object, threads: int | None = None, runs: int | None = None, **named: object
    ) -> Profile:
        """As `Executable.profile`, for the arguments that are not bound."""
        given = self.executable._given(arrays, named, self._names)  # pyright: ignore[reportPrivateUsage]
        own, other = self.executable, self.executable.watched
        pairs = zip(own.function.body.block.args, other.function.body.block.args, strict=True)
        bound: dict[SSAValue, ArrayView] = {
            there: self._bound[here] for here, there in pairs if here in self._bound
        }
        count = thread_count(threads)
        views = {**self._bound, **own._views(given)}  # pyright: ignore[reportPrivateUsage]
        return profile_of(own, self, Prepared(other, bound, count), given, views, count, runs)


def _restore(text: str, options: CompileOptions, callbacks: dict[str, Callback]) -> Executable:
    return Executable(parse(text), options, callbacks)


def _tensor(type: Attribute) -> TensorType[Attribute]:
    if not isinstance(type, TensorType):
        raise InputError(f"only arrays can be given or taken, got the type {type}")
    return cast("TensorType[Attribute]", type)


@dataclass
class _Call:
    """One run of an executable."""

    executable: Executable
    inputs: Mapping[SSAValue, ArrayView]
    outputs: list[ArrayView] | None
    known: Mapping[SSAValue, ArrayView]
    """Values that were computed when constants were bound."""
    threads: int
    given: list[ArrayView] = field(default_factory=list[ArrayView])
    """Arrays that the caller has, or will have."""
    notes: Notes = field(default_factory=Notes)

    def constants(self) -> dict[SSAValue, ArrayView]:
        """The values that depend on the inputs at hand alone, which are not all of the program's."""
        values = dict(self.inputs)
        extents = self._extents(values)
        found: dict[SSAValue, ArrayView] = {}
        done: set[Operation] = set()
        for step in self.executable._plan.steps:  # pyright: ignore[reportPrivateUsage]
            op = step.op if isinstance(step, Launch) else step
            if not op.operands or any(value not in values for value in op.operands):
                continue
            if isinstance(step, Launch):
                self._launch(step, values, {}, extents)
            else:
                self._evaluate(step, values, copy=True)
            done.add(op)
            found.update((result, values[result]) for result in op.results)
        results = self.executable._plan.results  # pyright: ignore[reportPrivateUsage]
        for value, view in found.items():
            # What only other constants are made from, such as a weight before it is packed, is given back.
            if value not in results and all(use.operation in done for use in value.uses):
                found[value] = replace(view, pointer=0, shape=(0,), strides=(1,), owner=None)
        return found

    def _extents(self, values: Mapping[SSAValue, ArrayView]) -> Extents:
        """What the arrays that are there before the first step say of all dims."""
        extents = Extents()
        for step in self.executable._plan.steps:  # pyright: ignore[reportPrivateUsage]
            if isinstance(step, Launch):
                for position, value in enumerate(step.op.inputs):
                    if value in values:
                        extents.learn(step, position, values[value].shape)
        return extents

    def run(self) -> list[Array]:
        plan = self.executable._plan  # pyright: ignore[reportPrivateUsage]
        self.given += (*self.inputs.values(), *self.known.values())
        kept = {value: view for value, view in self.known.items() if view.owner is not None}
        values: dict[SSAValue, ArrayView] = {**self.inputs, **kept}
        targets: dict[SSAValue, ArrayView] = {}
        if self.outputs is not None:
            refuse_overlap(self.outputs, list(self.inputs.values()))
            for value, view in zip(plan.results, self.outputs, strict=True):
                targets.setdefault(value, view)
        extents = self._extents(values)
        for number, step in enumerate(plan.steps):
            op = step.op if isinstance(step, Launch) else step
            if op.results and all(result in self.known for result in op.results):
                continue
            if isinstance(step, Launch):
                self._launch(step, values, targets, extents)
            else:
                self._evaluate(step, values)
            for value in plan.last_uses.get(number, ()):
                values.pop(value, None)
        return [self._result(index, values[value]) for index, value in enumerate(plan.results)]

    def _launch(
        self,
        launch: Launch,
        values: dict[SSAValue, ArrayView],
        targets: Mapping[SSAValue, ArrayView],
        extents: Extents,
    ) -> None:
        op = launch.op
        for position, value in enumerate(op.inputs):
            if value not in self.inputs:  # arguments have told their extents before
                extents.learn(launch, position, values[value].shape)
        lengths = extents.of(launch)
        self.executable.library.check(launch, lengths, self.threads)
        arrays = [values[value] for value in op.inputs]
        for number, result in enumerate(op.results_):
            shape = extents.shape(launch, number, lengths)
            label = f"%{result.name_hint or 'result'} of '{launch.name}'"
            target = targets.get(result)
            if target is not None and list(target.shape) != shape:
                raise InputError(f"{target.label} has shape {list(target.shape)}, expected {shape}")
            if target is None:
                target = self.executable.memory.new(label, shape, _tensor(result.type))
                if isinstance(_tensor(result.type).encoding, kernel.PackedAttr):
                    # Not bound: a plan knows neither how large it is, nor that it must be zero.
                    self.notes.repeatable = False
            values[result] = target
            arrays.append(target)
        self.executable.library.launch(launch, arrays, lengths, self.threads, self.notes)

    def _evaluate(self, op: Operation, values: dict[SSAValue, ArrayView], *, copy: bool = False) -> None:
        callbacks = self.executable._callbacks  # pyright: ignore[reportPrivateUsage]
        operands = [values[value] for value in op.operands]
        results = self.executable.memory.evaluate(op, operands, callbacks, copy)
        for value, view in zip(op.results, results, strict=True):
            values[value] = view
            self.notes.evaluated(op, [values[operand] for operand in op.operands], values[value])
            # It may be a view of an operand, or be read-only: as a result it is copied.
            self.given.append(values[value])

    def _result(self, index: int, view: ArrayView) -> Array:
        """A result as an array of its own: what was an argument, or is in another place than wanted, is
        copied.
        """
        memory = self.executable.memory
        wanted = None if self.outputs is None else self.outputs[index]
        if wanted is not None and wanted is not view:
            memory.assign(wanted, view)
            return memory.result(wanted)
        if wanted is not None or not any(view is other for other in self.given):
            self.given.append(view)
            return memory.result(view)
        return memory.copied(view)


@overload
def compile_program(
    module: ModuleOp | str | os.PathLike[str],
    *,
    target: str = "cpu",
    entry: str | None = None,
    pipeline: str | None = None,
    constants: Sequence[str] = (),
    use_cache: bool = True,
    callbacks: Mapping[str, Callback] | None = None,
    choose: str | None = None,
    tune: float | None = None,
    progress: bool | None = None,
    cuda: CudaOptions | None = None,
    dims: None = None,
) -> Executable: ...
@overload
def compile_program(
    module: ModuleOp | str | os.PathLike[str],
    *,
    target: str = "cpu",
    entry: str | None = None,
    pipeline: str | None = None,
    constants: Sequence[str] = (),
    use_cache: bool = True,
    callbacks: Mapping[str, Callback] | None = None,
    choose: str | None = None,
    tune: float | None = None,
    progress: bool | None = None,
    cuda: CudaOptions | None = None,
    dims: Ranges,
) -> RangedExecutable: ...
def compile_program(
    module: ModuleOp | str | os.PathLike[str],
    *,
    target: str = "cpu",
    entry: str | None = None,
    pipeline: str | None = None,
    constants: Sequence[str] = (),
    use_cache: bool = True,
    callbacks: Mapping[str, Callback] | None = None,
    choose: str | None = None,
    tune: float | None = None,
    progress: bool | None = None,
    cuda: CudaOptions | None = None,
    dims: Ranges | None = None,
) -> Executable | RangedExecutable:
    """Compile a function of a program for a target, `cpu`, `cuda` or `emulator`; `bb.compile`.

    `module` is a program, its text, or the path of its file, at any level: arrays, blocks or kernels. `entry`
    names the function where there are several public ones. `pipeline` replaces the target's default passes,
    of which a program on blocks or kernels gets those that it has not gone through. With `use_cache=False`
    the C++ is compiled for this process alone. `callbacks` are the functions that `array.custom` calls.
    `constants` names arguments that are the same in every call (as the attribute `bb.constant` on them does):
    what depends on them alone gets kernels of its own, which `Executable.prepare` runs once, and a call
    without it every time. `cuda` says how kernels for a GPU are compiled, and run on the emulator.

    How the program is fused and cut into blocks is what was measured to be best for it on this machine, if
    that is in the user's cache; else `tune` measures for about so many seconds, and keeps what it finds there
    (`progress=False`: without a bar on the terminal). Without either the default pipeline's rules decide, or
    with `choose="model"` the cost model; with `choose="rules"` they do whatever was measured.

    `dims` gives ranges to unknown extents, as `{"M": (1, 8)}` or `{"M": [(1, 8), (9, 512)]}`: the program is
    compiled once for each, as is best there, and a call takes what was compiled for its extents. A range from
    few rows to many is cut in two. Each range is tuned by itself, at its largest extent.

    Raises InputError (no such function or target, no device), PipelineError (passes that are unknown, or that
    leave something else than kernels), HostCompilerError (no C++ compiler, or it refuses the source), and
    what the passes and `parse` raise.
    """
    if target not in COMPILED:
        raise InputError(f"programs are compiled for the targets {', '.join(COMPILED)}, not for '{target}'")
    program = module if isinstance(module, ModuleOp) else parse(module)
    if constants:
        program = program.clone()
        declare_constants(select_function(program, entry), constants)
    if pipeline is not None and (tune is not None or choose is not None):
        raise InputError("tune and choose decide which passes run, so they have no meaning with a pipeline")
    if target != "cpu" and (tune is not None or choose is not None):
        raise InputError(f"tune and choose belong to the target cpu, not to {target}")

    def compiled(program: ModuleOp) -> Executable:
        choice = None
        if pipeline is None and target == "cpu":
            choice = choice_for(program, Request(entry, choose, tune, use_cache, progress, callbacks))
        options = CompileOptions(
            entry, pipeline, (), use_cache, choice=choice, target=target, cuda=cuda or CudaOptions()
        )
        return Executable(program, options, callbacks)

    return compiled(program) if dims is None else compile_ranges(program, entry, dims, compiled)


def compile_all(
    module: ModuleOp | str | os.PathLike[str],
    *,
    pipeline: str | None = None,
    sanitize: Sequence[str] = (),
    use_cache: bool = True,
    counting: bool = False,
    target: str = "cpu",
    cuda: CudaOptions | None = None,
) -> dict[str, Executable]:
    """Compile all public functions of a program into one library; the functions by name. See
    `compile_program`.
    """
    program = module if isinstance(module, ModuleOp) else parse(module)
    options = CompileOptions(
        None, pipeline, tuple(sanitize), use_cache, counting, target=target, cuda=cuda or CudaOptions()
    )
    library = library_of(program, options)
    names = [function.sym_name.data for function in public_functions(library.module)]
    return {name: Executable(program, replace(options, entry=name), library=library) for name in names}
