"""The response that a source reads from, and its socket, wherever they are hidden."""

from __future__ import annotations

import contextlib
import gc
import socket
import types
from collections.abc import Callable
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


PYTHONS = ("builtins", "itertools")
CLIENTS = ("requests", "httpx", "httpx2", "urllib3", "http")
SDKS = ("openai", "anthropic", "google", "litellm")
HOLDERS = ("response", "response_stream", "completion_stream", "_iterator")
LOOKED_AT = 200
