"""What can be wrapped, sync or async, and how a read that blocks is ended.

Nothing here imports an HTTP client: they are told by what they have.
"""

from __future__ import annotations

import contextlib
import inspect
import socket
import threading
import warnings
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping
from typing import Any

from . import _sdk
from ._lines import alines_of, lines_of
from ._response import as_it_comes, owner_of, response_behind, shares_connection, socket_of
from ._types import Framing


def open_source(
    source: Any, closer: Callable[[], object] | None, framing: Framing | None, *, as_lines: bool
) -> Source | AsyncSource:
    """The source of a stream; of a response its lines, or else its chunks where that is better.

    Raises `TypeError` for what is none, with what to give instead.
    """
    _refuse(source)
    if closer is not None and not callable(closer):
        raise TypeError(f"closer is a {type(closer).__name__}: give a function, as response.close")
    is_response = _has_lines(source) or _is_aiohttp(source)
    if framing in ("bytes", "text") and is_response:
        raise TypeError(
            f"a {type(source).__name__} gives its lines: for bytes give its iter_bytes(), "
            "iter_content(), aiter_bytes() or content.iter_any()"
        )
    if is_response and _was_read(source):
        warnings.warn(
            "this response was read or closed before it came here, so there is nothing to pace: "
            "ask for it with stream=True, or client.stream(...)",
            RuntimeWarning,
            stacklevel=4,
        )
    if _is_async(source):
        return AsyncSource(source, closer, framing, as_lines)
    return Source(source, closer, framing, as_lines)


class Source:
    """An iterator of lines, chunks or events, with the response behind it where there is one."""

    def __init__(
        self,
        source: Any,
        closer: Callable[[], object] | None,
        framing: Framing | None,
        as_lines: bool,
    ) -> None:
        self.passed_on: Any = _passed_on(source)
        self.framing = framing or _framing_of(source)
        self.iterator: Iterator[Any]
        if not _has_lines(source):
            self.iterator, self._response = iter(source), owner_of(source)
        else:
            self._response = source
            if not _has(source, "iter_bytes"):
                self.iterator, self.framing = iter(as_it_comes(source).iter_lines()), "lines"
            elif as_lines:
                self.iterator, self.framing = lines_of(source.iter_bytes()), "lines"
            else:
                self.iterator, self.framing = source.iter_bytes(), "bytes"
        self._lock = threading.Lock()
        self._read = False
        self.hides_response: bool = inspect.isgenerator(self.iterator)
        if inspect.iscoroutinefunction(closer):
            raise TypeError(
                "the source is not async, so nobody can await the closer: give a function"
            )
        self._closer = closer or _closer_of(source, self.iterator, "close")
        if closer is not None:
            # `closer=response.close` names the response, whatever the source hides it behind.
            self._response = getattr(closer, "__self__", self._response)

    def interrupt(self) -> None:
        """Ends a read that blocks in another thread, as far as the client lets us.

        Shutting its socket down wakes the reader; closing the response would wait for it instead. A
        source whose socket cannot be reached is left to its closer, which may wait, but not here.
        Once all was read, the connection is the client's again, perhaps in use for another request.
        One of HTTP/2 is not this response's alone, and a response that is closed while it is read
        waits for what is never told to it: there a read ends with what comes next.
        """
        if self._read or shares_connection(self._response):
            return
        connection = socket_of(self._response)
        if connection is not None:
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        elif self._closer is not None:
            threading.Thread(
                target=self._close_behind, name="decluster-closer", daemon=True
            ).start()

    def look_behind(self) -> None:
        """Finds the response behind generators, once an item has come through them.

        Later they may be running, and then nobody can look into them.
        """
        self.hides_response = False
        if socket_of(self._response) is None:
            self._response = response_behind(self.iterator) or self._response

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

    @property
    def running(self) -> bool:
        """Whether a read is under way, as far as the iterator tells."""
        return getattr(self.iterator, "gi_running", False) is True

    def _close_behind(self) -> None:
        try:
            self._call_closer()
        except Exception as error:
            warn_of_close(error)

    def _call_closer(self) -> None:
        with self._lock:
            closer, self._closer = self._closer, None
        if closer is not None:
            closer()


