"""Names of dims: those suggested by the arguments, then letters in the order in which dims are met."""

from __future__ import annotations

from itertools import count

from .axis_classes import Node, Role

_BLOCKED = ("M", "N", "K", "L", "D", "F", "P", "Q", "S", "T", "U", "V", "W")
_BATCH = ("B", "H", "G", "R", "A", "C", "E")


class DimNames:
    """A name for each class of leaves; positions tell in which order the classes were met."""

    def __init__(self) -> None:
        self._names: dict[Node, str] = {}
        self._leaves: dict[str, Node] = {}
        self._positions: dict[str, int] = {}

    def suggest(self, leaf: Node, name: str) -> None:
        """Give a leaf the user's name for it, with a number appended if another dim has that name."""
        name = name.strip()
        if leaf in self._names or not (name.isidentifier() and name.isascii()) or name == "x":
            return
        self._name(leaf, self._fresh((name,)))

    def name(self, leaf: Node) -> None:
        """Name a leaf if it has no name yet."""
        if leaf not in self._names:
            self._name(leaf, self._fresh(_BATCH if leaf.role is Role.Batch else _BLOCKED))

    def meet(self, leaf: Node) -> None:
        """Record that a loop iterates over a leaf, and name it if it has no name yet."""
        self.name(leaf)
        self._positions.setdefault(self._names[leaf], len(self._positions))

    def of(self, leaf: Node) -> str:
        """The name of a leaf; a leaf that no operation iterates over gets one now."""
        if leaf not in self._names:
            self.meet(leaf)
        return self._names[leaf]

    def leaf(self, name: str) -> Node:
        """The class with a name."""
        return self._leaves[name]

    def position(self, name: str) -> int:
        """Position of the dim in the order in which dims were met, counted from 0."""
        return self._positions.setdefault(name, len(self._positions))

    def _name(self, leaf: Node, name: str) -> None:
        self._names[leaf] = name
        self._leaves[name] = leaf

    def _fresh(self, candidates: tuple[str, ...]) -> str:
        for name in candidates:
            if name not in self._leaves:
                return name
        return next(
            name
            for number in count(2)
            for base in candidates
            if (name := f"{base}{number}") not in self._leaves
        )
