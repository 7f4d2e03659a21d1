"""Output of passes and tools besides the program: files replaced whole, text on standard output."""

from __future__ import annotations

import errno
import os
import stat
import sys
import tempfile
from typing import TextIO


def replace_file(path: str, data: bytes) -> None:
    """Write a file in one step: an existing file is replaced whole or left as it was. Raises OSError."""
    target = os.path.realpath(path)
    if os.path.exists(target) and not stat.S_ISREG(os.stat(target).st_mode):
        with open(target, "wb") as device:  # /dev/null, a pipe; a directory fails here
            device.write(data)
        return
    mode = os.stat(target).st_mode & 0o7777 if os.path.exists(target) else 0o666 & ~_umask()
    handle, temporary = tempfile.mkstemp(prefix=f".{os.path.basename(target)}.", dir=os.path.dirname(target))
    try:
        with open(handle, "wb") as file:
            file.write(data)
        os.chmod(temporary, mode)
        os.replace(temporary, target)
    except BaseException:
        os.unlink(temporary)
        raise


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


class ClosedPipe(SystemExit):
    """The reader of standard output has closed the pipe: the process ends without a message, with the status
    that a shell reports for SIGPIPE.
    """

    STATUS = 128 + 13

    def __init__(self) -> None:
        super().__init__(self.STATUS)


def print_text(text: str) -> None:
    """Write to standard output, as UTF-8 in any locale. Raises OSError and ClosedPipe."""
    if sys.stdout is None:
        raise OSError(errno.EBADF, "it is closed")
    try:
        _write(text)
    except BrokenPipeError:
        detach(sys.stdout)
        raise ClosedPipe from None


def detach(stream: TextIO) -> None:
    """Keep Python from failing once more when it flushes a standard stream at exit."""
    try:
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, stream.fileno())
        os.close(null)
    except (OSError, ValueError):
        return


def _write(text: str) -> None:
    sys.stdout.flush()
    buffer = getattr(sys.stdout, "buffer", None)
    if buffer is None:  # a StringIO, or what a notebook puts there
        sys.stdout.write(text)
        return
    rest = memoryview(text.encode("utf-8", "backslashreplace"))
    while rest:  # an unbuffered stream may take only a part
        rest = rest[buffer.write(rest) or 0 :]
    sys.stdout.flush()


def os_reason(error: OSError) -> str:
    """The system's words for an error, in lower case."""
    text = error.strerror or str(error)
    return text[:1].lower() + text[1:]
