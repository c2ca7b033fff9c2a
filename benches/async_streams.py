"""How late the pieces of many async streams come, all in one event loop.

`make bench-async` runs this and writes its table into benches/README.md. Every row is a process of
its own: 1,000 streams of 50 tokens/s each, first left as they are, which is what the source and the
event loop cost by themselves, then through decluster.

A piece is late by the time from when the engine had it due until its consumer has it. When it was
due is found afterwards: of some of the streams the arrivals are noted, and `decluster.Engine`, to
which times are told, takes in the same text at the same times and is asked exactly when something
is due. This is an event loop without any lateness; a piece that is late in ours is one that is
late after it. Where lateness has changed how the text was cut, a piece was due when its last
character was. Of a stream that is left as it is an item is due when the source should have sent it.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import json
import os
import re
import resource
import subprocess
import sys
import time
from bisect import bisect_left
from collections.abc import AsyncIterator, Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from itertools import accumulate
from pathlib import Path
from typing import Any

from upstreams import chat, markdown, write_between

import decluster

BEGIN, END = "<!-- async: begin -->", "<!-- async: end -->"
STREAMS = 1_000
SECONDS = 10
RATE = 50
# Tokens that come at once: in clusters, and in the steps of a provider that batches a little.
SHAPES = {"clusters of 60": 60, "deltas of 10": 10}
# Until then everything has been opened, and has been at work for a while.
OPENING_S, WARM_S = 1.0, 2.0
SAMPLED = 100
PROBE_S = 0.01
# The streams begin at different places of one text, and come to its beginning again.
TEXT_TOKENS = 2_400


@dataclass(frozen=True)
class Case:
    """One row."""

    streams: int
    seconds: float
    shape: str
    loop: str
    # Read from sockets that another process writes to.
    sockets: bool = False
    # `pieces` or `wrap`; empty for the streams as they are.
    verb: str = ""
    unit: str = ""

    @property
    def tokens(self) -> int:
        return SHAPES[self.shape]

    @property
    def period(self) -> float:
        return self.tokens / RATE

    def phase(self, number: int) -> float:
        """The streams are spread evenly, as those of many users are."""
        return number / self.streams * self.period

    def events(self) -> list[bytes]:
        count = TEXT_TOKENS // self.tokens
        return [event.encode() for event in chat(count, self.tokens).events[:count]]

    @property
    def name(self) -> str:
        what = f"{self.verb}, {self.unit}" if self.verb else "as they are"
        of = f"{self.shape}, sockets" if self.sockets else self.shape
        return f"{self.loop}: {of}: {what}"


@dataclass
class Log:
    """What was noted of one stream: as little as can be, since noting it takes time, too."""

    arrived: list[int] = field(default_factory=list)
    chunks: list[bytes] = field(default_factory=list)
    came: list[int] = field(default_factory=list)
    items: list[Any] = field(default_factory=list)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False)
    parser.add_argument("--write", type=Path, metavar="FILE", help="put the table into a file")
    parser.add_argument("--streams", type=int, default=STREAMS, help=f"default {STREAMS}")
    parser.add_argument("--seconds", type=float, default=SECONDS, help=f"default {SECONDS}")
    parser.add_argument("--only", default="", help="only rows whose name has this in it")
    parser.add_argument("--case", help=argparse.SUPPRESS)
    parser.add_argument("--serve", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.case:
        print(json.dumps(measure(Case(**json.loads(options.case)))))
        return 0
    if options.serve:
        new_loop("uvloop").run_until_complete(serve(Case(**json.loads(options.serve))))
        return 0
    clusters, deltas = SHAPES
    ways = [("", ""), ("pieces", "block"), ("pieces", "word")]
    loops = ["asyncio", "uvloop"]
    rows = [(clusters, loop, False) for loop in loops]
    rows += [(deltas, "asyncio", False), *((clusters, loop, True) for loop in loops)]
    size = options.streams, options.seconds
    cases = [Case(*size, *row, *way) for row in rows for way in ways]
    cases += [
        Case(*size, clusters, "asyncio", False, "wrap", "block"),
        # With hardly anything to do: what is left is what timers and waking cost.
        Case(10, options.seconds, clusters, "asyncio", False, "pieces", "word"),
    ]
    found = []
    for case in cases:
        if options.only in case.name:
            found.append((case, in_own_process(case)))
            print(case.name, json.dumps(found[-1][1]), flush=True)
    report = f"{head(options)}\n\n{table(found)}"
    print(report)
    if options.write:
        write_between(options.write, BEGIN, END, report)
    return 0


def in_own_process(case: Case) -> dict[str, Any]:
    command = [sys.executable, __file__, "--case", json.dumps(asdict(case))]
    ended = subprocess.run(command, stdout=subprocess.PIPE, check=True)
    result: dict[str, Any] = json.loads(ended.stdout)
    return result


def new_loop(name: str) -> asyncio.AbstractEventLoop:
    if name == "uvloop":
        import uvloop

        return uvloop.new_event_loop()
    return asyncio.new_event_loop()


def measure(case: Case) -> dict[str, Any]:
    allow_files()
    return new_loop(case.loop).run_until_complete(Run(case).measure())


class Run:
    """One row while it is measured."""

    def __init__(self, case: Case) -> None:
        self.case = case
        self.events = case.events()
        every = max(1, case.streams // SAMPLED)
        self.logs = {number: Log() for number in range(0, case.streams, every)}
        self.came = 0
        self.port = 0
        self.start = 0.0
        self.gc_started = 0
        self.gc_longest = 0

    async def measure(self) -> dict[str, Any]:
        if not self.case.sockets:
            return await self.measure_here()
        command = [sys.executable, __file__, "--serve", json.dumps(asdict(self.case))]
        server = subprocess.Popen(command, stdout=subprocess.PIPE)
        try:
            assert server.stdout is not None
            self.port = int(server.stdout.readline())
            return await self.measure_here()
        finally:
            server.kill()
            server.wait()

    async def measure_here(self) -> dict[str, Any]:
        case = self.case
        gc.collect()
        memory = resident()
        # A clock that all processes share.
        self.start = time.monotonic() + OPENING_S
        streams = [asyncio.create_task(self.consume(i)) for i in range(case.streams)]
        await until(self.start + WARM_S)
        memory = resident() - memory
        gc.callbacks.append(self.watch_gc)
        late: list[float] = []
        probe = asyncio.create_task(watch_loop(late))
        begin, came, cpu, waited = time.monotonic(), self.came, time.process_time(), waiting()
        await until(self.start + WARM_S + case.seconds)
        cpu, waited = time.process_time() - cpu, waiting() - waited
        end, came = time.monotonic(), self.came - came
        gc.callbacks.remove(self.watch_gc)
        probe.cancel()
        await asyncio.gather(*streams)
        wall = end - begin
        lateness, checked, changed = self.lateness(begin * 1e9, end * 1e9)
        return {
            "late_ms": [round(x / 1e6, 2) for x in quantiles(lateness)],
            "releases": len(lateness),
            "loop_late_ms": [round(x * 1e3, 2) for x in quantiles(late)],
            "cpu": round(cpu / wall, 3),
            "waited": round(waited / wall, 3),
            "per_s": round(came / wall),
            "us_each": round(cpu / came * 1e6, 1),
            "kib": round(memory / case.streams / 1024, 1),
            "gc_ms": round(self.gc_longest / 1e6, 1),
            "checked": checked,
            "changed": changed,
        }

    async def consume(self, number: int) -> None:
        log = self.logs.get(number)
        source = await self.connect(number) if self.case.sockets else self.generate(number)
        if log is not None:
            source = noted(source, log)
        if self.case.verb:
            verb = getattr(decluster, self.case.verb)
            source = verb(source, framing="bytes", unit=self.case.unit)
        if log is None:
            async for _ in source:
                self.came += 1
            return
        async for item in source:
            log.came.append(time.monotonic_ns())
            log.items.append(item)
            self.came += 1

    async def generate(self, number: int) -> AsyncIterator[bytes]:
        for at, event in schedule(self.case, self.events, number, self.start):
            await until(at)
            yield event

    async def connect(self, number: int) -> AsyncIterator[bytes]:
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        writer.write(f"GET /{number}/{self.start!r} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
        await reader.readuntil(b"\r\n\r\n")
        return read(reader, writer)

    def watch_gc(self, phase: str, _: dict[str, int]) -> None:
        if phase == "start":
            self.gc_started = time.perf_counter_ns()
        else:
            self.gc_longest = max(self.gc_longest, time.perf_counter_ns() - self.gc_started)

    def lateness(self, begin: float, end: float) -> tuple[list[float], int, int]:
        """Of all that was due in the time; how many streams that is, and how many were cut anew."""
        found: list[float] = []
        changed = 0
        for number, log in self.logs.items():
            if self.case.verb:
                due, same = self.due(log)
                changed += not same
            else:
                times = schedule(self.case, self.events, number, self.start)
                due = [round(at * 1e9) for (at, _), _ in zip(times, log.came, strict=False)]
            pairs = zip(due, log.came, strict=False)
            found += [came - at for at, came in pairs if begin <= at < end]
        return found, len(self.logs), changed

    def due(self, log: Log) -> tuple[list[int], bool]:
        """When each item was due, and whether the text was cut in the same places."""
        texts = texts_of(log.items) if self.case.verb == "wrap" else [i.text for i in log.items]
        pieces, times = replay(log, self.case.unit)
        ends, due_ends = list(accumulate(map(len, texts))), list(accumulate(map(len, pieces)))
        if "".join(texts) != "".join(pieces)[: ends[-1]]:
            raise SystemExit("the engine gives another text than the stream")
        due = [times[bisect_left(due_ends, end)] for end in ends]
        return due, texts == pieces[: len(texts)]


def replay(log: Log, unit: str) -> tuple[list[str], list[int]]:
    """What leaves, and when, if the engine is asked exactly when something is due."""
    engine = decluster.Engine(unit=unit)
    pieces: list[str] = []
    times: list[int] = []

    def ask(now: int, until: int) -> None:
        while True:
            found: Any = engine.poll(now)
            if isinstance(found, decluster.Piece):
                pieces.append(found.text)
                times.append(now)
            elif isinstance(found, decluster.Wait) and found.at_ns <= until:
                now = found.at_ns
            else:
                return

    before = 0
    for at, texts in zip(log.arrived, texts_in(log.chunks), strict=True):
        ask(before, at)
        for text in texts:
            engine.push(at, "reasoning", text)
        before = at
    ask(before, before)
    engine.finish(before)
    ask(before, before + 60 * 10**9)
    return pieces, times


def texts_in(chunks: list[bytes]) -> list[list[str]]:
    """The deltas that each chunk completes."""
    found = []
    begun = b""
    for chunk in chunks:
        *events, begun = (begun + chunk).split(b"\n\n")
        found.append([text_of(event) for event in events])
    return found


def texts_of(items: list[bytes]) -> list[str]:
    return ["".join(texts) for texts in texts_in(items)]


def text_of(event: bytes) -> str:
    text: str = json.loads(event.removeprefix(b"data: "))["choices"][0]["delta"][
        "reasoning_content"
    ]
    return text


def schedule(
    case: Case, events: list[bytes], number: int, start: float
) -> Iterator[tuple[float, bytes]]:
    """When a stream's source should send what."""
    at, event = start + case.phase(number), number * 7
    while at < start + WARM_S + case.seconds:
        yield at, events[event % len(events)]
        at, event = at + case.period, event + 1


