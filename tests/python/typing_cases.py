"""What type checkers infer for the verbs. Never run: mypy and pyright read it in `make lint`.

A line that must not be accepted says so to both; a comment that nothing needs is an error, too.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping
from typing import Any, TypedDict

import httpx
import requests
from typing_extensions import assert_type

import decluster
from decluster import (
    Answer,
    BlockStream,
    Dialect,
    Event,
    Piece,
    PieceStream,
    Tokens,
    Verdict,
    WrappedStream,
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
    chunks: list[bytes],
    made: Iterator[str],
    generated: Generator[bytes, Any, Any],
) -> None:
    assert_type(decluster.wrap(texts), WrappedStream[str])
    assert_type(decluster.wrap(chunks), WrappedStream[bytes])
    assert_type(decluster.wrap(made), WrappedStream[str])
    assert_type(decluster.wrap(generated), WrappedStream[bytes])
    assert_type(decluster.wrap(line for line in texts), WrappedStream[str])
    assert_type(next(decluster.wrap(texts)), str)
    for line in decluster.wrap(texts):
        assert_type(line, str)
    with decluster.wrap(chunks) as wrapped:
        assert_type(wrapped, WrappedStream[bytes])
        for chunk in wrapped:
            assert_type(chunk, bytes)


def responses_of_requests_are_not_typed_further_than_they_are(response: requests.Response) -> None:
    # Its stubs say `Iterator[Any]`: with `decode_unicode` it gives `str`.
    assert_type(decluster.wrap(response), WrappedStream[Any])
    assert_type(decluster.wrap(response.iter_lines()), WrappedStream[Any])
    assert_type(decluster.wrap(response.iter_content(1024)), WrappedStream[Any])
    assert_type(decluster.pieces(response.iter_lines()), PieceStream[Piece])
    assert_type(decluster.collect(response.iter_lines()), Answer)


def responses_of_httpx(response: httpx.Response) -> None:
    assert_type(decluster.wrap(response), WrappedStream[str])
    assert_type(decluster.wrap(response.iter_lines()), WrappedStream[str])
    assert_type(decluster.wrap(response.iter_bytes()), WrappedStream[bytes])
    assert_type(decluster.wrap(response.iter_lines(), closer=response.close), WrappedStream[str])


def a_response_is_what_has_iter_lines(response: OwnResponse) -> None:
    assert_type(decluster.wrap(response), WrappedStream[bytes])
    assert_type(decluster.blocks(response), BlockStream[Piece])


def events_stay_what_they_are(
    events: list[dict[str, Any]],
    typed: list[Delta],
    named: list[tuple[str, dict[str, Any]]],
    unnamed: Iterator[tuple[None, Mapping[str, object]]],
) -> None:
    assert_type(decluster.wrap(events), WrappedStream[dict[str, Any]])
    assert_type(decluster.wrap(typed), WrappedStream[Delta])
    assert_type(decluster.wrap(named), WrappedStream[tuple[str, dict[str, Any]]])
    assert_type(decluster.wrap(unnamed), WrappedStream[tuple[None, Mapping[str, object]]])


def pieces_have_events_between_them_when_asked(lines: list[str], asked: bool) -> None:
    assert_type(decluster.pieces(lines), PieceStream[Piece])
    assert_type(decluster.pieces(lines, events=False), PieceStream[Piece])
    assert_type(decluster.pieces(lines, events=True), PieceStream[Piece | Event])
    assert_type(decluster.pieces(lines, events=asked), PieceStream[Piece | Event])
    assert_type(decluster.blocks(lines), BlockStream[Piece])
    assert_type(decluster.blocks(lines, events=False), BlockStream[Piece])
    assert_type(decluster.blocks(lines, events=True), BlockStream[Piece | Event])
    assert_type(decluster.blocks(lines, events=asked), BlockStream[Piece | Event])
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
    decluster.wrap(lines, max_delay="2")  # type: ignore[call-overload]  # pyright: ignore[reportCallIssue]
    decluster.wrap(lines, unit="letter")  # type: ignore[call-overload]  # pyright: ignore[reportCallIssue]
    decluster.wrap(lines, max_dealy=2)  # type: ignore[call-overload]  # pyright: ignore[reportCallIssue]
    decluster.wrap(lines, dialect="smtp")  # type: ignore[call-overload]  # pyright: ignore[reportCallIssue]
    decluster.wrap(lines, True)  # type: ignore[call-overload]  # pyright: ignore[reportCallIssue]


def what_is_no_stream_is_refused(body: dict[str, Any], numbers: list[int]) -> None:
    decluster.wrap(b"data: {}")  # type: ignore[type-var]  # pyright: ignore[reportCallIssue]
    decluster.wrap(numbers)  # type: ignore[type-var]  # pyright: ignore[reportCallIssue]
    decluster.wrap(None)  # type: ignore[call-overload]  # pyright: ignore[reportCallIssue]
    decluster.pieces(numbers)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    decluster.collect(7)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]


def a_sync_stream_is_not_awaited(lines: list[str]) -> None:
    answer = decluster.collect(lines)
    assert_type(answer.output, str)
    assert_type(answer.verdict, Verdict | None)
    assert_type(answer.tokens, Tokens | None)
