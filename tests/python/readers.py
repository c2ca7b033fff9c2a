"""What tests ask of the readers: the threads and the tasks."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


def no_reader_left() -> bool:
    """Whether all reader threads end within five seconds."""
    return until(lambda: all(t.name != "decluster-reader" for t in threading.enumerate()))


def no_task_left() -> bool:
    """Whether the running task is the only one of its loop."""
    return asyncio.all_tasks() == {asyncio.current_task()}


def until(happened: Callable[[], bool]) -> bool:
    """Waits for a condition; false if it is not met within five seconds."""
    deadline = time.monotonic() + WITHIN_S
    while not happened():
        if time.monotonic() > deadline:
            return False
        time.sleep(POLL_S)
    return True


async def soon(happened: Callable[[], bool]) -> bool:
    """The same, and the loop goes on meanwhile."""
    deadline = time.monotonic() + WITHIN_S
    while not happened():
        if time.monotonic() > deadline:
            return False
        await asyncio.sleep(POLL_S)
    return True


def run(
    main: Coroutine[Any, Any, T], new_loop: Callable[[], asyncio.AbstractEventLoop] | None = None
) -> T:
    """As `asyncio.run`, with a loop of this kind; a task that is left behind is an error."""
    loop = (new_loop or asyncio.new_event_loop)()
    try:
        found = loop.run_until_complete(main)
        left = asyncio.all_tasks(loop)
        assert not left, f"left behind: {left}"
        loop.run_until_complete(loop.shutdown_asyncgens())
        return found
    finally:
        loop.close()


WITHIN_S = 5.0
POLL_S = 0.001
