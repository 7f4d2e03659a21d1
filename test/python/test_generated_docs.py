"""The pages of docs/ that are made from the code are what `make docs` would write, and say what must hold."""

import re
from pathlib import Path

import pytest
from bb.tools.docs import PAGES, ROOT
from bb.tools.docs.programs import TO_BLOCKS, compiled, functions_of, moved_arrays
from bb.tools.docs.rules_page import documented_laws


@pytest.mark.parametrize("name", PAGES)
def test_page_is_up_to_date(name: str):
    assert (ROOT / name).read_text(encoding="utf-8") == PAGES[name](), (
        f"run 'make docs': {name} is out of date"
    )


@pytest.mark.parametrize("name", ["attention", "attention_decomposed"])
def test_fused_attention_moves_its_arguments_and_its_result_only(name: str):
    (unfused,) = functions_of(compiled(name, TO_BLOCKS))
    (fused,) = functions_of(compiled(name, f"{TO_BLOCKS},block-fuse"))
    moved = moved_arrays(fused)
    assert set(moved.loaded) == {"q", "k", "v"}
    assert moved.stored == ("out",)
    assert moved.lists == ()
    assert moved_arrays(unfused).lists != ()


@pytest.mark.parametrize(
    ("name", "loaded", "stored"),
    [
        ("layernorm_matmul", {"x", "gamma", "beta", "w", "bias"}, ("out",)),
        ("rmsnorm_ffn_swiglu", {"x", "gamma", "w_gate", "w_up", "w_down"}, ("out",)),
        ("attention_bias", {"q", "k", "v", "pair_bias", "key_mask"}, ("out",)),
    ],
)
def test_fused_programs_move_arguments_and_results_only(name: str, loaded: set[str], stored: tuple[str]):
    (fused,) = functions_of(compiled(name, f"{TO_BLOCKS},block-fuse"))
    moved = moved_arrays(fused)
    assert (set(moved.loaded), moved.stored, moved.lists) == (loaded, stored, ())


def test_results_page_has_one_kernel_for_every_example():
    page = (ROOT / "docs/fusion-results.md").read_text()
    rows = re.findall(r"^\| last snapshot \(\d+\) \| (\d+) \|", page, re.MULTILINE)
    assert len(rows) >= len(list((ROOT / "examples").glob("*.mlir")))
    assert set(rows) == {"1"}


def test_rules_page_has_every_law():
    page = (ROOT / "docs/rules.md").read_text()
    for law in documented_laws():
        heading = f"### {law.name}: {law.variant}" if law.variant else f"## {law.name}"
        assert re.search(rf"^#*{re.escape(heading)}", page, re.MULTILINE) or f"## {law.name}\n" in page
        assert law.before in page
        assert all(f"`{condition}`" in page for condition in law.side_conditions)


def test_links_between_pages_lead_somewhere():
    for page in (ROOT / "docs").glob("*.md"):
        for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", page.read_text()):
            if "://" not in target:
                assert (Path(page.parent) / target).exists(), f"{page.name}: {target}"
