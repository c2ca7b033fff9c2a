"""Files named on the command line, and what is said when one is bad."""

from __future__ import annotations

import sys
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import BinaryIO


def open_named(name: str) -> AbstractContextManager[BinaryIO]:
    """The file of this name; `-` is standard input, which is not ours to close."""
    return nullcontext(sys.stdin.buffer) if name == "-" else Path(name).open("rb")


def fail(name: str, error: Exception) -> int:
    """Says what is wrong with a file; gives the exit code."""
    reason = error.strerror if isinstance(error, OSError) and error.strerror else error
    return complain(f"{name}: {reason}")


def complain(message: str) -> int:
    """One line on standard error; gives the exit code."""
    print(f"decluster: {message}", file=sys.stderr)
    return 1
