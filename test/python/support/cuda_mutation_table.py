"""Run all planted bugs and write their table into docs/targets/cuda-checker.md.

To be run as `python test/python/support/cuda_mutation_table.py`; takes some two minutes.
"""

from __future__ import annotations

from cuda_mutations import MUTATIONS, SEEDS, Mutation, in_check_mode, in_fast_mode
from paths import ROOT

PAGE = ROOT / "docs" / "targets" / "cuda-checker.md"
BEGIN, END = "<!-- planted bugs: begin -->", "<!-- planted bugs: end -->"


def label(mutation: Mutation) -> str:
    """Name of a bug in the table."""
    return f"{mutation.name}{' (ragged)' if mutation.ragged else ''}"


def table() -> str:
    """All bugs with what each way of running says of them, and sums."""
    rows: list[str] = []
    found = [0, 0, 0]
    bugs = 0
    for mutation in MUTATIONS:
        fifo, hits = in_fast_mode(mutation)
        check = in_check_mode(mutation)
        quiet = "none: equivalent" if mutation.equivalent else "**missed**"
        pct = f"{hits}/{SEEDS}"
        rows.append(
            f"| {mutation.kernel} | {label(mutation)} | {fifo.how or quiet} | {pct} | {check.how or quiet} |"
        )
        print(rows[-1], flush=True)
        if not mutation.equivalent:
            bugs += 1
            found = [found[0] + fifo.found, found[1] + (hits > 0), found[2] + check.found]
    sums = f"{bugs} bugs in {len(MUTATIONS)} mutants"
    head = [
        f"| kernel | planted bug | fast, fifo | fast, pct | check ({sums}) |",
        "|---|---|---|---|---|",
    ]
    foot = f"| | **found** | {found[0]}/{bugs} | {found[1]}/{bugs} | {found[2]}/{bugs} |"
    return "\n".join([*head, *rows, foot])


def main() -> None:
    """Replace the table in the page."""
    made = table()
    before, _, rest = PAGE.read_text().partition(BEGIN)
    _, _, after = rest.partition(END)
    PAGE.write_text(f"{before}{BEGIN}\n{made}\n{END}{after}")


if __name__ == "__main__":
    main()
