"""The rewriter in C gives what it gives in Rust and Python (tests/vectors/README.md)."""

from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from typing import Any, TypeVar

import pytest
from conftest import HERE, Installed
from vectors import Capture, captures, expected, rewritten

import decluster
from decluster import Event, Piece, _core

T = TypeVar("T")
Play = Callable[..., bytes]
UNITS = {"block": 0, "word": 1}
# Of one recorded stream the dialect is unknown, and Python says so.
UNRECOGNISED = pytest.mark.filterwarnings("ignore:decluster does not recognise:RuntimeWarning")


@pytest.fixture(scope="module")
def play(installed: Installed, tmp_path_factory: pytest.TempPathFactory) -> Play:
    """Plays a vector, and gives what the program printed."""
    to = tmp_path_factory.mktemp("rewrite") / "rewrite"
    program = installed.compile(to, HERE / "rewrite.c", HERE / "vectors.c", standard="c99")

    def played(vector: bytes, *arguments: str) -> bytes:
        command = [program, *arguments]
        done = subprocess.run(command, check=False, capture_output=True, input=vector, timeout=60)
        assert done.returncode == 0, done.stderr.decode()
        return done.stdout

    return played


@pytest.fixture(scope="module")
def recordings() -> list[Capture]:
    return captures()


@pytest.fixture(scope="module", params=["made", "recorded"])
def streams(request: pytest.FixtureRequest) -> list[Capture]:
    """What goes in, of the vectors and of the recordings."""
    return captures() if request.param == "recorded" else made()


def made() -> list[Capture]:
    """The streams of the vectors that are whole and come as bytes."""
    found: dict[bytes, Capture] = {}
    for file in rewritten():
        lines = file.read_bytes().split(b"\n")
        if not any(line.startswith(OTHERWISE) for line in lines):
            pushes = (line.split(b" ", 3)[3] for line in lines if line.startswith(b"> push "))
            data = b"".join(map(unquoted, pushes))
            found[data] = Capture(file.stem, data, {})
    assert len(found) >= 14
    return [*found.values()]


OTHERWISE = (b"> push_", b"> cancel", b"< fault", b"set max", b"dialect")


def in_parallel(job: Callable[[Capture], T], given: Iterable[Capture]) -> list[T]:
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return list(pool.map(job, given))


ESCAPES = {ord("\\"): r"\\", ord("\n"): r"\n", ord("\r"): r"\r"}
ESCAPES |= {byte: rf"\x{byte:02x}" for byte in {*range(32), *range(127, 256)} - ESCAPES.keys()}


def quoted(data: bytes) -> str:
    return f'"{data.decode("latin-1").translate(ESCAPES)}"'


def unquoted(text: bytes) -> bytes:
    def undone(found: re.Match[bytes]) -> bytes:
        escape = found[1]
        named = {b"n": b"\n", b"r": b"\r", b"\\": b"\\"}
        return bytes.fromhex(escape[1:].decode()) if escape[:1] == b"x" else named[escape]

    return re.sub(rb"\\(x..|.)", undone, text[1:-1])


def vector(capture: Capture, mode: str, *settings: str, paced: bool = True) -> bytes:
    """A recorded stream as a vector that says what goes in; unpaced all of it comes at once."""
    chunks = capture.chunks()
    lines = [*settings, f"mode {mode}"]
    lines += (f"> push {time if paced else 0} {quoted(data)}" for time, data in chunks)
    lines.append(f"> finish {chunks[-1][0] if paced else 0}")
    return "".join(f"{line}\n" for line in lines).encode()


def outputs(played: bytes) -> list[bytes]:
    return [line for line in played.split(b"\n") if line.startswith(b"< ")]


def test_streams_are_rewritten_as_in_rust(play: Play) -> None:
    for file in rewritten():
        wanted = file.read_bytes()
        found = play(wanted)
        if found != wanted:
            lines = zip(found.split(b"\n"), wanted.split(b"\n"), strict=False)
            number, (ours, rust) = next(
                (n, two) for n, two in enumerate(lines, 1) if len({*two}) > 1
            )
            pytest.fail(f"{file.name}:{number}: {ours!r} instead of {rust!r}")


def test_the_program_refuses_what_is_no_vector(play: Play) -> None:
    for text, complaint in {
        b"mode stream\n> shove 0\n": "vector:2: there is no call shove",
        b'> push 0 "a\n': "vector:1: a text stands between quotes",
        b"set nothing 1\n": "vector:1: nothing: ",
        b"set max_choices 0\n> finish 0\n": "vector:1: max_choices",
    }.items():
        with pytest.raises(AssertionError, match=complaint):
            play(text)


