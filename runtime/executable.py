"""Programs compiled for the CPU, to call with arrays."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.dialects.func import CallOp, FuncOp
from xdsl.ir import Attribute, Operation, SSAValue

from ..dialects import kernel
from ..lowering.emit_cpp import emit_cpp, entry_name
from ..lowering.pipelines import PIPELINES, PassPipeline
from ..lowering.programs import parse
from .array_interpreter import Callback, evaluate_array_op
from .arrays import ArrayView, input_view, output_view, refuse_overlap, view_of
from .inputs import arguments_of
from .interpreter import InputError, public_functions, select_function
from .launch_plan import Extents, Launch, Plan, plan_of
from .memory import allocate
from .scalar_semantics import Array, numpy_dtype
from .shared_objects import compile_shared_object, load_shared_object, native_directory
from .threads import thread_count

Index = ctypes.c_int64


class _ArrayStruct(ctypes.Structure):
    """`bb::Array` of the tile library."""

    _fields_ = [("data", ctypes.c_void_p), ("strides", ctypes.POINTER(Index))]


@dataclass(frozen=True)
class CompileOptions:
    """How a program was compiled; with its text, all that another process needs to do it again."""

    entry: str | None = None
    pipeline: str | None = None
    sanitize: tuple[str, ...] = ()
    use_cache: bool = True


class KernelLibrary:
    """The kernels of a program, lowered and compiled: of one function of it, or of all."""

    def __init__(self, program: ModuleOp, options: CompileOptions):
        self.module = program.clone()
        launches = any(isinstance(op, kernel.LaunchOp) for op in self.module.walk())
        default = "" if launches else PIPELINES["cpu"]
        pipeline = default if options.pipeline is None else options.pipeline
        if options.entry is not None:
            select_function(self.module, options.entry)
            _keep_only(self.module, options.entry)
        PassPipeline(pipeline).run(self.module)
        kernels = kernels_of(self.module)
        self.source = emit_cpp(kernels)
        self.path: Path | None = None
        self.entries: dict[str, Any] = {}
        if not kernels:
            return
        self.path = compile_shared_object(
            self.source,
            name=options.entry or "program",
            native=sorted(native_directory().glob("*.cpp")),
            sanitize=options.sanitize,
            use_cache=options.use_cache,
        )
        loaded = load_shared_object(self.path)
        for each in kernels:
            name = each.sym_name.data
            entry = getattr(loaded, entry_name(name))
            entry.restype = ctypes.c_int
            entry.argtypes = [ctypes.POINTER(_ArrayStruct), ctypes.POINTER(Index), ctypes.c_int]
            self.entries[name] = entry


def _keep_only(module: ModuleOp, entry: str) -> None:
    """Drop the other functions of a program, but for those that may be called."""
    if any(isinstance(op, CallOp) for op in module.walk()):
        return
    for op in list(module.body.block.ops):
        if isinstance(op, FuncOp) and op.sym_name.data != entry:
            op.detach()
            op.erase()


class Executable:
    """A function of a program, compiled for the CPU.

    Call it with arrays, in the order of the arguments or by their names: numpy arrays, or anything on the CPU
    with `__dlpack__`. Any strides will do, without copies. It gives a numpy array, or a tuple where there is not
    one result; `out` takes arrays to write to instead. It holds no state that a call changes: threads may share
    it. Pickling keeps the program, and compiles it again.
    """

    def __init__(
        self,
        program: ModuleOp,
        options: CompileOptions = CompileOptions(),
        callbacks: Mapping[str, Callback] | None = None,
        library: KernelLibrary | None = None,
    ):
        """Compile a function of a program of any level, or take it from a library that has been compiled.

        Raises InputError (no such function), HostCompilerError, and what the passes raise.
        """
        self._text = str(program)
        self._options = options
        self._callbacks = dict(callbacks or {})
        self._library = KernelLibrary(program, options) if library is None else library
        self.module = self._library.module
        """The program as kernels."""
        self.function = select_function(self.module, options.entry)
        self._plan: Plan = plan_of(self.module, self.function)
        self._constants: dict[SSAValue, ArrayView] = {}

    @property
    def source(self) -> str:
        """The C++ source of the kernels."""
        return self._library.source

    def __reduce__(self) -> tuple[object, ...]:
        return _restore, (self._text, self._options, self._callbacks)

    @property
    def argument_names(self) -> list[str]:
        """The names of the arguments, in order."""
        return [argument.name for argument in arguments_of(self.function)]

    def __call__(
        self, *arrays: object, out: object = None, threads: int | None = None, **named: object
    ) -> Array | tuple[Array, ...]:
        """Run the program. Raises InputError for arrays that do not fit, and MemoryError."""
        inputs = self._inputs(arrays, named)
        outputs = self._outputs(out)
        results = _Call(self, inputs, outputs, thread_count(threads)).run()
        return results[0] if len(results) == 1 else tuple(results)

    def _inputs(self, arrays: Sequence[object], named: Mapping[str, object]) -> list[ArrayView]:
        name, names = self.function.sym_name.data, self.argument_names
        given: dict[str, object] = dict(zip(names, arrays, strict=False))
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
        views: list[ArrayView] = []
        for key, type in zip(names, self.function.function_type.inputs, strict=True):
            tensor = _tensor(type)
            dtype = numpy_dtype(tensor.element_type, False)
            views.append(input_view(given[key], f"argument %{key} of '{name}'", dtype, tensor.get_shape()))
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
            views.append(output_view(value, f"result {number} of '{name}'", dtype, tensor.get_shape()))
        return views


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
    inputs: list[ArrayView]
    outputs: list[ArrayView] | None
    threads: int
    given: list[ArrayView] = field(default_factory=list[ArrayView])
    """Arrays that the caller has, or will have."""

    def run(self) -> list[Array]:
        plan = self.executable._plan  # pyright: ignore[reportPrivateUsage]
        self.given += self.inputs
        values: dict[SSAValue, ArrayView] = dict(zip(plan.function.body.block.args, self.inputs, strict=True))
        targets: dict[SSAValue, ArrayView] = {}
        if self.outputs is not None:
            refuse_overlap(self.outputs, self.inputs)
            for value, view in zip(plan.results, self.outputs, strict=True):
                targets.setdefault(value, view)
        extents = Extents()
        for step in plan.steps:
            if isinstance(step, Launch):
                for position, value in enumerate(step.op.inputs):
                    if value in values:
                        extents.learn(step, position, values[value].shape)
        for number, step in enumerate(plan.steps):
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
        known = self.executable._constants  # pyright: ignore[reportPrivateUsage]
        op = launch.op
        if all(result in known for result in op.results_):
            values.update((result, known[result]) for result in op.results_)
            return
        first_output = len(op.inputs)
        for position, value in enumerate(op.inputs):
            extents.learn(launch, position, values[value].shape)
        arrays = [values[value] for value in op.inputs]
        for number, result in enumerate(op.results_):
            axes = tuple(tuple(dim.data for dim in axis) for axis in op.axes.data[number])
            shape = extents.shape(launch, axes, first_output + number)
            label = f"%{result.name_hint or 'result'} of '{launch.name}'"
            target = targets.get(result)
            if target is not None and list(target.shape) != shape:
                raise InputError(f"{target.label} has shape {list(target.shape)}, expected {shape}")
            if target is None:
                dtype = numpy_dtype(_tensor(result.type).element_type, False)
                target = view_of(allocate(label, shape, dtype), label)
            values[result] = target
            arrays.append(target)
        lengths = extents.of(launch)
        strides = [(Index * max(1, len(view.strides)))(*view.strides) for view in arrays]
        structs = (_ArrayStruct * max(1, len(arrays)))(
            *(
                _ArrayStruct(view.pointer, ctypes.cast(own, ctypes.POINTER(Index)))
                for view, own in zip(arrays, strides, strict=True)
            )
        )
        entry = self.executable._library.entries[launch.name]  # pyright: ignore[reportPrivateUsage]
        status = entry(structs, (Index * max(1, len(lengths)))(*lengths), self.threads)
        if status:
            raise MemoryError(f"'{launch.name}' needs more scratch memory than there is")

    def _evaluate(self, op: Operation, values: dict[SSAValue, ArrayView]) -> None:
        callbacks = self.executable._callbacks  # pyright: ignore[reportPrivateUsage]
        operands = [values[value].numpy() for value in op.operands]
        results = evaluate_array_op(op, operands, float64=False, callbacks=callbacks)
        for value, array in zip(op.results, results, strict=True):
            values[value] = view_of(array, f"%{value.name_hint or 'value'}")

    def _result(self, index: int, view: ArrayView) -> Array:
        """A result as an array of its own: what was an argument, or is in another place than wanted, is copied."""
        wanted = None if self.outputs is None else self.outputs[index]
        if wanted is not None and wanted is not view:
            wanted.numpy()[...] = view.numpy()
            return wanted.numpy()
        array = view.numpy()
        if wanted is not None or not any(view is other for other in self.given):
            self.given.append(view)
            return array
        return array.copy()


def compile_program(
    module: ModuleOp | str,
    *,
    target: str = "cpu",
    entry: str | None = None,
    pipeline: str | None = None,
    use_cache: bool = True,
    callbacks: Mapping[str, Callback] | None = None,
) -> Executable:
    """Compile a function of a program for a target; `bb.compile`.

    `module` is a program, its text, or the path of its file, at any level: arrays, blocks or kernels. `entry`
    names the function where there are several public ones; `pipeline` replaces the target's default passes.
    Raises InputError, HostCompilerError, and what the passes and `parse` raise.
    """
    if target != "cpu":
        raise InputError(f"programs are compiled for the target cpu, not '{target}'")
    program = module if isinstance(module, ModuleOp) else parse(module)
    return Executable(program, CompileOptions(entry, pipeline, (), use_cache), callbacks)


def compile_all(
    module: ModuleOp | str,
    *,
    pipeline: str | None = None,
    sanitize: Sequence[str] = (),
    use_cache: bool = True,
) -> dict[str, Executable]:
    """Compile all public functions of a program into one library; the functions by name. See `compile_program`."""
    program = module if isinstance(module, ModuleOp) else parse(module)
    library = KernelLibrary(program, CompileOptions(None, pipeline, tuple(sanitize), use_cache))
    names = [function.sym_name.data for function in public_functions(library.module)]
    return {
        name: Executable(program, CompileOptions(name, pipeline, tuple(sanitize), use_cache), library=library)
        for name in names
    }


def kernels_of(module: ModuleOp) -> list[kernel.FuncOp]:
    """The kernels of a module."""
    return [op for op in module.walk() if isinstance(op, kernel.FuncOp)]
