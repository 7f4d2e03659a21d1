"""Write the planted bugs of the PTX tier into docs/targets/checking-cuda.md.

Run as `python test/python/support/ptx_mutation_table.py`.
"""

from __future__ import annotations

from collections import Counter

from bb.runtime.cuda.ptx import PtxModule
from cuda_kernels import KERNELS, outcome
from cuda_mutations import MUTATIONS, Mutation, Verdict, verdict
from paths import ROOT

PAGE = ROOT / "docs" / "targets" / "checking-cuda.md"
BEGIN, END = "<!-- planted bugs: begin -->", "<!-- planted bugs: end -->"


def in_ptx_check(mutation: Mutation) -> Verdict:
    """One run in check mode of the PTX tier."""
    module = PtxModule(
        mutation.source,
        arch=KERNELS[mutation.kernel].arch,
        check=True,
        file_name=f"{mutation.kernel}.cu",
        time_limit=2.0,
    )
    case = mutation.case
    report, error = outcome(module.get_function(mutation.kernel), case)
    return verdict(report, error, case.tolerance)


def table() -> str:
    """Found and missed bugs for each kernel; equivalent mutants must not be found."""
    rows: list[str] = []
    sums = Counter[str]()
    for kernel in dict.fromkeys(mutation.kernel for mutation in MUTATIONS):
        counts = Counter[str]()
        missed: list[str] = []
        for mutation in (each for each in MUTATIONS if each.kernel == kernel):
            found = in_ptx_check(mutation)
            print(f"{kernel}: {mutation.name}: {found.how or 'nothing'}", flush=True)
            if mutation.equivalent:
                counts["equivalent"] += 1
                counts["false"] += found.found
            else:
                counts["bugs"] += 1
                counts["found"] += found.found
                missed += [] if found.found else [mutation.name]
        sums += counts
        rows.append(_row(kernel, counts, ", ".join(missed)))
    head = ["| kernel | bugs found | equivalent mutants with a finding | missed |", "|---|---|---|---|"]
    return "\n".join([*head, *rows, _row("**all**", sums, "")])


def _row(kernel: str, counts: Counter[str], missed: str) -> str:
    found, quiet = f"{counts['found']}/{counts['bugs']}", f"{counts['false']}/{counts['equivalent']}"
    return f"| {kernel} | {found} | {quiet} | {missed or '-'} |"


def main() -> None:
    """Replace the table in the page."""
    made = table()
    before, _, rest = PAGE.read_text().partition(BEGIN)
    _, _, after = rest.partition(END)
    PAGE.write_text(f"{before}{BEGIN}\n{made}\n{END}{after}")


if __name__ == "__main__":
    main()
