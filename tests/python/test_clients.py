"""Real HTTP clients on a loopback server: the loop around `iter_lines()` does not change."""

from __future__ import annotations

import json
import socket
import threading
import time
import zlib
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any, ClassVar

import httpx
import pytest
import requests
from readers import no_reader_left

import decluster
from decluster._demo_server import Cut, Hold, Send, Server

Lines = Callable[[str], AbstractContextManager[tuple[Any, Iterator[Any]]]]


@contextmanager
def with_requests(url: str) -> Iterator[tuple[Any, Iterator[bytes]]]:
    with requests.Session() as session:
        session.trust_env = False
        with session.post(url, stream=True, timeout=10) as response:
            yield response, response.iter_lines()


@contextmanager
def with_requests_str(url: str) -> Iterator[tuple[Any, Iterator[str]]]:
    with requests.Session() as session:
        session.trust_env = False
        with session.post(url, stream=True, timeout=10) as response:
            response.encoding = "utf-8"
            yield response, response.iter_lines(decode_unicode=True)


@contextmanager
def with_httpx(url: str) -> Iterator[tuple[Any, Iterator[str]]]:
    with (
        httpx.Client(trust_env=False, timeout=10) as client,
        client.stream("POST", url) as response,
    ):
        yield response, response.iter_lines()


CLIENTS = pytest.mark.parametrize("client", [with_requests, with_requests_str, with_httpx])
ERRORS = (requests.exceptions.ChunkedEncodingError, httpx.RemoteProtocolError)

REASONING = "The lease ends while the worker still runs, so the job is handed out again. " * 3
OUTPUT = "Renew the lease from a thread of its own — naïve, but it works 🦀. "


def event(**choice: object) -> bytes:
    body = {"id": "c", "choices": [{"index": 0, "finish_reason": None, **choice}]}
    return f"data: {json.dumps(body, ensure_ascii=False)}\n\n".encode()


DELTAS = [
    event(delta={"role": "assistant", "content": ""}),
    event(delta={"reasoning_content": REASONING}),
    event(delta={"reasoning_content": "And that is all."}),
    event(delta={"content": OUTPUT}),
]
END = [
    event(delta={}, finish_reason="stop"),
    b'data: {"choices":[],"usage":{"completion_tokens":80}}\n\n',
    b"data: [DONE]\n\n",
]
CLUSTERED = [Send(data, after=0.05) for data in DELTAS + END]


def as_text(line: str | bytes) -> str:
    return line.decode() if isinstance(line, bytes) else line


def texts(lines: list[str]) -> tuple[str, str]:
    """Reads lines as the published client does: `data: `, then JSON of the rest."""
    reasoning, output = "", ""
    for line in lines:
        if line.startswith("data: ") and line != "data: [DONE]":
            for choice in json.loads(line[6:])["choices"]:
                reasoning += choice["delta"].get("reasoning_content") or ""
                output += choice["delta"].get("content") or ""
    return reasoning, output


@CLIENTS
def test_text_and_dialect_are_those_of_the_source(client: Lines) -> None:
    with Server(CLUSTERED) as server, client(server.url) as (_, lines):
        stream = decluster.wrap(lines)
        out = list(stream)
        assert {type(line) for line in out} in ({str}, {bytes})
        told = [as_text(line) for line in out]
        assert texts(told) == (REASONING + "And that is all.", OUTPUT)
        # A valid stream of the same dialect, with the ends where they were.
        again = decluster.collect(told)
        assert (again.reasoning, again.output) == (REASONING + "And that is all.", OUTPUT)
        assert (again.dialect, again.verdict, again.finish) == ("openai-chat", "complete", "stop")
        assert again.usage == stream.usage == {"completion_tokens": 80}
        assert told[-2:] in (["data: [DONE]", ""], ["", "data: [DONE]"])
        assert len(told) > 2 * (len(DELTAS) + len(END))
        assert server.wait_open_connections(0)
    assert no_reader_left()


@CLIENTS
def test_a_response_object_gives_its_lines(client: Lines) -> None:
    with Server(CLUSTERED) as server, client(server.url) as (response, _):
        with decluster.wrap(response) as stream:
            told = [as_text(line) for line in stream]
        assert texts(told) == (REASONING + "And that is all.", OUTPUT)
    assert no_reader_left()


