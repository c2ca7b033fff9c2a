"""Limits of a stream: reasoning budgets, also shared ones, and silences."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import httpx
import pytest
import requests
from readers import no_reader_left, no_task_left, run, soon

import decluster
from decluster import Budget, Exceeded
from decluster._demo_server import Hold, Send, Server

WORDS = "The lease ends, so the job runs twice. Then it is renewed, or it is not. "
OPTIONS: list[dict[str, Any]] = [{"background": True}, {"background": False}]


def event(delta: dict[str, str], **members: object) -> str:
    choice = {"index": 0, "delta": delta, "finish_reason": members.pop("finish", None)}
    return f"data: {json.dumps({'choices': [choice], **members})}"


def thought(text: str = WORDS, **members: object) -> str:
    return event({"reasoning_content": text}, **members)


def counted(count: int) -> dict[str, Any]:
    return {"usage": {"completion_tokens_details": {"reasoning_tokens": count}}}


def lines(*events: str) -> list[str]:
    return [line for one in (*events, "data: [DONE]") for line in (one, "")]


def wire(*events: str) -> bytes:
    return "".join(f"{one}\n\n" for one in events).encode()


async def later(items: list[str]) -> AsyncIterator[str]:
    for item in items:
        yield item
        await asyncio.sleep(0)


def all_of(stream: Any) -> list[Any]:
    """The items of a sync or an async stream."""
    if hasattr(stream, "__anext__"):

        async def read() -> list[Any]:
            return [item async for item in stream]

        return run(read())
    return list(stream)


SOURCES = pytest.mark.parametrize("source", [lambda items: items, later], ids=["sync", "async"])
HOW = pytest.mark.parametrize("how", OPTIONS, ids=["background", "here"])


@SOURCES
@HOW
def test_with_an_event_the_stream_just_ends(source: Callable[..., Any], how: Any) -> None:
    said = lines(*[thought()] * 9, event({"content": "Never."}))
    limits = {"max_reasoning_tokens": 40, "over_budget": "event"}
    stream = decluster.pieces(source(said), events=True, **limits, **how)
    *_, last = all_of(stream)
    assert last.name == "budget_exceeded"
    exceeded = stream.exceeded
    assert exceeded == Exceeded(**json.loads(last.data))
    assert exceeded == Exceeded(exceeded.used, 40, "estimate", shared=False)
    assert 40 < exceeded.used < 80
    wrapped = decluster.wrap(source(said), **limits, **how)
    told = "".join(all_of(wrapped))
    assert "Never." not in told
    assert wrapped.exceeded is not None


@SOURCES
@HOW
def test_the_error_says_who_counted(source: Callable[..., Any], how: Any) -> None:
    said = lines(thought("It ends.", **counted(9)), event({}, **counted(90)), thought("Never."))
    seen: list[Any] = []

    async def read() -> None:
        async for item in stream:
            seen.append(item)

    stream = decluster.pieces(source(said), max_reasoning_tokens=50, **how)
    with pytest.raises(decluster.ReasoningBudgetExceeded, match="exceeded: 90 tokens") as raised:
        run(read()) if hasattr(stream, "__anext__") else seen.extend(stream)
    error = raised.value
    assert (error.used, error.limit, error.source, error.shared) == (90, 50, "provider", False)
    assert error.answer is None
    assert stream.exceeded == Exceeded(90, 50, "provider", shared=False)


def test_hidden_reasoning_is_told_after_everything() -> None:
    said = lines(event({"content": "Forty-two."}), event({}, finish="stop", **counted(900)))
    stream = decluster.pieces(said, max_reasoning_tokens=50)
    seen: list[str] = []
    with pytest.raises(decluster.ReasoningBudgetExceeded) as raised:
        seen.extend(str(piece) for piece in stream)
    assert "".join(seen) == "Forty-two."
    assert (raised.value.used, raised.value.source) == (900, "usage")
    assert stream.verdict == "complete"


@SOURCES
def test_collect_keeps_what_had_come(source: Callable[..., Any]) -> None:
    said = lines(*[thought()] * 9, event({"content": "Never."}))

    def collected(**limits: Any) -> decluster.Answer:
        answer = decluster.collect(source(said), **limits)
        return run(answer) if asyncio.iscoroutine(answer) else answer

    with pytest.raises(decluster.ReasoningBudgetExceeded) as raised:
        collected(max_reasoning_tokens=40)
    answer = raised.value.answer
    assert answer is not None
    assert answer.reasoning == WORDS * (len(answer.reasoning) // len(WORDS)) != ""
    assert (answer.output, answer.verdict) == ("", "truncated")
    assert answer.exceeded is not None
    assert answer.exceeded.used == raised.value.used
    assert answer == collected(max_reasoning_tokens=40, over_budget="event")
    assert collected(max_reasoning_tokens=4_000).exceeded is None


def test_collect_stops_reading_over_its_budget() -> None:
    closed = threading.Event()

    def endless() -> Iterator[str]:
        try:
            while True:
                yield from (thought(), "")
        finally:
            closed.set()

    answer = decluster.collect(endless(), max_reasoning_tokens=40, over_budget="event")
    assert answer.exceeded is not None
    assert closed.is_set()


def test_what_a_budget_is() -> None:
    budget = Budget(20_000)
    assert (budget.used, budget.limit, budget.remaining) == (0, 20_000, 20_000)
    assert repr(budget) == "<decluster.Budget: 0 of 20000 tokens used>"
    for wrong in (-1, 1 << 64):
        with pytest.raises(decluster.ConfigError, match="out of bounds"):
            Budget(wrong)
    for none in ("1", 1.5, True, None):
        with pytest.raises(TypeError, match="takes a whole number"):
            Budget(none)  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        decluster.wrap([], budget=5)  # type: ignore[call-overload]
    with pytest.raises(decluster.ConfigError, match="one of the verbs"):
        decluster.Engine(budget=budget)


@HOW
def test_a_budget_is_shared_by_all_verbs(how: Any) -> None:
    budget = Budget(10_000)
    said = lines(*[thought()] * 3)
    used: list[int] = []
    for verb in (decluster.wrap, decluster.pieces, decluster.blocks):
        list(verb(said, budget=budget, **how))  # type: ignore[operator]
        used.append(budget.used)
        all_of(verb(later(said), budget=budget, **how))  # type: ignore[operator]
        used.append(budget.used)
    decluster.collect(said, budget=budget)
    used.append(budget.used)
    each = used[0]
    assert each > 30
    assert used == pytest.approx([each * n for n in range(1, 8)], abs=7)
    assert budget.remaining == 10_000 - budget.used


def test_a_budget_is_exact_over_threads() -> None:
    budget = Budget(3_000)
    said = lines(*[thought()] * 6)
    charged: list[int] = []
    largest: list[int] = []
    refused: list[decluster.ReasoningBudgetExceeded] = []

    def read() -> None:
        for _ in range(10):
            tokens = [0]
            try:
                for piece in decluster.pieces(said, budget=budget, max_tail=0):
                    tokens.append(piece.tokens)
            except decluster.ReasoningBudgetExceeded as error:
                refused.append(error)
            charged.append(sum(tokens))
            largest.append(max(tokens))

    threads = [threading.Thread(target=read) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(charged) == budget.used >= 3_000
    assert budget.used - 3_000 < max(largest)
    assert refused
    assert all(error.shared and error.limit == 3_000 for error in refused)


def over_http(client: str, url: str) -> Any:
    if client == "requests":
        session = requests.Session()
        session.trust_env = False
        return session.post(url, stream=True, timeout=20)
    http = httpx.Client(trust_env=False, timeout=20)
    return http.send(http.build_request("POST", url), stream=True)


@HOW
@pytest.mark.parametrize("over", ["raise", "event"])
@pytest.mark.parametrize("client", ["requests", "httpx"])
def test_over_budget_the_connection_is_closed(client: str, over: Any, how: Any) -> None:
    with Server([Send(wire(*[thought()] * 9)), Hold()]) as server:
        response = over_http(client, server.url)
        stream = decluster.pieces(response, max_reasoning_tokens=40, over_budget=over, **how)
        if over == "raise":
            with pytest.raises(decluster.ReasoningBudgetExceeded):
                list(stream)
        else:
            list(stream)
        assert stream.exceeded is not None
        # The source, which blocks in a read, was not at its end.
        assert server.wait_open_connections(0)
    assert no_reader_left()


@HOW
@pytest.mark.parametrize("over", ["raise", "event"])
def test_over_budget_an_async_connection_is_closed(over: Any, how: Any) -> None:
    async def main(server: Server) -> None:
        async with httpx.AsyncClient(trust_env=False, timeout=20) as client:
            request = client.build_request("POST", server.url)
            response = await client.send(request, stream=True)
            stream = decluster.pieces(
                response.aiter_lines(), max_reasoning_tokens=40, over_budget=over, **how
            )
            try:
                async for _ in stream:
                    pass
            except decluster.ReasoningBudgetExceeded:
                assert over == "raise"
            else:
                assert over == "event"
            assert stream.exceeded is not None
            await response.aclose()
        if how["background"]:
            assert await soon(no_task_left)

    with Server([Send(wire(*[thought()] * 9)), Hold()]) as server:
        # The generators inside that of httpx are closed by the loop, one after the other.
        asyncio.run(main(server))
        assert server.wait_open_connections(0)


SIGNS = [Send(b": still here\n\n", after=0.05)] * 200


@pytest.mark.parametrize("rest", [[Hold()], SIGNS], ids=["silence", "comments"])
@pytest.mark.parametrize("client", ["requests", "httpx"])
def test_a_silent_source_is_an_error_in_time_and_is_closed(client: str, rest: Any) -> None:
    with Server([Send(wire(event({"content": "It holds. And so"}))), *rest]) as server:
        response = over_http(client, server.url)
        stream = decluster.pieces(response, max_silence=0.4)
        seen: list[str] = []
        begun = time.monotonic()
        with pytest.raises(decluster.Stalled, match="stalled") as raised:
            seen.extend(str(piece) for piece in stream)
        assert 0.3 < time.monotonic() - begun < 5
        assert isinstance(raised.value, TimeoutError)
        assert isinstance(raised.value, decluster.ProviderError)
        assert raised.value.silence == pytest.approx(0.4, abs=0.15)
        assert "".join(seen) == "It holds. And so"
        assert stream.verdict == "truncated"
        assert server.wait_open_connections(0)
    assert no_reader_left()


def test_a_silent_async_source_is_an_error_too() -> None:
    async def main(server: Server) -> None:
        async with httpx.AsyncClient(trust_env=False, timeout=20) as client:
            request = client.build_request("POST", server.url)
            response = await client.send(request, stream=True)
            stream = decluster.wrap(response.aiter_lines(), max_silence=0.4)
            seen: list[str] = []
            with pytest.raises(decluster.Stalled):
                async for line in stream:
                    seen.append(line)
            assert " holds." in "".join(seen)
            await response.aclose()
        # The generators inside that of httpx are closed by the loop.
        assert await soon(no_task_left)

    with Server([Send(wire(event({"content": "It holds."}))), *SIGNS]) as server:
        run(main(server))
        assert server.wait_open_connections(0)


def test_an_event_loop_that_was_blocked_has_seen_no_silence() -> None:
    async def main(server: Server) -> list[str]:
        async with httpx.AsyncClient(trust_env=False, timeout=20) as client:
            request = client.build_request("POST", server.url)
            response = await client.send(request, stream=True)
            seen: list[str] = []
            async for piece in decluster.pieces(response.aiter_lines(), max_silence=0.5):
                seen.append(str(piece))
                if len(seen) == 1:
                    # Nothing of the loop runs meanwhile, and what comes waits in the socket.
                    until = time.monotonic() + 1.5
                    while time.monotonic() < until:
                        pass
            return seen

    said = [Send(wire(event({"content": f"Number {n}. "})), after=0.2) for n in range(9)]
    with Server([*said, Send(wire("data: [DONE]"))]) as server:
        assert "".join(run(main(server))) == "".join(f"Number {n}. " for n in range(9))


def test_a_consumer_that_pauses_is_told_of_no_silence() -> None:
    said = lines(*(event({"content": f"Number {n}. "}) for n in range(2_000)))
    stream = decluster.pieces(said, max_silence=0.1, max_tail=0, pace="off")
    text = str(next(stream))
    for _ in range(2):
        threading.Event().wait(0.4)
        text += str(next(stream))
    text += "".join(str(piece) for piece in stream)
    assert text == "".join(f"Number {n}. " for n in range(2_000))


def test_a_silence_needs_a_reader() -> None:
    for source in ([], later([])):
        with pytest.raises(decluster.ConfigError, match="max_silence needs a reader"):
            decluster.wrap(source, max_silence=5, background=False)
        with pytest.raises(decluster.ConfigError, match="max_silence needs a reader, collect has"):
            decluster.collect(source, max_silence=5)
    assert list(decluster.wrap([], max_silence=0, background=False)) == []
    assert decluster.collect([], max_silence=0).output == ""


def test_a_stream_that_stalled_is_over() -> None:
    with Server([Send(wire(event({"content": "It holds."}))), Hold()]) as server:
        stream = decluster.pieces(over_http("httpx", server.url), max_silence=0.2)
        with pytest.raises(decluster.Stalled):
            list(stream)
        assert list(stream) == []
