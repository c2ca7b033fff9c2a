"""The shared vectors as tests read them (tests/vectors/README.md)."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import accumulate, cycle
from pathlib import Path
from typing import Any, NamedTuple

import pytest

VECTORS = Path(__file__).parents[1] / "vectors"
SHARED = Path(__file__).parents[2] / ".." / "shared"
Arrivals = list[tuple[int, int]]


def needs(folder: Path, made_by: str = "") -> None:
    if not folder.exists():
        pytest.skip(f"{folder} is absent{made_by}")


def unquoted(text: str) -> str:
    """The text between the quotes that it begins and ends with."""
    assert text[0] == text[-1] == '"'
    escapes = {"n": "\n", "r": "\r", "\\": "\\"}
    characters = iter(text[1:-1])
    return "".join(escapes[next(characters)] if c == "\\" else c for c in characters)


def calls() -> list[Path]:
    """The files that hold every call."""
    needs(VECTORS / "calls", "; `make vectors` makes it")
    files = sorted((VECTORS / "calls").glob("*.txt"))
    assert len(files) >= 12
    return files


def expected(name: str) -> Iterator[tuple[str, str, str]]:
    """Of a file of hashes: what was played, how, and the hash of what came out."""
    for line in (VECTORS / name).read_text().splitlines():
        what, how, digest = line.split(" ")
        yield what, how, digest


def made_traces() -> dict[str, Arrivals]:
    """The traces that somebody made up: nanoseconds and tokens, by name."""
    needs(VECTORS / "schedules", "; `make vectors` makes it")
    traces: dict[str, Arrivals] = {}
    for line in (VECTORS / "schedules" / "traces.txt").read_text().splitlines():
        name, *arrivals = line.split(" ")
        pairs = (arrival.split(":") for arrival in arrivals)
        traces[name] = [(int(at), int(count)) for at, count in pairs]
    return traces


def recorded_traces() -> dict[str, Arrivals]:
    """The recorded ones that are long enough, by file and line."""
    needs(SHARED / "traces")
    found: dict[str, Arrivals] = {}
    for file in sorted((SHARED / "traces").glob("*.jsonl")):
        for number, line in enumerate(file.read_text().splitlines(), 1):
            arrivals = recorded(line)
            if sum(count for _, count in arrivals) >= 60:
                found[f"{file.name}:{number}"] = arrivals
    return found


def recorded(line: str) -> Arrivals:
    """A line of a trace file, with time counted from the first token, cut after 40 s."""
    trace = json.loads(line)
    start = trace["t_ms"][0]
    times = [int((ms - start) / 1e3 * 1e9 + 0.5) for ms in trace["t_ms"]]
    arrivals = [(at, count) for at, count in zip(times, trace["tokens"], strict=True) if count]
    first = arrivals[0][0]
    return [(at - first, count) for at, count in arrivals if at - first <= 40_000_000_000]


def rewritten() -> list[Path]:
    """The files with a stream and all that a rewriter makes of it."""
    needs(VECTORS / "rewriter", "; `make vectors` makes it")
    files = sorted((VECTORS / "rewriter").glob("*.txt"))
    files = [file for file in files if file.name != "recorded.txt"]
    assert len(files) >= 30
    return files


class Capture(NamedTuple):
    """A recorded stream: its name, its bytes, and what a right decoder gets from them."""

    name: str
    data: bytes
    expect: dict[str, Any]

    def chunks(self) -> list[tuple[int, bytes]]:
        """In what parts it is played, and the nanosecond at which each comes."""
        ends, gaps = accumulate(cycle(SIZES)), cycle(GAPS_MS)
        chunks: list[tuple[int, bytes]] = []
        start = now = 0
        while start < len(self.data):
            end = next(ends)
            now += next(gaps) * 1_000_000
            chunks.append((now, self.data[start:end]))
            start = end
        return chunks


def captures() -> list[Capture]:
    """All recorded streams."""
    folder = SHARED / "captures"
    needs(folder)
    found: list[Capture] = []
    for expect in sorted(folder.glob("*/*.expect.json")):
        stem = expect.name.removesuffix(".expect.json")
        files = (expect.with_name(stem + ext) for ext in (".sse", ".ndjson", ".json"))
        [file] = [file for file in files if file.exists()]
        name = f"{expect.parent.name}/{stem}"
        found.append(Capture(name, file.read_bytes(), json.loads(expect.read_bytes())))
    return found


SIZES = [3_000, 40, 700, 1_500, 9, 5_000, 300]
GAPS_MS = [0, 2, 1, 900, 30, 0, 4, 250, 1, 1_700, 3]
