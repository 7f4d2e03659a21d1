"""Defaults of the options of a placement."""

from __future__ import annotations

THREADS = 128
"""Threads of a block."""
SHARED_MEMORY = 96 * 1024
"""Bytes of shared memory that a block takes at most: two fit on a multiprocessor of sm_90."""
