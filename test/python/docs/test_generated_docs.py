"""The pages of docs/ that are made from the code are what `make docs` would write, and say what must hold."""

import re

import pytest
from bb.tools.docs import numerics_page
from bb.tools.docs.pages import MEASURED_PAGES, PAGES, ROOT
from bb.tools.docs.programs import TO_BLOCKS, compiled, functions_of, moved_arrays
from bb.tools.docs.rules_page import documented_laws

pytestmark = pytest.mark.long


@pytest.mark.parametrize("name", PAGES)
def test_page_is_up_to_date(name: str):
    assert (ROOT / name).read_text(encoding="utf-8") == PAGES[name](), (
        f"run 'make docs': {name} is out of date"
    )


@pytest.mark.parametrize("name", MEASURED_PAGES)
def test_measured_page_is_up_to_date(name: str):
    make, is_same = MEASURED_PAGES[name]
    assert is_same((ROOT / name).read_text(encoding="utf-8"), make()), (
        f"run 'make docs': {name} is out of date"
    )
    if name == "docs/concepts/numerics.md":  # measured once for both: it takes a while
        assert_stabilisation_is_needed()


def test_measured_numbers_may_be_a_little_off():
    page = (ROOT / "docs/concepts/numerics.md").read_text(encoding="utf-8")
    (row,) = re.findall(r"^\| `softmax` \| f32 \| .*e.*$", page, re.MULTILINE)
    error = re.findall(r"\| (\de-\d) \|", row)[-1]
    assert numerics_page.is_same(page, page.replace(row, row.replace(error, f"{1.5 * float(error):.0e}")))
    assert not numerics_page.is_same(page, page.replace(row, row.replace(error, "1e-3")))
    assert not numerics_page.is_same(page, page.replace(row, row.replace("not finite", "1e-7")))
    assert not numerics_page.is_same(page, page.replace("# Floating point", "# Floating points"))


def assert_stabilisation_is_needed():
    """Every softmax breaks when it is fused, and none when it is stabilised."""
    rows = {(row.entry, row.element_type): row for row in numerics_page.measured()}
    for entry in ("attention", "attention_bias", "attention_causal", "attention_gqa", "logsumexp", "softmax"):
        for element_type, bound in (("f32", 2e-6), ("bf16", 1e-2)):
            row = rows[entry, element_type]
            assert row.errors[1] == float("inf")
            assert row.errors[2] <= bound
            assert row.masked[2] == ("-inf" if entry == "logsumexp" else "0")


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
    page = (ROOT / "docs/concepts/fusion-results.md").read_text()
    rows = re.findall(r"^\| last snapshot \(\d+\) \| (\d+) \|", page, re.MULTILINE)
    assert len(rows) >= len(list((ROOT / "examples").glob("*.mlir")))
    assert set(rows) == {"1"}


def test_rules_page_has_every_law():
    page = (ROOT / "docs/reference/rules.md").read_text()
    for law in documented_laws():
        heading = f"### {law.name}: {law.variant}" if law.variant else f"## {law.name}"
        assert re.search(rf"^#*{re.escape(heading)}", page, re.MULTILINE) or f"## {law.name}\n" in page
        assert law.before in page
        assert all(f"`{condition}`" in page for condition in law.side_conditions)
