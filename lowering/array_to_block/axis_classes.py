"""Classes of axes that are one dim: a union-find over axes that may refuse a union, with products and roles.

An axis of an array is a sequence of *nodes* (several if a reshape merged axes, none for an axis of extent 1
that no loop iterates over). A reshape may cut a node into factors. A node without factors is a *leaf*, and a
class of unified leaves becomes a dim. A union is refused, and undone, if it would make two iteration axes of
one operation the same dim, a batch dim a blocked one, or give an item a third axis.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from enum import Enum


class Role(Enum):
    """Role of a dim: items have an axis over it, or loops only iterate over it."""

    Block = "block"
    Batch = "batch"


class Refused(Exception):
    """Two axes cannot be one dim."""


@dataclass(eq=False)
class Space:
    """The iteration axes of one operation.

    `limited` is true if each item of the operation has all blocked axes of the space, so that at most two are
    allowed.
    """

    limited: bool
    nodes: list[Node] = field(default_factory=list["Node"])


@dataclass(eq=False)
class Node:
    """An axis, or a factor of one. `extent` is None where it is known at run time only."""

    extent: int | None
    parent: Node | None = None
    factors: list[Node] | None = None
    role: Role | None = None
    spaces: set[Space] = field(default_factory=set[Space])


class AxisClasses:
    """Union-find over nodes, with an undo trail."""

    def __init__(self) -> None:
        self._trail: list[Callable[[], None]] = []

    # Reading

    @staticmethod
    def find(node: Node) -> Node:
        """The representative of the class of a node."""
        while node.parent is not None:
            node = node.parent
        return node

    def leaves(self, nodes: Iterable[Node]) -> list[Node]:
        """The representatives of the leaves of a sequence of nodes, outermost factor first."""
        found: list[Node] = []
        for node in nodes:
            node = self.find(node)
            if node.factors is None:
                found.append(node)
            else:
                found.extend(self.leaves(node.factors))
        return found

    # Writing; each change leaves its inverse on the trail

    def attempt(self, change: Callable[[], None]) -> bool:
        """Make a change; undo it and return False if it is refused."""
        self._trail.clear()
        try:
            change()
        except Refused:
            while self._trail:
                self._trail.pop()()
            return False
        return True

    def join_space(self, node: Node, space: Space) -> None:
        """Make a node an iteration axis of an operation, distinct from all its other axes."""
        space.nodes.append(node)
        for leaf in self.leaves([node]):
            leaf.spaces = leaf.spaces | {space}

    def require_role(self, node: Node, role: Role) -> None:
        """Give a role to an axis; where it has factors, only the innermost can be blocked."""
        leaves = self.leaves([node])
        for leaf in leaves:
            self._set_role(leaf, role if leaf is leaves[-1] else Role.Batch)

    def unify(self, left: Sequence[Node], right: Sequence[Node]) -> None:
        """Make two axes the same dims. Raises Refused if that is impossible."""
        for a, b in self.align(left, right):
            self._union(a, b)

    def align(self, left: Sequence[Node], right: Sequence[Node]) -> list[tuple[Node, Node]]:
        """Pair up the leaves of two axes of one extent, and split leaves if the other axis is cut finer.

        Raises Refused if the cuts do not divide each other.
        """
        a, b = self.leaves(left), self.leaves(right)
        if len(a) != len(b) and 1 in (len(a), len(b)):
            single, many = (a, b) if len(a) == 1 else (b, a)
            factors = [Node(leaf.extent) for leaf in many]
            self.cut(single[0], factors)
            return list(zip(factors, many, strict=True))
        pairs: list[tuple[Node, Node]] = []
        while a and b:
            x, y = a[0], b[0]
            last = len(a) == len(b) == 1
            if x.extent == y.extent or (last and None in (x.extent, y.extent)):
                pairs.append((x, y))
                del a[0], b[0]
            elif x.extent is None or y.extent is None:
                raise Refused
            elif x.extent > y.extent:
                a[:1] = self.split(x, y.extent)
            else:
                b[:1] = self.split(y, x.extent)
        if a or b:
            raise Refused
        return pairs

    def split(self, leaf: Node, outer: int) -> list[Node]:
        """Cut a leaf into a factor of extent `outer` and the rest."""
        if leaf.extent is None or leaf.extent % outer or outer in (1, leaf.extent):
            raise Refused
        factors = [Node(outer), Node(leaf.extent // outer)]
        self.cut(leaf, factors)
        return factors

    def cut(self, leaf: Node, factors: list[Node]) -> None:
        """Make a leaf the product of `factors`, which are leaves that belong to no class yet."""
        self._set(leaf, "factors", factors)
        for factor in factors:
            self._set(factor, "spaces", leaf.spaces)
        if leaf.role is not None:
            self.require_role(leaf, leaf.role)

    def _set(self, node: Node, attribute: str, value: object) -> None:
        before = getattr(node, attribute)
        self._trail.append(lambda: setattr(node, attribute, before))
        setattr(node, attribute, value)

    def _set_role(self, leaf: Node, role: Role) -> None:
        if leaf.role is role:
            return
        if leaf.role is not None:
            raise Refused
        self._set(leaf, "role", role)
        if role is Role.Block:
            for space in leaf.spaces:
                self._check(space)

    def _union(self, a: Node, b: Node) -> None:
        a, b = self.find(a), self.find(b)
        if a is b:
            return
        if a.spaces & b.spaces or (a.role and b.role and a.role is not b.role):
            raise Refused
        if len(a.spaces) < len(b.spaces):
            a, b = b, a
        self._set(b, "parent", a)
        self._set(a, "spaces", a.spaces | b.spaces)
        if a.extent is None:
            self._set(a, "extent", b.extent)
        gained = () if a.role is b.role else a.spaces if a.role is None else b.spaces
        if a.role is None:
            self._set(a, "role", b.role)
        if a.role is Role.Block:
            for space in gained:
                self._check(space)

    def _check(self, space: Space) -> None:
        if space.limited and sum(leaf.role is Role.Block for leaf in self.leaves(space.nodes)) > 2:
            raise Refused
