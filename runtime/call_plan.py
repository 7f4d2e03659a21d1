"""Repeated calls: what depends only on the dtypes, extents and strides of the arrays is worked out once.

The first call with arrays of some layout takes the long way (`executable._Call`), which checks everything and
notes what it launches. From the notes comes a `CallPlan`: the structures that the kernels read, complete but
for the addresses. A later call with arrays of the same layout writes its addresses into them.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

import numpy as np
from xdsl.ir import Operation, SSAValue

from ..dialects import array
from .arrays import ArrayView, view_of
from .interpreter import InputError
from .memory import ALIGNMENT, allocate, data_address
from .scalar_semantics import BFLOAT16, Array
from .threads import thread_count

_MOST_PLANS = 128
"""Layouts that an executable remembers; then it forgets them all."""

_KEPT_BYTES = 2**26
"""The largest memory for intermediate arrays that is kept for the next call."""

_BYTES = np.dtype(np.uint8)

Key = tuple[object, ...]
"""Layout of one call's arrays: dtype, extents, strides of each."""
Read = tuple[Key, list[int], list[Any]]
"""The layout of a call's arrays, their addresses, and what holds them."""


@dataclass(frozen=True)
class Launched:
    """One launch of the call that a plan is made from; `results` are the values that it computes."""

    name: str
    entry: Any
    arrays: tuple[ArrayView, ...]
    lengths: tuple[int, ...]
    results: tuple[SSAValue, ...]


@dataclass
class Notes:
    """What a call did, as far as it is the same in all calls with arrays of the same layout."""

    launched: list[Launched] = field(default_factory=list[Launched])
    parts: dict[int, tuple[ArrayView, ArrayView]] = field(
        default_factory=dict[int, "tuple[ArrayView, ArrayView]"]
    )
    """Views of a part of another array, by id, and that array: what the host made without a copy."""
    constants: list[ArrayView] = field(default_factory=list[ArrayView])
    repeatable: bool = True
    """False if the host computed something."""

    def evaluated(self, op: Operation, operands: Sequence[ArrayView], result: ArrayView) -> None:
        """Note an operation that the host evaluated."""
        low, high = result.byte_range
        if isinstance(op, array.CustomOp):
            self.repeatable = False
        elif not operands:
            self.constants.append(result)
        else:
            for operand in operands:
                # The operand is alive, so memory inside of its own is not new memory.
                if operand.byte_range[0] <= low and high <= operand.byte_range[1] and low < high:
                    self.parts[id(result)] = result, operand
                    return
            self.repeatable = False

    def root(self, view: ArrayView) -> tuple[ArrayView, int]:
        """The array that a view is a part of, and the distance of their first elements in bytes."""
        root = view
        while id(root) in self.parts:
            root = self.parts[id(root)][1]
        return root, view.pointer - root.pointer


@dataclass(frozen=True)
class PlannedLaunch:
    """What stays of a launch: not the arrays of the first call, which would live as long as the plan."""

    name: str
    entry: Any
    strides: tuple[tuple[int, ...], ...]
    """Of each array."""
    lengths: tuple[int, ...]


@dataclass(frozen=True)
class NewArray:
    """A result for which the caller gives no array."""

    label: str
    shape: tuple[int, ...]
    dtype: np.dtype[Any]


@dataclass(eq=False)
class Frame:
    """The memory that one call at a time writes to.

    `words` has an address and the address of its strides for each array of each launch (`bb::Array`).
    """

    words: ctypes.Array[ctypes.c_uint64]
    launches: tuple[tuple[str, Any, int, int], ...]
    """Name, entry, address of its arrays in `words`, address of its extents."""
    owners: tuple[object, ...]


