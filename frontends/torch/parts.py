"""Parts of a graph that run one after another: layers and what lies between them, compiled or by torch."""

from __future__ import annotations

import heapq
import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby

from torch.fx import Node

from .graph import is_assertion, is_number, module_paths

FEWEST_NODES = 8
"""A layer of fewer nodes is not worth a function of its own: it would not fuse with its neighbours."""


@dataclass
class Part:
    """Some nodes of a graph, with the values that they take from outside and those that others need."""

    layer: str
    """The path of the layer in the model; empty between layers."""
    kind: str
    """The class of the layer."""
    compiled: bool
    """False for nodes that torch runs."""
    nodes: list[Node] = field(default_factory=list[Node])
    inputs: list[Node] = field(default_factory=list[Node])
    outputs: list[Node] = field(default_factory=list[Node])


def layers_of(nodes: Sequence[Node]) -> dict[Node, tuple[str, str]]:
    """Path and class of the layer of each node that belongs to one.

    A layer is a member of a list of modules, the outermost one around the node, if another member is of the
    same class, and if at least two of them have enough nodes.
    """
    found = {node: place for node in nodes if (place := _list_member(node)) is not None}
    sizes = Counter(found.values())
    siblings: dict[tuple[str, str], list[int]] = defaultdict(list)
    for (path, kind), size in sizes.items():
        siblings[path.rpartition(".")[0], kind].append(size)

    def repeated(place: tuple[str, str]) -> bool:
        group = siblings[place[0].rpartition(".")[0], place[1]]
        return sum(size >= FEWEST_NODES for size in group) > 1 and sizes[place] >= FEWEST_NODES

    return {node: place for node, place in found.items() if repeated(place)}


def _list_member(node: Node) -> tuple[str, str] | None:
    for path, kind in module_paths(node):
        if re.search(r"(?:^|\.)\d+$", path):
            return path, kind
    return None


def split(
    nodes: Sequence[Node], failed: Collection[Node], outputs: Sequence[Node], *, layers: bool
) -> list[Part]:
    """Cut a graph into parts in an order in which they can run.

    `failed` are the nodes that torch has to run. All nodes of one kind that can run come before the other
    kind takes its turn, so that there are few changes between them. Numbers are part of no part: compiled
    parts know extents from arrays, and the others compute them by themselves.
    """
    live = _live(nodes, outputs)
    order = _scheduled(live, failed)
    place = layers_of(live) if layers else {}
    parts: list[Part] = []
    for (compiled, (layer, kind)), group in groupby(
        order, key=lambda node: (node not in failed, place.get(node, ("", "")))
    ):
        parts.append(Part(layer, kind, compiled, list(group)))
    numbers = [node for node in outputs if is_number(node) and node.op == "call_function"]
    if numbers:
        parts.append(Part("", "", False, numbers))
    _connect(parts, set(outputs))
    return parts


def _live(nodes: Sequence[Node], outputs: Iterable[Node]) -> list[Node]:
    """The calls that outputs depend on, without numbers and assertions, in order."""
    needed = set(outputs)
    live: list[Node] = []
    for node in reversed(nodes):
        if node in needed:
            needed.update(node.all_input_nodes)
            if node.op == "call_function" and not is_number(node) and not is_assertion(node):
                live.append(node)
    return live[::-1]


def _scheduled(nodes: Sequence[Node], failed: Collection[Node]) -> list[Node]:
    index = {node: number for number, node in enumerate(nodes)}
    needs = {node: _tensors(node) & index.keys() for node in nodes}
    users: dict[Node, list[Node]] = defaultdict(list)
    for node, sources in needs.items():
        for source in sources:
            users[source].append(node)
    waiting = {node: len(sources) for node, sources in needs.items()}
    ready: dict[bool, list[int]] = {True: [], False: []}

    def offer(node: Node) -> None:
        heapq.heappush(ready[node not in failed], index[node])

    for node in nodes:
        if not waiting[node]:
            offer(node)
    order: list[Node] = []
    compiled = True
    while ready[True] or ready[False]:
        if not ready[compiled]:
            compiled = not compiled
        node = nodes[heapq.heappop(ready[compiled])]
        order.append(node)
        for user in users[node]:
            waiting[user] -= 1
            if not waiting[user]:
                offer(user)
    return order


def _tensors(node: Node) -> set[Node]:
    """The tensors that a node depends on, also through arithmetic of extents."""
    found: set[Node] = set()
    for source in node.all_input_nodes:
        found |= _tensors(source) if is_number(source) else {source}
    return found


def _connect(parts: Sequence[Part], outputs: Collection[Node]) -> None:
    """Find the values that each part takes and gives."""
    home = {node: part for part in parts for node in part.nodes}
    wanted: dict[int, dict[Node, None]] = {id(part): {} for part in parts}
    for part in parts:
        if not part.compiled:
            part.nodes = _with_numbers(part.nodes)
        taken: dict[Node, None] = {}
        own = set(part.nodes)
        for node in part.nodes:
            for source in node.all_input_nodes:
                if source not in own and (not part.compiled or not is_number(source)):
                    taken[source] = None
        part.inputs = list(taken)
        for source in taken:
            if source in home:
                wanted[id(home[source])][source] = None
    for part in parts:
        needed = wanted[id(part)]
        part.outputs = [node for node in part.nodes if node in needed or node in outputs]


def _with_numbers(nodes: Sequence[Node]) -> list[Node]:
    """Nodes with the arithmetic of extents that they need, before the node that needs it."""
    found: dict[Node, None] = {}

    def add(node: Node) -> None:
        for source in node.all_input_nodes:
            if is_number(source) and source.op == "call_function" and source not in found:
                add(source)
        found[node] = None

    for node in nodes:
        add(node)
    return list(found)


def names_of_weights(part: Part, weights: Mapping[Node, str]) -> dict[Node, str]:
    """Names of the weights of a part: in a layer without its path, so that layers that are alike have the
    same ones, and `w` for a weight from outside of the layer.
    """
    prefix = f"{part.layer}."
    return {
        node: name.removeprefix(prefix) if name.startswith(prefix) else "w" if part.layer else name
        for node in part.inputs
        if (name := weights.get(node)) is not None
    }
