"""The text form of pass pipelines: ``pass-a,pass-b{option=1 other=x,y flag}``.

xDSL's grammar, with blanks allowed around commas and braces, bare flags for booleans, and errors
that say what was wrong and where in one sentence.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Mapping
from types import NoneType, UnionType
from typing import Any, NoReturn, Union, get_args, get_origin, get_type_hints

from xdsl.passes import ModulePass
from xdsl.utils.arg_spec import ArgSpec, ParameterType
from xdsl.utils.hints import isa

from ...dialects.diagnostics import did_you_mean

PassFactory = Callable[[], type[ModulePass]]


class PipelineError(ValueError):
    """A pipeline that cannot be understood: one sentence for the person who wrote it."""


@dataclasses.dataclass(frozen=True)
class _Word:
    """One value as written; quoted values are never numbers or booleans."""

    text: str
    quoted: bool = False


_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*")
_VALUE = re.compile(r'"(?:\\.|[^"\\])*"|[^\s,{}="]+')
_BLANK = re.compile(r"\s*")


class _Reader:
    """A position in the pipeline text."""

    def __init__(self, text: str):
        self.text, self.pos = text, 0

    def skip_blanks(self) -> None:
        match = _BLANK.match(self.text, self.pos)
        self.pos = match.end() if match else self.pos

    def at_end(self) -> bool:
        self.skip_blanks()
        return self.pos == len(self.text)

    def take(self, char: str) -> bool:
        self.skip_blanks()
        if self.text.startswith(char, self.pos):
            self.pos += len(char)
            return True
        return False

    def match(self, pattern: re.Pattern[str], what: str) -> str:
        self.skip_blanks()
        if (found := pattern.match(self.text, self.pos)) is None:
            self.fail(f"expected {what}")
        self.pos = found.end()
        return found.group()

    def fail(self, message: str) -> NoReturn:
        found = "the end" if self.pos >= len(self.text) else f"'{self.text[self.pos]}'"
        raise PipelineError(
            f"bad pipeline '{self.text}': {message} at character {self.pos + 1}, found {found}"
        )


def parse_pipeline(text: str, passes: Mapping[str, PassFactory]) -> tuple[ModulePass, ...]:
    """The passes that ``text`` names, with their options set; a blank text has none. Raises PipelineError."""
    reader = _Reader(text)
    if reader.at_end():
        return ()
    written: list[tuple[str, dict[str, list[_Word]]]] = []
    while True:
        name = reader.match(_NAME, "the name of a pass")
        written.append((name, _options(reader, name) if reader.take("{") else {}))
        if reader.at_end():
            break
        if not reader.take(","):
            reader.fail("expected a comma between passes")
    return tuple(_build(name, options, passes) for name, options in written)


def _options(reader: _Reader, pass_name: str) -> dict[str, list[_Word]]:
    options: dict[str, list[_Word]] = {}
    while not reader.take("}"):
        name = reader.match(_NAME, f"an option of '{pass_name}' or '}}'").replace("-", "_")
        if name in options:
            raise PipelineError(f"pass '{pass_name}': option '{_shown(name)}' is given twice")
        options[name] = []
        if reader.take("="):
            options[name].append(_value(reader, name))
            while reader.take(","):
                options[name].append(_value(reader, name))
    return options


def _value(reader: _Reader, option: str) -> _Word:
    text = reader.match(
        _VALUE, f"a value for option '{_shown(option)}' (quote values that hold blanks or ,{{}}=)"
    )
    if text.startswith('"'):
        return _Word(re.sub(r"\\(.)", r"\1", text[1:-1]), quoted=True)
    return _Word(text)


def _build(name: str, options: Mapping[str, list[_Word]], passes: Mapping[str, PassFactory]) -> ModulePass:
    if name not in passes:
        tail = f"; the passes are {', '.join(sorted(passes))}"
        raise PipelineError(f"there is no pass named '{name}'{did_you_mean(name, passes, tail)}")
    cls = passes[name]()
    fields = {field.name: field for field in dataclasses.fields(cls) if field.init and field.name != "name"}
    hints = get_type_hints(cls)
    options = _gather_free_options(cls, fields, options)
    for option in options:
        if option not in fields:
            known = ", ".join(_shown(field) for field in fields)
            tail = f"; its options are {known}" if known else "; it takes no options"
            hint = did_you_mean(_shown(option), map(_shown, fields), tail)
            raise PipelineError(f"pass '{name}' has no option '{_shown(option)}'{hint}")
    for field in fields.values():
        optional = (
            field.default is not dataclasses.MISSING or field.default_factory is not dataclasses.MISSING
        )
        hint = hints[field.name]
        if field.name not in options and not optional and NoneType not in get_args(hint):
            raise PipelineError(f"pass '{name}' needs option '{_shown(field.name)}': {describe(hint)}")
    parameters = {option: _convert(name, option, words, hints[option]) for option, words in options.items()}
    try:
        return cls.from_spec(ArgSpec(cls.name, parameters))
    except ValueError as error:  # from the pass's own checks
        raise PipelineError(f"pass '{name}': {' '.join(str(error).split())}") from error


def _gather_free_options(
    cls: type[ModulePass], fields: Mapping[str, Any], options: Mapping[str, list[_Word]]
) -> Mapping[str, list[_Word]]:
    """Options that a pass lets the user name, such as dims, in the one that takes them: `name=value`."""
    gathering = getattr(cls, "free_options", None)
    if gathering is None:
        return options
    gathered = {name: words for name, words in options.items() if name in fields}
    free = [
        _Word(f"{name}={','.join(word.text for word in words)}", quoted=True)
        for name, words in options.items()
        if name not in fields
    ]
    return {**gathered, gathering: [*gathered.get(gathering, []), *free]} if free else gathered


def _convert(pass_name: str, option: str, words: list[_Word], hint: Any) -> tuple[ParameterType, ...]:
    """The words as values of the field's type, as ``ModulePass.from_spec`` takes them."""
    if not words:
        if _accepts(hint, (True,)):
            return (True,)
        if NoneType in get_args(hint) or isa((), hint):
            return ()
    for reading in (_typed, _as_float, _as_text):
        values = tuple(reading(word) for word in words)
        if values and _accepts(hint, values):
            return values
    given = ",".join(f'"{word.text}"' if word.quoted else word.text for word in words) or "nothing"
    raise PipelineError(f"pass '{pass_name}': option '{_shown(option)}' takes {describe(hint)}, not {given}")


