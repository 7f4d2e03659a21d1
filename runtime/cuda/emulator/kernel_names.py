"""Renaming of kernels that have the name of a C library function, which does not exist on a GPU."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from .preprocessed import PreprocessedSource, user_parts

PREFIX = "bb_kernel_"


def rename_kernels(source: PreprocessedSource, system: Sequence[Path]) -> PreprocessedSource:
    """Let kernels with C linkage whose names the host's headers declare have others in C++.

    They keep their names for who asks for them. `system` are the directories whose files are not the user's.
    """
    named = {kernel.name for kernel in source.kernels if kernel.reachable}
    if not named:
        return source
    called = re.compile(rf"\b({'|'.join(sorted(named))})(?=\s*\()", re.ASCII)
    parts = list(user_parts(source.text, system))
    taken: set[str] = set()
    done = 0
    for part in parts:
        taken.update(called.findall(source.text, done, part.begin))
        done = part.end
    taken.update(called.findall(source.text, done))
    if not taken:
        return source
    # Text in quotes is not C++. Members of the same name are renamed where they are declared and called.
    pattern = re.compile(rf"\"(?:[^\"\\\n]|\\.)*\"|\b(?:{'|'.join(sorted(taken))})(?=\s*\()", re.ASCII)
    pieces: list[str] = []
    done = 0
    for part in parts:
        pieces.append(source.text[done : part.begin])
        body = source.text[part.begin : part.end]
        pieces.append(pattern.sub(lambda found: PREFIX + found[0] if found[0] in taken else found[0], body))
        done = part.end
    pieces.append(source.text[done:])
    kernels = tuple(
        replace(kernel, qualified=kernel.qualified.removesuffix(kernel.name) + PREFIX + kernel.name)
        if kernel.reachable and kernel.name in taken
        else kernel
        for kernel in source.kernels
    )
    return replace(source, kernels=kernels, text="".join(pieces))
