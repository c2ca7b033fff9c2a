"""The iterator that the verbs give back: a reader thread, the engine, and the caller's loop."""

from __future__ import annotations

import atexit
import contextlib
import contextvars
import os
import sys
import threading
import time
import weakref
from functools import partial
from types import TracebackType
from typing import Any, Generic, NoReturn, TypeVar

from ._core import Feed, Flow, Inline, Known
from ._errors import Misuse
from ._source import CLOSE_WITHIN_S, Source, warn_of_close
from ._told import How, PassesOn, Told

T = TypeVar("T")
S = TypeVar("S", bound="Stream[Any]")


class Stream(Told, Generic[T]):
    """A paced stream: an iterator, a context manager, and what is known about it.

    The verbs give it for a sync source. `next` may be called from several threads. Nothing is read
    before the first `next`.
    """

    def __init__(
        self,
        flow: Flow | Inline,
        feed: Feed | None,
        known: Known,
        source: Source,
        how: How,
    ) -> None:
        super().__init__(known, how)
        self._flow: Any = flow
        self._feed = feed
        self._source = source
        self._pull = partial(flow.pull, source.iterator) if isinstance(flow, Inline) else None
        self._thread: threading.Thread | None = None
        self._lock = threading.Lock()
        self._ended = self._close_late = False
        _open_streams.add(self)

    def __iter__(self: S) -> S:
        return self

    def __next__(self) -> T:
        try:
            item = self._next_of_reader() if self._pull is None else self._pull()
        except BaseException as error:
            if isinstance(error, Exception) and not isinstance(error, Misuse):
                self.close()
            raise
        if self._unsure:
            self._warn_of_bypass()
        if item is None:
            if self._known.exceeded() is None:
                self._finish()
            else:
                # It is over although its source may not be.
                self.close()
            self._look_at_end()
            raise StopIteration
        return item  # type: ignore[no-any-return]

    def __enter__(self: S) -> S:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def __del__(self) -> None:
        # A stream that nobody holds any more: its thread holds only the feed.
        if self.__dict__.get("_ended") is False:
            self._abandon()

    def close(self) -> None:
        """Ends the stream and closes its source; what is queued is dropped.

        Returns within 100 ms. A reader that blocks in a source whose socket cannot be reached ends
        with that read.
        """
        try:
            self._abandon()
        finally:
            thread = self._thread
            if thread is not None and thread is not threading.current_thread():
                thread.join(CLOSE_WITHIN_S)

    def flush(self) -> None:
        """Stops pacing what is queued at present: it comes at once."""
        self._flow.flush()

    def _next_of_reader(self) -> Any:
        if self._thread is None:
            self._start()
        return self._flow.next()

    def _start(self) -> None:
        with self._lock:
            if self._thread is None and self._feed is not None and not self._ended:
                _refuse_greenlets()
                feed, self._feed = self._feed, None
                context = contextvars.copy_context()
                thread = threading.Thread(
                    target=context.run,
                    args=(_read, feed, self._source),
                    name="decluster-reader",
                    daemon=True,
                )
                # What cannot be started is no reader: the source is closed here then.
                thread.start()
                self._thread = thread
                _readers.add(thread)

    def _finish(self) -> None:
        """The end was reached: the reader is done or about to be."""
        with self._lock:
            first, self._ended = not self._ended or self._close_late, True
            self._close_late = False
        try:
            if first and self._thread is None:
                _close(self._source)
        finally:
            self._settle()

    def _abandon(self) -> None:
        with self._lock:
            first, self._ended = not self._ended, True
            self._feed = None
        try:
            self._flow.close()
            if self._thread is not None:
                self._source.interrupt()
            elif first and self._source.running:
                # Another thread reads, or the source itself closes: who reads closes it then.
                self._close_late = True
                self._source.interrupt()
            elif first:
                _close(self._source)
        finally:
            self._settle()

    def _leave_to_parent(self) -> None:
        """In a forked child: the reader did not come along, and the socket is the parent's."""
        if self._thread is not None or self._source.running:
            # Its locks may have been held when the process was forked: it is not even dropped.
            _left_behind.append((self._flow, self._known))
            self._flow = self._known = _LeftBehind()  # type: ignore[assignment]
            self._thread, self._lock, self._ended = None, threading.Lock(), True
            self._pull = self._account = None


class SdkStream(PassesOn, Stream[T]):
    """Around an SDK's stream."""


def _read(feed: Feed, source: Source) -> None:
    """The reader thread. It holds the feed and the source, not the stream."""
    try:
        for item in source.iterator:
            if source.hides_response:
                source.look_behind()
            if not feed.send(item):
                break
        else:
            source.was_read()
            feed.finish()
    except BaseException as error:  # It belongs to the consumer, whatever it is.
        source.was_read()
        feed.fail(error)
    finally:
        _close(source)


def _close(source: Source) -> None:
    try:
        source.close()
    except Exception as error:
        warn_of_close(error)


def _refuse_greenlets() -> None:
    """A reader that is a greenlet never runs while its consumer waits for it outside of Python."""
    for patcher, asked, name in (
        ("gevent.monkey", "is_module_patched", "threading"),
        ("eventlet.patcher", "is_monkey_patched", "thread"),
    ):
        patched = getattr(sys.modules.get(patcher), asked, None)
        if patched is not None and patched(name):
            raise Misuse(
                f"{patcher.partition('.')[0]} has patched threads, and decluster's reader needs a "
                "real one: it would wait for ever. Pass background=False, which reads in this "
                "greenlet and paces nothing, or stream in a process that is not patched"
            )


class _LeftBehind:
    """Stands for all that a forked child has no part in."""

    def close(self) -> None:
        """The parent closes it."""

    def __getattr__(self, name: str) -> NoReturn:
        raise Misuse(
            "this stream was being read when the process was forked, and its reader stayed in the "
            "parent: open the stream in the process that reads it"
        )


def _close_all() -> None:
    for stream in list(_open_streams):
        with contextlib.suppress(Exception):
            stream._abandon()
    # Also those of streams that are gone already. However many there are, one wait for all of them.
    until = time.monotonic() + CLOSE_WITHIN_S
    for thread in list(_readers):
        thread.join(max(0.0, until - time.monotonic()))


def _forked() -> None:
    for stream in list(_open_streams):
        stream._leave_to_parent()


_open_streams: weakref.WeakSet[Stream[Any]] = weakref.WeakSet()
_readers: weakref.WeakSet[threading.Thread] = weakref.WeakSet()
_left_behind: list[object] = []
# A thread must not be inside the compiled module when the interpreter ends: it crashes there. After
# this none is, or goes there again: what remains blocks in its source.
atexit.register(_close_all)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forked)
