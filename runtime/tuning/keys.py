"""Keys of choices: a program with its shapes and types, on a machine with its threads."""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp

from ..calls.lowered import keep_only
from ..compilation.cache import digest_of
from ..compilation.cached import package_version
from ..host.processor import cpu_identity
from ..host.threads import thread_count
from ..program.functions import select_function
from .records import FORMAT


def alone(program: ModuleOp, entry: str | None) -> ModuleOp:
    """Return a program with one of its functions. Raises InputError."""
    module = program.clone()
    function = select_function(module, entry)
    keep_only(module, function.sym_name.data)
    return module


def key_of(program: ModuleOp, entry: str | None) -> str:
    """Return the key of a function of a program on this machine; the file it is from does not count."""
    text = str(alone(program, entry))
    return digest_of([str(FORMAT), package_version(), cpu_identity(), str(thread_count()), text])


def machine_text() -> str:
    """Return the name of this machine's processor, for people."""
    for line in cpu_identity().splitlines():
        name, colon, value = line.partition(":")
        if colon and name.strip() == "model name":
            return value.strip()
    return cpu_identity().partition("\n")[0]
