"""Names and texts of a program made safe for generated C++, and the comments that lead back to the program.

A program's names may be anything: quotes, line breaks, `*/`, keywords, ten thousand characters. Nothing of
them reaches generated source but through `mangle` (identifiers) and `comment_text` (comments).
"""

from __future__ import annotations

import hashlib
import re

LONGEST_NAME = 64
"""Characters of a mangled name."""

LONGEST_COMMENT = 200
"""Characters of a program's text that a comment shows."""

_HASH_DIGITS = 16
_PLAIN = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
_HASHED = re.compile(rf"_[0-9a-f]{{{_HASH_DIGITS}}}\Z")


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_KEYWORDS = _words(
    """alignas alignof and and_eq asm atomic_cancel atomic_commit atomic_noexcept auto bitand bitor bool break
    case catch char char8_t char16_t char32_t class compl concept const consteval constexpr constinit
    const_cast continue contract_assert co_await co_return co_yield decltype default delete do double
    dynamic_cast else enum explicit export extern false final float for friend goto if import inline int long
    module mutable namespace new noexcept not not_eq nullptr operator or or_eq override private protected
    public reflexpr register reinterpret_cast requires restrict return short signed sizeof static
    static_assert static_cast struct switch synchronized template this thread_local throw true try typedef
    typeid typename typeof typeof_unqual union unsigned using virtual void volatile wchar_t while xor
    xor_eq"""
)
# Object-like and function-like macros of the headers that generated source includes, and names of ours.
_TAKEN = _words(
    """BUFSIZ INFINITY MAXFLOAT NAN NFDBITS NULL NZERO WCONTINUED WEXITED WEXITSTATUS WIFCONTINUED WIFEXITED
    WIFSIGNALED WIFSTOPPED WNOHANG WNOWAIT WSTOPPED WSTOPSIG WTERMSIG WUNTRACED alloca assert bb errno i386
    issubnormal linux main math_errhandling offsetof setjmp std stderr stdin stdout strdupa strndupa
    unix"""
)
_MACRO_LIKE = re.compile(r"(?=.{4})[A-Z0-9]+_[A-Z0-9_]*|M_.+|SYS_.+|E[A-Z0-9]{2,}|SNAN.*|L_.{3,}|P_.{3,}")
_BYTE_ORDER = re.compile(r"(be|le)\d+toh|hto(be|le)\d+")


def is_reserved(name: str) -> bool:
    """True if C, C++ or the headers of generated source give an identifier a meaning of their own."""
    if name.startswith("_") or "__" in name:  # in C++ reserved wherever they stand
        return True
    if _HASHED.search(name) is not None:
        return False
    patterns = (_MACRO_LIKE, _BYTE_ORDER)
    return name in _KEYWORDS or name in _TAKEN or any(pattern.fullmatch(name) for pattern in patterns)


def mangle(name: str) -> str:
    """A C and C++ identifier of at most 64 ASCII characters for any text; equal only for equal texts.

    An identifier that is short and not reserved stays as it is. Any other gets 64 bits of its SHA-256 as a
    suffix; so do identifiers that end like one with a suffix, so that a program cannot write another's name.
    The result may still be a function of the C library, such as `exp`: it is meant for locals and for names
    in a namespace; a name with C linkage takes a prefix of its own.
    """
    plain = _PLAIN.fullmatch(name) is not None and len(name) <= LONGEST_NAME
    if plain and not is_reserved(name) and _HASHED.search(name) is None:
        return name
    # A cut before the expression: it need not read ten thousand characters to keep a few.
    stem = re.sub(r"[^A-Za-z0-9]+", "_", name[: 4 * LONGEST_NAME]).strip("_")
    stem = stem[: LONGEST_NAME - _HASH_DIGITS - 2].rstrip("_")
    if not stem[:1].isalpha():
        stem = f"v{stem}"[: LONGEST_NAME - _HASH_DIGITS - 2]
    digest = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()
    return f"{stem}_{digest[:_HASH_DIGITS]}"


def comment_text(text: str, longest: int = LONGEST_COMMENT) -> str:
    """A text on one line that ends no comment and continues none: safe after `//` and inside `/* */`.

    Characters that do not print (line breaks, control characters, signs that reorder a line, lone
    surrogates) become escapes; texts of more than `longest` characters are cut.
    """
    shown = text[:longest]
    shown = "".join(char if char.isprintable() else ascii(char)[1:-1] for char in shown)
    shown = shown.replace("*/", "* /").replace("/*", "/ *")
    if len(text) > longest or len(shown) > longest:
        shown = f"{shown[: longest - 1]}…"
    # A backslash at the end, also one written as a trigraph or before blanks, would join the next line.
    if shown.rstrip().endswith(("\\", "??/", "*", "/")):
        shown = f"{shown.rstrip()}."
    return shown


_AT = "// at "


def location_comment(location: object) -> str:
    """The comment that leads from the statements after it to their place in the program: `// at a.mlir:3:5`.

    `location` is a `Place`, or any text. The emitter writes it on a line of its own.
    """
    return f"{_AT}{comment_text(str(location))}"


def location_of_line(source: str, line: int) -> str | None:
    """Return the place in the nearest comment at or above a line (from 1) of generated source, if any."""
    for text in reversed(source.split("\n")[: max(line, 0)]):
        if text.lstrip().startswith(_AT):
            return text.strip().removeprefix(_AT)
    return None


def without_locations(source: str) -> str:
    """Generated source without its location comments: what the compiled code depends on."""
    return "\n".join(line for line in source.split("\n") if not line.lstrip().startswith(_AT))
