"""Files named on the command line, and what is said when one is bad."""

from __future__ import annotations

import sys
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import BinaryIO, cast


def open_named(name: str) -> AbstractContextManager[BinaryIO]:
    """The file of this name; `-` is standard input, which is not ours to close."""
    if name != "-":
        return Path(name).open("rb")
    if cast("object", sys.stdin) is None:  # as `<&-` leaves it
        raise OSError("standard input is closed")
    return nullcontext(sys.stdin.buffer)


def fail(name: str, error: Exception) -> int:
    """Says what is wrong with a file; gives the exit code."""
    reason = error.strerror if isinstance(error, OSError) and error.strerror else error
    return complain(f"{name}: {reason}")


def complain(message: str) -> int:
    """One line on standard error; gives the exit code."""
    print(f"decluster: {message}", file=sys.stderr)
    return 1
