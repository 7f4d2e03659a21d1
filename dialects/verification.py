"""Verification of a whole program: xDSL's verifier with the failing operation known, then SSA dominance."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.irdl.dominance import DominanceInfo
from xdsl.traits import IsolatedFromAbove, NoTerminator
from xdsl.utils.exceptions import VerifyException

from .diagnostics import OpError


def verify(program: Operation) -> None:
    """Check every operation inside ``program`` and ``program`` itself.

    Raises OpError, which names the first operation at fault: inner operations come before the one around
    them. xDSL's verifier does not check that a value is defined before its use and is visible there. This
    function checks it first, because its message is clearer if both checks fail.
    """
    _Dominance(program).check()
    for op in program.walk(region_first=True):
        _verify_op(op)


def _verify_op(op: Operation) -> None:
    for region in op.regions:
        for block in region.blocks:
            # Block.verify has this check, but cannot be called without verifying the nested operations again.
            if block.is_empty and region.first_block is region.last_block and not op.has_trait(NoTerminator):
                raise OpError(op, "has a region that is empty, but expects at least a terminator")
    try:
        op.verify(verify_nested_ops=False)
        if (dims := op.attributes.get("block.dims")) is not None:
            from .block.dims import parse_dims  # most programs need no block dialect

            parse_dims(dims)
    except (VerifyException, ValueError) as error:
        raise OpError(op, str(error)) from error


class _Dominance:
    """Checks that definitions dominate uses, in time proportional to the uses times the nesting depth."""

    def __init__(self, program: Operation):
        self.program = program
        self.position = {op: index for index, op in enumerate(program.walk())}
        self.regions: dict[Region, DominanceInfo | None] = {}

    def check(self) -> None:
        for op in self.position:
            for index, operand in enumerate(op.operands):
                if (fault := self._fault(operand, op)) is not None:
                    name = f"%{operand.name_hint}" if operand.name_hint else f"number {index}"
                    raise OpError(op, f"'{op.name}' op operand {name} {fault}")

    def _fault(self, value: SSAValue, user: Operation) -> str | None:
        """Return the fault of this use of the value, in words; None if it is valid."""
        owner = value.owner
        defining = owner if isinstance(owner, Block) else owner.parent
        if defining is None:
            return "is defined by an operation that is not part of the program"
        ancestor, isolating = user, None
        while (block := ancestor.parent) is not None and block.parent is not defining.parent:
            around = block.parent_op()
            if around is None or ancestor is self.program:
                return "is not visible here: its definition lies in a region that does not enclose this use"
            if isolating is None and around.has_trait(IsolatedFromAbove, value_if_unregistered=False):
                isolating = around
            ancestor = around
        if block is None:
            return "is not visible here: its definition lies in a region that does not enclose this use"
        if isolating is not None:
            return f"is not visible here: '{isolating.name}' is isolated from the values around it"
        if block is not defining:
            dominated = self._block_dominates(defining, block)
            return None if dominated else "is defined in a block that does not dominate this use"
        if owner is ancestor:
            return "is used inside its own definition"
        if isinstance(owner, Operation) and self.position[owner] > self.position[ancestor]:
            return "does not dominate this use: it is defined later"
        return None

    def _block_dominates(self, definition: Block, use: Block) -> bool:
        region = use.parent
        assert region is not None
        if region not in self.regions:
            leaves = any(
                target.parent is not region for block in region.blocks for target in _successors(block)
            )
            self.regions[region] = None if leaves else DominanceInfo(region)
        dominance = self.regions[region]
        # xDSL's verifier reports branches out of the region.
        return dominance is None or dominance.strictly_dominates(definition, use)


def _successors(block: Block) -> Sequence[Block]:
    return () if block.last_op is None else block.last_op.successors
