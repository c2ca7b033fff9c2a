"""The loopback server plays what the script says, to a real HTTP client."""

from __future__ import annotations

import http.client
import threading
import time
from collections.abc import Iterator
from urllib.parse import urlsplit

import pytest
import requests

from decluster._demo_server import Cut, Hold, Send, Server


@pytest.fixture
def session() -> Iterator[object]:
    with requests.Session() as session:
        session.trust_env = False
        yield session


EVENTS = [b'data: {"n":1}\n\n', "data: naïve 🎯\n\n".encode(), b"data: [DONE]\n\n"]


def test_it_plays_every_step_and_ends_cleanly(session) -> None:
    with Server([Send(event) for event in EVENTS]) as server:
        response = session.get(server.url, stream=True, timeout=5)
        assert response.headers["Content-Type"].startswith("text/event-stream")
        assert response.headers["Transfer-Encoding"] == "chunked"
        lines = list(response.iter_lines())
        assert server.wait_open_connections(0)
    assert lines == b"".join(EVENTS).split(b"\n")[:-1]
    assert server.connections[0].outcome == "played"


def test_each_step_is_one_chunk() -> None:
    with Server([Send(event) for event in EVENTS]) as server:
        address = urlsplit(server.url)
        client = http.client.HTTPConnection(address.hostname, address.port, timeout=5)
        client.request("GET", "/")
        response = client.getresponse()
        assert [response.read1() for _ in EVENTS] == EVENTS
        assert response.read() == b""
        client.close()


def test_it_takes_a_post_and_keeps_what_was_asked(session) -> None:
    with Server([Send(b"data: x\n\n")]) as server:
        headers = {"X-Trace": "7"}
        response = session.post(server.url, json={"stream": True}, headers=headers, timeout=5)
        assert response.content == b"data: x\n\n"
    asked = server.connections[0]
    assert (asked.method, asked.path) == ("POST", "/v1/chat/completions")
    assert asked.body == b'{"stream": true}'
    assert asked.headers["x-trace"] == "7"


def test_steps_are_written_no_earlier_than_due_and_their_times_are_kept(session) -> None:
    with Server([Send(b"a"), Send(b"b", after=0.03), Send(b"c", after=0.02)]) as server:
        begun = time.monotonic_ns()
        assert session.get(server.url, timeout=5).content == b"abc"
        written = server.connections[0].written_ns
    assert len(written) == 3
    assert begun <= written[0] <= written[1] <= written[2]
    assert written[1] - begun >= 30_000_000
    assert written[2] - begun >= 50_000_000


def test_an_empty_step_does_not_end_the_stream(session) -> None:
    with Server([Send(b"a"), Send(b""), Send(b"b")]) as server:
        assert session.get(server.url, timeout=5).content == b"ab"
        assert len(server.connections[0].written_ns) == 3


def test_a_cut_in_mid_frame_is_an_error_of_the_client(session) -> None:
    with Server([Send(EVENTS[0]), Send(b'data: {"n":'), Cut()]) as server:
        lines = session.get(server.url, stream=True, timeout=5).iter_lines()
        assert next(lines) == b'data: {"n":1}'
        with pytest.raises(requests.exceptions.ChunkedEncodingError):
            list(lines)
        assert server.wait_open_connections(0)
        assert server.connections[0].outcome == "cut"


def test_a_reset_is_an_error_of_the_client(session) -> None:
    with Server([Send(EVENTS[0]), Cut(reset=True)]) as server:
        with pytest.raises(requests.exceptions.RequestException):
            # The reset may overtake the event, so it may fail at once.
            list(session.get(server.url, stream=True, timeout=5).iter_lines())
        assert server.wait_open_connections(0)
        assert server.connections[0].outcome == "cut"


def test_a_held_connection_stays_open_until_the_client_closes_it(session) -> None:
    with Server([Send(EVENTS[0]), Hold()]) as server:
        response = session.get(server.url, stream=True, timeout=5)
        lines = response.iter_lines()
        assert next(lines) == b'data: {"n":1}'
        assert server.open_connections == 1
        response.close()
        assert server.wait_open_connections(0)
        assert server.connections[0].outcome == "client closed"


def test_a_client_that_leaves_before_a_step_is_noticed_at_once(session) -> None:
    with Server([Send(EVENTS[0]), Send(EVENTS[1], after=60)]) as server:
        response = session.get(server.url, stream=True, timeout=5)
        lines = response.iter_lines()
        next(lines)
        response.close()
        assert server.wait_open_connections(0)
        assert server.connections[0].outcome == "client closed"
        assert len(server.connections[0].written_ns) == 1


def test_closing_the_server_ends_a_held_connection_and_all_threads(session) -> None:
    before = set(threading.enumerate())
    with Server([Send(EVENTS[0]), Hold()]) as server:
        lines = session.get(server.url, stream=True, timeout=5).iter_lines()
        next(lines)
    with pytest.raises(requests.exceptions.ChunkedEncodingError):
        list(lines)
    assert server.connections[0].outcome == "server closed"
    assert server.open_connections == 0
    assert set(threading.enumerate()) == before
    server.close()


def test_several_clients_are_served_at_once(session) -> None:
    with Server([Send(EVENTS[0]), Hold()]) as server:
        open_responses = [session.get(server.url, stream=True, timeout=5) for _ in range(4)]
        # Kept in a list: a reader that is dropped closes its connection.
        readers = [response.iter_lines() for response in open_responses]
        assert [next(lines) for lines in readers] == [b'data: {"n":1}'] * 4
        assert server.open_connections == 4
        for response in open_responses:
            response.close()
        assert server.wait_open_connections(0)


def test_a_retry_can_be_answered_differently(session) -> None:
    with Server([Send(b"half"), Cut()], [Send(b"whole")]) as server:
        with pytest.raises(requests.exceptions.ChunkedEncodingError):
            session.get(server.url, timeout=5)
        assert session.get(server.url, timeout=5).content == b"whole"
        assert session.get(server.url, timeout=5).content == b"whole"
        assert len(server.connections) == 3


def test_a_server_without_a_script_is_refused() -> None:
    with pytest.raises(ValueError, match="script"):
        Server()
