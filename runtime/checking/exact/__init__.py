"""Exact equivalence of programs: their meaning over finite fields, on random inputs."""

from .equivalence import Verdict, equivalent

__all__ = ["Verdict", "equivalent"]
