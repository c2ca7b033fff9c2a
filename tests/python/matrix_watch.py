"""Event loops of two kinds, and counting what is left."""

from __future__ import annotations

import asyncio
import gc
import os
import threading
from collections.abc import Callable, Coroutine
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import uvloop

LOOPS: dict[str, Callable[[], asyncio.AbstractEventLoop]] = {
    "asyncio": asyncio.new_event_loop,
    "uvloop": uvloop.new_event_loop,
}


def run(name: str, main: Callable[[], Coroutine[Any, Any, None]]) -> None:
    """Runs on a loop of that kind; what the loop complains of is an error."""
    complaints: list[dict[str, Any]] = []
    loop = LOOPS[name]()
    loop.set_exception_handler(lambda _, context: complaints.append(context))
    try:
        loop.run_until_complete(main())
        loop.run_until_complete(loop.shutdown_asyncgens())
    finally:
        loop.close()
    gc.collect(0)
    assert not complaints


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


@dataclass
class Census:
    """Threads, tasks and sockets that were there before."""

    threads: set[threading.Thread] = field(default_factory=lambda: set(threading.enumerate()))
    tasks: set[asyncio.Task[Any]] = field(default_factory=_tasks)
    sockets: set[str] = field(default_factory=_sockets)

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


DESCRIPTORS = "/proc/self/fd"
