"""What reading a stream through decluster costs in Python, beside the usual SSE decoders.

`make bench-python` runs this and writes its tables into benches/README.md. Everything is CPU time
of the process, its reader thread included, and all ways of reading take turns, round after round,
on the same bytes: what disturbs one disturbs all. Before anything is timed, every way must give the
text that was put in.

The bytes come from a list, so no client and no socket is part of any figure. httpx-sse is driven by
its own `EventSource`; of httpx only that is counted which nobody can do without, the incremental
decoding of UTF-8.
"""

from __future__ import annotations

import argparse
import asyncio
import codecs
import gc
import json
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from statistics import median
from typing import Any, Literal

import openai._streaming
from httpx_sse import EventSource
from httpx_sse._decoders import SSEDecoder
from upstreams import Upstream, chat, markdown, responses, write_between

import decluster

BEGIN, END = "<!-- overhead: begin -->", "<!-- overhead: end -->"
LOOP = asyncio.new_event_loop()
ROUNDS = 15
# So many that what opening a stream costs does not show; that has a line of its own.
EVENTS = 3_000
# A clustered stream has fewer and longer events.
CLUSTERS = 600
CLUSTER_TOKENS = 60
# An event every so often, for the table of a live source: 200 a second.
PERIOD_S = 0.005
LIVE_EVENTS = 200
LIVE_ROUNDS = 5


@dataclass
class Way:
    """One way to read one input."""

    name: str
    # A fresh stream over the input.
    open: Callable[[], Any]
    # The text in what came out, to see that it is all there.
    text: Callable[[list[Any]], str] | None
    # How many items came out.
    out: int = 0
    seconds: list[float] = field(default_factory=list)

    def check(self, expected: str) -> None:
        items = list(self.open())
        self.out = len(items)
        if self.text is not None and self.text(items) != expected:
            raise SystemExit(f"{self.name} loses text")

    def run(self) -> None:
        gc.collect()
        start = time.process_time()
        for _ in self.open():
            pass
        self.seconds.append(time.process_time() - start)

    @property
    def median(self) -> float:
        return median(self.seconds)

    @property
    def best(self) -> float:
        return min(self.seconds)


class AsyncWay(Way):
    """The same of an async source, in one event loop for all."""

    def check(self, expected: str) -> None:
        async def items() -> list[Any]:
            return [item async for item in self.open()]

        found = LOOP.run_until_complete(items())
        self.out = len(found)
        if self.text is not None and self.text(found) != expected:
            raise SystemExit(f"{self.name} loses text")

    def run(self) -> None:
        async def consume() -> None:
            async for _ in self.open():
                pass

        gc.collect()
        start = time.process_time()
        LOOP.run_until_complete(consume())
        self.seconds.append(time.process_time() - start)


@dataclass
class Course:
    """The ways of one input; the first is the one the others are compared with."""

    name: str
    upstream: Upstream
    ways: list[Way]

    def way(self, name: str) -> Way:
        return next(way for way in self.ways if way.name == name)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False)
    parser.add_argument("--write", type=Path, metavar="FILE", help="put the tables into a file")
    parser.add_argument("--rounds", type=int, default=ROUNDS, help=f"rounds (default {ROUNDS})")
    parser.add_argument("--quick", action="store_true", help="only what reads without a thread")
    options = parser.parse_args()
    streams = [chat(EVENTS, 1), chat(CLUSTERS, CLUSTER_TOKENS), responses(EVENTS, 1)]
    chunked = [
        of_bytes(stream, how) for stream in streams for how in ("an event", "8 KiB", "random")
    ]
    lined = [of_lines(stream, kind) for stream in streams for kind in (str, bytes)]
    parsed = [of_events(streams[0])]
    awaited = [of_async(streams[0], kind) for kind in ("an event", "8 KiB", "lines")]
    threaded = [] if options.quick else [faces(streams[0], "bytes"), faces(streams[0], "lines")]
    courses = [*chunked, *lined, *parsed, *awaited, *threaded]
    measure(courses, options.rounds)
    for course in courses:
        print_course(course)
    parts = [
        head(),
        table("bytes in chunks of", chunked),
        table("lines", lined),
        table_a_line("lines", lined),
        table("an async source", awaited),
        table("parsed events", parsed),
    ]
    if threaded:
        parts += [
            table("everything at once, on the wall clock", threaded),
            table_of_live(live(streams[0])),
        ]
    parts.append(openings())
    report = "\n\n".join(parts)
    print(report)
    if options.write:
        write_between(options.write, BEGIN, END, report)
    return 0


