"""Every way to read a stream in Python: how it is opened, and what its items say."""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import (
    AbstractAsyncContextManager,
    AbstractContextManager,
    asynccontextmanager,
    contextmanager,
)
from dataclasses import dataclass
from typing import Any

import aiohttp
import anthropic
import httpx
import httpx2
import openai
import pytest
import requests
from matrix_streams import ANTHROPIC, CHAT, GEMINI, RESPONSES, Dialect
from sdk_readers import ASKED, WAYS, Way, as_dict

Events = list[dict[str, Any]]


@dataclass(frozen=True)
class Opened:
    """A stream, and what a caller gives to decluster instead of looping over it."""

    loop: Any
    given: Any


@dataclass(frozen=True)
class Client:
    """One way to read. `open` takes the server's address, without a path."""

    name: str
    dialect: Dialect
    open: Callable[[str], AbstractContextManager[Opened] | AbstractAsyncContextManager[Opened]]
    reader: Callable[[], Callable[[Any], Events]]
    """Makes what takes an item and gives the events that it ends."""
    tell: Callable[[list[Any], Any], Any] | None = None
    """What else an SDK makes of the items."""
    own_threads: tuple[str, ...] = ()
    """Threads that the client itself starts and keeps, by the beginning of their names."""
    closable: bool = True
    """Whether the source has a way to be closed: aiohttp's readers leave that to the response."""
    needs: str | None = None
    """A module that takes seconds to import and is not needed by `make test`."""

    def __str__(self) -> str:
        return self.name

    def ready(self) -> None:
        """Imports what is needed, which starts threads and opens sockets that stay."""
        if self.needs is not None:
            with warnings.catch_warnings():
                # Those of the module are not our matter.
                warnings.simplefilter("ignore")
                pytest.importorskip(self.needs)


def of_lines() -> Callable[[Any], Events]:
    """As the published loops do it: `data: `, then JSON of the rest."""

    def read(line: Any) -> Events:
        line = line.decode() if isinstance(line, bytes) else line
        told = line.startswith("data: ") and not line.startswith("data: [DONE]")
        return [json.loads(line[6:])] if told else []

    return read


def of_bytes() -> Callable[[Any], Events]:
    """Lines of chunks; one that has no end is no line."""
    rest = b""

    def read(chunk: bytes) -> Events:
        nonlocal rest
        *lines, rest = (rest + chunk).split(b"\n")
        return [event for line in lines for event in of_line(line)]

    of_line = of_lines()
    return read


def of_models(dump: Callable[[Any], dict[str, Any]]) -> Callable[[], Callable[[Any], Events]]:
    return lambda: lambda model: [dump(model)]


def with_requests(
    loop: Callable[[Any], Any], given: Callable[[Any], Any]
) -> Callable[[str], AbstractContextManager[Opened]]:
    @contextmanager
    def opened(url: str) -> Iterator[Opened]:
        with requests.Session() as session:
            session.trust_env = False
            with session.post(url + PATH, stream=True, timeout=WITHIN_S) as response:
                yield Opened(loop(response), given(response))

    return opened


def requests_text(response: requests.Response) -> Iterator[Any]:
    response.encoding = "utf-8"
    return response.iter_lines(decode_unicode=True)


def with_httpx(
    module: Any, loop: Callable[[Any], Any], given: Callable[[Any], Any]
) -> Callable[[str], AbstractContextManager[Opened]]:
    @contextmanager
    def opened(url: str) -> Iterator[Opened]:
        with (
            module.Client(trust_env=False, verify=False, timeout=WITHIN_S) as client,
            client.stream("POST", url + PATH) as response,
        ):
            yield Opened(loop(response), given(response))

    return opened


def with_async_httpx(
    module: Any, loop: Callable[[Any], Any], given: Callable[[Any], Any]
) -> Callable[[str], AbstractAsyncContextManager[Opened]]:
    @asynccontextmanager
    async def opened(url: str) -> AsyncIterator[Opened]:
        async with (
            module.AsyncClient(trust_env=False, verify=False, timeout=WITHIN_S) as client,
            client.stream("POST", url + PATH) as response,
        ):
            yield Opened(loop(response), given(response))

    return opened