def test_recorded_streams_are_rewritten_as_in_rust(play: Play, recordings: list[Capture]) -> None:
    def hashes(capture: Capture) -> dict[str, str]:
        found: dict[str, str] = {}
        for mode, gives, unit in MODES:
            out = outputs(play(vector(capture, gives, f"set unit {UNITS[unit]}")))
            digest = hashlib.sha256(b"".join(line + b"\n" for line in out))
            found[f"{capture.name} {mode}"] = digest.hexdigest()
        return found

    found: dict[str, str] = {}
    for some in in_parallel(hashes, recordings):
        found |= some
    wanted = {
        f"{capture} {mode}": digest for capture, mode, digest in expected("rewriter/recorded.txt")
    }
    assert found.keys() == wanted.keys()
    wrong = [
        f"recorded.txt:{number}: {name} has {found[name]}"
        for number, (name, digest) in enumerate(wanted.items(), 1)
        if found[name] != digest
    ]
    assert wrong == []


def test_pieces_say_what_the_recordings_say(play: Play, recordings: list[Capture]) -> None:
    def texts(capture: Capture) -> dict[str, Any]:
        texts = {"reasoning": b"", "output": b""}
        for line in outputs(play(vector(capture, "pieces_and_events", "set unit 1"))):
            match line.split(b" ", 13):
                case [_, b"piece", _, kind, b"0", *_, text]:
                    texts[kind.decode()] += unquoted(text)
                case [_, b"restarted", *_]:
                    texts = {"reasoning": b"", "output": b""}
                case [_, b"reclassified", _, b"0"]:
                    texts["reasoning"] += texts["output"]
                    texts["output"] = b""
        return {
            kind: {"sha256": hashlib.sha256(text).hexdigest(), "chars": len(text.decode())}
            for kind, text in texts.items()
        }

    known = [capture for capture in recordings if capture.expect["dialect"] in DIALECTS]
    wrong = [
        f"{capture.name}: {found} instead of {wanted}"
        for capture, found in zip(known, in_parallel(texts, known), strict=True)
        if found != (wanted := {kind: capture.expect[kind] for kind in found})
    ]
    assert wrong == []


def answers(play: Play, recordings: list[Capture]) -> list[dict[str, Any]]:
    return in_parallel(lambda one: json.loads(play(vector(one, "stream"), "answer")), recordings)


def test_answers_are_those_that_the_recordings_hold(play: Play, recordings: list[Capture]) -> None:
    wrong: list[str] = []
    for capture, answer in zip(recordings, answers(play, recordings), strict=True):
        expect, finish = capture.expect, capture.expect["finish"]
        if expect["dialect"] not in DIALECTS:
            assert answer["dialect"] is None
            continue
        failed = answer["verdict"] == "failed"
        by_mistral = expect["dialect"] == "mistral" and answer["dialect"] == "openai-chat"
        error = expect["error"] or expect.get("error_field_line")
        wanted = {
            # Many of Mistral's say nothing that other chat completions do not.
            "dialect": answer["dialect"] if by_mistral else expect["dialect"],
            "reasoning_tokens": expect["reasoning_tokens"],
            "usage": expect["usage"],
            # A few send the number of the word.
            "finish": str(finish) if isinstance(finish, int) else finish,
            "events": expect["events"],
            "comments": expect["comments"],
            "error": error,
        }
        found = {name: answer[name] for name in wanted}
        found["calls"] = [call["name"] for call in answer["tool_calls"] if call["index"] == 0]
        wanted["calls"] = [call["name"] for call in expect["tools"]]
        found["failed"], wanted["failed"] = failed, error is not None
        if not failed:  # One that failed may have an end all the same.
            found["terminated"] = answer["verdict"] == "complete"
            wanted["terminated"] = expect["terminated"]
        wrong += (
            f"{capture.name}: {name} is {found[name]!r}, not {wanted[name]!r}"
            for name in wanted
            if found[name] != wanted[name]
        )
    assert wrong == []


