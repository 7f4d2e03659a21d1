"""Words that hide a plainer one, which documentation, code and comments avoid."""

import re

AVOIDED = ("behind", "at hand", "nobody", "somebody", "whoever", "anew", "under way")
"""Plainer: after; current; no operation or no one; an operation or someone; anyone who; again; in flight."""
_PATTERN = re.compile("|".join(rf"\b{word}\b" for word in AVOIDED), re.IGNORECASE)


def avoided_words(text: str) -> list[str]:
    """Return the words of a text that should be plainer, in order."""
    return _PATTERN.findall(text)