def with_aiohttp(
    loop: Callable[[Any], Any], given: Callable[[Any], Any]
) -> Callable[[str], AbstractAsyncContextManager[Opened]]:
    @asynccontextmanager
    async def opened(url: str) -> AsyncIterator[Opened]:
        timeout = aiohttp.ClientTimeout(total=WITHIN_S)
        async with (
            aiohttp.ClientSession(timeout=timeout) as session,
            session.post(url + PATH) as response,
        ):
            yield Opened(loop(response), given(response))

    return opened


def same(response: Any) -> Any:
    return response


def lines(response: Any) -> Any:
    return response.iter_lines()


def alines(response: Any) -> Any:
    return response.aiter_lines()


def content(response: aiohttp.ClientResponse) -> aiohttp.StreamReader:
    return response.content


def plain(
    name: str,
    open: Callable[[str], Any],
    reader: Callable[[], Callable[[Any], Events]] = of_lines,
    closable: bool = True,
) -> Client:
    return Client(name, CHAT, open, reader, closable=closable)


def with_sdk(kind: Any, way: Way) -> Callable[[str], AbstractContextManager[Opened]]:
    @contextmanager
    def opened(url: str) -> Iterator[Opened]:
        http = httpx2.Client(trust_env=False, verify=False, timeout=WITHIN_S)
        with (
            kind(api_key="none", base_url=url, max_retries=0, http_client=http) as client,
            way.open(client, "0") as stream,
        ):
            yield Opened(stream, stream)

    return opened


def with_async_sdk(kind: Any, way: Way) -> Callable[[str], AbstractAsyncContextManager[Opened]]:
    @asynccontextmanager
    async def opened(url: str) -> AsyncIterator[Opened]:
        http = httpx2.AsyncClient(trust_env=False, verify=False, timeout=WITHIN_S)
        async with (
            kind(api_key="none", base_url=url, max_retries=0, http_client=http) as client,
            await way.open(client, "0") as stream,
        ):
            yield Opened(stream, stream)

    return opened


def litellm_asked(url: str) -> dict[str, Any]:
    return {
        **ASKED,
        "model": "openai/m",
        "api_base": url + "/v1",
        "api_key": "none",
        "stream": True,
        "stream_options": {"include_usage": True},
        "max_retries": 0,
        "timeout": WITHIN_S,
    }


@contextmanager
def with_litellm(url: str) -> Iterator[Opened]:
    import litellm

    stream = litellm.completion(**litellm_asked(url))
    with stream:
        yield Opened(stream, stream)


@asynccontextmanager
async def with_async_litellm(url: str) -> AsyncIterator[Opened]:
    import litellm

    stream = await litellm.acompletion(**litellm_asked(url))
    async with stream:
        yield Opened(stream, stream)


def genai_options(url: str) -> dict[str, Any]:
    arguments = {"trust_env": False, "verify": False}
    options = {"base_url": url, "client_args": arguments, "async_client_args": arguments}
    return {"api_key": "none", "http_options": options}


@contextmanager
def with_genai(url: str) -> Iterator[Opened]:
    from google import genai

    client = genai.Client(**genai_options(url))
    stream = client.models.generate_content_stream(model="m", contents="?")
    try:
        yield Opened(stream, stream)
    finally:
        stream.close()
        client.close()


@asynccontextmanager
async def with_async_genai(url: str) -> AsyncIterator[Opened]:
    from google import genai

    client = genai.Client(**genai_options(url))
    stream = await client.aio.models.generate_content_stream(model="m", contents="?")
    try:
        yield Opened(stream, stream)
    finally:
        await stream.aclose()
        await client.aio.aclose()


def of_genai(model: Any) -> dict[str, Any]:
    dumped: dict[str, Any] = model.model_dump(by_alias=True, exclude_none=True, mode="json")
    return dumped


def of_litellm(model: Any) -> dict[str, Any]:
    dumped: dict[str, Any] = model.model_dump(exclude_none=True)
    return dumped