def test_answers_are_those_of_python(play: Play, streams: list[Capture]) -> None:
    wrong: list[str] = []
    for capture, answer in zip(streams, answers(play, streams), strict=True):
        python = asdict(decluster.collect([capture.data], framing="bytes"))
        del python["reasoning"], python["output"]
        python["recognised"] = recognised(capture)
        # Nothing limits reasoning and silence here; Python raises the numbers.
        python["exceeded"] = python["stalled_ns"] = None
        # Python also lists choices of which nothing but text came.
        known = {choice["index"] for choice in answer["choices"]}
        python["choices"] = [
            {name: choice[name] for name in ("index", "finish")}
            for choice in python["choices"]
            if choice["index"] in known
        ]
        assert answer.keys() == python.keys()
        wrong += (
            f"{capture.name}: {name} is {answer[name]!r}, in Python {python[name]!r}"
            for name in answer
            if answer[name] != python[name]
        )
    assert wrong == []


def recognised(capture: Capture) -> bool | None:
    """What Python knows of it."""
    stream, known = _core.open_inline("bytes", framing="bytes", pace="off")
    chunks = iter([capture.data])
    while stream.pull(chunks) is not None:
        pass
    return known.recognised()


# Nothing of this depends on the time that a reader takes: Python has its own clock here.
TIMELESS = {"pace": 2, "first_hold": 0, "grapheme_hold": 0, "max_delay": 60_000_000_000}
IN_PYTHON: dict[str, Any] = {"first_hold": 0.0, "grapheme_hold": 0.0, "max_delay": 60.0}


def timeless(unit: str) -> list[str]:
    settings = {"unit": UNITS[unit], **TIMELESS}
    return [f"set {name} {value}" for name, value in settings.items()]


@UNRECOGNISED
@pytest.mark.parametrize("unit", UNITS)
def test_unpaced_bytes_are_those_of_python(play: Play, streams: list[Capture], unit: str) -> None:
    def through_c(capture: Capture) -> bytes:
        out = outputs(play(vector(capture, "stream", *timeless(unit), paced=False)))
        return b"".join(unquoted(line.split(b" ", 3)[3]) for line in out[:-1])

    def through_python(capture: Capture) -> bytes:
        chunks = [data for _, data in capture.chunks()]
        options: Any = {"framing": "bytes", "background": False, "unit": unit, **IN_PYTHON}
        return b"".join(decluster.wrap(chunks, **options))

    wrong = [
        capture.name
        for capture, found in zip(streams, in_parallel(through_c, streams), strict=True)
        if found != through_python(capture)
    ]
    assert wrong == []


@UNRECOGNISED
@pytest.mark.parametrize("unit", UNITS)
def test_unpaced_pieces_are_those_of_python(play: Play, streams: list[Capture], unit: str) -> None:
    def through_c(capture: Capture) -> list[str]:
        out = outputs(play(vector(capture, "pieces_and_events", *timeless(unit), paced=False)))
        lines = (line.decode() for line in out[:-1])
        # Without the times: when it left and when it came.
        return [re.sub(r"^< (piece|\w+) \d+ ?", r"\1 ", line) for line in lines]

    def through_python(capture: Capture) -> list[str]:
        chunks = [data for _, data in capture.chunks()]
        options: Any = {"framing": "bytes", "background": False, "unit": unit, **IN_PYTHON}
        return [described(item) for item in decluster.pieces(chunks, events=True, **options)]

    wrong: list[str] = []
    for capture, found in zip(streams, in_parallel(through_c, streams), strict=True):
        python = through_python(capture)
        pairs = zip([*found, "the end"], [*python, "the end"], strict=False)
        wrong += [f"{capture.name}: {c} in Python {py}" for c, py in pairs if c != py][:1]
    assert wrong == []


def described(item: Piece | Event) -> str:
    match item:
        case Piece() as p:
            return (
                f"piece {p.kind} {p.index} {p.seq} {p.block} {p.part} {p.boundary} "
                f"{int(p.ends_block)} {p.tokens} {p.origin} 0 {quoted(p.text.encode())}"
            )
        case Event("restarted", data):
            return f"restarted {json.loads(data)['attempt']}"
        case Event("reclassified", data):
            return f"reclassified {json.loads(data)['index']}"
        case Event(name, data):
            return f"event {quoted(name.encode())} {quoted(data.encode())}"


MODES = [
    ("block", "stream", "block"),
    ("word", "stream", "word"),
    ("pieces", "pieces_and_events", "block"),
]
DIALECTS = {
    "openai-chat",
    "openai-responses",
    "anthropic",
    "gemini",
    "ollama",
    "mistral",
    "cohere",
    "bedrock-converse",
}