def measure(courses: Iterable[Course], rounds: int) -> None:
    ways = [(way, course) for course in courses for way in course.ways]
    for way, course in ways:
        way.check(course.upstream.text)
    for _ in range(rounds):
        for way, _ in ways:
            way.run()


def of_bytes(stream: Upstream, how: str) -> Course:
    chunks = stream.cut(how)
    off: dict[str, Any] = {"framing": "bytes", "background": False, "pace": "off"}
    ways = [
        Way("httpx-sse", lambda: httpx_sse(chunks), text_of_sse),
        Way("httpx-sse, json.loads", lambda: map(parse, httpx_sse(chunks)), text_of_parsed),
        Way("openai", lambda: openai_sse(chunks), text_of_sse),
        Way("json.loads", lambda: map(json.loads, stream.data), text_of_parsed),
        Way("pieces", lambda: decluster.pieces(chunks, **off), text_of_pieces),
        Way(
            "pieces, word",
            lambda: decluster.pieces(chunks, **off, unit="word"),
            text_of_pieces,
        ),
        Way(
            "pieces, segment off",
            lambda: decluster.pieces(chunks, **off, segment="off"),
            text_of_pieces,
        ),
        Way("wrap", lambda: decluster.wrap(chunks, **off), text_of_chunks),
        Way(
            "wrap, segment off",
            lambda: decluster.wrap(chunks, **off, segment="off"),
            text_of_chunks,
        ),
    ]
    return Course(f"{stream.name}: {how}", stream, ways)


def of_lines(stream: Upstream, kind: type) -> Course:
    lines: list[Any] = [line.encode() if kind is bytes else line for line in stream.lines]
    chunks = stream.cut("an event")
    off: dict[str, Any] = {"background": False, "pace": "off"}
    # httpx-sse has no lines of bytes: who has such decodes each.
    ready = httpx_sse_of_lines if kind is str else httpx_sse_of_encoded
    ways = [
        Way("httpx-sse, of bytes", lambda: httpx_sse(chunks), text_of_sse),
        Way("httpx-sse, of these lines", lambda: ready(lines), text_of_sse),
        Way("wrap", lambda: decluster.wrap(lines, **off), text_of_lines),
        Way("wrap, word", lambda: decluster.wrap(lines, **off, unit="word"), text_of_lines),
        Way(
            "wrap, segment off",
            lambda: decluster.wrap(lines, **off, segment="off"),
            text_of_lines,
        ),
    ]
    return Course(f"{stream.name}: {kind.__name__}", stream, ways)


def of_async(stream: Upstream, kind: str) -> Course:
    source: list[Any] = stream.lines if kind == "lines" else stream.cut(kind)
    reads: dict[str, Any] = {"framing": "lines" if kind == "lines" else "bytes", "pace": "off"}
    sse: Callable[[Any], AsyncIterator[Any]] = httpx_sse_async
    text: Callable[[list[Any]], str] = text_of_chunks
    if kind == "lines":
        sse, text = httpx_sse_of_lines_async, text_of_lines

    def way(name: str, of: Callable[..., Any], text: Any, **parameters: Any) -> Way:
        return AsyncWay(name, lambda: of(given(source), **reads, **parameters), text)

    ways: list[Way] = [
        AsyncWay("httpx-sse", lambda: sse(given(source)), text_of_sse),
        AsyncWay("the source alone", lambda: given(source), None),
        way("pieces", decluster.pieces, text_of_pieces, background=False),
        way("wrap, segment off", decluster.wrap, text, background=False, segment="off"),
        way("pieces, task", decluster.pieces, text_of_pieces),
        way("wrap, segment off, task", decluster.wrap, text, segment="off"),
    ]
    return Course(f"{stream.name}: {kind}", stream, ways)


async def given(source: list[Any]) -> AsyncIterator[Any]:
    for item in source:
        yield item


