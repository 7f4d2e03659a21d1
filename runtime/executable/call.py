"""Calls of compiled functions: the first one with arrays of some layout goes step by step, others follow its
plan.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import cast

from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Operation, SSAValue

from ...dialects import kernel
from ..arrays.dtypes import Array, numpy_dtype
from ..arrays.views import ArrayView, refuse_overlap
from ..calls.call_plan import CallPlans, CallRecord, Views
from ..calls.counters import Profiler
from ..calls.extents import Extents, Ties, ties_of
from ..calls.launch_plan import Launch, Plan, plan_of
from ..calls.library import Library
from ..calls.memory import ArrayMemory
from ..calls.target import Target
from ..errors import InputError
from ..host.threads import thread_count
from ..interpreter.arrays import Callback
from ..program.inputs import arguments_of

Results = Array | tuple[Array, ...]
"""One array, or a tuple where there is not one result."""


@dataclass(frozen=True)
class CompiledFunction:
    """A function of a program with its library; it is the same for all calls."""

    plan: Plan
    ties: Ties
    library: Library
    memory: ArrayMemory
    callbacks: Mapping[str, Callback]
    plans: Callable[[Views, Views], CallPlans]
    """Makes the plans of repeated calls, from bound arrays and the values computed from them."""
    names: tuple[str, ...]
    """Names of the arguments, kept here because reading them from a program takes longer than a small kernel
    runs.
    """

    @classmethod
    def of(
        cls, function: FuncOp, library: Library, target: Target, callbacks: Mapping[str, Callback]
    ) -> CompiledFunction:
        """Plan a function of a library's program. Raises OpError for an operation that no CPU can run."""
        plan = plan_of(library.module, function)
        names = tuple(argument.name for argument in arguments_of(function))
        return cls(plan, ties_of(plan), library, target.memory(), callbacks, target.plans, names)

    @property
    def function(self) -> FuncOp:
        """The function, as launches of kernels."""
        return self.plan.function

    @property
    def name(self) -> str:
        """The function's name."""
        return self.function.sym_name.data

    @property
    def arguments(self) -> Mapping[str, SSAValue]:
        """The arguments by their names, in order."""
        return dict(zip(self.names, self.function.body.block.args, strict=True))

    def inputs(self, given: Mapping[str, object], *, constant: bool = False) -> dict[SSAValue, ArrayView]:
        """Return views of arrays for arguments, by their names. Raises InputError."""
        read = self.memory.constant if constant else self.memory.input
        views: dict[SSAValue, ArrayView] = {}
        for name, argument in self.arguments.items():
            if name in given:
                tensor = _tensor(argument.type)
                dtype = numpy_dtype(tensor.element_type, False)
                label = f"argument %{name} of '{self.name}'"
                views[argument] = read(given[name], label, dtype, tensor.get_shape())
        return views

    def outputs(self, out: object) -> list[ArrayView] | None:
        """Return views of the arrays for the results; None where there are none. Raises InputError."""
        if out is None:
            return None
        types = list(self.function.function_type.outputs)
        given = cast("list[object]", list(out) if isinstance(out, list | tuple) else [out])  # pyright: ignore[reportUnknownArgumentType]
        if len(given) != len(types):
            raise InputError(f"'{self.name}' has {len(types)} results, got {len(given)} arrays as `out`")
        views: list[ArrayView] = []
        for number, (value, type) in enumerate(zip(given, types, strict=True)):
            tensor = _tensor(type)
            dtype = numpy_dtype(tensor.element_type, False)
            label = f"result {number} of '{self.name}'"
            views.append(self.memory.output(value, label, dtype, tensor.get_shape()))
        return views

    def bind(self, bound: Views, threads: int) -> BoundFunction:
        """Bind arguments, and compute the values that depend on them alone. Raises InputError and
        MemoryError.
        """
        self.library.begin_call()
        known = Call(self, bound, None, {}, threads).constants()
        # Calls may come from other threads, and on a GPU to other streams.
        self.memory.synchronize()
        return BoundFunction(self, bound, known)


