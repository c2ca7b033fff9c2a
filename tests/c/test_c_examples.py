"""The C examples do what their first comments say; under the sanitizers, slowly under valgrind."""

from __future__ import annotations

import fcntl
import os
import select
import struct
import subprocess
import termios
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest
from conftest import Installed
from programs import (
    SANITIZED,
    Program,
    Told,
    build,
    clustered,
    delta,
    event,
    longest_silence,
    texts_of,
)

import decluster
from decluster._demo_server import Cut, Hold, Send, Server
from decluster._demo_stream import chat_script, text_of

BURSTS = clustered()
SCRIPT = chat_script(BURSTS)
REASONING, OUTPUT = text_of(BURSTS, "reasoning"), text_of(BURSTS, "output")
SENTENCE = "The lease ends while the worker still runs, so the job is handed out again. "
ERROR = event({"error": {"message": "overloaded", "type": "server_error"}})


@pytest.fixture(scope="session")
def pace_stdin(installed: Installed, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build("pace_stdin", tmp_path_factory.mktemp("pace") / "pace", installed, *SANITIZED)


@pytest.fixture(scope="session")
def curl_multi(installed: Installed, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build("curl_multi", tmp_path_factory.mktemp("curl") / "curl", installed, *SANITIZED)


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
@pytest.mark.parametrize("name", ["pace_stdin", "curl_multi"])
def test_it_compiles_without_a_warning(
    name: str, compiler: str, installed: Installed, tmp_path: Path
) -> None:
    strict = ("-Wconversion", "-Wshadow", "-Wstrict-prototypes")
    build(name, tmp_path / name, installed, *strict, compiler=compiler)


# pace_stdin


def paced(pace_stdin: Path, stream: bytes, *settings: str) -> Told:
    """What it makes of a stream that comes all at once."""
    program = Program(pace_stdin, *(word for setting in settings for word in ("--set", setting)))
    program.write(stream)
    return program.end()


@pytest.fixture(scope="module")
def flow(pace_stdin: Path) -> Told:
    """A clustered stream over time."""
    program = Program(pace_stdin)
    program.play(SCRIPT)
    return program.end()


def test_pace_stdin_gives_the_same_text_and_says_that_it_is_complete(flow: Told) -> None:
    assert "".join(texts_of(flow.stdout, "reasoning_content")) == REASONING
    assert "".join(texts_of(flow.stdout, "content")) == OUTPUT
    assert flow.stdout.endswith(b"data: [DONE]\n\n")
    assert flow.answer["verdict"] == "complete"
    assert flow.answer["usage"]["total_tokens"] > 0
    assert flow.status == 0


def test_pace_stdin_shows_the_first_text_before_the_second_burst_comes(flow: Told) -> None:
    shown = [at for at, data in flow.reads if texts_of(data, "reasoning_content")]
    assert shown[0] < flow.writes[2]


def test_pace_stdin_leaves_no_silence_as_long_as_those_that_came_in(flow: Told) -> None:
    assert flow.longest_gap() < longest_silence(SCRIPT) / 2


def test_pace_stdin_tells_a_stream_that_breaks_off(pace_stdin: Path) -> None:
    told = paced(pace_stdin, delta(SENTENCE) + delta(SENTENCE)[:40])
    assert (told.status, told.answer["verdict"]) == (4, "truncated")
    assert "".join(texts_of(told.stdout.rpartition(b"data: ")[0], "content")) == SENTENCE


def test_pace_stdin_tells_an_error_of_the_provider(pace_stdin: Path) -> None:
    told = paced(pace_stdin, delta(SENTENCE) + ERROR)
    assert (told.status, told.answer["verdict"]) == (3, "failed")
    assert told.answer["error"]["message"] == "overloaded"
    assert told.stdout.endswith(ERROR)


@pytest.mark.parametrize(
    ("setting", "words"),
    [
        ("max_event_bytes=1024", "larger than 1024"),
        ("max_reasoning_tokens=100", "reasoning budget"),
    ],
)
def test_pace_stdin_stops_reading_at_a_fault_and_shows_what_came_before_it(
    setting: str, words: str, pace_stdin: Path
) -> None:
    program = Program(pace_stdin, "--set", setting)
    program.write(delta(SENTENCE, "reasoning_content"))
    # Nothing but the fault can end it: its input stays open.
    with pytest.raises(BrokenPipeError):
        while select.select([], [program.stdin], [], 10)[1]:
            program.write(delta(20 * SENTENCE, "reasoning_content"))
    program.read_until(None)
    told = program.left()
    assert told.status == 5
    assert words in told.stderr
    assert "".join(texts_of(told.stdout, "reasoning_content")).startswith(SENTENCE)


def test_pace_stdin_ends_when_nobody_reads_it_any_more(pace_stdin: Path) -> None:
    program = Program(pace_stdin)
    program.write(delta(SENTENCE))
    assert program.read()
    assert program.process.stdout
    program.process.stdout.close()
    # Its input is open and silent.
    told = program.left()
    assert (told.status, "nobody reads it" in told.stderr) == (1, True)


def test_pace_stdin_tells_that_it_cannot_write(pace_stdin: Path) -> None:
    with open("/dev/full", "wb") as full:
        done = subprocess.run([pace_stdin], check=False, input=delta(SENTENCE), stdout=full)
    assert done.returncode == 1


def unread(pipe: int) -> int:
    return struct.unpack("i", fcntl.ioctl(pipe, termios.FIONREAD, b"\0" * 4))[0]


def test_pace_stdin_takes_descriptors_that_do_not_block(pace_stdin: Path) -> None:
    stream = b"".join(delta(SENTENCE) for _ in range(2000)) + b"data: [DONE]\n\n"
    into, give = os.pipe()
    take, out = os.pipe()
    for end in (into, out):
        os.set_blocking(end, False)
    command = [pace_stdin, "--set", "pace=off"]
    with (
        subprocess.Popen(command, stdin=into, stdout=out, stderr=subprocess.DEVNULL) as process,
        open(give, "wb", buffering=0) as source,
        open(take, "rb") as reader,
    ):
        os.close(into)
        os.close(out)
        pending = memoryview(stream)
        # Until it takes no more, since nobody reads what it has written.
        while select.select([], [source], [], 0.5)[1] or unread(take) == 0:
            pending = pending[os.write(give, pending[:4096]) :]
        assert pending
        os.set_blocking(give, False)
        got = b""
        while pending:
            readable, writable, _ = select.select([take], [give], [], 10)
            if writable:
                pending = pending[os.write(give, pending[:4096]) :]
            if readable:
                got += os.read(take, 1 << 16)
        source.close()
        got += reader.read()
    assert process.returncode == 0
    assert "".join(texts_of(got, "content")) == SENTENCE * 2000


def test_pace_stdin_heeds_its_settings(pace_stdin: Path) -> None:
    stream = delta(20 * SENTENCE) + b"data: [DONE]\n\n"
    blocks = texts_of(paced(pace_stdin, stream, "pace=off").stdout, "content")
    words = texts_of(paced(pace_stdin, stream, "pace=off", "unit=word").stdout, "content")
    assert "".join(words) == "".join(blocks) == 20 * SENTENCE
    assert len(words) > 2 * len(blocks)


@pytest.mark.parametrize(
    ("arguments", "answer"),
    [
        (["--set", "flow=1"], 'flow=1: no parameter "flow"; there are: unit pace '),
        (["--set", "target=1"], "out of bounds: 4000 to 64000 thousandths of a token"),
        (["--set", "unit=letter"], 'unit=letter: unit = "letter" is none of: block word whole'),
        (["--set", "target=-1"], 'target = "-1" is no number'),
        (["--set", "max_tail=1h"], "nor one with ns, us, ms or s behind it"),
        (["--set", "target"], "target: is not NAME=VALUE"),
        (["--preset", "slow"], "balanced steady snappy"),
        (["--verbose"], "--help"),
        (["--set"], "--help"),
    ],
)
def test_pace_stdin_says_what_is_wrong_with_its_arguments(
    arguments: list[str], answer: str, pace_stdin: Path
) -> None:
    told = Program(pace_stdin, *arguments).end()
    assert (told.status, told.stdout) == (2, b"")
    assert answer in told.stderr


def test_pace_stdin_lists_all_parameters(pace_stdin: Path) -> None:
    told = Program(pace_stdin, "--help").end()
    listed = [line.split()[0] for line in told.stdout.decode().splitlines() if line[2:3].strip()]
    assert {parameter.name for parameter in decluster.PARAMETERS} <= set(listed)
    assert told.status == 0


# curl_multi


Ask = Callable[..., Told]


@pytest.fixture
def ask(curl_multi: Path) -> Ask:
    def ask(server: Server, *arguments: str) -> Told:
        program = Program(curl_multi, *arguments, server.url, environment={"NO_PROXY": "*"})
        return program.end()

    return ask


def test_curl_multi_shows_the_text_as_a_steady_flow(ask: Ask) -> None:
    with Server(SCRIPT) as server:
        told = ask(server)
        second = server.connections[0].written_ns[2] / 1e9
    assert told.stdout.decode() == f"{REASONING}\n\n{OUTPUT}\n"
    assert told.reads[0][0] < second
    assert told.longest_gap() < longest_silence(SCRIPT) / 2
    assert (told.status, told.answer["verdict"]) == (0, "complete")


def test_curl_multi_posts_what_it_is_given(ask: Ask) -> None:
    with Server([Send(delta(SENTENCE)), Send(b"data: [DONE]\n\n")]) as server:
        told = ask(server, "--header", "Authorization: Bearer key", "--data", '{"stream":true}')
        (request,) = server.connections
    assert told.status == 0
    assert (request.method, request.body) == ("POST", b'{"stream":true}')
    assert request.headers["authorization"] == "Bearer key"


def test_curl_multi_pauses_the_transfer_while_no_input_is_wanted(ask: Ask) -> None:
    # Ten times what may be queued, all at once: what is pushed all the same is refused.
    stream = [Send(delta(SENTENCE) * 8000), Send(b"data: [DONE]\n\n")]
    with Server(stream) as server:
        told = ask(server, "--set", "max_queue_bytes=65536", "--set", "max_delay=100000000")
    assert told.stdout.decode() == SENTENCE * 8000 + "\n"
    assert told.status == 0


@pytest.mark.parametrize("setting", ["max_event_bytes=1024", "max_reasoning_tokens=100"])
def test_curl_multi_closes_the_connection_at_a_fault(setting: str, ask: Ask) -> None:
    thought = delta(SENTENCE, "reasoning_content")
    with Server([Send(thought), Send(delta(20 * SENTENCE, "reasoning_content")), Hold()]) as server:
        told = ask(server, "--set", setting)
        assert server.wait_open_connections(0)
        assert server.connections[0].outcome == "client closed"
    assert told.stdout.decode().startswith(SENTENCE)
    assert told.status == 1
    assert told.stderr.startswith("curl_multi: stream: ")
    # It is read to its end all the same.
    assert told.answer["dialect"] == "openai-chat"


def test_curl_multi_tells_an_error_of_the_provider(ask: Ask) -> None:
    with Server([Send(delta(SENTENCE)), Send(ERROR)]) as server:
        told = ask(server)
    assert told.stdout.decode().startswith(SENTENCE)
    assert (told.status, told.answer["error"]["message"]) == (1, "overloaded")


class Refuses(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        body = b'{"error": {"message": "no such key", "type": "invalid_request_error"}}'
        self.send_response(401)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *arguments: object) -> None:
        pass


def test_curl_multi_tells_why_a_request_is_refused(curl_multi: Path) -> None:
    with HTTPServer(("127.0.0.1", 0), Refuses) as server:
        answering = threading.Thread(target=server.handle_request)
        answering.start()
        url = f"http://127.0.0.1:{server.server_port}/"
        told = Program(curl_multi, url, environment={"NO_PROXY": "*"}).end()
        answering.join()
    assert "the server's status is 401" in told.stderr
    assert (told.status, told.answer["error"]["message"]) == (1, "no such key")


def test_curl_multi_tells_a_connection_that_breaks_off(ask: Ask) -> None:
    with Server([Send(delta(SENTENCE)), Cut()]) as server:
        told = ask(server)
    assert told.stdout.decode().startswith(SENTENCE)
    assert (told.status, told.answer["verdict"]) == (1, "truncated")
    assert "curl_multi: transfer: " in told.stderr


def test_curl_multi_leaves_the_server_when_nobody_reads_any_more(curl_multi: Path) -> None:
    with Server([*([Send(delta(SENTENCE), after=0.05)] * 200), Hold()]) as server:
        program = Program(curl_multi, server.url, environment={"NO_PROXY": "*"})
        assert program.read()
        assert program.process.stdout
        program.process.stdout.close()
        told = program.left()
        assert server.wait_open_connections(0)
    assert told.status == 1
    assert "Broken pipe" in told.stderr


def test_curl_multi_tells_that_there_is_no_server(curl_multi: Path) -> None:
    with Server([Hold()]) as server:
        url = server.url
    told = Program(curl_multi, url, environment={"NO_PROXY": "*"}).end()
    assert told.status == 1
    assert "Couldn't connect" in told.stderr or "Could not connect" in told.stderr


def test_curl_multi_says_what_its_arguments_are(curl_multi: Path) -> None:
    for arguments in ([], ["--set", "flow=1", "http://"], ["--header", "A: b"]):
        told = Program(curl_multi, *arguments).end()
        assert (told.status, "curl_multi [--header" in told.stderr) == (2, True)
    told = Program(curl_multi, "--set", "unit=letter", "http://").end()
    assert 'unit = "letter" is none of: block word whole' in told.stderr


# Under valgrind


@pytest.mark.slow
@pytest.mark.parametrize("stream", [SCRIPT, SCRIPT[:3], [SCRIPT[1], Send(ERROR)]])
def test_pace_stdin_is_clean_under_valgrind(
    stream: list[Send], installed: Installed, tmp_path: Path
) -> None:
    pace = build("pace_stdin", tmp_path / "pace", installed)
    program = Program(*VALGRIND, pace)
    program.play(stream)
    told = program.end()
    assert told.status != UNCLEAN, told.stderr


@pytest.mark.slow
@pytest.mark.parametrize("setting", ["target=12000", "max_reasoning_tokens=100"])
def test_curl_multi_is_clean_under_valgrind(
    setting: str, installed: Installed, tmp_path: Path
) -> None:
    curl = build("curl_multi", tmp_path / "curl", installed)
    with Server(SCRIPT) as server:
        told = Program(*VALGRIND, curl, "--set", setting, server.url).end()
    assert told.status != UNCLEAN, told.stderr


UNCLEAN = 99
VALGRIND = ("valgrind", "--quiet", "--leak-check=full", f"--error-exitcode={UNCLEAN}")