async def noted(source: AsyncIterator[bytes], log: Log) -> AsyncIterator[bytes]:
    async for chunk in source:
        log.chunks.append(chunk)
        log.arrived.append(time.monotonic_ns())
        yield chunk


async def read(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> AsyncIterator[bytes]:
    try:
        while chunk := await reader.read(65_536):
            yield chunk
    finally:
        writer.close()


async def watch_loop(late: list[float]) -> None:
    """How late the event loop itself is."""
    while True:
        at = time.monotonic() + PROBE_S
        await asyncio.sleep(PROBE_S)
        late.append(time.monotonic() - at)


async def until(at: float) -> None:
    await asyncio.sleep(max(0.0, at - time.monotonic()))


async def serve(case: Case) -> None:
    """Writes each stream to a connection, as an HTTP response without a length."""
    allow_files()
    events = case.events()

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        request = (await reader.readuntil(b"\r\n\r\n")).decode()
        found = re.match(r"GET /(\d+)/(\S+) ", request)
        assert found is not None
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n")
        with suppress(ConnectionError):
            for at, event in schedule(case, events, int(found[1]), float(found[2])):
                await until(at)
                writer.write(event)
                await writer.drain()
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0, backlog=case.streams)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


def allow_files() -> None:
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


def resident() -> int:
    """Bytes of memory that are this process's."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def waiting() -> float:
    """Seconds that this thread was ready to run and another ran instead."""
    return int(Path("/proc/self/schedstat").read_text().split()[1]) / 1e9


def quantiles(values: list[float]) -> tuple[float, float, float]:
    values = sorted(values)
    return values[len(values) // 2], values[len(values) * 99 // 100], values[-1]


def head(options: argparse.Namespace) -> str:
    python = ".".join(map(str, sys.version_info[:3]))
    return (
        f"CPython {python}, streams of {RATE} tokens/s, {options.seconds:.0f} s a row after "
        f"{WARM_S} s at work; lateness of {min(SAMPLED, options.streams)} of the streams."
    )


def table(found: list[tuple[Case, dict[str, Any]]]) -> str:
    rows = [
        [
            "streams, source, verb and unit",
            "late, ms: median / p99 / most",
            "event loop late, ms: p99",
            "releases/s",
            "CPU",
            "us a release",
            "KiB a stream",
            "waited for a CPU",
            "cut anew",
        ],
        ["---", *["---:"] * 8],
    ]
    for case, row in found:
        rows.append(
            [
                f"{case.streams}, {case.name}",
                " / ".join(f"{x:.1f}" for x in row["late_ms"]),
                f"{row['loop_late_ms'][1]:.1f}",
                f"{row['per_s']}",
                f"{row['cpu']:.0%}",
                f"{row['us_each']:.1f}",
                # Of few streams it is mostly what is there but once.
                f"{row['kib']:.0f}" if case.streams >= 100 else "",
                f"{row['waited']:.0%}",
                f"{row['changed']} of {row['checked']}" if case.verb else "",
            ]
        )
    return markdown(rows)


if __name__ == "__main__":
    sys.exit(main())
