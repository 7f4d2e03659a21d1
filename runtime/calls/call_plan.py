"""Plans of repeated calls: work that depends only on the dtypes, extents and strides of arrays is done once.

The first call with arrays of some layout is a `Call`, which checks everything and records its launches. The
record becomes a `CallPlan`: the structures that the kernels read, complete except for the addresses. A later
call with arrays of the same layout only writes its addresses into them.
"""

from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

import numpy as np
from xdsl.ir import Operation, SSAValue

from ...dialects.array import CustomOp
from ..arrays.dtypes import BFLOAT16, Array
from ..arrays.limits import ALIGNMENT, allocate, data_address
from ..arrays.views import ArrayView, view_of
from ..errors import InputError
from ..host.threads import thread_count

_MOST_PLANS = 128
"""Number of layouts that an executable remembers; with one more it forgets them all."""

_KEPT_BYTES = 2**26
"""The largest memory for intermediate arrays, in bytes, that is kept for the next call."""

_BYTES = np.dtype(np.uint8)

Views = Mapping[SSAValue, ArrayView]
"""Arrays of a call, by the values of the program."""
Key = tuple[object, ...]
"""Layout of one call's arrays: dtype, extents, strides of each."""
Read = tuple[Key, list[int], list[Any]]
"""The layout of a call's arrays, their addresses, and the objects that own their memory."""


@dataclass(frozen=True)
class Launched:
    """One launch of the recorded call; `results` are the values that it computes."""

    name: str
    entry: Any
    arrays: tuple[ArrayView, ...]
    lengths: tuple[int, ...]
    results: tuple[SSAValue, ...]


@dataclass
class CallRecord:
    """Record of the parts of a call that are the same in all calls with arrays of the same layout."""

    launched: list[Launched] = field(default_factory=list[Launched])
    parts: dict[int, tuple[ArrayView, ArrayView]] = field(
        default_factory=dict[int, "tuple[ArrayView, ArrayView]"]
    )
    """Views of a part of another array, by id, and that array: results of host operations without a copy."""
    constants: list[ArrayView] = field(default_factory=list[ArrayView])
    repeatable: bool = True
    """False if the host computed something, which a plan could not repeat."""

    def add_evaluated(self, op: Operation, operands: Sequence[ArrayView], result: ArrayView) -> None:
        """Record an operation that the host evaluated."""
        low, high = result.byte_range
        if isinstance(op, CustomOp):
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
        """Return the array of which a view is a part, and the distance of their first elements in bytes."""
        root = view
        while id(root) in self.parts:
            root = self.parts[id(root)][1]
        return root, view.pointer - root.pointer


@dataclass(frozen=True)
class PlannedLaunch:
    """A launch without the arrays of the first call, whose memory a plan must not keep."""

    name: str
    entry: Any
    strides: tuple[tuple[int, ...], ...]
    """Strides of each array."""
    lengths: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Slot:
    """A word of a frame that takes an address: the address of an array plus `offset` bytes."""

    word: int
    offset: int


@dataclass(frozen=True, slots=True)
class CallerArray:
    """An array that the caller passes or receives: the bytes from `low` to `high`, relative to its
    address.
    """

    low: int
    high: int
    slots: tuple[Slot, ...]


@dataclass(frozen=True, slots=True)
class FixedArray:
    """An array that is the same in every call: its address, and the word of a frame for it."""

    address: int
    word: int


@dataclass(frozen=True, slots=True)
class ByteRange:
    """The bytes from the address `low` up to `high`, without the last."""

    low: int
    high: int


@dataclass(frozen=True, slots=True)
class IntermediateMemory:
    """Memory of one call for all arrays between kernels; the offset of a slot is relative to it."""

    bytes: int
    slots: tuple[Slot, ...]


@dataclass(frozen=True)
class NewArray:
    """A result for which the caller passes no array."""

    label: str
    shape: tuple[int, ...]
    dtype: np.dtype[Any]


@dataclass(frozen=True, slots=True)
class FrameLaunch:
    """A launch that reads a frame: the addresses of its arrays in `words`, and of its extents."""

    name: str
    entry: Any
    arrays: int
    lengths: int


@dataclass(eq=False, slots=True)
class Frame:
    """Memory for the arguments of the kernels of one call at a time.

    For each array of each launch, `words` has the array's address and the address of its strides
    (`bb::Array`).
    """

    words: ctypes.Array[ctypes.c_uint64]
    launches: tuple[FrameLaunch, ...]
    owners: tuple[object, ...]


