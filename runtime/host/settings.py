"""Settings from the environment: read when they are needed, refused with a sentence when they are wrong."""

from __future__ import annotations

import os
import re


class SettingError(Exception):
    """An environment variable or an argument such as the number of threads has no meaning; a sentence."""


def setting(name: str) -> str | None:
    """The value of an environment variable without blanks around it; None where it is not set or empty."""
    return os.environ.get(name, "").strip() or None


_UNITS = {"": 1, "K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}


def byte_count(name: str, default: int) -> int:
    """A number of bytes from the environment: `500000`, `512M`, `2GiB`. Raises SettingError."""
    text = setting(name)
    if text is None:
        return default
    found = re.fullmatch(r"([0-9]{1,15})\s*([KMGT]?)(?:I?B)?", text.upper(), re.ASCII)
    if found is None:
        raise SettingError(f"{name} is {text!r}, expected a number of bytes such as 536870912, 512M or 2G")
    return int(found[1]) * _UNITS[found[2]]


def binary_size(count: int) -> str:
    """A number of bytes for people: `3.5 GiB`."""
    size = float(count)
    for unit in ("bytes", "KiB", "MiB", "GiB", "TiB", "PiB"):
        if size < 1024 or unit == "PiB":
            break
        size /= 1024
    return f"{count} bytes" if unit == "bytes" else f"{size:.1f} {unit}"
