"""The lines of a response, cut where event streams have line ends."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Iterator
from typing import Any


class Lines:
    """Cuts chunks into lines, where event streams have line ends: not at U+2028, as `str` does.

    `str` without their ends, as httpx has them; or `bytes` with them, as aiohttp has: of these, one
    that does not end for a long time is given in parts.
    """

    def __init__(self, as_aiohttp: bool) -> None:
        self._as_aiohttp = as_aiohttp
        self._most = PART_HELD if as_aiohttp else LINE_HELD
        self._begun: list[bytes] = []
        self._held = 0
        self._after_cr = False

    def take(self, chunk: bytes) -> list[Any]:
        if self._as_aiohttp:
            parts = [part + b"\n" for part in chunk.split(b"\n")]
            parts[-1] = parts[-1][:-1]
        else:
            if not chunk:
                return []
            if self._after_cr:
                chunk = chunk.removeprefix(b"\n")
            self._after_cr = chunk.endswith(b"\r")
            parts = chunk.splitlines()
            if chunk.endswith((b"\r", b"\n")):
                parts.append(b"")
        if not parts:
            return []
        *whole, begun = parts
        if whole:
            whole[0] = b"".join((*self._begun, whole[0]))
            self._begun, self._held = [], 0
        self._begun.append(begun)
        self._held += len(begun)
        return list(map(self._of, whole + (self.rest() if self._held > self._most else [])))

    def finish(self) -> list[Any]:
        return list(map(self._of, self.rest()))

    def rest(self) -> list[bytes]:
        begun, self._begun, self._held = b"".join(self._begun), [], 0
        return [begun] if begun else []

    def _of(self, line: bytes) -> Any:
        return line if self._as_aiohttp else line.decode("utf-8", "replace")


def lines_of(chunks: Iterable[bytes]) -> Iterator[Any]:
    lines = Lines(as_aiohttp=False)
    for chunk in chunks:
        yield from lines.take(chunk)
    yield from lines.finish()


async def alines_of(chunks: AsyncIterator[bytes], as_aiohttp: bool) -> AsyncIterator[Any]:
    lines = Lines(as_aiohttp)
    async for chunk in chunks:
        for line in lines.take(chunk):
            yield line
    for line in lines.finish():
        yield line


# Bytes of a line that are held until its end comes.
PART_HELD = 1 << 20
LINE_HELD = 1 << 26
"""Well above the default of `max_event_bytes`: what is too large is for the decoder to say."""