class BoundFunction:
    """A compiled function with some of its arguments bound, or none, to be called with the others.

    `known` are the values that were computed when the arguments were bound.
    """

    def __init__(self, function: CompiledFunction, bound: Views, known: Views):
        self.function = function
        self.names = tuple(name for name, argument in function.arguments.items() if argument not in bound)
        """Names of the arguments that are not bound."""
        self._bound = bound
        self._known = known
        self._plans = function.plans(bound, known)

    @property
    def plan(self) -> Plan:
        """The steps of a call."""
        return self.function.plan

    @property
    def program(self) -> ModuleOp:
        """The program before the passes."""
        return self.function.library.given

    @property
    def use_cache(self) -> bool:
        """True if what is compiled is kept in the user's cache."""
        return self.function.library.options.use_cache

    @property
    def profiler(self) -> Profiler | None:
        """Reader of the timers in the kernels, if they were built with any."""
        return self.function.library.profiler

    def in_order(self, arrays: tuple[object, ...], named: Mapping[str, object]) -> tuple[object, ...]:
        """Return arguments in order, given by position or by name. Raises InputError."""
        if len(arrays) + len(named) != len(self.names):
            raise self._refusal(arrays, named)
        if not named:
            return arrays
        try:
            return (*arrays, *[named[name] for name in self.names[len(arrays) :]])
        except KeyError:
            raise self._refusal(arrays, named) from None

    def _refusal(self, arrays: tuple[object, ...], named: Mapping[str, object]) -> InputError:
        """Return the error for arguments that are too many, unknown, given twice, or missing."""
        name, names = self.function.name, self.names
        if len(arrays) > len(names):
            return InputError(f"'{name}' takes {len(names)} arrays, got {len(arrays)}")
        by_position = names[: len(arrays)]
        for key in named:
            if key not in names:
                known = ", ".join(names) or "none"
                return InputError(f"'{name}' has no argument '{key}'; there are: {known}")
            if key in by_position:
                return InputError(f"argument %{key} of '{name}' is given twice")
        missing = [key for key in names if key not in by_position and key not in named]
        return InputError(f"'{name}' needs arrays for {', '.join(missing)}")

    def run(self, arrays: tuple[object, ...], out: object, threads: int | None) -> Results:
        """Run the function on arrays for the arguments that are not bound, in order.

        `out` are arrays for the results, or None for new ones. Raises InputError and MemoryError.
        """
        repeated = self._plans.call(arrays, out, threads)
        if repeated is not None:
            return repeated
        function = self.function
        function.library.begin_call()
        with function.memory.session(arrays):
            inputs = self._views(arrays)
            outputs = function.outputs(out)
            call = Call(function, {**self._bound, **inputs}, outputs, self._known, thread_count(threads))
            results = call.run()
        self._plans.learn(arrays, out, list(inputs.values()), outputs, call.record, function.plan.results)
        return results[0] if len(results) == 1 else tuple(results)

    def inputs(self, arrays: tuple[object, ...]) -> list[Array]:
        """Return all arguments of a call on the CPU as numpy arrays, bound ones too. Raises InputError."""
        views = {**self._bound, **self._views(arrays)}
        return [views[argument].numpy() for argument in self.function.arguments.values()]

    def moved_to(self, other: CompiledFunction, threads: int) -> BoundFunction:
        """Bind the same arrays in another build of the function."""
        pairs = zip(self.function.arguments.values(), other.arguments.values(), strict=True)
        return other.bind({new: self._bound[old] for old, new in pairs if old in self._bound}, threads)

    def _views(self, arrays: tuple[object, ...]) -> dict[SSAValue, ArrayView]:
        return self.function.inputs(dict(zip(self.names, arrays, strict=True)))


def _tensor(type: Attribute) -> TensorType[Attribute]:
    if not isinstance(type, TensorType):
        raise InputError(f"only arrays can be given or taken, got the type {type}")
    return cast("TensorType[Attribute]", type)