@dataclass(eq=False)
class CallPlan:
    """The launches of calls with one layout. All of it is constant except the pool of frames, which threads
    share.
    """

    launches: tuple[PlannedLaunch, ...]
    arrays: tuple[CallerArray, ...]
    """The arrays of a call: its arguments, then its results, passed or new."""
    arguments: int
    """Number of the arguments among them."""
    new: tuple[NewArray, ...]
    """The results, if the caller passes no arrays for them."""
    fixed: tuple[FixedArray, ...]
    bound: tuple[ByteRange, ...]
    """The bytes that bound arguments cover."""
    intermediates: IntermediateMemory
    alignment_mask: int
    """Bits that must be 0 in the address of every array: the alignment of the largest dtype minus 1."""
    keep: tuple[object, ...]
    """The fixed arrays; holding them keeps their memory alive."""
    frames: list[Frame] = field(default_factory=list[Frame])

    def disjoint(self, addresses: Sequence[int]) -> bool:
        """True if the byte ranges of outputs overlap no other array.

        False may also mean strided arrays that only interleave; a `Call` then checks them element by element.
        """
        ranges = [
            (address + array.low, address + array.high)
            for address, array in zip(addresses, self.arrays, strict=False)
        ]
        for number in range(self.arguments, len(addresses)):
            low, high = ranges[number]
            for other_low, other_high in ranges[:number]:
                if low < other_high and other_low < high:
                    return False
            for other in self.bound:
                if low < other.high and other.low < high:
                    return False
        return True

    def new_frame(self) -> Frame:
        """Return a frame, complete except for the addresses of a call's arrays."""
        count = sum(len(each.strides) for each in self.launches)
        words = (ctypes.c_uint64 * max(1, 2 * count))()
        base = ctypes.addressof(words)
        owners: list[object] = [words]
        launches: list[FrameLaunch] = []
        number = 0
        for each in self.launches:
            lengths = (ctypes.c_int64 * max(1, len(each.lengths)))(*each.lengths)
            launches.append(FrameLaunch(each.name, each.entry, base + 16 * number, ctypes.addressof(lengths)))
            owners.append(lengths)
            for numbers in each.strides:
                strides = (ctypes.c_int64 * max(1, len(numbers)))(*numbers)
                words[2 * number + 1] = ctypes.addressof(strides)
                owners.append(strides)
                number += 1
        for fixed in self.fixed:
            words[fixed.word] = fixed.address
        return Frame(words, tuple(launches), tuple(owners))


class CallPlans:
    """The plans of an executable on the CPU, by the layout of the arrays of a call.

    `bound` and `known` are the arrays that exist before a call: see `Executable.prepare`.
    """

    def __init__(self, bound: Views, known: Views):
        self._bound = tuple(bound.values())
        self._known = tuple(known.values())
        self._plans: dict[Key, CallPlan] = {}
        self._spare: list[Array] = []
        """Memory for intermediate arrays, from calls that have ended."""

    def call(
        self, arrays: Sequence[object], out: object, threads: int | None
    ) -> Array | tuple[Array, ...] | None:
        """Repeat an earlier call with arrays of the same layout; return None if a `Call` must run it.

        None is also returned for anything that looks wrong, so that only `Call` finds and reports errors.
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
        # One test of all addresses together: `or` keeps any bit that makes one of them unaligned.
        bits = 0
        for address in addresses:
            bits |= address
        if bits & plan.alignment_mask or (outputs and not plan.disjoint(addresses)):
            return None
        made = self._run(plan, addresses, thread_count(threads))
        results = [self._result(each) for each in owners[plan.arguments :]] if outputs else made
        return results[0] if len(results) == 1 else tuple(results)

    def learn(
        self,
        arrays: Sequence[object],
        out: object,
        inputs: Sequence[ArrayView],
        outputs: Sequence[ArrayView] | None,
        record: CallRecord,
        results: Sequence[SSAValue],
    ) -> None:
        """Make a plan from a call that a `Call` ran, unless the host computed a part of it.

        `inputs` and `outputs` are the views of `arrays` and `out`, `results` the values that it returned.
        """
        computed = [value for each in record.launched for value in each.results]
        if (
            not record.repeatable
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
        self._plans[read[0]] = _planned(inputs, outputs, self._bound, self._known, record, results)

    def _run(self, plan: CallPlan, addresses: list[int], threads: int) -> list[Array]:
        """Launch the kernels. Returns the new arrays. Raises MemoryError and InputError."""
        made: list[Array] = []
        for new in plan.new:
            result = allocate(new.label, new.shape, new.dtype)
            addresses.append(data_address(result))
            made.append(result)
        # Kernels read the frame while they run, so two calls at a time must not share one.
        try:
            frame = plan.frames.pop()  # atomic: no other call has it now
        except IndexError:
            frame = plan.new_frame()
        words = frame.words
        for address, array in zip(addresses, plan.arrays, strict=True):
            for slot in array.slots:
                words[slot.word] = address + slot.offset
        memory = self._intermediate(plan.intermediates, words) if plan.intermediates.bytes else None
        for each in frame.launches:
            if each.entry(each.arrays, each.lengths, threads):
                raise MemoryError(f"'{each.name}' needs more scratch memory than there is")
        plan.frames.append(frame)
        if memory is not None and len(memory) <= _KEPT_BYTES:
            self._spare.append(memory)
        return made

    def _intermediate(self, wanted: IntermediateMemory, words: ctypes.Array[ctypes.c_uint64]) -> Array:
        """Return memory for the intermediate arrays, and write their addresses."""
        try:
            memory = self._spare.pop()
        except IndexError:
            memory = None
        if memory is None or len(memory) < wanted.bytes:
            memory = allocate("memory for intermediate arrays", (wanted.bytes,), _BYTES)
        base = data_address(memory)
        for slot in wanted.slots:
            words[slot.word] = base + slot.offset
        return memory

    def _read(self, arrays: Sequence[object], outputs: Sequence[object]) -> Read | None:
        """Return layouts, addresses, and the owners of memory; None for objects that are no arrays.

        Other conditions for the use of an array are part of the layout: that an output is writable.
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
        """Return the object for a result that was written to an array of the caller."""
        return result_array(output)


