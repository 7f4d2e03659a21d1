"""Planted bugs are found: a sample here, all of them in cuda_mutation_table.py, which writes the table."""

from __future__ import annotations

import os

import pytest
from cuda_mutation_table import PAGE, label
from cuda_mutations import MUTATIONS, Mutation, in_check_mode, in_fast_mode

pytestmark = pytest.mark.long

ALL = bool(os.environ.get("BB_ALL_PLANTED_BUGS"))
# A few of each kernel: what takes time is compiling them.
SAMPLE = [mutation for number, mutation in enumerate(MUTATIONS) if ALL or number % 5 == 1]


@pytest.mark.parametrize("mutation", SAMPLE, ids=lambda m: f"{m.kernel}: {m.name}")
def test_planted_bugs_are_found_in_check_mode(mutation: Mutation) -> None:
    found = in_check_mode(mutation)
    assert found.found == (not mutation.equivalent), found.how
    if mutation.wrong:
        assert found.how in ("wrong numbers", "NaN")


def test_random_schedules_find_what_the_first_one_misses() -> None:
    mutation = next(m for m in MUTATIONS if m.name == "no barrier before a tile is overwritten")
    fifo, hits = in_fast_mode(mutation)
    assert not fifo.found
    assert hits >= 8


def test_the_pages_table_has_all_of_them() -> None:
    text = PAGE.read_text()
    rows = [f"| {mutation.kernel} | {label(mutation)} |" for mutation in MUTATIONS]
    assert len(set(rows)) == len(MUTATIONS)
    missing = [row for row in rows if row not in text]
    assert not missing
    assert text.count("**missed** |\n") == 0  # the last column is check mode


def test_there_are_enough_of_them() -> None:
    bugs = [mutation for mutation in MUTATIONS if not mutation.equivalent]
    assert len(bugs) >= 40
    assert len({mutation.kernel for mutation in bugs}) >= 5
