"""Fusion of loops over the same dim of which none waits for another."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from xdsl.ir import Block, Operation, SSAValue

from ....dialects import kernel


def fuse_loops(body: Block) -> None:
    """Make one loop of two in a body, and of two loads of a block one, wherever neither needs the other."""
    changed = True
    while changed:
        loops = [op for op in body.ops if isinstance(op, kernel.ForOp)]
        pairs = [(first, second) for index, first in enumerate(loops) for second in loops[index + 1 :]]
        changed = any(_fuse(first, second) for first, second in pairs)


@dataclass
class _Effects:
    """The tiles that operations read and write, with those in their regions, and arrays that they access."""

    read: set[SSAValue] = field(default_factory=set[SSAValue])
    written: set[SSAValue] = field(default_factory=set[SSAValue])

    @staticmethod
    def of(ops: Iterable[Operation]) -> _Effects:
        found = _Effects()
        for op in (inner for each in ops for inner in each.walk()):
            found.read.update(map(_place, kernel.tiles_read(op)))
            found.written.update(map(_place, kernel.tiles_written(op)))
            found.read.update(value for value in op.operands if isinstance(value.owner, kernel.CursorOp))
            found.written.update(result for result in op.results if isinstance(op, kernel.CursorOp))
        return found

    def add(self, other: _Effects) -> None:
        """Include those of another operation."""
        self.read |= other.read
        self.written |= other.written

    def conflicts_with(self, other: _Effects) -> bool:
        """True if the order of the two matters."""
        return not self.written.isdisjoint(other.read | other.written) or not self.read.isdisjoint(
            other.written
        )


def _place(value: SSAValue) -> SSAValue:
    """A tile, or the array of a cursor."""
    return value.owner.array if isinstance(value.owner, kernel.CursorOp) else value


def _fuse(first: kernel.ForOp, second: kernel.ForOp) -> bool:
    """Move the iterations of a loop into those of an earlier one; return True if that is possible."""
    if not _are_alike(first, second):
        return False
    # What the second loop needs, and comes between the two, moves before the first.
    earlier: list[Operation] = []
    needs = _Effects.of([second])
    op = second.prev_op
    while op is not None and op is not first:
        own = _Effects.of([op])
        if own.conflicts_with(needs):
            earlier.append(op)
            needs.add(own)
        op = op.prev_op
    if needs.conflicts_with(_Effects.of([first])):
        return False
    for op in reversed(earlier):
        op.detach()
        _block(first).insert_op_before(op, first)
    _join(first, second)
    return True


def _are_alike(first: kernel.ForOp, second: kernel.ForOp) -> bool:
    plain = all(
        loop.until_dim is None and loop.part_dim is None and not loop.attributes for loop in (first, second)
    )
    merge = (first.merge is None) == (second.merge is None)
    return plain and merge and first.dim_names == second.dim_names


def _join(first: kernel.ForOp, second: kernel.ForOp) -> None:
    """Append the iterations of a loop to those of another."""
    _append(first.body.block, second.body.block)
    if first.merge is not None and second.merge is not None:
        into, own = first.merge.block, second.merge.block
        for argument in list(own.args):
            new = into.insert_arg(argument.type, len(into.args))
            new.name_hint = argument.name_hint
            argument.replace_all_uses_with(new)
        _append(into, own)
        first.operands = [*first.carried, *second.carried]
    second.detach()
    second.erase()
    _share_loads(first.body.block)


def _append(into: Block, other: Block) -> None:
    for op in list(other.ops):
        op.detach()
        into.add_op(op)


def _share_loads(body: Block) -> None:
    """Load each block of an input once."""
    loaded: dict[object, SSAValue] = {}
    for op in list(body.ops):
        if not isinstance(op, kernel.LoadOp) or kernel.writers(op.target) != [op]:
            continue
        cursor = op.source.owner
        assert isinstance(cursor, kernel.CursorOp)
        if not kernel.is_input(cursor.array):
            continue
        key = (cursor.array, *cursor.properties.items(), cursor.result.type, op.target.type)
        if key not in loaded:
            loaded[key] = op.target
            continue
        tile = op.target
        op.detach()
        op.erase()
        tile.replace_all_uses_with(loaded[key])
        if not cursor.result.uses:
            cursor.detach()
            cursor.erase()
        if isinstance(tile.owner, kernel.TileOp):
            tile.owner.detach()
            tile.owner.erase()


def _block(op: Operation) -> Block:
    assert op.parent is not None
    return op.parent
