"""docs/concepts/numerics.md: what is promised about floating point, and the errors found at hard inputs."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from xdsl.dialects.builtin import ModuleOp

from ...dialects.parsing import parse_module
from ...lowering.pipelines import PassPipeline
from ...runtime.arrays.dtypes import BFLOAT16, to_dtype
from ...runtime.interpreter.functions import interpret
from .hard_inputs import MASKED, error, hard_inputs
from .markdown import item, page, paragraph, table
from .programs import EXAMPLES, TO_BLOCKS
from .small_examples import example_module, resized, small_dims

TITLE = "# Floating point"

INTRODUCTION = """
Fusion takes the maximum out of a softmax and the mean out of a LayerNorm, so that no loop has to wait for the
end of another one. What is left, the exponential of a raw logit or the sum of x², is right in mathematics. In
floating point it overflows or cancels. The pass `block-stabilize` runs after `block-fuse` and restores the
accuracy. This page states what the pass does, what it promises and what it does not cover. The tables at the
end are measured.
"""

PAIRS = """
The pass represents the exponential of a block of logits as a pair: a *significand* exp(x - t) and an
*exponent* t. The exponent is one number for each row of the block, the row's maximum. A pair stands for
s · exp(t). Linear operations act on significands. Products add exponents, and exponents that cancel are
removed. A list of pairs is two lists. The pass does not depend on what a program is called: it treats
attention, softmax, logsumexp and the probabilities of a loss alike.
"""

CARRIED = (
    "**Sums.** A sum of pairs is a sum *relative to a maximum*, `-> (max, sum rel 0)` in a block program. "
    "Where the running maximum grows, the sums relative to it are multiplied by exp(old - new). In a loop "
    "that is the online softmax. The reduction is associative: workers can split a row in any way and "
    "combine their results (a test does so, in random order).",
    "**Statistics.** The exponential of a row statistic, such as exp(-max), is 1 with the statistic as its "
    "exponent.",
    "**Logarithms.** The logarithm of a pair stays a sum of two terms until it is subtracted from a value. "
    "The exponent is then subtracted first. With logits near 1e4, the rounded sum would cost a log-softmax "
    "four digits.",
    "**Values.** Where an exponential is needed as a value (as a result, or as an operand of any other "
    "operation), the pass computes s · exp(t), and 0 where s is 0.",
    "**Guards.** An exponential that is shifted by its own maximum is bounded. The pass only guards it "
    "against rows that hold nothing but -inf, and guards what divides by a sum of exponentials against a "
    "sum of 0. It leaves the exponential in a sigmoid, SiLU or GELU alone, because it saturates as it "
    "should.",
    "**Other bases.** Powers of 2 (`math.exp2`) are pairs as well. The rounding error in the product of "
    "their exponents with ln 2 is added back to the significands. The pass leaves `math.expm1` alone, "
    "because no law takes a shift out of it.",
    "**Rows in f16.** A scale that a loop waits for leaves a contraction past a rounding to f16, as in an "
    "RMSNorm with gamma before a product. The unscaled row could overflow there, or vanish. Each row of a "
    "block then gets an exponent of its own, so that its largest element becomes 2^14. Sums over blocks are "
    "relative to the largest exponent, which the scale takes back at the end. Rounding an item that is a "
    "number of the type already needs no exponent, nor does rounding to bf16, which has the range of f32. "
    "Where no loop waits for the scale, or where an exponent does not fit (a right operand), the scale stays "
    "before the rounding.",
    "**Pivots.** Sums of x and of x² over one list get a pivot, the mean of the row's first block, "
    "wherever the pass can prove that a pivot changes nothing. That is so for a LayerNorm, alone or before "
    "a product, and for any variance written by hand, also with means that are products with a rounded "
    "1/K. It is not so for an RMSNorm. The map that sums x may also compute it, element by element from "
    "blocks that it loads, as in a LayerNorm after a residual, with or without a bias. A pivot costs one "
    "more load of a block for each row, and for each list that x is computed from. The pivot is 0 where "
    "the mean is less than 4 times the mean absolute deviation of that block. (This deviation is at most "
    "the standard deviation. Every row whose mean² is above 16 times its variance is therefore shifted. "
    "The test takes no squares, which would overflow at 1e20 and vanish at 1e-30.) A row that is one block, "
    "as most rows are in the pipelines `cpu` and `cuda`, is always shifted by its own mean. The mean of what "
    "is left is then subtracted, too, which costs no further loop.",
    "**Scales.** Σx² overflows f32 where x is above 1.8e19, and vanishes below 1e-23. Where a program takes "
    "a root of a sum of squares, the sums are computed for x and for x · 2^-80 in the same loop, and for "
    "x · 2^80 as well if what is added under the root may be less than 5e-23. The sum itself says which of "
    "them is right. If it is not that of x, the row is scaled by the same power of two, and epsilon by its "
    "square. The scales of x and of its reciprocal root cancel. All of this is exact, so that ordinary rows "
    "keep every bit. On CPUs they do not pay for it either: `kernel-speculate` lets a kernel compute the "
    "sums of x alone, and what needs the scale as if it were 1. Where a row of the block then turns out to "
    "need another one, the kernel computes the results of the block once more, with the scales. (Where "
    "threads share the blocks of a row, that run adds them in another order.)",
    "**Variances.** A variance computed as mean(x²) - mean(x)² is 0 where rounding makes it negative. It "
    "is infinite, not NaN, where the squares overflow.",
)

PROMISES = (
    "**Bounds.** Where logits are exactly representable, results of softmax, attention, logsumexp and "
    "log-softmax differ from float64 by at most 2e-6 (f32) or 1e-2 (bf16) of the largest element of their "
    "row, in every snapshot. A result is NaN or infinite only where float64, rounded to its type, is.",
    "**LayerNorm**, alone or before a product, is as accurate as a two-pass LayerNorm in f32, and far more "
    "accurate where means are large. Its error is at most 4 times that of two passes (or 1e-6, where that "
    "is more), at means of 1e6 deviations. Constant rows give 0 exactly. After a residual, wherever it gets "
    "a pivot, its error is within that bound at means of up to 1e6 deviations. The same holds for a variance "
    "written as mean(x²) - mean(x)², for whole rows and for rows of several blocks.",
    "**Large and small rows.** LayerNorm, RMSNorm and other roots of sums of squares, alone or before "
    "products, are finite and as accurate as elsewhere for rows of f32 or bf16 from 1e-38 to 3e38, wherever "
    "float64, rounded to the type, is finite. Outliers may be anywhere in a row.",
    "**Norms before products in 16 bits** are finite wherever float64, rounded to the type, is, for rows "
    "from 1e-6 to 6e4 in f16. Their error is at most twice that of the unfused program in the same type "
    "(2.5 times in bf16, where one outlier can round twice), or of the unit of the type where that is more.",
    "**Rows masked by -inf everywhere** give 0 in a softmax and in attention, and -inf in logsumexp and "
    "log-softmax. The kind of mask does not matter (a bias, a boolean mask, -inf in the logits). The same "
    "holds for columns along other axes than the last one. Such rows never give NaN, which is what the "
    "formulas give in float64.",
    "**Hidden keys contribute nothing.** A key that the boolean or the causal mask of `array.attention` "
    "hides from a row does not reach that row, whatever its key and its value hold: NaN, infinities and "
    "huge numbers leave every bit of the result as zeros would, on every target, in whole and in cut dims. "
    "Kernels run at full speed as if there were no mask; where a sum comes out NaN they run once more, and "
    "leave the hidden products out (`array.masked_matmul`). What an additive mask of -inf hides has the "
    "probability 0, and 0 times NaN is NaN, as in float64. So it is in a softmax and a matmul written by "
    "hand, except that a kernel does not visit blocks that a causal comparison hides from all their rows.",
    "**Finite masks keep their meaning.** -1e9 is a logit like any other: a row that holds only -1e9 is "
    "uniform.",
    "**Products with equal elements are sums.** `array-simplify-contractions` writes `x @ ones` as a sum, "
    "and multiplies another factor into the elements first, in the type of the sum. NaN and infinities count "
    "as in the product. A product with a row of the identity is no slice: 0 times NaN is NaN.",
    "**Element-wise arithmetic** keeps NaN, infinities and the signs of zeros: x - x, x * 0 and x * x / x "
    "are computed as they are written, and no product becomes part of a multiply-add with the sum that reads "
    "it. maximumf and minimumf pass NaN on and take -0 as less than 0. GPUs flush denormal numbers to zero.",
    "**Row statistics** (vectors that depend on a sum, a maximum or a contraction) are regrouped: terms are "
    "merged, and a quotient by one is a product with its reciprocal. Opposite terms and powers cancel only "
    "if an item that stays is NaN wherever the data make them NaN. It may be NaN where the formula is "
    "infinite, and the reverse.",
    "**Types.** Contractions and sums of f16 and bf16 accumulate in f32. The accumulator type is an "
    "attribute of the operation, printed as `acc f32`. `array-decompose{accumulate=f64}` (or `input`, the "
    "type of the operands) sets another one for all sums that do not name one, and for the statistics and "
    "exponentials of composites. Maxima are exact in any type. Exponents, exponentials and logarithms of "
    "16-bit programs are computed in f32, and rounded only where the program rounds.",
    "**Constants and scales** stay where the program has them, unless their move is exact or a contraction "
    "or sum would wait for them. Then the products that move (x·γ, γ·w, w·β) are formed in f32 at least, "
    "and have to be in its range. Rows of a LayerNorm with γ in f16 are scaled before they are rounded. The "
    "variance of an item that cannot get a pivot is computed in a second pass.",
    "**Integers** wrap around, in sums and products too, and conversions saturate, on every target alike: "
    "see [scalar operations](../reference/scalar-operations.md).",
    "**Operations on f16 and bf16 round**, each of them, on every target. A value that a call stores is the "
    "one that it compares, sums and multiplies. So y = x · x is infinite in a call exactly if its result is. "
    "(GPUs take denormal numbers for 0.) Fusion may still change the order of operations.",
    "**Memory.** The pass adds no loads or stores, except for the exponents of lists that are stored (a "
    "number for each row of a block) and the blocks of the pivots. Where one loop computes both the sums of "
    "a row and what needs its scale, such as a product, the row is read once more before; in the pipeline "
    "`cpu` only the rows of blocks that hold a very large or very small row are.",
    "**Literals.** Hexadecimal digits of a float are its bits, in every position; every bit pattern, NaNs "
    "with their payloads included, is read back as it was printed. A decimal number beyond the largest one "
    "of its type is an error. In generated code the payloads of NaNs are those of the target.",
)

NOT_COVERED = (
    "Logits that were wrong before: rounding them to bf16 near 1e4 is an error of up to 32, which no "
    "softmax can undo.",
    "The right operand of a contraction, whose exponents would be those of columns; a softmax along "
    "columns of blocks that does not subtract its maximum.",
    "Statistics over an axis of unknown extent that are divided by it in a 16-bit type (as "
    "`array-decompose{accumulate=input}` does), or by a number that is passed in: they get neither a pivot "
    "nor a guard.",
    "A LayerNorm whose input the same map computes by a contraction, from exponentials or from indices, or "
    "uses as an operand elsewhere (`x + z` that is added to its own LayerNorm): it gets no pivot.",
    "Subnormal numbers (below 1.2e-38 in f32): GPUs take them for 0. Rows that a contraction or an index "
    "gives block by block, vectors of one axis, and rows to which a bias is added after their mean is "
    "subtracted: they get no scale.",
    "Products of exponentials and large numbers that overflow by themselves; infinite inputs other than "
    "masks.",
    "Further fusion: stabilising comes last, and `block-fuse` rejects a stabilised function.",
)

MEASURED = """
The first table shows, for each example, the largest error over its hard inputs, relative to the largest
element of the row. The interpreter computes the results: in blocks of 8 elements, with extents of at most 20,
for the last snapshot. *Before fusion* is the program after `{passes}`. *Not finite* is a NaN or an infinity
where float64 has a number. Hard inputs are:
"""

HARD = (
    "logits of ±1e4, near 1e4 and of ±3e38, equal ones, an outlier of 1e4, denormal ones and columns of "
    "-inf;",
    "biases of ±1e4 and finite masks;",
    "for norms, rows of zeros and scales of 1e-20 and 1e18; for those that centre, also constant rows, "
    "means of 100, 1e4 and 1e6 deviations, and a scale of 1e-30;",
    "large arguments for gates.",
)

MASKED_ROWS = "Rows that are masked everywhere by -inf:"

DTYPES: Mapping[str, tuple[np.dtype[Any], int]] = {
    "f32": (np.dtype(np.float32), 24),
    "bf16": (BFLOAT16, 8),
}
BLOCK_SIZE = 8
STAGES = (TO_BLOCKS, "block-fuse", "block-stabilize")
"""The passes, one after the other."""
LOGARITHMIC = "logsumexp"

Array = NDArray[Any]


@dataclass
class Measured:
    """One row: an example in an element type, with the worst error at each stage."""

    entry: str
    element_type: str
    errors: list[float] = field(default_factory=lambda: [0.0] * len(STAGES))
    worst: str = ""
    masked: list[str] = field(default_factory=list[str])


@cache
def measured() -> tuple[Measured, ...]:
    """Every public function of every example, in every element type."""
    names = sorted(path.stem for path in EXAMPLES.glob("*.mlir"))
    return tuple(row for name in names for element_type in DTYPES for row in _measure(name, element_type))


def _measure(name: str, element_type: str) -> Iterator[Measured]:
    text, dims = resized(name, small_dims(name), element_type)
    arrays = parse_module(text, name)
    modules = [arrays]
    for passes in STAGES:
        modules.append(PassPipeline(passes).run(modules[-1].clone()))
    dtype, bits = DTYPES[element_type]
    for entry in example_module(name).REFERENCES:
        row = Measured(entry, element_type)
        ordinary = example_module(name).inputs(np.random.default_rng(0), dims, entry)
        for kind, values in hard_inputs(name, ordinary, bits).items():
            with np.errstate(over="ignore"):
                inputs = [to_dtype(np.asarray(value), dtype) for value in values]
            results = [_run(module, entry, inputs) for module in modules[1:]]
            wanted = _run(arrays, entry, [value.astype(np.float64) for value in inputs], float64=True)
            if kind == MASKED:
                row.masked = [_masked_value(name, values, wanted) for values in results]
            else:
                _note(row, kind, [max(map(error, values, wanted)) for values in results])
        yield row


def _run(module: ModuleOp, entry: str, inputs: Sequence[Array], float64: bool = False) -> list[Array]:
    return interpret(module, inputs, entry=entry, float64=float64, default_block_size=BLOCK_SIZE).results


def _note(row: Measured, kind: str, errors: Sequence[float]) -> None:
    if errors[1] > row.errors[1]:
        row.worst = kind
    row.errors = [max(pair) for pair in zip(row.errors, errors, strict=True)]


def _masked_value(name: str, results: Sequence[Array], wanted: Sequence[Array]) -> str:
    """The values in rows that are masked everywhere."""
    promised = -np.inf if name.startswith(LOGARITHMIC) else 0.0
    found: set[str] = set()
    for result, reference in zip(results, wanted, strict=True):
        masked = np.isnan(reference) | (reference == promised)
        values = result.astype(np.float64)[masked]
        found |= {"NaN" if np.isnan(value) else f"{value:g}" for value in values}
    return ", ".join(sorted(found))


def _number(value: float) -> str:
    if not np.isfinite(value):
        return "not finite"
    mantissa, exponent = f"{value:.0e}".split("e")
    return f"{mantissa}e{int(exponent)}" if value else "0"


def text() -> str:
    """The page."""
    head = ("before fusion", "fused", "fused, stabilised")
    errors = [
        (f"`{row.entry}`", row.element_type, row.worst, *map(_number, row.errors)) for row in measured()
    ]
    masked = [(f"`{row.entry}`", row.element_type, *row.masked) for row in measured() if row.masked]
    return page(
        TITLE,
        paragraph(INTRODUCTION),
        "## What is carried",
        paragraph(PAIRS),
        "\n".join(map(item, CARRIED)),
        "## What is promised",
        "\n".join(map(item, PROMISES)),
        "## What is not covered",
        "\n".join(map(item, NOT_COVERED)),
        "## Measured errors",
        paragraph(MEASURED.format(passes=TO_BLOCKS)),
        "\n".join(map(item, HARD)),
        table(("example", "type", "worst for the fused program at", *head), errors, 3),
        MASKED_ROWS,
        table(("example", "type", *head), masked, 3),
    )


NOISE = 5.0
"""The factor by which measured errors may differ: other machines add in another order."""

_ERROR = re.compile(r"(?<=\| )(\d+(?:e-?\d+)?)(?= \|)")
_KIND = re.compile(r"(?<=\| )(f32|bf16)( \|)[^|]*(?=\|)")


def is_same(old: str, new: str) -> bool:
    """True if two versions of the page differ in nothing but the noise of measured errors."""
    if _skeleton(old) != _skeleton(new):
        return False
    pairs = zip(_ERROR.findall(old), _ERROR.findall(new), strict=True)
    return all(_close(float(left), float(right)) for left, right in pairs)


def _skeleton(text: str) -> str:
    # Which of two kinds of hard inputs is the worse one may be noise as well.
    return _KIND.sub(r"\1\2", _ERROR.sub("#", text))


def _close(left: float, right: float) -> bool:
    low, high = sorted((left, right))
    return low == high or (low > 0 and high / low <= NOISE)