def sdk(name: str, dialect: Dialect, kind: Any, way: Way) -> Client:
    opener = with_async_sdk if kind.__name__.startswith("Async") else with_sdk
    open = opener(kind, way)
    return Client(name, dialect, open, of_models(as_dict), tell=way.tell, own_threads=EXECUTORS)


def heavy(
    name: str,
    dialect: Dialect,
    open: Callable[[str], Any],
    dump: Callable[[Any], dict[str, Any]],
    needs: str,
    *own_threads: str,
) -> Client:
    own = (*EXECUTORS, *own_threads)
    return Client(name, dialect, open, of_models(dump), own_threads=own, needs=needs)


# Else LiteLLM asks the network for prices when it is imported.
os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")

PATH = "/v1/chat/completions"
WITHIN_S = 20.0
EXECUTORS = ("asyncio_", "uvloop_")
"""The SDKs have the loop's default executor do some of their work."""
LITELLM = ("litellm", "litellm-logging", "AnyIO worker thread")
"""The module, and threads that it keeps."""
COMPLETIONS = WAYS["openai-chat"]["create"]
RESPONSES_WAY = WAYS["openai-responses"]["create"]
MESSAGES = WAYS["anthropic"]["create"]

SYNC: Sequence[Client] = [
    plain("requests iter_lines", with_requests(lines, lines)),
    plain("requests iter_lines of str", with_requests(requests_text, requests_text)),
    plain(
        "requests iter_content",
        with_requests(lambda r: r.iter_content(None), lambda r: r.iter_content(None)),
        of_bytes,
    ),
    plain("requests response", with_requests(lines, same)),
    plain("httpx iter_lines", with_httpx(httpx, lines, lines)),
    plain(
        "httpx iter_bytes",
        with_httpx(httpx, lambda r: r.iter_bytes(), lambda r: r.iter_bytes()),
        of_bytes,
    ),
    plain("httpx response", with_httpx(httpx, lines, same)),
    plain("httpx2 iter_lines", with_httpx(httpx2, lines, lines)),
    plain("httpx2 response", with_httpx(httpx2, lines, same)),
    sdk("openai chat", CHAT, openai.OpenAI, COMPLETIONS),
    sdk("openai responses", RESPONSES, openai.OpenAI, RESPONSES_WAY),
    sdk("anthropic", ANTHROPIC, anthropic.Anthropic, MESSAGES),
    heavy("litellm", CHAT, with_litellm, of_litellm, *LITELLM),
    heavy("google-genai", GEMINI, with_genai, of_genai, "google.genai"),
]
ASYNC: Sequence[Client] = [
    plain("httpx aiter_lines", with_async_httpx(httpx, alines, alines)),
    plain(
        "httpx aiter_bytes",
        with_async_httpx(httpx, lambda r: r.aiter_bytes(), lambda r: r.aiter_bytes()),
        of_bytes,
    ),
    plain("httpx async response", with_async_httpx(httpx, alines, same)),
    plain("httpx2 aiter_lines", with_async_httpx(httpx2, alines, alines)),
    plain("httpx2 async response", with_async_httpx(httpx2, alines, same)),
    plain("aiohttp content", with_aiohttp(content, content), closable=False),
    plain(
        "aiohttp iter_any",
        with_aiohttp(lambda r: r.content.iter_any(), lambda r: r.content.iter_any()),
        of_bytes,
        closable=False,
    ),
    plain("aiohttp response", with_aiohttp(content, same)),
    sdk("openai async chat", CHAT, openai.AsyncOpenAI, COMPLETIONS),
    sdk("openai async responses", RESPONSES, openai.AsyncOpenAI, RESPONSES_WAY),
    sdk("anthropic async", ANTHROPIC, anthropic.AsyncAnthropic, MESSAGES),
    heavy("litellm async", CHAT, with_async_litellm, of_litellm, *LITELLM),
    heavy("google-genai async", GEMINI, with_async_genai, of_genai, "google.genai"),
]