class AsyncSource:
    """An async iterator of lines, chunks or events."""

    def __init__(
        self,
        source: Any,
        closer: Callable[[], object] | None,
        framing: Framing | None,
        as_lines: bool,
    ) -> None:
        self.passed_on: Any = _passed_on(source)
        self.framing = framing or _framing_of(source)
        opened = source
        chunks = _async_chunks_of(source)
        if chunks is not None:
            opened, self.framing = (alines_of(chunks, _is_aiohttp(source)), "lines")
            if not as_lines:
                opened, self.framing = chunks, "bytes"
        elif _has_lines(source):
            opened, self.framing = source.iter_lines(), "lines"
        self.iterator: AsyncIterator[Any] = opened.__aiter__()
        self._closer = closer or _closer_of(source, self.iterator, "aclose", "close")
        self.closing = False

    async def aclose(self) -> None:
        """Closes the iterator, then what was given to be closed. No read may be under way."""
        try:
            close = getattr(self.iterator, "aclose", None)
            if close is not None:
                await close()
        finally:
            await self.close_behind()

    async def close_behind(self) -> None:
        """Closes what was given to be closed. A read of it that is under way ends by that."""
        closer, self._closer = self._closer, None
        if closer is not None:
            closing = closer()
            if inspect.isawaitable(closing):
                await closing


def warn_of_close(error: Exception) -> None:
    """The stream itself is complete: a client that fails to close loses nothing of it."""
    warnings.warn(f"closing the source failed: {error!r}", RuntimeWarning, stacklevel=3)


def _refuse(source: Any) -> None:
    given = type(source).__name__
    if isinstance(source, (str, bytes, bytearray, memoryview)):
        raise TypeError(
            f"a {given} is not a stream: give an iterable of lines or chunks, "
            "such as response.iter_lines()"
        )
    _sdk.refuse(source)
    if isinstance(source, Mapping):
        raise TypeError(
            f"a {given} is a finished answer, not a stream: ask for stream=True "
            'and give response.iter_lines(), or of boto3 response["stream"]; '
            "usage() reads finished answers"
        )
    if inspect.ismethod(source) or inspect.isfunction(source):
        raise TypeError(f"{source.__name__} is a function: call it, as in response.iter_lines()")
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
    return _sdk.is_async(source)


def _was_read(response: Any) -> bool:
    """Whether a response has nothing left to read: requests', httpx's."""
    read = ("is_stream_consumed", "is_closed", "_content_consumed")
    raw = getattr(response, "raw", None)
    return any(getattr(response, name, None) is True for name in read) or (
        getattr(raw, "closed", None) is True
    )


def _has_lines(source: Any) -> bool:
    return _has(source, "iter_lines")


def _has(source: Any, method: str) -> bool:
    return callable(getattr(source, method, None))


def _framing_of(source: Any) -> Framing | None:
    """What a client's own generator says by its name, however its first items look."""
    code = getattr(source, "gi_code", None) or getattr(source, "ag_code", None)
    return "lines" if getattr(code, "co_name", None) in ("iter_lines", "aiter_lines") else None


def _async_chunks_of(source: Any) -> AsyncIterator[bytes] | None:
    """The body of a response, chunk by chunk."""
    if _is_aiohttp(source):
        return source.content.iter_any()  # type: ignore[no-any-return]
    if _has(source, "aiter_bytes"):
        return source.aiter_bytes()  # type: ignore[no-any-return]
    if _has(source, "iter_bytes") and _has_lines(source):
        return source.iter_bytes()  # type: ignore[no-any-return]
    return None


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


# A little less than the 100 ms in which closing a stream returns.
CLOSE_WITHIN_S = 0.08
