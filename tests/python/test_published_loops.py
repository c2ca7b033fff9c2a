"""The loops that engineers published after the incident run as they are, but for one line."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import AsyncIterator, Callable
from typing import Any

import httpx
import pytest
import requests
from matrix_scenes import PARAMETERS, clustered, smooth
from matrix_streams import CHAT, OUTPUT, REASONING, data, parts
from readers import soon, until

import decluster
from decluster._demo_server import Hold, Script, Send, Server

Wrap = Callable[[Any], Any]


def direct(lines: Any) -> Any:
    return lines


def wrapped(lines: Any) -> Any:
    return decluster.wrap(lines, **PARAMETERS)


BOTH = pytest.mark.parametrize("wrap", [direct, wrapped])


def read_within(url: str, budget: int, wrap: Wrap) -> tuple[int, str]:
    """Counts the reasoning of an answer, and gives up above the budget."""
    tokens, answer = 0, ""
    with requests.post(url, json={"stream": True}, stream=True, timeout=10) as r:
        for line in wrap(r.iter_lines()):
            if line.startswith(b"data: "):
                if line == b"data: [DONE]":
                    break
                event = json.loads(line[6:])
                if event["type"] == "response.reasoning.delta":
                    tokens += event["delta_tokens"]
                    if tokens > budget:
                        raise RuntimeError("reasoning budget exceeded, abort")
                if event["type"] == "response.output.delta":
                    answer += event["delta"]
    return tokens, answer


def counted(tokens: int) -> Script:
    """As the incident's log has it: counts of reasoning in large frames, then text."""
    events = [
        *({"type": "response.reasoning.delta", "delta_tokens": tokens} for _ in range(5)),
        *({"type": "response.output.delta", "delta": part} for part in parts(OUTPUT, 2)),
    ]
    frames = [f"event: {event['type']}\n".encode() + data(event) for event in events]
    return [*(Send(frame, after=0.02) for frame in frames), Send(b"data: [DONE]\n\n")]


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    """The published loops ask the environment for a proxy; loopback needs none."""
    monkeypatch.setenv("NO_PROXY", "*")


@BOTH
def test_a_loop_over_iter_lines_counts_the_reasoning(wrap: Wrap) -> None:
    with Server(counted(81)) as server:
        assert read_within(server.url, 4000, wrap) == (5 * 81, OUTPUT)
        assert server.wait_open_connections(0)


@BOTH
def test_a_loop_over_iter_lines_gives_up_above_its_budget(wrap: Wrap) -> None:
    before = threading.active_count()
    with Server([*counted(1500), Hold()]) as server:
        with pytest.raises(RuntimeError, match="budget exceeded, abort"):
            read_within(server.url, 4000, wrap)
        # The connection ends with the loop, though the server holds it.
        assert server.wait_open_connections(0)
    assert until(lambda: threading.active_count() == before)


async def put_deltas(url: str, queue: asyncio.Queue[str | None], wrap: Wrap) -> None:
    """Feeds the reasoning into a queue; `None` is its end."""

    async def lines() -> AsyncIterator[Any]:
        async with (
            httpx.AsyncClient(timeout=10) as client,
            client.stream("POST", url, json={"stream": True}) as r,
        ):
            async for line in wrap(r.aiter_lines()):
                if not line.startswith("data: "):
                    continue
                if line == "data: [DONE]":
                    return
                yield json.loads(line[6:])

    async for event in lines():
        if event["choices"]:
            text = event["choices"][0]["delta"].get("reasoning_content")
            if text:
                await queue.put(text)
    await queue.put(None)


@BOTH
@pytest.mark.parametrize("script", [smooth, clustered])
def test_an_async_loop_puts_reasoning_into_a_queue(wrap: Wrap, script: Any) -> None:
    async def main() -> list[str]:
        # It is small, so that the producer has to wait for the consumer.
        queue: asyncio.Queue[str | None] = asyncio.Queue(2)
        producer = asyncio.create_task(put_deltas(server.url, queue, wrap))
        found = []
        while (text := await queue.get()) is not None:
            found.append(text)
        await producer
        assert await soon(lambda: asyncio.all_tasks() == {asyncio.current_task()})
        return found

    with Server(script(CHAT)) as server:
        assert "".join(asyncio.run(main())) == REASONING
        assert server.wait_open_connections(0)


def together(pieces: list[decluster.Piece]) -> tuple[str, str, list[str]]:
    """The text by kind and the order of the kinds, after the pieces were sorted by number."""
    ordered = sorted(pieces, key=lambda piece: piece.seq)
    assert len({piece.seq for piece in ordered}) == len(ordered)
    kinds = [piece.kind for piece in ordered]
    text = {
        kind: "".join(str(piece) for piece in ordered if piece.kind == kind)
        for kind in ("reasoning", "output")
    }
    return text["reasoning"], text["output"], [*dict.fromkeys(kinds)]


TOGETHER = (REASONING, OUTPUT, ["reasoning", "output"])


def test_two_threads_on_one_stream_put_it_together_by_number() -> None:
    taken: list[list[decluster.Piece]] = [[], []]
    # Each takes a piece and then lets the other take one, so that both have parts of everything.
    turns = threading.Barrier(2)

    def work(own: list[decluster.Piece]) -> None:
        for piece in stream:
            own.append(piece)
            try:
                turns.wait(timeout=5)
            except threading.BrokenBarrierError:
                continue
        turns.abort()

    with (
        Server(clustered(CHAT)) as server,
        requests.post(server.url, stream=True, timeout=10) as r,
        decluster.pieces(r.iter_lines(), **PARAMETERS) as stream,
    ):
        workers = [threading.Thread(target=work, args=(own,)) for own in taken]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
    assert all({piece.kind for piece in own} == {"reasoning", "output"} for own in taken)
    assert together([*taken[0], *taken[1]]) == TOGETHER


def test_two_tasks_on_one_stream_put_it_together_by_number() -> None:
    taken: list[list[decluster.Piece]] = [[], []]

    async def main() -> None:
        async def work(own: list[decluster.Piece]) -> None:
            async for piece in stream:
                own.append(piece)
                # The other one's turn.
                await asyncio.sleep(0)

        async with (
            httpx.AsyncClient(timeout=10) as client,
            client.stream("POST", server.url) as r,
            decluster.pieces(r.aiter_lines(), **PARAMETERS) as stream,
        ):
            await asyncio.gather(*map(work, taken))

    with Server(clustered(CHAT)) as server:
        asyncio.run(main())
    assert all({piece.kind for piece in own} == {"reasoning", "output"} for own in taken)
    assert together([*taken[0], *taken[1]]) == TOGETHER
