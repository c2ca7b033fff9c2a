"""Two streams side by side on a terminal, in plain ANSI.

`Column` wraps text that comes in parts; `View` draws columns on the alternate screen and gives the
terminal back as it was. Widths are those of the terminal's cells, so that an emoji takes two.
"""

from __future__ import annotations

import shutil
import unicodedata
from collections.abc import Sequence
from itertools import zip_longest
from types import TracebackType
from typing import TextIO

from ._demo_metrics import Seen
from ._demo_stream import Kind


class Column:
    """Rows of text of at most `width` cells. Only the last row is wrapped again when text comes."""

    def __init__(self, width: int) -> None:
        self.width = max(2, width)
        self.rows: list[tuple[Kind, str]] = []

    def add(self, kind: Kind, text: str) -> None:
        """Goes on where the text stopped; another kind begins after an empty row."""
        open_row = ""
        if self.rows:
            last_kind, last = self.rows[-1]
            if last_kind == kind:
                self.rows.pop()
                open_row = last
            else:
                self.rows.append((kind, ""))
        for line in (open_row + text).split("\n"):
            self.rows.extend((kind, row) for row in wrap_cells(line, self.width))

    def tail(self, height: int) -> list[tuple[Kind, str]]:
        """The last rows."""
        return self.rows[-height:] if height > 0 else []


def wrap_cells(line: str, width: int) -> list[str]:
    """Breaks one line at its spaces; a word that is wider than a row is broken anywhere."""
    rows: list[str] = []
    row, used, space = "", 0, -1
    for char in line:
        row += char
        used += cells(char)
        if char == " ":
            space = len(row)
        # A space may hang over the edge: it is cut off when the row is drawn.
        if used > width and char != " ":
            at = space if space > 0 else len(row) - 1
            rows.append(row[:at])
            row = row[at:]
            used, space = sum(map(cells, row)), -1
    rows.append(row)
    return rows


def cells(char: str) -> int:
    """How many cells of the terminal a character takes."""
    if unicodedata.combining(char) or unicodedata.category(char) in ("Cf", "Cc"):
        return 0
    return 2 if unicodedata.east_asian_width(char) in ("W", "F") else 1


class View:
    """Draws on a terminal between `with` and its end, also when that end is an exception."""

    def __init__(self, out: TextIO, titles: tuple[str, str]) -> None:
        self._out = out
        self._titles = titles
        self._size = (0, 0)
        self._columns: tuple[Column, Column] = (Column(0), Column(0))
        self._drawn = [0, 0]

    def __enter__(self) -> View:
        self._out.write(ALTERNATE_SCREEN + HIDE_CURSOR + CLEAR)
        self._out.flush()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._out.write(RESET + SHOW_CURSOR + NORMAL_SCREEN)
        self._out.flush()

    def draw(self, streams: tuple[Sequence[Seen], Sequence[Seen]], note: str) -> None:
        """Draws what has been seen of each stream up to now, and a note below."""
        size = tuple(shutil.get_terminal_size())
        clear = ""
        if size != self._size:
            self._size = size[0], size[1]
            width = self._column_width
            self._columns = Column(width), Column(width)
            self._drawn = [0, 0]
            clear = CLEAR
        for number, (column, seen) in enumerate(zip(self._columns, streams, strict=True)):
            for item in seen[self._drawn[number] :]:
                column.add(item.kind, item.text)
                self._drawn[number] += 1
        self._out.write(clear + HOME + NEXT_LINE.join(self._frame(note)))
        self._out.flush()

    @property
    def _column_width(self) -> int:
        return (self._size[0] - len(BETWEEN)) // 2

    def _frame(self, note: str) -> list[str]:
        width = self._column_width
        height = self._size[1] - FRAME_ROWS
        left, right = (column.tail(height) for column in self._columns)
        title, other_title = (BOLD + _fit(title, width) + RESET for title in self._titles)
        frame = [title + BETWEEN + other_title, "─" * width + "─┼─" + "─" * width]
        for one, other in zip_longest(left, right, fillvalue=None):
            frame.append(_styled(one, width) + BETWEEN + _styled(other, width) + TO_LINE_END)
        empty = " " * width + BETWEEN + TO_LINE_END
        frame.extend([empty] * (height - max(len(left), len(right))))
        frame.append(_fit(note, self._size[0] - 1))
        return frame


def _styled(row: tuple[Kind, str] | None, width: int) -> str:
    if row is None:
        return " " * width
    kind, text = row
    fitted = _fit(text, width)
    return DIM + fitted + RESET if kind == "reasoning" else fitted


def _fit(text: str, width: int) -> str:
    """Exactly `width` cells, and nothing that could move the cursor."""
    kept: list[str] = []
    used = 0
    for char in text:
        if unicodedata.category(char) == "Cc":
            continue
        used += cells(char)
        if used > width:
            used -= cells(char)
            break
        kept.append(char)
    return "".join(kept) + " " * (width - used)


ALTERNATE_SCREEN, NORMAL_SCREEN = "\x1b[?1049h", "\x1b[?1049l"
HIDE_CURSOR, SHOW_CURSOR = "\x1b[?25l", "\x1b[?25h"
CLEAR, HOME, TO_LINE_END = "\x1b[2J", "\x1b[H", "\x1b[K"
BOLD, DIM, RESET = "\x1b[1m", "\x1b[2m", "\x1b[0m"
NEXT_LINE = "\r\n"
BETWEEN = " │ "

# Title and rule above the text, note below it.
FRAME_ROWS = 3
