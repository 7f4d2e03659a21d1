"""Numbers for people: three significant digits and a decimal unit."""

from __future__ import annotations

_PREFIXES = ("", "k", "M", "G", "T", "P", "E")


def _scaled(number: int, power: int) -> str:
    if power == 0:
        return str(number)
    value = number / 1000**power
    return f"{value:.{2 if value < 9.995 else 1 if value < 99.95 else 0}f}"


def _power(number: int) -> int:
    power = 0
    # Half a unit below the next one, so that 999,999 is 1.00 M and not 1000 k.
    while power + 1 < len(_PREFIXES) and number >= 999.5 * 1000**power:
        power += 1
    return power


def in_units(number: int, unit: str) -> str:
    """`2.78 MB`, `10.1 Mflop`, `512 B`."""
    power = _power(number)
    return f"{_scaled(number, power)} {_PREFIXES[power]}{unit}"


def time_in_units(seconds: float) -> str:
    """`142.1 us`, `83.01 ms`: four significant digits, and microseconds below ten milliseconds."""
    return f"{seconds * 1e6:.4g} us" if seconds < 9.9995e-3 else f"{seconds * 1e3:.4g} ms"


def change_in_units(before: int, after: int, unit: str) -> str:
    """`2.78 -> 2.65 MB`; one number where nothing that is shown changes."""
    first, second = in_units(before, unit), in_units(after, unit)
    if first == second:
        return second
    if first.partition(" ")[2] == second.partition(" ")[2]:
        return f"{first.partition(' ')[0]} -> {second}"
    return f"{first} -> {second}"


def counted(number: int, noun: str) -> str:
    """`1 nest`, `2 nests`."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
