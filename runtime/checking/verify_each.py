"""`bb-opt --verify-each`: interprets the program after every pass of a pipeline, and checks every rewrite.

Everything is computed in float64. Each public function runs on random arrays and on hard ones, in blocks that
leave remainders, and is compared with itself before the first pass. Inside `block-fuse` and `block-apply`
each rewrite is checked as well (`audit.py`).
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, cast

import numpy as np
from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Operation
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern
from xdsl.utils.hints import isa

from ...dialects import block
from ...dialects.array import DYNAMIC
from ...dialects.array import CustomOp as ArrayCustomOp
from ...dialects.attributes import SNAPSHOT
from ...dialects.diagnostics import OpWarning
from ...dialects.scalar import is_float
from ...lowering.pipelines import Callback, PassPipeline
from ...passes.block.apply import BlockApplyPass
from ...passes.block.fuse import BlockFusePass
from ...passes.block.stabilize.needs import has_work
from ...passes.rules.law import AnyLaw, Auditor, Check
from ..arrays.dtypes import Array
from ..errors import InputError
from ..interpreter.arrays import Callback as Opaque
from ..interpreter.functions import InterpreterError, interpret
from ..program.functions import public_functions
from ..program.inputs import arguments_of, extents_by_name, random_inputs, result_names
from .audit import Audit, Reference, Settings
from .differences import ChangedValue, difference

TOLERANCE = 1e-9
"""Largest relative error of a result, in float64."""

LARGEST = 1 << 24
"""Elements of all arrays of a function beyond which interpreting it would take too long."""

UNKNOWN_EXTENTS = (5, 7, 4, 6, 3)
"""Values for unknown extents, in turn."""


@dataclass
class Trial:
    """Arrays of one kind for a function, and its results on them before the first pass."""

    kind: str
    inputs: list[Array]
    expected: list[Array]


@dataclass
class VerifyEach:
    """Checks the programs of one pipeline; `seed` is that of the random arrays."""

    seed: int = 0
    trials: dict[str, list[Trial]] = field(default_factory=dict[str, "list[Trial]"])
    """Trials of each public function of the program that runs through the pipeline."""
    _failed: set[str] = field(default_factory=set[str])

    def pipeline(self, pipeline: PassPipeline, callback: Callback | None = None) -> PassPipeline:
        """The same passes, checked. `callback` is called before the program is."""

        def check(before: ModulePass | None, module: ModuleOp, after: ModulePass | None) -> None:
            if callback is not None:
                callback(before, module, after)
            if before is None:
                self.begin(module)
            else:
                self.check(before, module)

        return PassPipeline([self._audited(step) for step in pipeline.passes], callback=check)

    def begin(self, module: ModuleOp) -> None:
        """Interpret a program that no pass has changed yet."""
        self.trials, self._failed = {}, set()
        for function in public_functions(module):
            name = function.sym_name.data
            try:
                self.trials[name] = list(_trials(module, function, self.seed))
            except (InputError, InterpreterError) as error:
                self._skip(function, f"{error}")

    def check(self, step: ModulePass, module: ModuleOp) -> None:
        """Compare a program with itself before the first pass. Raises ChangedValue for a changed result."""
        for function in public_functions(module):
            name = function.sym_name.data
            source = source_name(function)
            if source in self._failed:
                continue
            if source not in self.trials:
                self._skip(function, f"pass '{step.name}' added it")
                continue
            for trial in self.trials[source]:
                message = self._changed(module, function, trial)
                if message is not None:
                    raise ChangedValue(
                        function, f"pass '{step.name}' changes what @{name} gives for {trial.kind}: {message}"
                    )

    def _changed(self, module: ModuleOp, function: FuncOp, trial: Trial) -> str | None:
        try:
            got = _run(module, function, trial.inputs)
        except (InputError, InterpreterError) as error:
            return f"it cannot be interpreted any more: {error}"
        if len(got) != len(trial.expected):
            return f"it had {len(trial.expected)} results and has {len(got)}"
        # Exponentials that fusion freed from their maximum overflow until they are carried as pairs.
        strict = block.DIMS not in function.attributes or not has_work(function)
        for name, value, wanted in zip(result_names(function), got, trial.expected, strict=True):
            floor = 0.0 if trial.kind.startswith("random") else 1.0
            found, _ = difference(value, wanted, TOLERANCE, floor, strict=strict)
            if found is not None:
                return f"result %{name} differs: {found}"
        return None

    def _skip(self, function: FuncOp, reason: str) -> None:
        """Warn once that a function is not checked."""
        name = function.sym_name.data
        if name not in self._failed:
            self._failed.add(name)
            warnings.warn(
                OpWarning(function, f"'func.func' @{name} is not checked by --verify-each: {reason}"),
                stacklevel=2,
            )

    # Rewrites

    def _audited(self, step: ModulePass) -> ModulePass:
        """The same pass with its rewrites checked."""
        references: dict[str, Reference | None] = {}

        def auditor(function: FuncOp) -> Audit | None:
            name = function.sym_name.data
            if name not in references:
                references[name] = self._reference(function)
            reference = references[name]
            return None if reference is None else Audit(function, reference)

        class AuditedFuse(BlockFusePass):
            def auditor(self, function: FuncOp) -> Auditor | None:
                return auditor(function)

            def apply(self, ctx: Any, op: ModuleOp) -> None:
                references.clear()
                super().apply(ctx, op)

        class AuditedApply(BlockApplyPass):
            def auditor(self, module: ModuleOp) -> Auditor | None:
                references.clear()
                return _AuditByFunction(auditor)

        for kind, audited in ((BlockFusePass, AuditedFuse), (BlockApplyPass, AuditedApply)):
            if type(step) is kind:
                return audited(
                    **{option.name: getattr(step, option.name) for option in fields(step) if option.init}
                )
        return step

    def _reference(self, function: FuncOp) -> Reference | None:
        trials = self.trials.get(source_name(function))
        if trials:
            inputs = trials[0].inputs
        else:
            try:
                inputs = _random(function, self.seed)
            except InputError as error:
                self._skip(function, f"{error}")
                return None
        settings = Settings(inputs, block_sizes(function), opaque_functions(function), self.seed)
        return Reference(function.clone(), settings)


@dataclass
class _AuditByFunction:
    """The audits of a module's functions, each by itself. An `Auditor`."""

    make: Callable[[FuncOp], Audit | None]
    audits: dict[FuncOp, Audit | None] = field(default_factory=dict[FuncOp, "Audit | None"])

    def _of(self, site: Operation) -> Audit | None:
        function: Operation | None = site
        while function is not None and not isinstance(function, FuncOp):
            function = function.parent_op()
        if function is None or block.DIMS not in function.attributes:
            return None
        if function not in self.audits:
            self.audits[function] = self.make(function)
        return self.audits[function]

    def listen(self, rewriter: PatternRewriter) -> None:
        scope = rewriter.insertion_point.block.parent_op()
        audit = None if scope is None else self._of(scope)
        if audit is not None:
            audit.listen(rewriter)

    def fired(self, law: AnyLaw, site: Operation) -> None:
        audit = self._of(site)
        if audit is not None:
            audit.fired(law, site)

    def completed(self, pattern: RewritePattern, site: Operation) -> None:
        for audit in self.audits.values():
            if audit is not None and audit.is_listening:
                audit.completed(pattern, site)

    def refused(self, law: AnyLaw, site: Operation, check: Check) -> None:
        """Do nothing: nothing was rewritten."""

    def settle(self) -> None:
        """Do nothing: consequences of a rewrite are checked as they happen."""


