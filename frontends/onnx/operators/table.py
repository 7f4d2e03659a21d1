"""All converters, by domain and operator."""

from __future__ import annotations

from . import attention, contractions, elementwise, normalisation, reductions, views
from .registry import TABLE

FAMILIES = (elementwise, views, contractions, reductions, normalisation, attention)
"""The modules that fill the table."""

__all__ = ["FAMILIES", "TABLE"]