def _accepts(hint: Any, values: tuple[ParameterType, ...]) -> bool:
    """True if a field of this type takes the values; unlike in Python, ``true`` is no integer."""
    if any(isinstance(value, bool) for value in values) and not _mentions(hint, bool):
        return False
    return isa(values, hint) or (len(values) == 1 and isa(values[0], hint))


def _mentions(hint: Any, wanted: type) -> bool:
    return hint is wanted or any(_mentions(arg, wanted) for arg in get_args(hint))


def _typed(word: _Word) -> ParameterType:
    if not word.quoted:
        if word.text in ("true", "false"):
            return word.text == "true"
        if re.fullmatch(r"[-+]?[0-9]{1,18}", word.text):
            return int(word.text)
    return _as_float(word) if re.search(r"[.eE]", word.text) else word.text


def _as_float(word: _Word) -> ParameterType:
    if not word.quoted and re.fullmatch(r"[-+]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][-+]?[0-9]+)?", word.text):
        return float(word.text)
    return word.text


def _as_text(word: _Word) -> ParameterType:
    return word.text


def describe(hint: Any) -> str:
    """A field's type in words: ``an integer``, ``a comma-separated list of strings``."""
    if get_origin(hint) in (Union, UnionType):
        return " or ".join(describe(arg) for arg in get_args(hint) if arg is not NoneType)
    if get_origin(hint) is tuple:
        return f"a comma-separated list of {_PLURALS.get(get_args(hint)[0], 'values')}"
    return _SINGULARS.get(hint, f"a value of type {hint}")


_SINGULARS: dict[Any, str] = {int: "an integer", float: "a number", bool: "true or false", str: "a string"}
_PLURALS: dict[Any, str] = {int: "integers", float: "numbers", bool: "true or false", str: "strings"}


def _shown(option: str) -> str:
    return option.replace("_", "-")