def source_name(function: FuncOp) -> str:
    """The name that a function had before `block-fuse` numbered its snapshots."""
    name = function.sym_name.data
    head, separator, number = name.rpartition("_snapshot")
    return head if separator and number.isdecimal() and SNAPSHOT in function.attributes else name


def _run(module: ModuleOp, function: FuncOp, inputs: Sequence[Array]) -> list[Array]:
    with np.errstate(all="ignore"):
        return interpret(
            module,
            inputs,
            entry=function.sym_name.data,
            float64=True,
            block_sizes=block_sizes(function),
            default_block_size=3,
            callbacks=opaque_functions(module),
        ).results


def block_sizes(function: FuncOp) -> dict[str, int]:
    """Sizes for the dims whose block size is open: a full block and a shorter one if possible."""
    sizes: dict[str, int] = {}
    for name, dim in (block.declared_dims(function) or {}).items():
        extent = dim.static_extent
        if extent is None:
            sizes[name] = 3
        else:
            sizes[name] = -(-2 * extent // 3)
    return sizes


# Arrays


def _trials(module: ModuleOp, function: FuncOp, seed: int) -> Iterator[Trial]:
    """Return the arrays on which a function is checked. Raises InputError and InterpreterError."""
    elements = sum(
        int(np.prod([extent for extent in value.type.get_shape() if extent != DYNAMIC]))
        for op in function.body.ops
        for value in (*op.results, *op.operands)
        if isa(value.type, TensorType[Attribute])
    )
    if elements > LARGEST:
        raise InputError(f"its arrays have {elements} elements; {LARGEST} would be few enough")
    inputs = _random(function, seed, module)
    yield Trial(f"random arrays (seed {seed})", inputs, _run(module, function, inputs))
    for kind, changed in _hard(inputs, np.random.default_rng([seed, 1])):
        expected = _run(module, function, changed)
        harmless = all(np.isfinite(result).all() for result in expected if result.dtype.kind == "f")
        if harmless or kind != "an element of -inf":
            yield Trial(kind, changed, expected)


def _hard(inputs: Sequence[Array], rng: np.random.Generator) -> Iterator[tuple[str, list[Array]]]:
    floats = [index for index, array in enumerate(inputs) if array.dtype.kind == "f"]

    def each(change: Callable[[Array], Array]) -> list[Array]:
        return [change(array) if index in floats else array for index, array in enumerate(inputs)]

    def with_infinity(array: Array) -> Array:
        changed = array.copy()
        changed.flat[int(rng.integers(array.size))] = -np.inf
        return changed

    yield "large values", each(lambda array: 8 * array)
    yield "tiny values", each(lambda array: 1e-6 * array)
    yield (
        "equal rows",
        each(lambda array: np.broadcast_to(array[..., :1], array.shape).copy() if array.ndim else array),
    )
    for index in floats:
        changed = list(inputs)
        changed[index] = with_infinity(inputs[index])
        yield "an element of -inf", changed


def _random(function: FuncOp, seed: int, module: ModuleOp | None = None) -> list[Array]:
    """Random arrays in float64; unknown extents are small. Raises InputError."""
    unknown = sorted(extents_by_name([function]))
    by_dim = {
        name: UNKNOWN_EXTENTS[i % len(UNKNOWN_EXTENTS)]
        for i, name in enumerate(n for n in unknown if "." not in n)
    }
    known = sorted(
        {extent for argument in arguments_of(function) for extent in argument.shape if extent != DYNAMIC}
    )
    # Axes without names must often agree with each other, or with an extent that is known.
    attempts = [
        {**dict.fromkeys((n for n in unknown if "." in n), extent), **by_dim} for extent in (5, *known)
    ]
    last: Exception | None = None
    for extents in attempts if unknown else [{}]:
        extents = {n: extents[n] for n in unknown if "." not in n or not _is_named(function, n)}
        try:
            inputs = random_inputs(function, seed, extents)
            inputs = [
                array.astype(np.float64) if is_float(argument.element_type) else array
                for argument, array in zip(arguments_of(function), inputs, strict=True)
            ]
            if module is not None and unknown:
                _run(module, function, inputs)
            return inputs
        except (InputError, InterpreterError) as error:
            last = error
    raise InputError(f"no arrays for its arguments were found; the last attempt failed: {last}")


def _is_named(function: FuncOp, extent: str) -> bool:
    """True if the axis of `q.0` has dims that give its extent."""
    name, _, axis = extent.rpartition(".")
    return any(
        argument.name == name and bool(argument.dims[int(axis)]) for argument in arguments_of(function)
    )


def opaque_functions(scope: Operation) -> dict[str, Opaque]:
    """A meaning for each opaque function of a program: some smooth function of its operands."""
    found: dict[str, Opaque] = {}
    for op in scope.walk():
        if isinstance(op, ArrayCustomOp | block.CustomOp):
            found[op.callback.root_reference.data] = _opaque([_shape(result.type) for result in op.results])
    return found


def _shape(type: Attribute) -> tuple[int, ...]:
    if isinstance(type, TensorType):
        return cast("TensorType[Attribute]", type).get_shape()
    return (DYNAMIC,) * len(type.dims) if isinstance(type, block.ItemType) else ()


def _opaque(shapes: Sequence[tuple[int, ...]]) -> Opaque:
    def call(*arrays: Array, **_: object) -> list[Array]:
        total = sum(float(np.mean(array, dtype=np.float64)) * (2 + i) for i, array in enumerate(arrays))
        results: list[Array] = []
        for shape in shapes:
            like = next((array.shape for array in arrays if array.ndim == len(shape)), (1,) * len(shape))
            full = tuple(b if a == DYNAMIC else a for a, b in zip(shape, like, strict=True))
            results.append(np.cos(total + np.arange(int(np.prod(full)))).reshape(full))
        return results

    return call


def verified(pipeline: PassPipeline, seed: int = 0, callback: Callback | None = None) -> PassPipeline:
    """The same passes, with the program checked after each of them; they raise what `VerifyEach` raises."""
    return VerifyEach(seed).pipeline(pipeline, callback)
