"""What happens to a stream on its way: the scripts that the server plays, and how they are read."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from matrix_streams import OUTPUT, REASONING, Dialect, Reading, parts

from decluster._demo_server import Cut, Hold, Script, Send, Server


@dataclass(frozen=True)
class Scene:
    """A script for each dialect, and what the consumer does meanwhile."""

    name: str
    script: Callable[[Dialect], Script]
    times: int = 1
    """How often the text is said."""
    take: int | None = None
    """With how much text the consumer stops, in events."""
    slow: bool = False
    """Whether the consumer waits for some writes of the server with each item."""
    ends: str = "complete"
    """How it ends: `complete`, `failed` by the provider's word, `cut`, or `closed`."""
    recut: bool = True
    """Whether it comes in clusters, which must come out in more pieces."""

    @property
    def reasoning(self) -> str:
        return REASONING * self.times

    @property
    def output(self) -> str:
        return OUTPUT * self.times

    def __str__(self) -> str:
        return self.name


def smooth(dialect: Dialect) -> Script:
    """A few words at a time."""
    events, _ = dialect.events(parts(REASONING, 12), parts(OUTPUT, 12))
    return [Send(event, after=0.003) for event in events]


def clustered(dialect: Dialect) -> Script:
    """Some sentences at once, then nothing."""
    return paused(*dialect.events(parts(REASONING, 2), parts(OUTPUT, 2)))


def cut_mid_frame(dialect: Dialect) -> Script:
    """The connection ends within a character of the last output."""
    events, said = dialect.events(parts(REASONING, 2), parts(OUTPUT, 2))
    *whole, last = events[:said]
    half = last[: last.index("🦀".encode()) + 2]
    return [*paused(whole, said - 1), Send(half), Cut(after=0.02)]


def error_event(dialect: Dialect) -> Script:
    """The provider gives up after some output, and says so."""
    events, said = dialect.events(parts(REASONING, 2), parts(OUTPUT, 2))
    return [*paused(events[: said - 1], said - 1), Send(dialect.failure)]


def held(dialect: Dialect) -> Script:
    """Some words, then nothing more, on an open connection."""
    events, _ = dialect.events(parts(REASONING, 20), parts(OUTPUT, 20))
    return [*(Send(event) for event in events[:12]), Hold()]


def going_on(dialect: Dialect) -> Script:
    """The server writes for as long as somebody listens, or nearly."""
    events, said = dialect.events(parts(REASONING, 20), parts(OUTPUT * 100, 400))
    return [Send(event, after=0.003) for event in events[:said]]


def long(dialect: Dialect) -> Script:
    """More than the engine takes without a pause, in large deltas."""
    events, _ = dialect.events(parts(REASONING * LONG, 12), parts(OUTPUT * LONG, 12))
    return [Send(event, after=0.003) for event in events]


def paused(events: Sequence[bytes], said: int) -> list[Send]:
    """With a silence before each of the first `said` events that is long."""
    return [
        Send(event, after=0.025 if at < said and len(event) > CLUSTER else 0.0)
        for at, event in enumerate(events)
    ]


CLUSTER = 300
"""Bytes of an event that has several sentences in it."""
SLOW_BY = 4
"""Writes of the server for each item that the slow consumer takes."""
LONG = 130
"""How often the long text says it all: its reasoning alone is above half of the smallest queue."""

SCENES = [
    Scene("smooth", smooth, recut=False),
    Scene("clustered", clustered),
    Scene("cut mid-frame", cut_mid_frame, ends="cut"),
    Scene("error event", error_event, ends="failed"),
    Scene("early close, silent server", held, take=3, ends="closed", recut=False),
    Scene("early close, server goes on", going_on, take=3, ends="closed", recut=False),
    Scene("slow consumer", long, times=LONG, slow=True),
]

PARAMETERS: dict[str, Any] = {"max_delay": 0.1, "max_tail": 0.05, "max_queue_bytes": 65536}
"""As quick as can be, and with the smallest queue: what is long fills it."""


def more(server: Server) -> Callable[[], bool]:
    """Whether the server has gone on by some writes from now, or is done."""
    connection = server.connections[-1]
    enough = len(connection.written_ns) + SLOW_BY
    return lambda: len(connection.written_ns) >= enough or connection.outcome != "playing"


def take(reading: Reading, dialect: Dialect, item: Any, events: Sequence[dict[str, Any]]) -> bool:
    """Takes an item with what it says; says whether it had text."""
    before = reading.texts
    reading.kinds.add(type(item))
    for event in events:
        dialect.read(reading, event)
    return reading.texts > before
