"""What type checkers infer for the verbs. Never run: mypy and pyright read it in `make lint`.

A line that must not be accepted says so to both; a comment that nothing needs is an error, too.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Generator, Iterator, Mapping
from decimal import Decimal
from typing import Any, Literal, TypedDict

import aiohttp
import anthropic
import httpx
import httpx2
import openai
import requests
from anthropic.types import RawMessageStreamEvent
from openai.types.chat import ChatCompletionChunk
from openai.types.responses import ResponseStreamEvent
from typing_extensions import assert_type

import decluster
from decluster import (
    Answer,
    AsyncStream,
    Dialect,
    Event,
    Piece,
    Stream,
    Tokens,
    Verdict,
)


class Delta(TypedDict):
    """An event as libraries describe theirs."""

    text: str


class OwnResponse:
    """A response of some other client."""

    def iter_lines(self) -> Generator[bytes, None, None]:
        yield b""


def lines_and_chunks_stay_what_they_are(
    texts: list[str],
    known: list[Literal["data: {}", ""]],
    chunks: list[bytes],
    made: Iterator[str],
    generated: Generator[bytes, Any, Any],
) -> None:
    assert_type(decluster.wrap(texts), Stream[str])
    assert_type(decluster.wrap(chunks), Stream[bytes])
    assert_type(decluster.wrap(made), Stream[str])
    assert_type(decluster.wrap(generated), Stream[bytes])
    assert_type(decluster.wrap(line for line in texts), Stream[str])
    # What comes out is cut elsewhere: not these very strings.
    assert_type(decluster.wrap(("data: {}", "")), Stream[str])
    assert_type(decluster.wrap(known), Stream[str])
    assert_type(next(decluster.wrap(texts)), str)
    for line in decluster.wrap(texts):
        assert_type(line, str)
    with decluster.wrap(chunks) as wrapped:
        assert_type(wrapped, Stream[bytes])
        for chunk in wrapped:
            assert_type(chunk, bytes)


def responses_of_requests_are_not_typed_further_than_they_are(response: requests.Response) -> None:
    # Its stubs say `Iterator[Any]`: with `decode_unicode` it gives `str`.
    assert_type(decluster.wrap(response), Stream[Any])
    assert_type(decluster.wrap(response.iter_lines()), Stream[Any])
    assert_type(decluster.wrap(response.iter_content(1024)), Stream[Any])
    assert_type(decluster.pieces(response.iter_lines()), Stream[Piece])
    assert_type(decluster.collect(response.iter_lines()), Answer)


def responses_of_httpx(response: httpx.Response) -> None:
    assert_type(decluster.wrap(response), Stream[str])
    assert_type(decluster.wrap(response.iter_lines()), Stream[str])
    assert_type(decluster.wrap(response.iter_bytes()), Stream[bytes])
    assert_type(decluster.wrap(response.iter_lines(), closer=response.close), Stream[str])


async def responses_of_httpx2(response: httpx2.Response) -> None:
    assert_type(decluster.wrap(response), Stream[str])
    assert_type(decluster.wrap(response.iter_bytes()), Stream[bytes])
    assert_type(decluster.wrap(response.aiter_lines()), AsyncStream[str])


def a_response_is_what_has_iter_lines(response: OwnResponse) -> None:
    assert_type(decluster.wrap(response), Stream[bytes])
    assert_type(decluster.blocks(response), Stream[Piece])


def events_stay_what_they_are(
    events: list[dict[str, Any]],
    typed: list[Delta],
    named: list[tuple[str, dict[str, Any]]],
    unnamed: Iterator[tuple[None, Mapping[str, object]]],
) -> None:
    assert_type(decluster.wrap(events), Stream[dict[str, Any]])
    assert_type(decluster.wrap(typed), Stream[Delta])
    assert_type(decluster.wrap(named), Stream[tuple[str, dict[str, Any]]])
    assert_type(decluster.wrap(unnamed), Stream[tuple[None, Mapping[str, object]]])


def sdk_streams(
    chat: openai.Stream[ChatCompletionChunk],
    responses: openai.Stream[ResponseStreamEvent],
    messages: anthropic.Stream[RawMessageStreamEvent],
    raw: openai.APIResponse[str],
) -> None:
    assert_type(decluster.wrap(chat), Stream[ChatCompletionChunk])
    assert_type(decluster.wrap(responses), Stream[ResponseStreamEvent])
    assert_type(decluster.wrap(messages), Stream[RawMessageStreamEvent])
    assert_type(decluster.wrap(raw), Stream[str])
    for chunk in decluster.wrap(chat):
        assert_type(chunk.choices[0].delta.content, str | None)
    assert_type(decluster.wrap(chat).response, Any)  # what else the stream has
    assert_type(decluster.pieces(chat), Stream[Piece])
    assert_type(decluster.blocks(messages), Stream[Piece])
    assert_type(decluster.collect(responses), Answer)


def pieces_have_events_between_them_when_asked(lines: list[str], asked: bool) -> None:
    assert_type(decluster.pieces(lines), Stream[Piece])
    assert_type(decluster.pieces(lines, events=False), Stream[Piece])
    assert_type(decluster.pieces(lines, events=True), Stream[Piece | Event])
    assert_type(decluster.pieces(lines, events=asked), Stream[Piece | Event])
    assert_type(decluster.blocks(lines), Stream[Piece])
    assert_type(decluster.blocks(lines, events=False), Stream[Piece])
    assert_type(decluster.blocks(lines, events=True), Stream[Piece | Event])
    assert_type(decluster.blocks(lines, events=asked), Stream[Piece | Event])
    for item in decluster.pieces(lines, events=True):
        match item:
            case Piece():
                assert_type(item.text, str)
            case Event(name, data):
                assert_type((name, data), tuple[str, str])


def what_is_known_about_a_stream(lines: list[str]) -> None:
    stream = decluster.pieces(lines)
    assert_type(stream.usage, dict[str, Any] | None)
    assert_type(stream.tokens, Tokens | None)
    assert_type(stream.verdict, Verdict | None)
    assert_type(stream.reason, str | None)
    assert_type(stream.dialect, Dialect | None)
    assert_type(stream.stats(), dict[str, Any])
    assert_type(stream.flush(), None)
    assert_type(stream.close(), None)


def parameters_are_checked(lines: list[str]) -> None:
    decluster.wrap(lines, framing="lines", dialect="openai-chat", background=False)
    decluster.wrap(lines, preset="steady", max_delay=2, unit="word")
    decluster.wrap(lines, profile="codex-low-latency")
    decluster.wrap(lines, max_delay="2")  # type: ignore[call-overload]  # pyright: ignore[reportCallIssue, reportArgumentType]
    decluster.wrap(lines, unit="letter")  # type: ignore[call-overload]  # pyright: ignore[reportCallIssue, reportArgumentType]
    decluster.wrap(lines, max_dealy=2)  # type: ignore[call-overload]  # pyright: ignore[reportCallIssue]
    decluster.wrap(lines, dialect="smtp")  # type: ignore[call-overload]  # pyright: ignore[reportCallIssue, reportArgumentType]
    decluster.wrap(lines, True)  # type: ignore[call-overload]  # pyright: ignore[reportCallIssue]


def what_is_no_stream_is_refused(body: dict[str, Any], numbers: list[int]) -> None:
    decluster.wrap(b"data: {}")  # type: ignore[type-var]  # pyright: ignore[reportCallIssue, reportArgumentType]
    decluster.wrap(numbers)  # type: ignore[type-var]  # pyright: ignore[reportCallIssue, reportArgumentType]
    decluster.wrap(None)  # type: ignore[call-overload]  # pyright: ignore[reportCallIssue, reportArgumentType]
    decluster.pieces(numbers)  # type: ignore[arg-type]  # pyright: ignore[reportCallIssue, reportArgumentType]
    decluster.collect(7)  # type: ignore[call-overload]  # pyright: ignore[reportCallIssue, reportArgumentType]


async def async_lines_and_chunks_stay_what_they_are(
    made: AsyncIterator[str], generated: AsyncGenerator[bytes, None]
) -> None:
    assert_type(decluster.wrap(made), AsyncStream[str])
    assert_type(decluster.wrap(generated), AsyncStream[bytes])
    assert_type(decluster.wrap(line async for line in made), AsyncStream[str])
    assert_type(await anext(decluster.wrap(made)), str)
    async for line in decluster.wrap(made):
        assert_type(line, str)
    async with decluster.wrap(generated) as wrapped:
        assert_type(wrapped, AsyncStream[bytes])
        async for chunk in wrapped:
            assert_type(chunk, bytes)


async def async_responses_of_httpx(response: httpx.Response) -> None:
    # The response itself has one type for both of its clients: see `responses_of_httpx`.
    assert_type(decluster.wrap(response.aiter_lines()), AsyncStream[str])
    assert_type(decluster.wrap(response.aiter_bytes()), AsyncStream[bytes])
    closer = response.aclose
    assert_type(decluster.wrap(response.aiter_lines(), closer=closer), AsyncStream[str])


async def responses_of_aiohttp(response: aiohttp.ClientResponse) -> None:
    assert_type(decluster.wrap(response), AsyncStream[bytes])
    assert_type(decluster.wrap(response.content), AsyncStream[bytes])
    assert_type(decluster.wrap(response.content.iter_any()), AsyncStream[bytes])
    assert_type(decluster.pieces(response), AsyncStream[Piece])
    assert_type(decluster.blocks(response), AsyncStream[Piece])
    assert_type(await decluster.collect(response), Answer)


async def async_events_stay_what_they_are(
    events: AsyncIterator[dict[str, Any]], named: AsyncIterator[tuple[str, dict[str, Any]]]
) -> None:
    assert_type(decluster.wrap(events), AsyncStream[dict[str, Any]])
    assert_type(decluster.wrap(named), AsyncStream[tuple[str, dict[str, Any]]])


async def async_sdk_streams(
    chat: openai.AsyncStream[ChatCompletionChunk],
    responses: openai.AsyncStream[ResponseStreamEvent],
    messages: anthropic.AsyncStream[RawMessageStreamEvent],
    raw: openai.AsyncAPIResponse[str],
) -> None:
    assert_type(decluster.wrap(chat), AsyncStream[ChatCompletionChunk])
    assert_type(decluster.wrap(responses), AsyncStream[ResponseStreamEvent])
    assert_type(decluster.wrap(messages), AsyncStream[RawMessageStreamEvent])
    assert_type(decluster.wrap(raw), AsyncStream[str])
    async for chunk in decluster.wrap(chat):
        assert_type(chunk.choices[0].delta.content, str | None)
    assert_type(await decluster.collect(messages), Answer)


async def async_pieces_have_events_between_them_when_asked(
    lines: AsyncIterator[str], asked: bool
) -> None:
    assert_type(decluster.pieces(lines), AsyncStream[Piece])
    assert_type(decluster.pieces(lines, events=False), AsyncStream[Piece])
    assert_type(decluster.pieces(lines, events=True), AsyncStream[Piece | Event])
    assert_type(decluster.pieces(lines, events=asked), AsyncStream[Piece | Event])
    assert_type(decluster.blocks(lines), AsyncStream[Piece])
    assert_type(decluster.blocks(lines, events=True), AsyncStream[Piece | Event])
    assert_type(decluster.blocks(lines, events=asked), AsyncStream[Piece | Event])


async def what_is_known_about_an_async_stream(lines: AsyncIterator[str]) -> None:
    stream = decluster.pieces(lines)
    assert_type(stream.usage, dict[str, Any] | None)
    assert_type(stream.tokens, Tokens | None)
    assert_type(stream.verdict, Verdict | None)
    assert_type(stream.stats(), dict[str, Any])
    assert_type(stream.flush(), None)
    assert_type(await stream.aclose(), None)
    assert_type(await stream.close(), None)


async def an_async_stream_is_awaited(lines: AsyncIterator[str]) -> None:
    assert_type(await decluster.collect(lines), Answer)
    waits: Awaitable[Answer] = decluster.collect(lines)
    assert_type(await waits, Answer)
    print(decluster.collect(lines).output)  # type: ignore[attr-defined]  # pyright: ignore
    for line in decluster.wrap(lines):  # type: ignore[attr-defined]  # pyright: ignore
        print(line)  # pyright: ignore[reportUnknownArgumentType]


def a_sync_stream_is_not_awaited(lines: list[str]) -> None:
    answer = decluster.collect(lines)
    assert_type(answer.output, str)
    assert_type(answer.verdict, Verdict | None)
    assert_type(answer.tokens, Tokens | None)


def costs_are_decimals(lines: list[str], later: AsyncIterator[str]) -> None:
    ledger = decluster.Ledger(decluster.Prices.examples(), currency="CNY", rate=Decimal("7.1"))
    stream = decluster.wrap(lines, ledger=ledger.account(key="search"))
    assert_type(stream, Stream[str])
    assert_type(stream.model, str | None)
    assert_type(decluster.pieces(later, ledger=ledger), AsyncStream[Piece])
    assert_type(decluster.collect(lines, ledger=ledger).model, str | None)
    cost = ledger.add(stream)
    assert_type(cost, decluster.Cost | None)
    if cost is not None:
        assert_type(cost.rounded().total, Decimal)
    assert_type(ledger.total.tokens, Tokens)
    assert_type(ledger.by_key(), list[decluster.LedgerEntry])
    decluster.wrap(lines, ledger="ledger")  # type: ignore[call-overload]  # pyright: ignore


def published_names_are_parameters(lines: list[str], settings: dict[str, Any]) -> None:
    assert_type(decluster.wrap(lines, **decluster.config_from(settings)), Stream[str])
    assert_type(decluster.collect(lines, **decluster.config_from(settings)), Answer)
