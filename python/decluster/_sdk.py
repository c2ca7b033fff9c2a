"""What SDKs give: which of their objects can be wrapped, and whether one is read with `async for`.

They are told by the modules of their classes; no SDK is imported here.
"""

from __future__ import annotations

import functools
import inspect
import sys
from typing import Any


def refuse(source: object) -> None:
    """Raises `TypeError` for what an SDK gives besides plain streams, and says what to do."""
    name, shown = type(source).__name__, source.__class__  # What a proxy stands for.
    if keeps_snapshots(shown):
        raise TypeError(SNAPSHOTS.format(shown.__name__))
    if is_model(shown):
        raise TypeError(
            f"a {name} is one object, not a stream: ask for stream=True (google-genai: call "
            "generate_content_stream()) and give what that returns; usage() reads finished answers"
        )
    if inspect.iscoroutine(source):
        source.close()  # Else Python warns that nobody awaited it, which is said here already.
        raise TypeError(f"{source.__name__} is a coroutine: await it, and give what it returns")
    if inspect.isawaitable(source) and not _has(source, "__aiter__"):
        raise TypeError(f"a {name} is not a stream yet: await it, and give what it returns")
    if _is_raw_response(source):
        raise TypeError(f"a {name} is not a stream: give what its parse() returns")


def keeps_snapshots(kind: type) -> bool:
    """Whether this is a helper of an SDK that puts the answer together itself, or its event."""
    return any(
        str(base.__module__).startswith(HELPERS) and not str(base.__module__).startswith(AGENTS)
        for base in kind.__mro__
    )


def is_model(kind: type) -> bool:
    """Whether this is a pydantic model (of version 2): what the SDKs make of events and answers."""
    return hasattr(kind, "model_dump_json") and hasattr(kind, "model_copy")


def is_async(source: object) -> bool:
    """Whether a source is read with `async for`."""
    if not _has(source, "__aiter__"):
        return False
    if not _has(source, "__iter__"):
        return True
    # LiteLLM's stream has both, and works in the way that what it reads from does. So do the
    # proxies that tracing puts around streams.
    found = _inner_is_async(source)
    return _in_a_loop() if found is None else found


def _inner_is_async(source: Any) -> bool | None:
    within = source
    for _ in range(DEPTH):
        within = next(filter(None, (getattr(within, name, None) for name in INNER)), None)
        if within is None:
            break
        if _has(within, "__aiter__") != _has(within, "__iter__"):
            return _has(within, "__aiter__")
    call = getattr(source, "make_call", None)
    while isinstance(call, functools.partial):
        call = call.func
    return inspect.iscoroutinefunction(call) if callable(call) else None


def _in_a_loop() -> bool:
    # A loop runs only where somebody has imported it.
    asyncio: Any = sys.modules.get("asyncio")
    try:
        return asyncio is not None and asyncio.get_running_loop() is not None
    except RuntimeError:
        return False


def _is_raw_response(source: object) -> bool:
    """What `with_raw_response` gives for a stream: headers, and the stream behind `parse()`."""
    return (
        _has(source, "parse")
        and hasattr(source, "http_response")
        and not any(_has(source, name) for name in ("__iter__", "__aiter__", "iter_lines"))
    )


def _has(value: object, name: str) -> bool:
    return hasattr(type(value), name)


SNAPSHOTS = (
    "a {} cannot be wrapped: its events carry the whole text so far, which would run ahead of what "
    "is shown. Use create(stream=True), or pace the bytes below the SDK, in its HTTP client "
    "(decluster.httpx_hooks)"
)
HELPERS = ("openai.lib.streaming.", "anthropic.lib.streaming.")
AGENTS = "openai.lib.streaming.agents."

INNER = ("__wrapped__", "completion_stream", "streaming_response", "response_iterator")
"""Where proxies, LiteLLM's streams and those that parse for it keep what they read from."""
DEPTH = 8
