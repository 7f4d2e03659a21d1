"""Run the examples in a build that checks itself: a process of its own, with the sanitizers preloaded.

Exits with the sanitizer's report where it finds something, and with 3 where values are wrong.
"""

from __future__ import annotations

import sys
from contextlib import nullcontext

from bb.runtime.api import compile_all
from bb.runtime.checking.tolerances import BOUNDS
from cpu_programs import AFTER_BLOCKS, as_blocks, example_programs, faults, shared_out_always


def main(dtype: str, shape: str, block_size: str, loops: str) -> int:
    module, programs = example_programs(dtype, shape)
    size = int(block_size)
    source, pipeline = (module, None) if size == 0 else (as_blocks(module, size), AFTER_BLOCKS)
    with shared_out_always() if loops == "shared-out" else nullcontext():
        executables = compile_all(source, pipeline=pipeline, sanitize=("address", "undefined"))
    found: list[str] = []
    if loops == "shared-out" and executables[programs[0].name].source.count("bb::in_pieces") <= 10:
        found.append("loops are not shared out")
    for stream_from in (1, 2**62):  # all results past the caches, and none
        executables[programs[0].name].library.stream_from(stream_from)
        for program in programs:
            found += faults(module, program, executables[program.name], BOUNDS[dtype])
    print("\n".join(found) or f"{len(programs)} programs are clean")
    return 3 if found else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
