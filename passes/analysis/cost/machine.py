"""Machines as the cost model sees them: rates, tiers of memory, and what starting something costs.

A machine is a small JSON file, in `machines` beside this module or anywhere else, or comes from a
function that measures one: `register_machine("cpu", …)`. The fields of `Machine` are the keys of such a file.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import cast

from xdsl.utils.exceptions import PassFailedException

from ....dialects.diagnostics import did_you_mean
from ...text.output import os_reason

DIRECTORY = Path(__file__).parent / "machines"
LARGEST_FILE = 1 << 20
FUNCTIONS = ("div", "sqrt", "exp", "log", "tanh", "erf", "sin", "other")
"""The functions that take longer than an addition, by the names under which a machine lists their cost."""


@dataclass(frozen=True)
class Tier:
    """One level of memory, as what it holds is read: `bandwidth` in bytes per second, of all workers together
    where the tier is shared, of one where it is private.

    `capacity` is in bytes; None for the last one, which holds everything.
    """

    name: str
    capacity: float | None
    bandwidth: float
    shared: bool


@dataclass(frozen=True)
class Machine:
    """A target: `workers` that each take one iteration of the parallel loops after the other.

    Rates are of one worker. `contract` has the flops per second of contractions by element type (`f32` must
    be there), `vector` the simple operations on elements per second, `functions` the seconds that one element
    takes. A contraction of blocks of R rows, C columns and depth K reaches 1 / (1 + half_rows / R +
    half_columns / C + half_depth / K) of its rate (Hockney's half-performance lengths). Rows above
    `panel_rows` and depths above `panel_depth` count as those, because contractions are cut there anyway;
    `few_rows` or fewer keep `few_rows_rate` of it. In the same way rows that are swept in pieces of B bytes
    are moved at 1 / (1 + half_run / B) of the speed. Rows are computed `lanes` at a time. `copy` is the
    seconds that an element takes to a tile in another layout.

    Of two times that overlap, `exposed` is the part of the shorter one that adds to the longer one; `swept`
    is that part for kernels without contractions. `call`, `launch`, `task` and `step` are seconds: for a call
    of the program, a kernel, an iteration of the parallel loops, an operation on blocks. Where workers share
    the iterations of one reduction they take `sharing` times as long. With one task for each of them the last
    one takes `uneven` longer, as a part, and with more tasks accordingly less. `scratch` is how many bytes a
    worker may use for its tiles, `registers` how many for the sums of its contractions; None for no limit:
    more is possible but slow, or sums are cut to fit.
    """

    name: str
    summary: str
    workers: int
    lanes: int
    few_rows: int
    few_rows_rate: float
    contract: Mapping[str, float]
    vector: float
    functions: Mapping[str, float]
    copy: float
    half_rows: float
    half_columns: float
    half_depth: float
    half_run: float
    panel_rows: float
    panel_depth: float
    exposed: float
    swept: float
    call: float
    launch: float
    task: float
    step: float
    sharing: float
    uneven: float
    scratch: float | None
    registers: float | None
    tiers: tuple[Tier, ...]

    def contract_rate(self, element_type: str) -> float:
        """Flops per second of one worker in contractions of a type; that of f32 where it has none."""
        return self.contract.get(element_type, self.contract["f32"])

    def function_seconds(self, function: str) -> float:
        """Seconds that one worker takes for one element of a function, one of `FUNCTIONS`."""
        return self.functions.get(function, self.functions["other"])


Source = Callable[[], Machine]
_SOURCES: dict[str, Source] = {}


def register_machine(name: str, source: Source) -> None:
    """Register `source`, which returns a machine, under a name; it replaces the machine file of that name."""
    _SOURCES[name] = source


def machine_names() -> list[str]:
    """The names of machines that can be asked for, in alphabetical order."""
    return sorted({*_SOURCES, *(path.stem for path in DIRECTORY.glob("*.json"))})


def machine_named(target: str) -> Machine:
    """Return a machine by its name, or by the path of its file, which ends in `.json`.

    Raises PassFailedException with one sentence if there is none, or if its file is invalid.
    """
    if target in _SOURCES:
        return _SOURCES[target]()
    if target.endswith(".json"):
        return read_machine(Path(target))
    names = machine_names()
    if target not in names:
        otherwise = f"; there are {', '.join(names)}, and files FILE.json"
        raise PassFailedException(f"there is no target '{target}'{did_you_mean(target, names, otherwise)}")
    return read_machine(DIRECTORY / f"{target}.json")


def read_machine(path: Path) -> Machine:
    """The machine that a JSON file describes. Raises PassFailedException."""
    try:
        with path.open("rb") as file:
            data = file.read(LARGEST_FILE + 1)
        if len(data) > LARGEST_FILE:
            raise ValueError("is larger than 1 MiB")
        return machine_of(json.loads(data), path.stem)
    except OSError as error:
        raise PassFailedException(f"cannot read the machine '{path}': {os_reason(error)}") from error
    except RecursionError as error:
        raise PassFailedException(f"the machine '{path}' is nested too deeply") from error
    except ValueError as error:
        raise PassFailedException(f"the machine '{path}' is no description: {error}") from error


def machine_of(record: object, name: str) -> Machine:
    """Return a machine from the contents of a JSON file. Raises ValueError that says what is wrong."""
    given = _table(record, "it")
    wanted = [field.name for field in fields(Machine) if field.name != "name"]
    for key in given:
        if key not in wanted:
            raise ValueError(f"it has an unknown key '{key}'{did_you_mean(key, wanted)}")
    for key in wanted:
        if key not in given:
            raise ValueError(f"it has no key '{key}'")
    contract = _rates(given["contract"], "contract")
    functions = _rates(given["functions"], "functions")
    if "f32" not in contract:
        raise ValueError("'contract' has no rate for f32")
    for function in functions:
        if function not in FUNCTIONS:
            raise ValueError(f"'functions' knows no '{function}'{did_you_mean(function, FUNCTIONS)}")
    if "other" not in functions:
        raise ValueError("'functions' has no time for other")
    tiers = given["tiers"]
    if not isinstance(tiers, list) or not tiers:
        raise ValueError("'tiers' must be a list of at least one tier, the nearest first")
    listed = tuple(_tier(each) for each in cast("list[object]", tiers))
    if any(tier.capacity is None for tier in listed[:-1]) or listed[-1].capacity is not None:
        raise ValueError("the last tier, and no other, has the capacity null")
    return Machine(
        name=name,
        summary=str(given["summary"]),
        workers=_whole(given, "workers"),
        lanes=_whole(given, "lanes"),
        few_rows=_whole(given, "few_rows"),
        few_rows_rate=_number(given, "few_rows_rate"),
        contract=contract,
        vector=_number(given, "vector"),
        functions=functions,
        copy=_number(given, "copy"),
        half_rows=_number(given, "half_rows", zero=True),
        half_columns=_number(given, "half_columns", zero=True),
        half_depth=_number(given, "half_depth", zero=True),
        half_run=_number(given, "half_run", zero=True),
        panel_rows=_number(given, "panel_rows"),
        panel_depth=_number(given, "panel_depth"),
        exposed=_number(given, "exposed", zero=True),
        swept=_number(given, "swept", zero=True),
        call=_number(given, "call", zero=True),
        launch=_number(given, "launch", zero=True),
        task=_number(given, "task", zero=True),
        step=_number(given, "step", zero=True),
        sharing=_number(given, "sharing"),
        uneven=_number(given, "uneven", zero=True),
        scratch=None if given["scratch"] is None else _number(given, "scratch"),
        registers=None if given["registers"] is None else _number(given, "registers"),
        tiers=listed,
    )


def _table(value: object, what: str) -> Mapping[str, object]:
    if not isinstance(value, dict):
        raise ValueError(f"{what} must be an object with keys")
    return cast("dict[str, object]", value)


def _number(table: Mapping[str, object], key: str, *, zero: bool = False) -> float:
    value = table.get(key)
    sound = isinstance(value, int | float) and not isinstance(value, bool)
    if not sound or not (0 <= cast(float, value) < 1e30) or (value == 0 and not zero):
        raise ValueError(f"'{key}' must be a number above 0{' or 0' if zero else ''}, got {value!r}")
    return float(cast(float, value))


def _whole(table: Mapping[str, object], key: str) -> int:
    value = table.get(key)
    if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value < 1 << 31:
        raise ValueError(f"'{key}' must be a whole number above 0, got {value!r}")
    return value


def _rates(value: object, what: str) -> dict[str, float]:
    table = _table(value, f"'{what}'")
    return {key: _number(table, key) for key in table}


def _tier(value: object) -> Tier:
    table = _table(value, "a tier")
    if set(table) != {"name", "capacity", "bandwidth", "shared"}:
        raise ValueError("a tier has the keys name, capacity, bandwidth and shared")
    capacity = None if table["capacity"] is None else _number(table, "capacity")
    return Tier(str(table["name"]), capacity, _number(table, "bandwidth"), table["shared"] is True)