@dataclass(eq=False)
class CallPlan:
    """The launches of calls with one layout. Only its pool of frames changes, which threads take from."""

    launches: tuple[PlannedLaunch, ...]
    places: tuple[tuple[tuple[int, int], ...], ...]
    """For each array of a call, arguments before outputs: where in a frame its address goes, and what is
    added to it there."""
    ranges: tuple[tuple[int, int], ...]
    """For each array of a call: the bytes that it covers, relative to its address."""
    bound: tuple[tuple[int, int], ...]
    """The bytes that bound arguments cover."""
    fixed: tuple[tuple[int, int], ...]
    """Addresses that are the same in every call, and where they go."""
    offsets: tuple[tuple[int, int], ...]
    """Offsets of intermediate arrays in their memory, and where the addresses go."""
    intermediate_bytes: int
    new: tuple[NewArray, ...]
    """The results, where the caller gives no arrays for them."""
    arguments: int
    alignment_mask: int
    keep: tuple[object, ...]
    """Arrays at the fixed addresses."""
    frames: list[Frame] = field(default_factory=list[Frame])

    def run(self, addresses: list[int], threads: int, spare: list[Array]) -> list[Array]:
        """Launch the kernels. Returns the new arrays. Raises MemoryError and InputError.

        `spare` is memory for intermediate arrays from calls that have ended.
        """
        made: list[Array] = []
        for new in self.new:
            result = allocate(new.label, new.shape, new.dtype)
            addresses.append(data_address(result))
            made.append(result)
        try:
            frame = self.frames.pop()  # atomic: no other call has it now
        except IndexError:
            frame = self._frame()
        words = frame.words
        for address, places in zip(addresses, self.places, strict=True):
            for place, distance in places:
                words[place] = address + distance
        memory = self._intermediate(words, spare) if self.intermediate_bytes else None
        for name, entry, arrays, lengths in frame.launches:
            if entry(arrays, lengths, threads):
                raise MemoryError(f"'{name}' needs more scratch memory than there is")
        self.frames.append(frame)
        if memory is not None and len(memory) <= _KEPT_BYTES:
            spare.append(memory)
        return made

    def disjoint(self, addresses: Sequence[int]) -> bool:
        """Whether no output can share memory with another array, by their first and last bytes alone."""
        spans = [
            (address + low, address + high)
            for address, (low, high) in zip(addresses, self.ranges, strict=False)
        ]
        for number in range(self.arguments, len(addresses)):
            low, high = spans[number]
            for other_low, other_high in spans[:number]:
                if low < other_high and other_low < high:
                    return False
            for other_low, other_high in self.bound:
                if low < other_high and other_low < high:
                    return False
        return True

    def _frame(self) -> Frame:
        count = sum(len(each.strides) for each in self.launches)
        words = (ctypes.c_uint64 * max(1, 2 * count))()
        base = ctypes.addressof(words)
        owners: list[object] = [words]
        launches: list[tuple[str, Any, int, int]] = []
        number = 0
        for each in self.launches:
            lengths = (ctypes.c_int64 * max(1, len(each.lengths)))(*each.lengths)
            launches.append((each.name, each.entry, base + 16 * number, ctypes.addressof(lengths)))
            owners.append(lengths)
            for numbers in each.strides:
                strides = (ctypes.c_int64 * max(1, len(numbers)))(*numbers)
                words[2 * number + 1] = ctypes.addressof(strides)
                owners.append(strides)
                number += 1
        for address, place in self.fixed:
            words[place] = address
        return Frame(words, tuple(launches), tuple(owners))

    def _intermediate(self, words: ctypes.Array[ctypes.c_uint64], spare: list[Array]) -> Array:
        """Memory for the intermediate arrays."""
        try:
            memory = spare.pop()
        except IndexError:
            memory = None
        if memory is None or len(memory) < self.intermediate_bytes:
            memory = allocate("memory for intermediate arrays", (self.intermediate_bytes,), _BYTES)
        base = data_address(memory)
        for offset, place in self.offsets:
            words[place] = base + offset
        return memory


class CallPlans:
    """The plans of an executable, by the layout of the arrays it is called with.

    `bound` and `known` are the arrays that are there before a call: see `Executable.prepare`. `kind` makes a
    plan of its fields.
    """

    def __init__(
        self,
        bound: Mapping[SSAValue, ArrayView],
        known: Mapping[SSAValue, ArrayView],
        kind: Callable[..., CallPlan] = CallPlan,
    ):
        self._kind = kind
        self._bound = dict(bound)
        self._known = dict(known)
        self._plans: dict[Key, CallPlan] = {}
        self._spare: list[Array] = []

    def call(
        self, arrays: Sequence[object], out: object, threads: int | None
    ) -> Array | tuple[Array, ...] | None:
        """Run a call as another one with arrays of the same layout was run; None: it must go the long way.

        That is so, too, where anything looks wrong, so that errors are found and told in one place.
        """
        outputs: Sequence[object] = ()
        if out is not None:
            outputs = cast("Sequence[object]", out) if type(out) in (list, tuple) else (out,)
        read = self._read(arrays, outputs)
        if read is None:
            return None
        key, addresses, owners = read
        plan = self._plans.get(key)
        if plan is None:
            return None
        bits = 0
        for address in addresses:
            bits |= address
        if bits & plan.alignment_mask or (outputs and not plan.disjoint(addresses)):
            return None
        made = plan.run(addresses, thread_count(threads), self._spare)
        results = [self._result(each) for each in owners[plan.arguments :]] if outputs else made
        return results[0] if len(results) == 1 else tuple(results)

    def learn(
        self,
        arrays: Sequence[object],
        out: object,
        inputs: Sequence[ArrayView],
        outputs: Sequence[ArrayView] | None,
        notes: Notes,
        results: Sequence[SSAValue],
    ) -> None:
        """Remember a call that went the long way, unless the host had a part in it.

        `inputs` and `outputs` are the views of `arrays` and `out`, `results` the values that it returned.
        """
        computed = [value for each in notes.launched for value in each.results]
        if (
            not notes.repeatable
            or len(set(results)) != len(results)
            or any(value not in computed for value in results)
        ):
            return  # a result is an argument, or two results are one: they are copied
        given: Sequence[object] = ()
        if out is not None:
            given = cast("Sequence[object]", out) if type(out) in (list, tuple) else (out,)
        read = self._read(arrays, given)
        if read is None or read[0] in self._plans:
            return
        if len(self._plans) >= _MOST_PLANS:
            self._plans.clear()
        self._plans[read[0]] = _planned(self._kind, inputs, outputs, self._bound, self._known, notes, results)

    def _read(self, arrays: Sequence[object], outputs: Sequence[object]) -> Read | None:
        """Layouts, addresses, and what holds them; None for something else than arrays.

        What must hold besides for an array to be used is part of the layout: that an output can be written
        to.
        """
        key: list[object] = []
        addresses: list[int] = []
        owners: list[Array | ArrayView] = []
        count = len(arrays)
        for number, value in enumerate((*arrays, *outputs)):
            if type(value) is np.ndarray:
                own = value
                key += (own.dtype, own.shape, own.strides)
                if number >= count:
                    key.append(own.flags.writeable)
                addresses.append(data_address(own))
                owners.append(own)
                continue
            try:
                view = view_of(value, "")
            except InputError:
                return None
            # The strides of a view count elements: a key of its own.
            key += (view.dtype, view.shape, view.strides, ArrayView, view.writable)
            addresses.append(view.pointer)
            owners.append(view)
        key.append(count)
        return tuple(key), addresses, owners

    def _result(self, output: Any) -> Array:
        """What a call returns for an array that it was given for a result."""
        return result_array(output)


