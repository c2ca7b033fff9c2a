"""The iterators that the verbs give back: a reader thread, the engine, and the caller's loop."""

from __future__ import annotations

import atexit
import contextvars
import json
import os
import threading
import warnings
import weakref
from types import TracebackType
from typing import Any, Generic, TypeVar, get_args

from ._core import PENDING, Feed, Flow
from ._source import Source
from ._types import Dialect, Verdict
from ._usage import Tokens, tokens_of

T = TypeVar("T")
S = TypeVar("S", bound="Stream[Any]")


class Stream(Generic[T]):
    """A paced stream: an iterator, a context manager, and what is known about it.

    `next` may be called from several threads. Nothing is read before the first `next`.
    """

    _unread = "nothing of it is known"

    def __init__(self, flow: Flow, feed: Feed, source: Source, background: bool) -> None:
        self._flow = flow
        self._source = source
        self._feed: Feed | None = feed
        self._background = background
        self._thread: threading.Thread | None = None
        self._lock = threading.Lock()
        self._inline = threading.Lock()
        self._ended = False
        self._warned = False
        self._process = os.getpid()
        _open_streams.add(self)

    def __iter__(self: S) -> S:
        return self

    def __next__(self) -> T:
        item = self._next()
        if not self._warned:
            self._warn_of_bypass()
        if item is None:
            self._finish()
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
        if hasattr(self, "_lock") and not self._ended:
            self._abandon()

    def close(self) -> None:
        """Ends the stream and closes its source; what is queued is dropped.

        Returns within 100 ms. A reader that blocks in a source whose socket cannot be reached ends
        with that read.
        """
        thread = self._abandon()
        if thread is not None and thread is not threading.current_thread():
            thread.join(CLOSE_WITHIN_S)

    def flush(self) -> None:
        """Stops pacing what is queued at present: it comes at once."""
        self._flow.flush()

    def stats(self) -> dict[str, Any]:
        """Counters so far: what came in, what went out, delays in seconds, rate in tokens/s."""
        return self._flow.stats()

    @property
    def dialect(self) -> Dialect | None:
        """The dialect, once an event told it; `None` before, and for a stream that is not known."""
        return self._flow.dialect()

    @property
    def usage(self) -> dict[str, Any] | None:
        """The provider's own usage object, once it was sent."""
        usage = self._flow.usage()
        return None if usage is None else json.loads(usage)

    @property
    def tokens(self) -> Tokens | None:
        """The usage in one meaning for all providers, once it was sent."""
        return tokens_of(self._flow.tokens())

    @property
    def verdict(self) -> Verdict | None:
        """How the stream ended; `None` before, and where the dialect is not known."""
        return self._flow.verdict()

    @property
    def reason(self) -> str | None:
        """Why, where the verdict alone does not tell."""
        return self._flow.reason()

    def _next(self) -> Any:
        """The next item, or `None` at the end."""
        if not self._background:
            with self._inline:
                return self._next_inline()
        if self._thread is None:
            self._start()
        try:
            return self._flow.next()
        except BaseException as error:
            if not isinstance(error, KeyboardInterrupt):
                self._finish()
            raise

    def _start(self) -> None:
        with self._lock:
            if self._thread is None and self._feed is not None and not self._ended:
                feed, self._feed = self._feed, None
                context = contextvars.copy_context()
                self._thread = threading.Thread(
                    target=context.run,
                    args=(_read, feed, self._source),
                    name="decluster-reader",
                    daemon=True,
                )
                self._thread.start()

    def _next_inline(self) -> Any:
        """Reads in the caller's thread: what is due comes between two reads, silences stay."""
        while not self._ended:
            item = self._flow.next(None if self._feed is None else 0.0)
            if item is not PENDING or self._feed is None:
                return item
            try:
                more = self._feed.send(next(self._source.iterator))
            except StopIteration:
                self._feed.finish()
                more = False
            except BaseException as error:
                self._feed.fail(error)
                more = False
            if not more:
                self._feed = None
        return None

    def _finish(self) -> None:
        """The end was reached: the reader is done or about to be."""
        with self._lock:
            first, self._ended = not self._ended, True
        if first and not self._background:
            _close(self._source)

    def _abandon(self) -> threading.Thread | None:
        if self._process != os.getpid():
            # A forked child has no reader thread, and the socket is its parent's.
            return None
        with self._lock:
            started, self._ended = self._thread is not None, True
            never_read, self._feed = self._feed is not None, None
        self._flow.close()
        if started:
            self._source.interrupt()
        elif never_read:
            _close(self._source)
        return self._thread

    def _warn_of_bypass(self) -> None:
        if self._flow.unrecognised():
            self._warned = True
            warnings.warn(
                "decluster does not recognise this stream"
                + (f" ({reason})" if (reason := self._flow.reason()) else "")
                + f": {self._unread}. The dialects are {', '.join(get_args(Dialect))}; dialect= "
                "names one.",
                RuntimeWarning,
                stacklevel=3,
            )


class WrappedStream(Stream[T]):
    """The stream that was given, re-cut and paced: items of the same type and dialect."""

    _unread = "it passes as it is, unpaced"


class PieceStream(Stream[T]):
    """Pieces as they are released; with `events=True` everything else between them."""


class BlockStream(Stream[T]):
    """Whole blocks; with `events=True` everything else between them."""


def _read(feed: Feed, source: Source) -> None:
    """The reader thread. It holds the feed and the source, not the stream."""
    try:
        for item in source.iterator:
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
        # The stream itself is complete; a client that fails to close loses nothing of it.
        warnings.warn(f"closing the source failed: {error!r}", RuntimeWarning, stacklevel=2)


def _close_all() -> None:
    for stream in list(_open_streams):
        stream.close()


CLOSE_WITHIN_S = 0.08
_open_streams: weakref.WeakSet[Stream[Any]] = weakref.WeakSet()
# A thread that waits inside the engine must be gone before the interpreter is.
atexit.register(_close_all)
