"""Paces below an SDK, in its HTTP client: response hooks for httpx and httpx2.

    client = openai.OpenAI(
        http_client=openai.DefaultHttpxClient(event_hooks=decluster.httpx_hooks.hooks())
    )
    client = anthropic.AsyncAnthropic(
        http_client=anthropic.DefaultAsyncHttpxClient(
            event_hooks=decluster.httpx_hooks.async_hooks(max_delay=0.8)
        )
    )

`import decluster.httpx_hooks` comes before. Nothing else changes: helpers that keep a snapshot
(`chat.completions.stream()`, `messages.stream()`), LangChain and Pydantic-AI read a stream that is
paced already. google-genai takes such a client as `HttpOptions(httpx_client=...)`. With hooks of
your own it is `{"response": [mine, *hooks()["response"]]}`.

Event streams and JSON lines are paced, whatever reads them; compressed ones arrive uncompressed.
Responses of other content types pass untouched, errors as JSON among them.

These are hooks and no transport, since a client with a transport of its own does not heed
HTTPS_PROXY, and since an SDK's `Default...Client` has timeouts and limits for long streams.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import cache, partial
from typing import TYPE_CHECKING, Any, cast

from ._core import Budget
from ._ledger import Account, Ledger, account_of
from ._types import Dialect, Parameters
from ._verbs import wrap

if sys.version_info >= (3, 11):
    from typing import Unpack
elif TYPE_CHECKING:
    from typing_extensions import Unpack


def hooks(
    *,
    dialect: Dialect | None = None,
    background: bool = True,
    budget: Budget | None = None,
    ledger: Ledger | Account | None = None,
    **parameters: Unpack[Parameters],
) -> dict[str, list[Callable[..., Any]]]:
    """`event_hooks` for a sync client: `httpx.Client(event_hooks=hooks(max_delay=0.8))`.

    They take what `decluster.wrap` takes, but for `framing` and `closer`; a `budget` is shared by
    all responses of the client.

    Raises `ConfigError` for a parameter out of bounds, at once. While a response is read, the
    errors are those of `wrap`: the client's own come after the text that had arrived before them.
    """
    paced = _pacing(
        account_of(ledger), dialect=dialect, background=background, budget=budget, **parameters
    )

    def pace(response: Any) -> None:
        _of_client(response, "__iter__", "an async client takes async_hooks(), not hooks()")
        if _is_stream(response):
            inner = _again(response)
            _replace_body(response, paced(inner.iter_bytes(), inner.close))

    return {"response": [pace]}


def async_hooks(
    *,
    dialect: Dialect | None = None,
    background: bool = True,
    budget: Budget | None = None,
    ledger: Ledger | Account | None = None,
    **parameters: Unpack[Parameters],
) -> dict[str, list[Callable[..., Any]]]:
    """`event_hooks` for an async client: `httpx.AsyncClient(event_hooks=async_hooks())`.

    Else as `hooks`.
    """
    paced = _pacing(
        account_of(ledger), dialect=dialect, background=background, budget=budget, **parameters
    )

    async def pace(response: Any) -> None:
        if _is_stream(response):
            inner = _again(response)
            _replace_body(response, paced(inner.aiter_bytes(), inner.aclose))

    def hook(response: Any) -> Any:
        # Not in the coroutine, which a sync client would never await.
        _of_client(response, "__aiter__", "a sync client takes hooks(), not async_hooks()")
        return pace(response)

    return {"response": [hook]}


def _pacing(account: Account | None, **options: Any) -> Callable[[Any, Any], Any]:
    def paced(chunks: Any, closer: Callable[[], object], **more: Any) -> Any:
        return cast("Any", wrap)(chunks, framing="bytes", closer=closer, **options, **more)

    # What cannot be is said where it was asked for, not with the first response.
    paced([b""], _nothing).close()
    return partial(paced, ledger=account)


def _of_client(response: Any, reads: str, otherwise: str) -> None:
    if not hasattr(response.stream, reads):
        raise TypeError(f"decluster.httpx_hooks: {otherwise}")


def _nothing() -> None:
    pass


def _is_stream(response: Any) -> bool:
    return str(response.headers.get("content-type", "")).startswith(_STREAMS)


def _again(response: Any) -> Any:
    """A second response over the same bytes: it undoes gzip."""
    return type(response)(
        response.status_code,
        headers=response.headers,
        stream=response.stream,
        request=response.request,
        extensions=response.extensions,
    )


def _replace_body(response: Any, paced: Any) -> None:
    body, async_body = _bodies(type(response).__module__.partition(".")[0])
    response.stream = async_body(paced) if hasattr(paced, "__aiter__") else body(paced)
    for name in ("content-encoding", "content-length"):
        response.headers.pop(name, None)


class _Body:
    def __init__(self, paced: Any) -> None:
        self.paced = paced

    def __iter__(self) -> Any:
        return self.paced

    def close(self) -> None:
        self.paced.close()


class _AsyncBody:
    def __init__(self, paced: Any) -> None:
        self.paced = paced

    def __aiter__(self) -> Any:
        return self.paced

    async def aclose(self) -> None:
        await self.paced.aclose()


@cache
def _bodies(module: str) -> tuple[type[Any], type[Any]]:
    """Bodies as the client's own library wants them: there are httpx and httpx2, often both."""
    httpx: Any = sys.modules[module]
    return (
        type("Body", (_Body, httpx.SyncByteStream), {}),
        type("AsyncBody", (_AsyncBody, httpx.AsyncByteStream), {}),
    )


_STREAMS = ("text/event-stream", "application/x-ndjson")

__all__ = ["async_hooks", "hooks"]