_UNTYPED = np.dtype("V2")


def result_array(output: Array | ArrayView) -> Array:
    """What a call returns for an array that it was given for a result: that array, if numpy made it."""
    if isinstance(output, ArrayView):
        owner = output.owner
        return owner if type(owner) is np.ndarray else output.numpy()
    return output.view(BFLOAT16) if output.dtype == _UNTYPED else output


def _planned(
    kind: Callable[..., CallPlan],
    inputs: Sequence[ArrayView],
    outputs: Sequence[ArrayView] | None,
    bound: Mapping[SSAValue, ArrayView],
    known: Mapping[SSAValue, ArrayView],
    notes: Notes,
    results: Sequence[SSAValue],
) -> CallPlan:
    views: dict[SSAValue, ArrayView] = {}
    for each in notes.launched:
        views.update(zip(each.results, each.arrays[len(each.arrays) - len(each.results) :], strict=True))
    targets = [views[value] for value in results]
    variable = {id(view): number for number, view in enumerate((*inputs, *targets))}
    there = {id(view) for view in (*bound.values(), *known.values(), *notes.constants)}
    places: list[list[tuple[int, int]]] = [[] for _ in variable]
    fixed: list[tuple[int, int]] = []
    intermediate: dict[int, Intermediate] = {}
    place = 0
    for step, each in enumerate(notes.launched):
        for view in each.arrays:
            root, distance = notes.root(view)
            if id(root) in variable:
                places[variable[id(root)]].append((place, distance))
            elif id(root) in there:
                fixed.append((view.pointer, place))
            else:
                low, high = root.byte_range
                own = intermediate.setdefault(id(root), Intermediate(high - low, step))
                own.last = step
                own.places.append((place, distance))
            place += 2
    intermediate_bytes = lay_out(list(intermediate.values()))
    every = [*inputs, *targets]
    new = [] if outputs is not None else targets
    return kind(
        launches=tuple(
            PlannedLaunch(each.name, each.entry, tuple(view.strides for view in each.arrays), each.lengths)
            for each in notes.launched
        ),
        places=tuple(map(tuple, places)),
        ranges=tuple(
            (low - view.pointer, high - view.pointer) for view in every for low, high in [view.byte_range]
        ),
        bound=tuple(view.byte_range for view in bound.values()),
        fixed=tuple(fixed),
        offsets=tuple(
            (each.offset + distance, place)
            for each in intermediate.values()
            for place, distance in each.places
        ),
        intermediate_bytes=intermediate_bytes,
        new=tuple(NewArray(view.label, view.shape, view.dtype) for view in new),
        arguments=len(inputs),
        alignment_mask=max((view.dtype.alignment for view in every), default=1) - 1,
        keep=(*bound.values(), *known.values(), *notes.constants),
    )


@dataclass(eq=False)
class Intermediate:
    """An array that one launch writes and later ones read, up to the launch `last`."""

    bytes: int
    first: int
    last: int = 0
    places: list[tuple[int, int]] = field(default_factory=list["tuple[int, int]"])
    offset: int = 0


def lay_out(arrays: Sequence[Intermediate]) -> int:
    """Give each array an offset, so that none overlaps another one that lives at the same time; the largest
    first, each at the lowest offset that is free. Returns the bytes that they need together.
    """
    placed: list[Intermediate] = []
    for one in sorted(arrays, key=lambda each: -each.bytes):
        alive = [other for other in placed if other.first <= one.last and one.first <= other.last]
        one.offset = 0
        for other in sorted(alive, key=lambda each: each.offset):
            if one.offset + one.bytes <= other.offset:
                break
            one.offset = max(one.offset, round_up(other.offset + other.bytes))
        placed.append(one)
    return max((round_up(one.offset + one.bytes) for one in placed), default=0)


def round_up(count: int) -> int:
    return -(-count // ALIGNMENT) * ALIGNMENT
