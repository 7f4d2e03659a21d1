"""The table of converters, which the modules of the families fill."""

from __future__ import annotations

from collections.abc import Callable

from ..nodes import Convert

TABLE: dict[tuple[str, str], Convert] = {}
"""A converter for each operator, by its domain ("" is ONNX's own) and its name."""


def operator(*names: str, domain: str = "") -> Callable[[Convert], Convert]:
    """Enter a converter under the names of its operators."""

    def register(convert: Convert) -> Convert:
        for name in names:
            TABLE[domain, name] = convert
        return convert

    return register
