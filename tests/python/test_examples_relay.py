"""The relay of python/examples, with uvicorn between a provider and a reader on loopback."""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import httpx
import pytest
import relay_fastapi
import uvicorn
from example_streams import ANSWER, BROKEN, HOW, THOUGHT, WHY, base_of, texts_of
from readers import soon
from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

import decluster
from decluster._demo_server import Hold, Send, Server


@asynccontextmanager
async def serving(app: Any) -> AsyncIterator[str]:
    """uvicorn, in this event loop."""
    server = uvicorn.Server(uvicorn.Config(app, log_level="critical", lifespan="on", ws="none"))
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        task = asyncio.create_task(server.serve(sockets=[listener]))
        assert await soon(lambda: server.started or task.done())
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}/v1"
        finally:
            server.should_exit = True
            await task


def readers_left() -> list[asyncio.Task[Any]]:
    return [task for task in asyncio.all_tasks() if task.get_name() == "decluster-reader"]


@pytest.fixture
def relayed(monkeypatch: pytest.MonkeyPatch) -> Callable[[str, Callable[[Any], Any]], None]:
    """Runs what it is given with a client of a relay of that provider; looks what is left then."""

    def run(base_url: str, doing: Callable[[httpx.AsyncClient], Awaitable[None]]) -> None:
        monkeypatch.setattr(relay_fastapi, "BASE_URL", base_url)
        monkeypatch.setenv("NO_PROXY", "127.0.0.1")
        monkeypatch.setenv("OPENAI_API_KEY", "the key")

        async def main() -> None:
            async with (
                serving(relay_fastapi.app) as relay,
                httpx.AsyncClient(base_url=relay, trust_env=False, timeout=10) as client,
            ):
                await doing(client)
                assert await soon(lambda: not readers_left())

        asyncio.run(main())

    return run


BODY = {"model": "m", "stream": True, "messages": [{"role": "user", "content": "Why?"}]}
ASKED = ("POST", "chat/completions")


def test_readers_get_the_providers_stream_paced(relayed: Any) -> None:
    async def read(client: httpx.AsyncClient) -> None:
        async with client.stream(*ASKED, json=BODY) as response:
            chunks = [chunk async for chunk in response.aiter_bytes()]
        assert response.status_code == 200
        headers = response.headers
        assert headers["content-type"].startswith("text/event-stream")
        assert headers["cache-control"] == "no-cache, no-transform"
        assert headers["x-accel-buffering"] == "no"
        assert "content-length" not in headers
        answer = decluster.collect(chunks)
        assert (answer.reasoning, answer.output, answer.verdict) == (WHY, HOW, "complete")
        assert answer.usage is not None
        assert len(texts_of(chunks)) > 2

    with Server(ANSWER) as server:

        async def many(client: httpx.AsyncClient) -> None:
            await asyncio.gather(*(read(client) for _ in range(8)))

        relayed(base_of(server), many)
        assert len(server.connections) == 8
        for asked in server.connections:
            assert json.loads(asked.body) == BODY
            assert asked.headers["authorization"] == "Bearer the key"
            assert asked.headers["accept-encoding"] == "identity"
        assert server.wait_open_connections(0)


def test_a_reader_who_leaves_ends_the_providers_stream(relayed: Any) -> None:
    with Server([Send(THOUGHT), Hold()]) as server:

        async def leave(client: httpx.AsyncClient) -> None:
            async with client.stream(*ASKED, json=BODY) as response:
                # The first text is here though the provider is not done: nothing collects it.
                async for chunk in response.aiter_bytes():
                    if b"The lease" in chunk:
                        break
            assert await soon(lambda: server.open_connections == 0)
            assert server.connections[0].outcome == "client closed"
            assert await soon(lambda: not readers_left())

        relayed(base_of(server), leave)


def test_a_server_that_tells_by_an_error_that_the_reader_left_ends_the_stream_too(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """From ASGI 2.4 on `send` raises, and nothing is cancelled."""
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")

    async def main(server: Server) -> None:
        scope = {
            "type": "http",
            "asgi": {"version": "3.0", "spec_version": "2.4"},
            "method": "POST",
            "path": "/v1/chat/completions",
            "query_string": b"",
            "headers": [],
        }

        async def receive() -> dict[str, Any]:
            return {"type": "http.request", "body": b"{}", "more_body": False}

        async def send(message: dict[str, Any]) -> None:
            if message["type"] == "http.response.body":
                raise OSError("the reader left")

        async with relay_fastapi.lifespan(relay_fastapi.app):
            with pytest.raises(ClientDisconnect):
                await relay_fastapi.app(scope, receive, send)
            assert await soon(lambda: server.open_connections == 0)
            assert not readers_left()

    with Server([Send(THOUGHT), Hold()]) as server:
        monkeypatch.setattr(relay_fastapi, "BASE_URL", base_of(server))
        asyncio.run(main(server))
        assert server.connections[0].outcome == "client closed"


def test_a_stream_that_breaks_off_breaks_off_for_the_reader(relayed: Any) -> None:
    with Server(BROKEN) as server:

        async def read(client: httpx.AsyncClient) -> None:
            chunks = []
            with pytest.raises(httpx.RemoteProtocolError):
                async with client.stream(*ASKED, json=BODY) as response:
                    async for chunk in response.aiter_bytes():
                        chunks.append(chunk)
            # All that had come is there.
            assert "".join(texts_of(chunks)) == WHY + HOW[:30]

        relayed(base_of(server), read)


async def refuse(_: Request) -> Response:
    error = {"error": {"message": "slow down"}}
    return JSONResponse(error, 429, {"Retry-After": "7", "X-Request-Id": "r", "Server-Own": "no"})


def test_the_providers_errors_are_passed_on(relayed: Any) -> None:
    async def read(client: httpx.AsyncClient) -> None:
        provider = Starlette(routes=[Route("/v1/chat/completions", refuse, methods=["POST"])])
        async with serving(provider) as base:
            client_of_provider = relay_fastapi.app.state.client
            client_of_provider.base_url = base
            response = await client.post("chat/completions", json=BODY)
        assert response.status_code == 429
        assert response.json() == {"error": {"message": "slow down"}}
        assert (response.headers["retry-after"], response.headers["x-request-id"]) == ("7", "r")
        assert "server-own" not in response.headers
        # And now there is nobody.
        response = await client.post("chat/completions", json=BODY)
        assert response.status_code == 502
        assert "ConnectError" in response.json()["error"]["message"]

    relayed("http://127.0.0.1:9", read)