@dataclass
class Call:
    """One run of a function, step by step: it checks everything, and records what can be repeated."""

    function: CompiledFunction
    inputs: Views
    outputs: list[ArrayView] | None
    known: Views
    """Values that were computed when constants were bound."""
    threads: int
    given: list[ArrayView] = field(default_factory=list[ArrayView])
    """Arrays of the caller, passed or to be returned."""
    record: CallRecord = field(default_factory=CallRecord)

    def constants(self) -> dict[SSAValue, ArrayView]:
        """Compute the values that depend only on the inputs of this call, which are some of the program's."""
        plan = self.function.plan
        values = dict(self.inputs)
        extents = self._extents(values)
        found: dict[SSAValue, ArrayView] = {}
        done: set[Operation] = set()
        for step in plan.steps:
            op = step.op if isinstance(step, Launch) else step
            if not op.operands or any(value not in values for value in op.operands):
                continue
            if isinstance(step, Launch):
                self._launch(step, values, {}, extents)
            else:
                self._evaluate(step, values, copy=True)
            done.add(op)
            found.update((result, values[result]) for result in op.results)
        for value, view in found.items():
            # What only other constants are made from, such as a weight before it is packed, is given back.
            if value not in plan.results and all(use.operation in done for use in value.uses):
                found[value] = replace(view, pointer=0, shape=(0,), strides=(1,), owner=None)
        return found

    def _extents(self, values: Views) -> Extents:
        """Return the extents that arrays from before the first step give to all dims.

        Raises InputError if two arrays disagree.
        """
        extents = Extents(self.function.ties)
        for _ in range(2):  # what one array tells may be needed to understand another
            for launch in self.function.plan.launches:
                for position, value in enumerate(launch.op.inputs):
                    if value in values:
                        view = values[value]
                        extents.learn(launch, position, view.shape, view.label)
        return extents

    def run(self) -> list[Array]:
        """Run all steps. Returns the results. Raises InputError and MemoryError."""
        plan = self.function.plan
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
        self, launch: Launch, values: dict[SSAValue, ArrayView], targets: Views, extents: Extents
    ) -> None:
        op, library = launch.op, self.function.library
        for position, value in enumerate(op.inputs):
            if value not in self.inputs:  # arguments have told their extents before
                extents.learn(launch, position, values[value].shape, values[value].label)
        lengths = extents.of(launch)
        library.check(launch, lengths, self.threads)
        arrays = [values[value] for value in op.inputs]
        for number, result in enumerate(op.results_):
            shape = extents.shape(launch, number, lengths)
            label = f"%{result.name_hint or 'result'} of '{launch.name}'"
            target = targets.get(result)
            if target is not None and list(target.shape) != shape:
                raise InputError(f"{target.label} has shape {list(target.shape)}, expected {shape}")
            if target is None:
                target = self.function.memory.new(label, shape, _tensor(result.type))
                if isinstance(_tensor(result.type).encoding, kernel.PackedAttr):
                    # Not bound: a plan knows neither how large it is, nor that it must be zero.
                    self.record.repeatable = False
            values[result] = target
            arrays.append(target)
        library.launch(launch, arrays, lengths, self.threads, self.record)

    def _evaluate(self, op: Operation, values: dict[SSAValue, ArrayView], *, copy: bool = False) -> None:
        operands = [values[value] for value in op.operands]
        results = self.function.memory.evaluate(op, operands, self.function.callbacks, copy)
        for value, view in zip(op.results, results, strict=True):
            values[value] = view
            self.record.add_evaluated(op, operands, view)
            # It may be a view of an operand, or be read-only: as a result it is copied.
            self.given.append(view)

    def _result(self, index: int, view: ArrayView) -> Array:
        """Return a result as an array of its own.

        An argument is copied, and so is an array that lies elsewhere than requested.
        """
        memory = self.function.memory
        wanted = None if self.outputs is None else self.outputs[index]
        if wanted is not None and wanted is not view:
            memory.assign(wanted, view)
            return memory.result(wanted)
        if wanted is not None or not any(view is other for other in self.given):
            self.given.append(view)
            return memory.result(view)
        return memory.copied(view)
