"""What can be wrapped, sync or async, and how a read that blocks is ended.

Nothing here imports an HTTP client: they are told by what they have.
"""

from __future__ import annotations

import contextlib
import inspect
import socket
import threading
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping
from typing import Any


def open_source(source: Any, closer: Callable[[], object] | None) -> Source | AsyncSource:
    """The source of a stream. Raises `TypeError` for what is none, with what to give instead."""
    _refuse(source)
    if _is_async(source):
        return AsyncSource(source, closer)
    return Source(source, closer)


class Source:
    """An iterator of lines, chunks or events, with the response behind it where there is one."""

    def __init__(self, source: Any, closer: Callable[[], object] | None) -> None:
        self.passed_on: Any = _passed_on(source)
        self.iterator: Iterator[Any]
        if _has_lines(source):
            self.iterator, self._response = iter(source.iter_lines()), source
        else:
            self.iterator, self._response = iter(source), _owner(source)
        self._lock = threading.Lock()
        self._read = False
        self._closer = closer or _closer_of(source, self.iterator, "close")
        if closer is not None:
            # `closer=response.close` names the response, whatever the source hides it behind.
            self._response = getattr(closer, "__self__", self._response)

    def interrupt(self) -> None:
        """Ends a read that blocks in another thread, as far as the client lets us.

        Shutting its socket down wakes the reader; closing the response would wait for it instead. A
        source whose socket cannot be reached is left to its closer, which may wait, but not here.
        Once all was read, the connection is the client's again, perhaps in use for another request.
        """
        if self._read:
            return
        connection = _socket_of(self._response)
        if connection is not None:
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        elif self._closer is not None:
            threading.Thread(target=self._call_closer, name="decluster-closer", daemon=True).start()

    def was_read(self) -> None:
        """No read will come any more."""
        self._read = True

    def close(self) -> None:
        """Closes the iterator, then what was given to be closed. No read may be under way."""
        try:
            close = getattr(self.iterator, "close", None)
            if close is not None:
                close()
        finally:
            self._call_closer()

    def _call_closer(self) -> None:
        with self._lock:
            closer, self._closer = self._closer, None
        if closer is not None:
            closer()


class AsyncSource:
    """An async iterator of lines, chunks or events."""

    def __init__(self, source: Any, closer: Callable[[], object] | None) -> None:
        self.passed_on: Any = _passed_on(source)
        opened = source
        if callable(getattr(source, "aiter_lines", None)):
            opened = source.aiter_lines()
        elif _has_lines(source):
            opened = source.iter_lines()
        elif _is_aiohttp(source):
            opened = _lines_of(source.content)
        self.iterator: AsyncIterator[Any] = opened.__aiter__()
        self._closer = closer or _closer_of(source, self.iterator, "aclose", "close")

    async def aclose(self) -> None:
        """Closes the iterator, then what was given to be closed. No read may be under way."""
        try:
            close = getattr(self.iterator, "aclose", None)
            if close is not None:
                await close()
        finally:
            closer, self._closer = self._closer, None
            if closer is not None:
                closing = closer()
                if inspect.isawaitable(closing):
                    await closing


def _refuse(source: Any) -> None:
    given = type(source).__name__
    if isinstance(source, (str, bytes, bytearray, memoryview)):
        raise TypeError(
            f"a {given} is not a stream: give an iterable of lines or chunks, "
            "such as response.iter_lines()"
        )
    if isinstance(source, Mapping):
        raise TypeError(
            f"a {given} is a finished answer, not a stream: ask for stream=True "
            'and give response.iter_lines(), or of boto3 response["stream"]; '
            "usage() reads finished answers"
        )
    if inspect.ismethod(source) or inspect.isfunction(source):
        raise TypeError(f"{source.__name__} is a function: call it, as in response.iter_lines()")
    if inspect.iscoroutine(source):
        source.close()  # Else Python warns that nobody awaited it, which is said here already.
        raise TypeError(f"{source.__name__} is a coroutine: await it, and give what it returns")
    if _has_lines(source) or _is_aiohttp(source) or hasattr(source, "__aiter__"):
        return
    if not isinstance(source, Iterable):
        raise TypeError(
            f"{given} is not a stream: give an iterable of lines or chunks, "
            "or a response that has iter_lines()"
        )


def _is_async(source: Any) -> bool:
    if _is_aiohttp(source):
        return True
    if _has_lines(source):
        # A response of httpx can be read in both ways, but its body in one only.
        body = getattr(source, "stream", None)
        reads_async = hasattr(body, "__aiter__") and not hasattr(body, "__iter__")
        return reads_async or inspect.isasyncgenfunction(source.iter_lines)
    return hasattr(source, "__aiter__")


def _has_lines(source: Any) -> bool:
    return callable(getattr(source, "iter_lines", None))


def _is_aiohttp(source: Any) -> bool:
    # Told by the class, since `content` of other clients' responses reads the whole body.
    of_aiohttp = any(of.__module__.partition(".")[0] == "aiohttp" for of in type(source).__mro__)
    return of_aiohttp and hasattr(getattr(source, "content", None), "iter_any")


def _passed_on(source: Any) -> Any:
    """What of a source is to be had through the wrapped stream: all that an SDK's stream has."""
    plain = inspect.isgenerator(source) or inspect.isasyncgen(source) or _has_lines(source)
    own = type(source).__module__ not in ("builtins", "itertools") and not plain
    return source if own and not _is_aiohttp(source) else None


def _closer_of(source: Any, iterator: object, *names: str) -> Callable[[], object] | None:
    """What closes a response or an SDK's stream, of which the iterator is a part only."""
    found = (getattr(source, name, None) for name in names)
    return None if source is iterator else next(filter(None, found), None)


def _owner(source: Any) -> object:
    """The response behind a source, if it can be told."""
    frame = getattr(source, "gi_frame", None)
    if frame is not None:
        # The generator is a method's: `iter_lines` of requests and httpx.
        return frame.f_locals.get("self")
    # An SDK's stream has its response, or wraps a stream that has.
    inner = getattr(source, "completion_stream", source)
    return getattr(inner, "response", None)


def _socket_of(response: Any) -> socket.socket | None:
    paths: tuple[Callable[[], object], ...] = (
        # httpx and httpcore
        lambda: response.extensions["network_stream"].get_extra_info("socket"),
        # requests and urllib3
        lambda: response.raw.connection.sock,
        lambda: response.raw._fp.fp.raw._sock,
        # http.client and urllib
        lambda: response.fp.raw._sock,
    )
    for path in paths:
        with contextlib.suppress(AttributeError, KeyError, TypeError):
            found = path()
            if isinstance(found, socket.socket):
                return found
    return None


async def _lines_of(content: Any) -> AsyncIterator[bytes]:
    """The lines of an aiohttp response with their ends, also those that its own reader refuses.

    What has no end for a long time is given in parts.
    """
    begun: list[bytes] = []
    held = 0
    async for chunk in content.iter_any():
        first, *more = chunk.split(b"\n")
        for part in more:
            yield b"".join((*begun, first, b"\n"))
            begun, held, first = [], 0, part
        begun.append(first)
        held += len(first)
        if held > LINE_HELD:
            yield b"".join(begun)
            begun, held = [], 0
    if held:
        yield b"".join(begun)


# Bytes of a line that are held until its end comes.
LINE_HELD = 1 << 20
