"""What can be wrapped, and how a read that blocks is ended.

Nothing here imports an HTTP client: they are told by what they have.
"""

from __future__ import annotations

import contextlib
import inspect
import socket
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from . import _sdk


class Source:
    """An iterator of lines or chunks, with the response behind it where there is one."""

    def __init__(self, source: object, closer: Callable[[], object] | None) -> None:
        self.iterator, self._response = _open(source)
        self._lock = threading.Lock()
        self._read = False
        self._closer = closer
        if closer is not None:
            # `closer=response.close` names the response, whatever the source hides it behind.
            self._response = getattr(closer, "__self__", self._response)
        elif source is self._response:
            self._closer = getattr(source, "close", None)

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


def _open(source: Any) -> tuple[Iterator[Any], object]:
    if isinstance(source, (str, bytes, bytearray, memoryview)):
        raise TypeError(
            f"a {type(source).__name__} is not a stream: give an iterable of lines or chunks, "
            "such as response.iter_lines()"
        )
    _sdk.refuse(source)
    if isinstance(source, Mapping):
        raise TypeError(
            f"a {type(source).__name__} is a finished answer, not a stream: ask for stream=True "
            'and give response.iter_lines(), or of boto3 response["stream"]; '
            "usage() reads finished answers"
        )
    if inspect.ismethod(source) or inspect.isfunction(source):
        raise TypeError(f"{source.__name__} is a function: call it, as in response.iter_lines()")
    iter_lines = getattr(source, "iter_lines", None)
    if callable(iter_lines):
        body = getattr(source, "stream", None)
        if hasattr(body, "__aiter__") and not hasattr(body, "__iter__"):
            raise TypeError(ASYNC.format(f"the body of this {type(source).__name__}"))
        return iter(_sync(iter_lines())), source
    return iter(_sync(source)), _owner(source)


def _sync(source: Any) -> Iterable[Any]:
    if isinstance(source, Iterable):
        return source
    if hasattr(source, "__aiter__"):
        raise TypeError(ASYNC.format(type(source).__name__))
    raise TypeError(
        f"{type(source).__name__} is not a stream: give an iterable of lines or chunks, "
        "or a response that has iter_lines()"
    )


def _owner(source: object) -> object:
    """The response whose method made this generator: `iter_lines` of requests and httpx."""
    frame = getattr(source, "gi_frame", None)
    return None if frame is None else frame.f_locals.get("self")


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


ASYNC = "{} is an async iterable; decluster reads sync ones so far"