def of_events(stream: Upstream) -> Course:
    events = [json.loads(data) for data in stream.data]
    off: dict[str, Any] = {"background": False, "pace": "off"}
    ways = [
        Way("json.loads", lambda: map(json.loads, stream.data), text_of_parsed),
        Way("pieces", lambda: decluster.pieces(events, **off), text_of_pieces),
        Way("wrap", lambda: decluster.wrap(events, **off), text_of_parsed),
        Way(
            "wrap, segment off",
            lambda: decluster.wrap(events, **off, segment="off"),
            text_of_parsed,
        ),
    ]
    return Course(f"{stream.name}: dicts", stream, ways)


def faces(stream: Upstream, kind: Literal["lines", "bytes"]) -> Course:
    """A source that gives everything at once: nothing is waited for but what pacing holds."""
    source: list[Any] = stream.lines if kind == "lines" else stream.cut("an event")
    text = text_of_lines if kind == "lines" else text_of_chunks

    def way(name: str, **parameters: Any) -> Way:
        return Way(name, lambda: decluster.wrap(source, framing=kind, **parameters), text)

    ways = [
        way("caller's thread, pace off", background=False, pace="off"),
        way("reader thread, pace off", pace="off"),
        way("reader thread, paced"),
    ]
    return Course(f"{stream.name}: wrap, {kind}", stream, ways)


def live(stream: Upstream) -> Course:
    chunks = stream.cut("an event")[:LIVE_EVENTS]

    def source() -> Iterator[bytes]:
        for chunk in chunks:
            time.sleep(PERIOD_S)
            yield chunk

    ways = [
        Way("the source alone", source, None),
        Way("httpx-sse", lambda: httpx_sse(source()), None),
        Way("caller's thread, pace off", lambda: paced(source(), background=False), None),
        Way("reader thread, pace off", lambda: paced(source()), None),
        Way("reader thread, paced", lambda: paced(source(), pace="adaptive"), None),
    ]
    course = Course(stream.name, stream, ways)
    measure([course], LIVE_ROUNDS)
    return course


def paced(source: Iterator[bytes], **parameters: Any) -> Iterator[bytes]:
    return decluster.wrap(source, framing="bytes", **{"pace": "off", **parameters})


class Response:
    """As much of an httpx response as `EventSource` asks for."""

    def __init__(self, chunks: Any) -> None:
        self.headers = {"content-type": "text/event-stream"}
        self.chunks = chunks

    def iter_text(self) -> Iterator[str]:
        decode = codecs.getincrementaldecoder("utf-8")(errors="replace").decode
        for chunk in self.chunks:
            yield decode(chunk)

    async def aiter_text(self) -> AsyncIterator[str]:
        decode = codecs.getincrementaldecoder("utf-8")(errors="replace").decode
        async for chunk in self.chunks:
            yield decode(chunk)


def httpx_sse(chunks: Iterable[bytes]) -> Iterator[Any]:
    return EventSource(Response(chunks)).iter_sse()  # type: ignore[arg-type]


def httpx_sse_of_lines(lines: Iterable[str]) -> Iterator[Any]:
    """The loop of `iter_sse` over lines that are there."""
    decoder = SSEDecoder()
    for line in lines:
        event = decoder.decode(line.rstrip("\n"))
        if event is not None:
            yield event


def httpx_sse_of_encoded(lines: Iterable[bytes]) -> Iterator[Any]:
    return httpx_sse_of_lines(line.decode() for line in lines)


def httpx_sse_async(chunks: AsyncIterator[bytes]) -> AsyncIterator[Any]:
    return EventSource(Response(chunks)).aiter_sse()  # type: ignore[arg-type]


async def httpx_sse_of_lines_async(lines: AsyncIterator[str]) -> AsyncIterator[Any]:
    decoder = SSEDecoder()
    async for line in lines:
        event = decoder.decode(line.rstrip("\n"))
        if event is not None:
            yield event


def openai_sse(chunks: Iterable[bytes]) -> Iterator[Any]:
    return openai._streaming.SSEDecoder().iter_bytes(iter(chunks))


def parse(event: Any) -> Any:
    return None if event.data == "[DONE]" else json.loads(event.data)


def text_of_sse(events: list[Any]) -> str:
    return text_of_parsed([parse(event) for event in events])


