"""The response hook of python/examples below SDKs, LangChain and Pydantic-AI."""

from __future__ import annotations

import asyncio
import gzip
import importlib
import json
import sys
from collections.abc import Callable, Iterator
from typing import Any

import anthropic
import http_hook
import httpx
import httpx2
import openai
import pytest
from example_streams import (
    ANSWER,
    BROKEN,
    HOW,
    THOUGHT,
    WHY,
    Provider,
    base_of,
    called,
    clustered,
    environment,
    texts_of,
)
from matrix_streams import split
from readers import no_reader_left
from sdk_streams import messages, text_block, thinking

from decluster._demo_server import Hold, Send, Server

CALLING_THE_CLOCK = clustered(*called("clock", {}), finish="tool_calls")
CHAT: Any = {"model": "m", "messages": [{"role": "user", "content": "Why?"}]}


def client_of(sdk: Any, kind: str, server: Server, event_hooks: dict[str, list[Any]]) -> Any:
    """A client of an SDK with these hooks; `kind` is empty or `Async`."""
    http = getattr(sdk, f"Default{kind}HttpxClient")(event_hooks=event_hooks, trust_env=False)
    make = getattr(sdk, kind + {openai: "OpenAI", anthropic: "Anthropic"}[sdk])
    return make(base_url=base_of(server), api_key="none", max_retries=0, http_client=http)


def read_openai(server: Server, event_hooks: dict[str, list[Any]]) -> tuple[list[str], Any]:
    """The deltas that the helper gives, and what it put together."""
    with (
        client_of(openai, "", server, event_hooks) as client,
        client.chat.completions.stream(**CHAT) as stream,
    ):
        deltas = [event.delta for event in stream if event.type == "content.delta"]
        return deltas, stream.get_final_completion().model_dump()


def read_openai_async(server: Server, event_hooks: dict[str, list[Any]]) -> tuple[list[str], Any]:
    async def read() -> tuple[list[str], Any]:
        async with (
            client_of(openai, "Async", server, event_hooks) as client,
            client.chat.completions.stream(**CHAT) as stream,
        ):
            deltas = [event.delta async for event in stream if event.type == "content.delta"]
            final = (await stream.get_final_completion()).model_dump()
        assert asyncio.all_tasks() == {asyncio.current_task()}
        return deltas, final

    return asyncio.run(read())


def read_anthropic(server: Server, event_hooks: dict[str, list[Any]]) -> tuple[list[str], Any]:
    with (
        client_of(anthropic, "", server, event_hooks) as client,
        client.messages.stream(max_tokens=99, **CHAT) as stream,
    ):
        return list(stream.text_stream), stream.get_final_message().model_dump()


def read_anthropic_async(server: Server, event_hooks: Any) -> tuple[list[str], Any]:
    async def read() -> tuple[list[str], Any]:
        async with (
            client_of(anthropic, "Async", server, event_hooks) as client,
            client.messages.stream(max_tokens=99, **CHAT) as stream,
        ):
            deltas = [text async for text in stream.text_stream]
            final = (await stream.get_final_message()).model_dump()
        assert asyncio.all_tasks() == {asyncio.current_task()}
        return deltas, final

    return asyncio.run(read())


MESSAGES = [
    Send(event, after=0.05)
    for event in split(messages(*thinking(0, WHY, "c2ln"), *text_block(1, HOW)))
]

Read = Callable[[Server, dict[str, list[Any]]], tuple[list[str], Any]]


@pytest.mark.parametrize(
    ("read", "hooks", "script"),
    [
        (read_openai, http_hook.hooks, ANSWER),
        (read_openai_async, http_hook.async_hooks, ANSWER),
        (read_anthropic, http_hook.hooks, MESSAGES),
        (read_anthropic_async, http_hook.async_hooks, MESSAGES),
    ],
)
def test_a_helper_puts_the_same_message_together_of_more_and_smaller_deltas(
    read: Read, hooks: Callable[[], dict[str, list[Any]]], script: list[Send]
) -> None:
    with Server(script) as server:
        plain, final = read(server, {})
        paced, final_again = read(server, hooks())
        assert final_again == final
        assert "".join(paced) == "".join(plain) == HOW
        assert len(paced) > len(plain)
        assert max(map(len, paced)) < max(map(len, plain))
        assert server.wait_open_connections(0)
    assert no_reader_left()


def test_parameters_reach_the_stream() -> None:
    with Server(ANSWER) as server:
        deltas, _ = read_openai(server, http_hook.hooks(unit="word", pace="off"))
        assert [text.strip() for text in deltas if text] == HOW.split()
    assert no_reader_left()


LIBRARIES = pytest.mark.parametrize("library", [httpx, httpx2], ids=["httpx", "httpx2"])


