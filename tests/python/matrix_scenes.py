"""What happens to a stream on its way: the scripts that the server plays, and how they are read."""

from __future__ import annotations

import asyncio
import os
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
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
    """Whether the consumer waits for one more write of the server with each item."""
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
    events, _ = dialect.events(parts(REASONING, 20), parts(OUTPUT, 20))
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
LONG = 100
"""How often the long text says it all: with 23 + 22 kB, well above half of the smallest queue."""

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


def written(server: Server) -> int:
    """How many writes the server has done on the last connection; very many once it ended."""
    connection = server.connections[-1]
    return len(connection.written_ns) + (connection.outcome != "playing") * 10**9


def until(met: Callable[[], bool]) -> bool:
    """Waits for a condition, a few seconds at most."""
    deadline = time.monotonic() + WITHIN_S
    while not met():
        if time.monotonic() > deadline:
            return False
        time.sleep(POLL_S)
    return True


async def auntil(met: Callable[[], bool]) -> bool:
    """The same, and the loop goes on meanwhile."""
    deadline = time.monotonic() + WITHIN_S
    while not met():
        if time.monotonic() > deadline:
            return False
        await asyncio.sleep(POLL_S)
    return True


@dataclass
class Census:
    """Threads, tasks and sockets that were there before."""

    threads: set[threading.Thread] = field(default_factory=lambda: set(threading.enumerate()))
    tasks: set[asyncio.Task[Any]] = field(default_factory=lambda: _tasks())
    sockets: set[str] = field(default_factory=lambda: _sockets())

    def new_threads(self) -> list[str]:
        return sorted(thread.name for thread in {*threading.enumerate()} - self.threads)

    def new_tasks(self) -> list[str]:
        return sorted(f"{task.get_name()}: {task.get_coro()}" for task in _tasks() - self.tasks)

    def new_sockets(self) -> list[str]:
        return sorted(_sockets() - self.sockets)

    def of_wrap(self) -> list[str]:
        """What the wrapped stream itself has running."""
        return [name for name in (*self.new_threads(), *self.new_tasks()) if "decluster-" in name]

    def all(self) -> list[str]:
        return [*self.new_threads(), *self.new_tasks(), *self.new_sockets()]


def _tasks() -> set[asyncio.Task[Any]]:
    try:
        return asyncio.all_tasks()
    except RuntimeError:
        # There is no loop here.
        return set()


def _sockets() -> set[str]:
    """Each socket of this process; none where the system does not tell."""
    found = set()
    for number in os.listdir(DESCRIPTORS) if os.path.isdir(DESCRIPTORS) else ():
        # The listing's own descriptor is closed by now.
        with suppress(OSError):
            found.add(os.readlink(f"{DESCRIPTORS}/{number}"))
    return {what for what in found if what.startswith("socket:")}


DESCRIPTORS = "/proc/self/fd"
WITHIN_S = 5.0
POLL_S = 0.002


def take(reading: Reading, dialect: Dialect, item: Any, events: Sequence[dict[str, Any]]) -> bool:
    """Takes an item with what it says; says whether it had text."""
    before = reading.texts
    reading.kinds.add(type(item))
    for event in events:
        dialect.read(reading, event)
    return reading.texts > before
