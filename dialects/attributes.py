"""Names of the attributes that programs carry in addition to those that their dialects define: `bb.*`."""

from __future__ import annotations

from xdsl.dialects.builtin import StringAttr

DIM_NAMES = "bb.dims"
"""Of a function's argument: the dims of its axes, `{bb.dims = ["M", "H*E"]}`."""

CONSTANT = "bb.constant"
"""Of a function's argument: it is the same in every call, as a weight is."""

RANGES = "bb.ranges"
"""Of a function: the smallest and the largest extent of dims, `{bb.ranges = {M = [1, 8]}}`."""

SNAPSHOT = "bb.snapshot"
"""Of a function that is a snapshot of fusion: its number, the extensions that led to it, and its modelled
cost.
"""

STABILIZED = "bb.stabilized"
"""Of a function: its exponentials are carried as pairs."""

OWN_EXPONENT = "bb.own_exponent"
"""Of a rounding of an item to a narrower type: a scale has left it, so that the item may be out of the type's
range. `block-stabilize` gives each of its rows an exponent.
"""

POWER_OF_TWO = StringAttr("power of two")
"""The value of `bb.own_exponent` for rows that are to be scaled by powers of two alone, which is exact."""

HIDDEN_ARE_ZERO = "bb.hidden_are_zero"
"""Of an `array.masked_matmul`: elements of its left operand are 0 where the mask hides them."""

PROLOGUE = "bb.prologue"
"""Of a map: it depends on constants alone and need run only once."""

ONCE = "bb.once"
"""Of a launch: its operands are the same in every call."""

EXACT_ATTRIBUTE = "bb.exact"
"""Of an `arith.constant`: the f64 number that was rounded to its value, for float64 evaluation."""
