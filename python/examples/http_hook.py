"""Paces below any SDK: a response hook for the httpx or httpx2 client that the SDK is given.

    client = openai.OpenAI(http_client=openai.DefaultHttpxClient(event_hooks=hooks()))
    client = anthropic.AsyncAnthropic(
        http_client=anthropic.DefaultAsyncHttpxClient(event_hooks=async_hooks(max_delay=0.8))
    )

Nothing else changes. Helpers that keep a snapshot (`chat.completions.stream()`,
`messages.stream()`), LangChain and Pydantic-AI read a stream that is paced already; google-genai
takes such a client as `HttpOptions(httpx_client=...)`. Responses that are no streams pass.

It is a hook and no transport, since a client with a transport of its own does not heed HTTPS_PROXY,
and since an SDK's `Default...Client` has timeouts and limits for long streams.
"""

import sys
from functools import cache
from typing import Any

import decluster

STREAMS = ("text/event-stream", "application/x-ndjson")


def hooks(**parameters: Any) -> dict[str, list[Any]]:
    """For a sync client; `parameters` are those of `decluster.wrap`."""

    def pace(response: Any) -> None:
        if is_stream(response):
            # A second response over the same bytes: it undoes gzip.
            inner = again(response)
            chunks = inner.iter_bytes()
            paced = decluster.wrap(chunks, framing="bytes", closer=inner.close, **parameters)
            replace_body(response, paced)

    return {"response": [pace]}


def async_hooks(**parameters: Any) -> dict[str, list[Any]]:
    """For an async client."""

    async def pace(response: Any) -> None:
        if is_stream(response):
            inner = again(response)
            chunks = inner.aiter_bytes()
            paced = decluster.wrap(chunks, framing="bytes", closer=inner.aclose, **parameters)
            replace_body(response, paced)

    return {"response": [pace]}


def is_stream(response: Any) -> bool:
    return str(response.headers.get("content-type", "")).startswith(STREAMS)


def again(response: Any) -> Any:
    return type(response)(
        response.status_code,
        headers=response.headers,
        stream=response.stream,
        request=response.request,
        extensions=response.extensions,
    )


def replace_body(response: Any, paced: Any) -> None:
    body, async_body = bodies(type(response).__module__.partition(".")[0])
    response.stream = async_body(paced) if hasattr(paced, "__aiter__") else body(paced)
    for name in ("content-encoding", "content-length"):
        response.headers.pop(name, None)


@cache
def bodies(module: str) -> Any:
    """Bodies as the client's own library wants them: there are httpx and httpx2, often both."""
    httpx: Any = sys.modules[module]

    class Body(httpx.SyncByteStream):  # type: ignore[misc]
        def __init__(self, paced: Any) -> None:
            self.paced = paced

        def __iter__(self) -> Any:
            return self.paced

        def close(self) -> None:
            self.paced.close()

    class AsyncBody(httpx.AsyncByteStream):  # type: ignore[misc]
        def __init__(self, paced: Any) -> None:
            self.paced = paced

        def __aiter__(self) -> Any:
            return self.paced

        async def aclose(self) -> None:
            await self.paced.aclose()

    return Body, AsyncBody