@LIBRARIES
def test_an_error_passes_as_the_clients_own_after_the_text(library: Any) -> None:
    with Server(BROKEN) as server:
        chunks = []
        with (
            library.Client(event_hooks=http_hook.hooks(), trust_env=False) as client,
            pytest.raises(library.RemoteProtocolError) as raised,
            client.stream("POST", server.url) as response,
        ):
            for chunk in response.iter_bytes():
                chunks.append(chunk)
        assert "".join(texts_of(chunks)) == WHY + HOW[:30]
        assert str(raised.value.request.url) == server.url
        assert server.wait_open_connections(0)
    assert no_reader_left()


@LIBRARIES
def test_closing_a_response_ends_a_read_that_blocks(library: Any) -> None:
    with Server([Send(THOUGHT), Hold()]) as server:
        with (
            library.Client(event_hooks=http_hook.hooks(), trust_env=False) as client,
            client.stream("POST", server.url) as response,
        ):
            assert b"The lease" in next(response.iter_bytes())
        assert server.wait_open_connections(0)
        assert server.connections[0].outcome == "client closed"
    assert no_reader_left()


@LIBRARIES
def test_closing_an_async_response_leaves_no_task(library: Any) -> None:
    async def main(server: Server) -> None:
        async with library.AsyncClient(
            event_hooks=http_hook.async_hooks(), trust_env=False
        ) as client:
            async with client.stream("POST", server.url) as response:
                async for chunk in response.aiter_bytes():
                    assert b"The lease" in chunk
                    break
            assert asyncio.all_tasks() == {asyncio.current_task()}

    with Server([Send(THOUGHT), Hold()]) as server:
        asyncio.run(main(server))
        assert server.wait_open_connections(0)
        assert server.connections[0].outcome == "client closed"


EVENTS = b"".join(step.data for step in ANSWER)


@LIBRARIES
def test_a_compressed_stream_is_paced_and_arrives_uncompressed(library: Any) -> None:
    with (
        Provider(gzip.compress(EVENTS), content_encoding="gzip") as provider,
        library.Client(event_hooks=http_hook.hooks(), trust_env=False) as client,
        client.stream("POST", provider.url) as response,
    ):
        chunks = list(response.iter_bytes())
    assert "".join(texts_of(chunks)) == WHY + HOW
    assert len(texts_of(chunks)) > 2
    assert no_reader_left()


@LIBRARIES
def test_a_response_that_is_no_stream_is_left_alone(library: Any) -> None:
    body = b'{"choices": [{"message": {"content": "Hello there. This is all."}}]}'
    with (
        Provider(
            gzip.compress(body), content_encoding="gzip", content_type="application/json"
        ) as p,
        library.Client(event_hooks=http_hook.hooks(), trust_env=False) as client,
    ):
        response = client.post(p.url)
        assert response.json() == json.loads(body)
        assert response.headers["content-encoding"] == "gzip"


@LIBRARIES
def test_a_stream_that_was_read_gives_its_connection_back(library: Any) -> None:
    with (
        Provider(EVENTS) as provider,
        library.Client(event_hooks=http_hook.hooks(pace="off"), trust_env=False) as client,
    ):
        for _ in range(3):
            with client.stream("POST", provider.url) as response:
                assert "".join(texts_of(list(response.iter_bytes()))) == WHY + HOW
        assert provider.accepted == 1
    assert no_reader_left()


# Frameworks: they are heavy, so only `make test-all` has them.


@pytest.fixture
def load(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str, Server], Any]]:
    """Imports an example anew, with a provider that its environment names."""

    def load(name: str, server: Server) -> Any:
        for key, value in environment(server).items():
            monkeypatch.setenv(key, value)
        monkeypatch.delitem(sys.modules, name, raising=False)
        return importlib.import_module(name)

    return load


@pytest.mark.slow
def test_langchain_streams_paced(load: Any, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("langchain_openai")
    with Server(ANSWER) as server:
        example = load("langchain_chat", server)
        chunks = list(example.model.stream("Why?"))
        texts = [chunk.text for chunk in chunks if chunk.text]
        assert "".join(texts) == HOW
        assert len(texts) > 1
        usage = [chunk.usage_metadata for chunk in chunks if chunk.usage_metadata]
        assert [each["output_tokens"] for each in usage] == [40]
        assert no_reader_left()
        asyncio.run(example.main("Why?"))
        assert capsys.readouterr().out == f"{HOW}\n"
        assert server.wait_open_connections(0)


@pytest.mark.slow
def test_pydantic_ai_streams_paced_and_calls_its_tool(
    load: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("pydantic_ai")
    with Server(CALLING_THE_CLOCK, ANSWER) as server:
        example = load("pydantic_ai_agent", server)
        asyncio.run(example.main("Why?"))
        assert capsys.readouterr().out == f"{HOW}\n"
        messages = json.loads(server.connections[1].body)["messages"]
        assert [message["role"] for message in messages] == ["user", "assistant", "tool"]

        async def texts() -> list[str]:
            async with example.agent.run_stream("Why?") as result:
                return [text async for text in result.stream_text(delta=True, debounce_by=None)]

        assert len(asyncio.run(texts())) > 1
        assert server.wait_open_connections(0)