def text_of_parsed(events: list[Any]) -> str:
    """The text of parsed events."""
    found = []
    for event in events:
        if event is not None and "choices" in event:
            found.append(event["choices"][0]["delta"].get("reasoning_content") or "")
        elif event is not None and event["type"].endswith(".delta"):
            found.append(event["delta"])
    return "".join(found)


def text_of_pieces(pieces: list[Any]) -> str:
    return "".join(str(piece) for piece in pieces)


def text_of_chunks(chunks: list[bytes]) -> str:
    return text_of_sse(list(openai_sse(chunks)))


def text_of_lines(lines: list[Any]) -> str:
    if isinstance(lines[0], bytes):
        return text_of_sse(list(httpx_sse_of_encoded(lines)))
    return text_of_sse(list(httpx_sse_of_lines(lines)))


def print_course(course: Course) -> None:
    count = len(course.upstream.events)
    base = course.ways[0].median
    print(f"\n{course.name}: ns an event; median, best; ratio of medians; items out")
    for way in course.ways:
        figures = f"{way.median / count * 1e9:7.0f} {way.best / count * 1e9:7.0f}"
        print(f"  {way.name:26} {figures} {way.median / base:6.2f} {way.out:6}", flush=True)


def head() -> str:
    versions = ", ".join(f"{name} {version(name)}" for name in ("httpx-sse", "openai"))
    python = ".".join(map(str, sys.version_info[:3]))
    return f"CPython {python}, {versions}; medians of rounds."


def table(title: str, courses: list[Course]) -> str:
    """A row for each input; in brackets how many times the first column it is."""
    names = [way.name for way in courses[0].ways]
    rows = [[f"{title}, ns an event", *names], ["---", *["---:"] * len(names)]]
    for course in courses:
        count, base = len(course.upstream.events), course.ways[0].median
        cells = (f"{way.median / count * 1e9:.0f} ({way.median / base:.2f})" for way in course.ways)
        rows.append([f"{course.name} ({len(course.upstream.sent) // count} bytes)", *cells])
    return markdown(rows)


def table_a_line(title: str, courses: list[Course]) -> str:
    """The same for each line that comes out; of httpx-sse, which gives events, each it took."""
    names = [way.name for way in courses[0].ways]
    rows = [[f"{title}, ns a line", *names], ["---", *["---:"] * len(names)]]
    for course in courses:
        given = len(course.upstream.lines)
        whole, ready = (way.median / given for way in course.ways[:2])
        cells = []
        for way in course.ways:
            line = way.median / (given if way.name.startswith("httpx-sse") else way.out)
            cells.append(f"{line * 1e9:.0f} ({line / whole:.2f}, {line / ready:.2f})")
        rows.append([course.name, *cells])
    return markdown(rows)


def table_of_live(course: Course) -> str:
    alone = course.ways[0].median
    title = f"an event every {PERIOD_S * 1e3:.0f} ms, us an event beyond the source's own"
    rows = [
        [f"{title} {alone / LIVE_EVENTS * 1e6:.0f}", *(way.name for way in course.ways[1:])],
        ["---", *["---:"] * len(course.ways[1:])],
        [
            f"{course.name}: bytes",
            *(f"{(way.median - alone) / LIVE_EVENTS * 1e6:.0f}" for way in course.ways[1:]),
        ],
    ]
    return markdown(rows)


def openings() -> str:
    """What a stream costs before and after its events."""
    ways = [
        Way("httpx-sse", lambda: httpx_sse([]), None),
        Way(
            "pieces, caller's thread",
            lambda: decluster.pieces([], framing="bytes", background=False),
            None,
        ),
        Way("pieces, reader thread", lambda: decluster.pieces([], framing="bytes"), None),
    ]
    times = 100
    for _ in range(ROUNDS):
        for way in ways:
            gc.collect()
            start = time.process_time()
            for _ in range(times):
                for _ in way.open():
                    pass
            way.seconds.append((time.process_time() - start) / times)
    figures = ", ".join(f"{way.name} {way.median * 1e6:.0f} us" for way in ways)
    return f"A stream without events, opened and read to its end: {figures}."


if __name__ == "__main__":
    sys.exit(main())
