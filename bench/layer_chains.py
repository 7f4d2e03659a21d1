"""Programs of many layers, written as text from the examples of one layer."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"

_FUNCTION = re.compile(
    r"func\.func @(\w+)\((?P<arguments>[^)]*)\) -> (?P<type>\S+) \{\n(?P<body>.*)"
    r"  func\.return %(?P<result>\w+) : \S+\n\}",
    re.DOTALL,
)


def chain(name: str, layers: int, shared: Sequence[str] = ()) -> str:
    """`layers` times the function of examples/NAME.mlir, each on the result of the one before.

    The function maps its first argument to a result of the same type. Every layer has its own other
    arguments, but for those in `shared`.
    """
    match = _FUNCTION.search((EXAMPLES / f"{name}.mlir").read_text())
    assert match is not None, f"examples/{name}.mlir holds no function with one result"
    arguments = [tuple(part.strip()[1:].split(": ")) for part in match["arguments"].split(",\n")]
    first, common = arguments[0][0], {arguments[0][0], *shared}
    signature = [f"%{argument}: {type}" for argument, type in arguments if argument in common]
    lines: list[str] = []
    current = first
    for layer in range(layers):
        signature += [
            f"%{argument}_l{layer}: {type}" for argument, type in arguments if argument not in common
        ]

        def renamed(value: re.Match[str], layer: int = layer, current: str = current) -> str:
            if value[1] == first:
                return f"%{current}"
            return value[0] if value[1] in common else f"{value[0]}_l{layer}"

        lines.append(re.sub(r"%(\w+)", renamed, match["body"]))
        current = f"{match['result']}_l{layer}"
    type = match["type"]
    return (
        f"func.func @{name}_{layers}({', '.join(signature)}) -> {type} {{\n{''.join(lines)}"
        f"  func.return %{current} : {type}\n}}\n"
    )


def decoder(layers: int) -> str:
    """A decoder of `layers` layers; the rotary tables are the same in each."""
    return chain("decoder_layer", layers, ("cos", "sin"))


def feed_forward(layers: int) -> str:
    """Feed-forward layers, each normalised first."""
    return chain("rmsnorm_ffn_swiglu", layers)
