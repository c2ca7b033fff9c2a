"""The response that a source reads from, and its socket, wherever they are hidden."""

from __future__ import annotations

import contextlib
import gc
import socket
import types
from collections.abc import Callable, Iterator
from typing import Any


def owner_of(source: Any) -> object:
    """The response behind a source, if it can be told."""
    frame = getattr(source, "gi_frame", None)
    if frame is not None:
        # The generator is a method's: `iter_lines` of requests and httpx.
        return frame.f_locals.get("self")
    # An SDK's stream has its response, or wraps a stream that has.
    inner = getattr(source, "completion_stream", source)
    return getattr(inner, "response", None)


def response_behind(iterator: object) -> object:
    """The response that generators read from, each from the next."""
    seen: set[int] = set()
    todo: list[Any] = [iterator]
    while todo and len(seen) < LOOKED_AT:
        value = todo.pop()
        if id(value) in seen:
            continue
        seen.add(id(value))
        package = type(value).__module__.partition(".")[0]
        if package in CLIENTS and socket_of(value) is not None:
            return value
        if isinstance(value, types.FrameType) or (
            package in PYTHONS and hasattr(value, "__next__")
        ):
            # Generators, and what `map`, `enumerate` and their like make of them.
            todo += gc.get_referents(value)
        elif package in SDKS:
            held: dict[str, Any] = getattr(value, "__dict__", {})
            todo += [held[name] for name in HOLDERS if name in held]
    return None


def socket_of(response: Any) -> socket.socket | None:
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


def shares_connection(response: Any) -> bool:
    extensions = getattr(response, "extensions", None)
    return isinstance(extensions, dict) and "stream_id" in extensions


def as_it_comes(response: Any) -> Any:
    """The same response, but where requests would wait for 512 bytes: there it gives what is there.

    It waits so for a body that does not come in chunks (HTTP/1.0, Connection: close). Before its
    version 2.1 urllib3 has no such reads: there all stays as it is.
    """
    raw = getattr(response, "raw", None)
    of_requests = any(of.__module__.startswith("requests.") for of in type(response).__mro__)
    reads = (getattr(raw, "read1", None), getattr(getattr(raw, "_fp", None), "read1", None))
    if of_requests and getattr(raw, "chunked", None) is False and all(map(callable, reads)):
        return _AsItComes(response)
    return response


class _AsItComes:
    """A response of requests over another `raw`: lines and errors are made by its own methods."""

    _kind: Any

    def __init__(self, response: Any) -> None:
        raw = _Body(response.raw)
        self.__dict__.update(_response=response, _kind=type(response), raw=raw)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._response, name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self._response, name, value)

    def iter_content(self, *given: Any, **named: Any) -> Any:
        return self._kind.iter_content(self, *given, **named)

    def iter_lines(self) -> Any:
        return self._kind.iter_lines(self)


class _Body:
    """What requests has of a body."""

    def __init__(self, raw: Any) -> None:
        self._raw = raw

    def stream(self, _: object, decode_content: bool) -> Iterator[bytes]:
        # Without a size a body that is cut short would pass for a whole one.
        while chunk := self._raw.read1(READ_SIZE, decode_content=decode_content):
            yield chunk


READ_SIZE = 1 << 16
PYTHONS = ("builtins", "itertools")
CLIENTS = ("requests", "httpx", "httpx2", "urllib3", "http")
SDKS = ("openai", "anthropic", "google", "litellm")
HOLDERS = ("response", "response_stream", "completion_stream", "_iterator")
LOOKED_AT = 200