_UNTYPED = np.dtype("V2")


def result_array(output: Array | ArrayView) -> Array:
    """Return the object for a result that was written to an array of the caller: that array, if it is
    numpy's.
    """
    if isinstance(output, ArrayView):
        owner = output.owner
        return owner if type(owner) is np.ndarray else output.numpy()
    return output.view(BFLOAT16) if output.dtype == _UNTYPED else output


def _planned(
    inputs: Sequence[ArrayView],
    outputs: Sequence[ArrayView] | None,
    bound: Sequence[ArrayView],
    known: Sequence[ArrayView],
    record: CallRecord,
    results: Sequence[SSAValue],
) -> CallPlan:
    views: dict[SSAValue, ArrayView] = {}
    for each in record.launched:
        views.update(zip(each.results, each.arrays[len(each.arrays) - len(each.results) :], strict=True))
    targets = [views[value] for value in results]
    new = [] if outputs is not None else targets
    every = [*inputs, *targets]
    keep = (*bound, *known, *record.constants)
    slots = _slots_of(record, every, keep)
    return CallPlan(
        launches=tuple(
            PlannedLaunch(each.name, each.entry, tuple(view.strides for view in each.arrays), each.lengths)
            for each in record.launched
        ),
        arrays=tuple(
            CallerArray(low - view.pointer, high - view.pointer, tuple(own))
            for view, own in zip(every, slots.of_caller, strict=True)
            for low, high in [view.byte_range]
        ),
        arguments=len(inputs),
        new=tuple(NewArray(view.label, view.shape, view.dtype) for view in new),
        fixed=tuple(slots.fixed),
        bound=tuple(ByteRange(*view.byte_range) for view in bound),
        intermediates=_memory_of(slots.intermediates),
        alignment_mask=max((view.dtype.alignment for view in every), default=1) - 1,
        keep=keep,
    )


@dataclass(frozen=True)
class _Slots:
    """The words of a frame that take addresses, by the owner of the address."""

    of_caller: list[list[Slot]]
    """For each array that the caller passes or receives."""
    fixed: list[FixedArray]
    intermediates: list[Intermediate]


def _slots_of(record: CallRecord, every: Sequence[ArrayView], keep: Sequence[ArrayView]) -> _Slots:
    """Return the slots of a call's launches; `every` is the caller's arrays, `keep` those that are fixed."""
    number_of = {id(view): number for number, view in enumerate(every)}
    kept = {id(view) for view in keep}
    of_caller: list[list[Slot]] = [[] for _ in number_of]
    fixed: list[FixedArray] = []
    intermediates: dict[int, Intermediate] = {}
    word = 0
    for step, each in enumerate(record.launched):
        for view in each.arrays:
            root, distance = record.root(view)
            if id(root) in number_of:
                of_caller[number_of[id(root)]].append(Slot(word, distance))
            elif id(root) in kept:
                fixed.append(FixedArray(view.pointer, word))
            else:
                low, high = root.byte_range
                own = intermediates.setdefault(id(root), Intermediate(high - low, step))
                own.last = step
                own.slots.append(Slot(word, distance))
            word += 2
    return _Slots(of_caller, fixed, list(intermediates.values()))


def _memory_of(arrays: Sequence[Intermediate]) -> IntermediateMemory:
    """Place all arrays between kernels in one piece of memory."""
    size = lay_out(arrays)
    return IntermediateMemory(
        size, tuple(Slot(slot.word, each.offset + slot.offset) for each in arrays for slot in each.slots)
    )


@dataclass(eq=False)
class Intermediate:
    """An array that one launch writes and later ones read, up to the launch `last`."""

    bytes: int
    first: int
    last: int = 0
    slots: list[Slot] = field(default_factory=list[Slot])
    """Words of a frame, and the distance from the array's first byte."""
    offset: int = 0


def lay_out(arrays: Sequence[Intermediate]) -> int:
    """Give each array an offset, so that no two arrays that are alive at the same time overlap.

    The largest comes first, each at the lowest free offset. Returns the bytes of all together.
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
    """Return the multiple of `ALIGNMENT` that is not below a number of bytes."""
    return -(-count // ALIGNMENT) * ALIGNMENT