@CLIENTS
def test_a_connection_cut_mid_frame_raises_the_clients_own_error(client: Lines) -> None:
    half = event(delta={"content": "never whole"})[:40]
    script = [*[Send(data) for data in DELTAS], Send(half), Cut(after=0.1)]
    seen: list[str] = []
    with (
        Server(script) as server,
        client(server.url) as (_, lines),
        pytest.raises(ERRORS),
    ):
        for line in decluster.wrap(lines):
            seen.append(as_text(line))
    # What had arrived came before the error; the half event is no event.
    whole = [line for line in seen if not line or line.endswith("}")]
    assert texts(whole) == (REASONING + "And that is all.", OUTPUT)
    assert no_reader_left()


@CLIENTS
@pytest.mark.parametrize("how", ["lines", "response"])
def test_early_close_ends_the_thread_though_the_server_is_silent(client: Lines, how: str) -> None:
    script = [*[Send(data) for data in DELTAS], Hold()]
    with Server(script) as server, client(server.url) as (response, lines):
        stream = decluster.wrap(response if how == "response" else lines)
        next(stream)
        start = time.monotonic()
        stream.close()
        assert time.monotonic() - start < 0.5
        assert no_reader_left()
        assert list(stream) == []
    assert time.monotonic() - start < 2


SEPARATED = "One\u2028sentence. Two\u0085 of them.\u2029"


def test_a_separator_within_a_text_is_no_end_of_a_line() -> None:
    """As `iter_lines()` of httpx takes it for; of a response we cut the lines."""
    script = [Send(event(delta={"content": SEPARATED})), Send(b"data: [DONE]\n\n")]
    with Server(script) as server:
        with with_httpx(server.url) as (response, _):
            lines = list(decluster.wrap(response))
            assert texts(lines) == ("", SEPARATED)
        with with_httpx(server.url) as (response, _):
            assert "".join(map(str, decluster.pieces(response))) == SEPARATED
        with with_httpx(server.url) as (response, _):
            assert decluster.collect(response).output == SEPARATED
        with with_httpx(server.url) as (_, iter_lines):
            # What they were is lost here, but that they were there is not.
            answer = decluster.collect(iter_lines)
            assert answer.output == SEPARATED.translate(dict.fromkeys((0x2029, 0x85), 0x2028))


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("size", [1, 2, 7, 1_000])
def test_the_lines_of_a_response_are_cut_at_any_end(end: str, size: int) -> None:
    body = b"".join(DELTAS + END).replace(b"\n", end.encode())

    class Response:
        """As httpx has it."""

        def iter_lines(self) -> Iterator[str]:
            raise NotImplementedError

        def iter_bytes(self) -> Iterator[bytes]:
            for at in range(0, len(body), size):
                yield body[at : at + size]
                yield b""

    plain = body.decode().split(end)[:-1]
    assert list(decluster.wrap(Response(), pace="off", segment="off")) == plain


@pytest.mark.parametrize("library", [requests, httpx])
def test_a_response_that_was_read_already_is_told(library: Any) -> None:
    with Server(CLUSTERED) as server:
        response = library.post(server.url)
        with pytest.warns(RuntimeWarning, match="stream=True"):
            lines = list(decluster.wrap(response, pace="off"))
        assert texts([as_text(line) for line in lines]) == (REASONING + "And that is all.", OUTPUT)


def test_a_response_has_no_other_framing_than_lines() -> None:
    with (
        Server(CLUSTERED) as server,
        with_httpx(server.url) as (response, _),
        pytest.raises(TypeError, match="for bytes give its iter_bytes"),
    ):
        decluster.wrap(response, framing="bytes")


@CLIENTS
def test_early_close_reaches_a_response_behind_generators(client: Lines) -> None:
    script = [*[Send(data) for data in DELTAS], Hold()]
    with Server(script) as server, client(server.url) as (_, lines):

        def counted() -> Iterator[Any]:
            for _, line in enumerate(lines):
                yield line

        stream = decluster.wrap(line for line in counted())
        next(stream)
        stream.close()
        assert no_reader_left()
        assert server.wait_open_connections(0)


