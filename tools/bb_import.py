"""``bb-import``: reads a model of another framework and prints it as a program; weights stay arguments."""

from __future__ import annotations

import argparse
import io
import json
import sys
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..frontends.shared.errors import ModelError
from ..passes.text.output import os_reason, replace_file
from .shared.common import ArgumentParser, assignment, message_for, print_error, sizes
from .shared.files import ToolError, reserve_standard_streams, write_stdout, write_text

READ = (".onnx", ".onnxtxt")
"""Endings of the files that can be read."""

_SAFETENSORS: Mapping[str, str] = {
    "float64": "F64",
    "float32": "F32",
    "float16": "F16",
    "bfloat16": "BF16",
    "int64": "I64",
    "int32": "I32",
    "bool": "BOOL",
}


def main(argv: Sequence[str] | None = None) -> int:
    """Run ``bb-import`` with the given arguments (default: the process's); return the exit status."""
    reserve_standard_streams()
    try:
        _run(_arguments(argv))
        return 0
    except (ToolError, ModelError) as error:
        for line in str(error).splitlines():
            print_error(f"bb-import: error: {line}")
        return 1
    except KeyboardInterrupt:
        print_error("bb-import: error: interrupted")
        return 1
    except SystemExit as stop:  # --help
        return stop.code if isinstance(stop.code, int) else int(stop.code is not None)
    except Exception as error:
        print_error(message_for("bb-import", error, {}))
        return 1


def _arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = ArgumentParser(prog="bb-import", description=__doc__)
    parser.add_argument("model", help=f"the model's file: {' or '.join(READ)}")
    parser.add_argument("-o", "--output", default="-", help="the program's file (default: standard output)")
    parser.add_argument(
        "--dim",
        action="append",
        default=[],
        type=assignment("SIZE"),
        metavar="NAME=SIZE",
        help="the extent of a named dim, which is ? in the program otherwise; can be repeated",
    )
    parser.add_argument(
        "--weights",
        metavar="FILE",
        help="write the weights, by the names of the program's arguments: .npz or .safetensors",
    )
    return parser.parse_args(argv)


def _run(options: argparse.Namespace) -> None:
    if not options.model.endswith(READ):
        raise ToolError(f"'{options.model}' does not end in {' or '.join(READ)}")
    if options.weights is not None and not options.weights.endswith((".npz", ".safetensors")):
        raise ToolError(f"--weights {options.weights}: the file's name ends in .npz or .safetensors")
    dims = sizes(options.dim, "--dim")
    try:
        from ..frontends.onnx.importer import imported
    except ModuleNotFoundError as error:
        if error.name is None or not error.name.startswith("onnx"):
            raise
        raise ToolError("the package 'onnx' is not installed: pip install 'bb-compiler[onnx]'") from error
    found = imported(options.model, dims)
    if options.weights is not None:
        _write_weights(options.weights, found.weights)
    text = f"{found.module!s}\n"
    if options.output == "-":
        write_stdout(text)
    else:
        write_text(options.output, text)


def _write_weights(path: str, weights: Mapping[str, np.ndarray[Any, Any]]) -> None:
    """Write arrays by name. Raises ToolError."""
    data = _npz(weights) if path.endswith(".npz") else _safetensors(weights)
    try:
        replace_file(path, data)
    except OSError as error:
        raise ToolError(f"cannot write '{path}': {os_reason(error)}") from error


def _npz(weights: Mapping[str, np.ndarray[Any, Any]]) -> bytes:
    stream = io.BytesIO()
    arrays: dict[str, Any] = dict(weights)
    np.savez(stream, **arrays)
    return stream.getvalue()


def _safetensors(weights: Mapping[str, np.ndarray[Any, Any]]) -> bytes:
    """A header in JSON with the place of each array, its length before it, and the arrays' bytes after it."""
    header: dict[str, object] = {}
    parts: list[bytes] = []
    end = 0
    for name, array in weights.items():
        data = np.ascontiguousarray(array).tobytes()
        shape = list(array.shape)
        header[name] = {
            "dtype": _SAFETENSORS[array.dtype.name],
            "shape": shape,
            "data_offsets": [end, end + len(data)],
        }
        end += len(data)
        parts.append(data)
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    return len(text).to_bytes(8, "little") + text + b"".join(parts)


if __name__ == "__main__":
    sys.exit(main())