def test_a_loop_that_breaks_leaves_nothing_behind() -> None:
    script = [*[Send(data) for data in DELTAS], Hold()]
    with Server(script) as server:
        with with_requests(server.url) as (_, lines):
            for _ in decluster.wrap(lines):
                break
        assert server.wait_open_connections(0)
    assert no_reader_left()


def test_the_first_text_is_not_held_back() -> None:
    script = [*[Send(data) for data in DELTAS[:2]], Hold()]
    with Server(script) as server, with_requests(server.url) as (response, lines):
        arrived: list[float] = []

        def noting() -> Iterator[bytes]:
            for line in lines:
                if b"reasoning_content" in line:
                    arrived.append(time.monotonic())
                yield line

        # A generator of the caller's own hides the response: the closer names it.
        stream = decluster.wrap(noting(), closer=response.close)
        for line in stream:
            if b"reasoning_content" in line:
                assert time.monotonic() - arrived[0] < 0.05
                break
        stream.close()
        assert len(arrived) == 1
    assert no_reader_left()


@contextmanager
def without_chunks(
    begin: bytes, rest: bytes, *headers: str
) -> Iterator[tuple[requests.Response, threading.Event]]:
    """The response to HTTP/1.0, of which the rest comes once the event is set."""
    go_on = threading.Event()

    def serve() -> None:
        connection, _ = listening.accept()
        with connection:
            connection.recv(1 << 16)
            head = "\r\n".join(("HTTP/1.0 200 OK", *headers, "", ""))
            connection.sendall(head.encode() + begin)
            go_on.wait(10)
            connection.sendall(rest)

    with socket.create_server(("127.0.0.1", 0)) as listening, requests.Session() as session:
        session.trust_env = False
        thread = threading.Thread(target=serve)
        thread.start()
        url = f"http://127.0.0.1:{listening.getsockname()[1]}"
        try:
            with session.get(url, stream=True, timeout=10) as response:
                yield response, go_on
        finally:
            go_on.set()
            thread.join()


SHORT = event(delta={"content": "Renew the lease. "})


@pytest.mark.parametrize("coding", ["identity", "gzip"])
@pytest.mark.parametrize("verb", [decluster.wrap, decluster.pieces])
def test_what_has_come_without_chunks_is_not_waited_with(
    verb: Callable[..., Any], coding: str
) -> None:
    begin, rest = SHORT, b"".join(END)
    if coding == "gzip":
        packer = zlib.compressobj(wbits=31)
        begin = packer.compress(begin) + packer.flush(zlib.Z_SYNC_FLUSH)
        rest = packer.compress(rest) + packer.flush()
    with without_chunks(begin, rest, f"Content-Encoding: {coding}") as (response, go_on):
        stream = verb(response)
        items = [next(stream)]
        assert not go_on.is_set()
        go_on.set()
        items += stream
        assert stream.verdict == "complete"
    if verb is decluster.wrap:
        assert {type(item) for item in items} == {bytes}
        assert texts([item.decode() for item in items]) == ("", "Renew the lease. ")
    else:
        assert "".join(map(str, items)) == "Renew the lease. "


def test_a_body_that_is_cut_short_without_chunks_raises_the_clients_own_error() -> None:
    cut = without_chunks(SHORT, b"", "Content-Length: 2000")
    with cut as (response, go_on):
        go_on.set()
        with pytest.raises(requests.exceptions.ChunkedEncodingError, match="IncompleteRead"):
            decluster.collect(response)


def test_closing_leaves_a_connection_of_http_2_to_the_other_responses() -> None:
    here, there = socket.socketpair()
    came = threading.Event()
    closed: list[bool] = []

    class NetworkStream:
        def get_extra_info(self, _: str) -> socket.socket:
            return here

    class Response:
        """As httpx has it."""

        extensions: ClassVar = {"network_stream": NetworkStream(), "stream_id": 1}

        def iter_lines(self) -> Iterator[str]:
            raise NotImplementedError

        def iter_bytes(self) -> Iterator[bytes]:
            yield DELTAS[0]
            came.wait(10)
            yield DELTAS[0]

        def close(self) -> None:
            closed.append(came.is_set())

    with here, there:
        stream = decluster.wrap(Response())
        next(stream)
        stream.close()
        there.sendall(b"x")
        assert here.recv(1) == b"x"
        came.set()
        assert no_reader_left()
    # To close the response while it is read would leave its reader without a word for ever.
    assert closed == [True]
