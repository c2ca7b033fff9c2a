"""The async iterator that the verbs give back: a task that reads, the engine, the event loop."""

from __future__ import annotations

from collections import deque
from contextlib import suppress
from heapq import heappop, heappush
from itertools import count
from math import inf
from time import monotonic
from types import TracebackType
from typing import TYPE_CHECKING, Any, Generic, TypeVar
from weakref import WeakValueDictionary

from ._core import Inline, Known
from ._errors import Misuse
from ._source import CLOSE_WITHIN_S, AsyncSource, warn_of_close
from ._told import How, PassesOn, Told

if TYPE_CHECKING:
    # At run time the first stream brings it: four fifths of `import decluster` would be asyncio's.
    import asyncio

T = TypeVar("T")
S = TypeVar("S", bound="AsyncStream[Any]")


class AsyncStream(Told, Generic[T]):
    """A paced stream: an async iterator, an async context manager, and what is known about it.

    The verbs give it for an async source. `anext` may be called by several tasks of one event loop.
    Nothing is read before the first. An `anext` that is cancelled loses nothing: the next one goes
    on where it was.
    """

    def __init__(
        self,
        inline: Inline,
        known: Known,
        source: AsyncSource,
        background: bool,
        how: How,
    ) -> None:
        global asyncio  # noqa: PLW0603
        import asyncio

        super().__init__(known, how)
        self._hub = _Hub(inline, background)
        self._source = source
        self._reader: asyncio.Task[None] | None = None
        self._ended = self._cancelled = False

    def __aiter__(self: S) -> S:
        return self

    async def __anext__(self) -> T:
        hub = self._hub
        try:
            item = hub.take()
            while type(item) is float:
                # One coroutine for all of it: others would cost more than what they do here.
                if hub.has_reader:
                    if self._reader is None:
                        self._start()
                        # An eager task has read already.
                        item = hub.take()
                        continue
                    if self._reader.get_loop() is not _loop():
                        raise Misuse("this stream is read in another event loop")
                elif hub.lacks_reading():
                    item = await self._read_here()
                    continue
                waiter = hub.wait(item)
                try:
                    await waiter
                except asyncio.CancelledError:
                    hub.leave(waiter)
                    raise
                item = hub.take()
        except Misuse:
            raise
        except Exception as error:
            try:
                await self.aclose()
            except asyncio.CancelledError:
                # Who was cancelled has not seen it: else the next `anext` would be a clean end.
                hub.keep(error)
                raise
            raise
        if self._unsure:
            self._warn_of_bypass()
        if item is None:
            if self._known.exceeded() is None:
                await self._finish()
            else:
                # It is over although its source may not be.
                await self.aclose()
            self._look_at_end()
            raise StopAsyncIteration
        return item  # type: ignore[no-any-return]

    async def __aenter__(self: S) -> S:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.aclose()

    def __del__(self) -> None:
        # A stream that nobody holds any more: its reader holds only the hub and the source.
        reader = self.__dict__.get("_reader")
        if reader is not None:
            # An error that nobody took leads to the hub by its frames, and no collector sees that.
            self._hub.inline.close()
            if not reader.done() and not self._source.closing and not reader.get_loop().is_closed():
                # This may be another thread, or no moment for the loop's own.
                reader.get_loop().call_soon_threadsafe(reader.cancel)
        self._settle()

    async def aclose(self) -> None:
        """Ends the stream and closes its source; what is queued is dropped.

        Returns within 100 ms, also if the source takes longer to be closed; of a stream without a
        reader (`background=False`, or nothing was read) once the source is closed.
        """
        self._hub.close()
        reader = self._reader
        if reader is not None and not self._cancelled and not self._source.closing:
            # Once: a second time would break off what the first has set off, the closing.
            self._cancelled = True
            if reader.get_loop() is _loop():
                reader.cancel()
            elif not reader.get_loop().is_closed():
                reader.get_loop().call_soon_threadsafe(reader.cancel)
        await self._finish()

    async def close(self) -> None:
        """The same as `aclose`, as SDK streams have it."""
        await self.aclose()

    def flush(self) -> None:
        """Stops pacing what is queued at present: it comes at once."""
        self._hub.inline.flush()
        self._hub.serve()

    def _start(self) -> None:
        if not self._ended:
            self._reader = _loop().create_task(
                _read(self._hub, self._source), name="decluster-reader"
            )

    async def _read_here(self) -> Any:
        """Reads in the caller's task: what is due comes between two reads, silences stay."""
        hub, inline, iterator = self._hub, self._hub.inline, self._source.iterator
        hub.reading = True
        item: Any = inf
        try:
            wanted = True
            while wanted and type(item) is float:
                try:
                    wanted = inline.push(await iterator.__anext__())
                except StopAsyncIteration:
                    inline.finish()
                    wanted = False
                except Exception as error:
                    inline.fail(error)
                    wanted = False
                except asyncio.CancelledError:
                    if getattr(iterator, "ag_frame", self) is None:
                        # The next one must not take this for the end.
                        inline.fail(RuntimeError("a read was cancelled, and with it its generator"))
                    raise
                item = hub.take()
        finally:
            hub.reading = False
            if hub.waiters:
                # Who waited for what this would bring looks for it, or reads on.
                hub.wake()
            if self._ended:
                # It was closed meanwhile.
                await _close(self._source)
        return item

    async def _finish(self) -> None:
        """Waits for the reader to close the source, or closes it."""
        first, self._ended = not self._ended, True
        try:
            if self._reader is not None:
                here = self._reader.get_loop() is _loop()
                if here and not self._reader.done() and self._reader is not asyncio.current_task():
                    await asyncio.wait({self._reader}, timeout=CLOSE_WITHIN_S)
            elif first and self._hub.reading:
                # It closes the rest when it is back.
                await _close(self._source, behind=True)
            elif first:
                await _close(self._source)
        finally:
            # Also of one that is cancelled; and not before: a warning may be an error.
            self._settle()


class AsyncSdkStream(PassesOn, AsyncStream[T]):
    """Around an SDK's stream."""


class _Hub:
    """What the consumers and the reader of a stream share, so that neither holds the other.

    While a consumer waits, what is due is taken for it when it is due, by the clock or by the
    reader: so a task is woken only for something. All of this happens in one event loop.
    """

    def __init__(self, inline: Inline, has_reader: bool) -> None:
        self.inline = inline
        # Otherwise one of the consumers reads at a time.
        self.has_reader = has_reader
        self.reading = False
        self._poll = inline.poll
        self._ready: deque[Any] = deque()
        self.waiters: deque[asyncio.Future[None]] = deque()
        self._room: asyncio.Future[None] | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._clock = NO_CLOCK
        # When the clock looks after this stream next.
        self._rings_at = inf

    def take(self) -> Any:
        """The next item, or `None` at the end, or for how long to wait: see `Inline.poll`.

        Raises the source's error.
        """
        if self._ready:
            item = self._ready.popleft()
            if isinstance(item, _Raised):
                raise item.error
            return item
        item = self._poll()
        if self._room is not None:
            self._look_for_room(item)
        return item

    def keep(self, error: Exception) -> None:
        """An error that was taken, and is to be taken again."""
        self._ready.appendleft(_Raised(error))

    def wait(self, due: float) -> asyncio.Future[None]:
        """What to wait for until something can be taken. Who stops waiting says so: `leave`."""
        waiter = _loop().create_future()
        self.waiters.append(waiter)
        if due != inf:
            self._ring_in(due)
        return waiter

    def leave(self, waiter: asyncio.Future[None]) -> None:
        """Whoever waited was cancelled."""
        if waiter.cancelled():
            with suppress(ValueError):
                self.waiters.remove(waiter)
        else:
            # What it was woken for is for somebody else now.
            self.wake()

    def wake(self) -> None:
        """Lets one of those who wait look."""
        while self.waiters:
            waiter = self.waiters.popleft()
            if not waiter.done():
                waiter.set_result(None)
                return

    def serve(self) -> None:
        """Takes what is due for those who wait."""
        while self.waiters:
            try:
                item = self._poll()
            except BaseException as error:
                item = _Raised(error)
            if self._room is not None:
                self._look_for_room(item)
            if type(item) is float:
                if item != inf:
                    self._ring_in(item)
                if self.lacks_reading():
                    self.wake()
                return
            self._ready.append(item)
            self.wake()

    def lacks_reading(self) -> bool:
        """Whether a consumer should read now."""
        return not self.has_reader and not self.reading and self.inline.wants_input

    def ring(self, at: float) -> None:
        """The time has come that the clock was set to, unless it was set to another since."""
        if at == self._rings_at:
            self._rings_at = inf
            self.serve()

    async def wait_for_room(self) -> bool:
        """Waits until more input is wanted; false if the stream was closed meanwhile."""
        while not self.inline.wants_input:
            if self.inline.ended:
                return False
            self._room = _loop().create_future()
            try:
                await self._room
            finally:
                self._room = None
        return True

    def close(self) -> None:
        """Ends the stream for all who wait."""
        self.inline.close()
        self._ready.clear()
        self.serve()
        self._make_room()

    def _look_for_room(self, item: Any) -> None:
        if item is None or self.inline.wants_input:
            self._make_room()

    def _make_room(self) -> None:
        if self._room is not None and not self._room.done():
            self._room.set_result(None)

    def _ring_in(self, due: float) -> None:
        at = monotonic() + due
        loop = _loop()
        if self._loop is not loop:
            # The clock of another loop would not come here.
            self._loop, self._clock, self._rings_at = loop, _clock_of(loop), inf
        if at < self._rings_at:
            # Else it looks too early, finds nothing, and is set anew.
            self._rings_at = at
            self._clock.set(loop, at, self)


class _Clock:
    """One timer of an event loop for all streams in it.

    asyncio makes, compares and cancels its timers in Python: one for each wait costs much more.
    """

    def __init__(self) -> None:
        self._set: list[tuple[float, int, _Hub]] = []
        self._numbers = count()
        self._timer: asyncio.TimerHandle | None = None
        self._rings_at = inf

    def set(self, loop: asyncio.AbstractEventLoop, at: float, hub: _Hub) -> None:
        """Lets the hub look at its stream then."""
        heappush(self._set, (at, next(self._numbers), hub))
        if at < self._rings_at:
            self._set_timer(loop, at)

    def _set_timer(self, loop: asyncio.AbstractEventLoop, at: float) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._rings_at = at
        # uvloop rounds to milliseconds, and calls what rounds to none at once, over and over.
        self._timer = loop.call_later(max(at - monotonic(), LEAST_S), self._ring, loop)

    def _ring(self, loop: asyncio.AbstractEventLoop) -> None:
        # Whatever is set meanwhile waits for the timer that is set at the end.
        self._timer, self._rings_at = None, -inf
        now = monotonic()
        try:
            while self._set and self._set[0][0] <= now:
                at, _, hub = heappop(self._set)
                hub.ring(at)
        finally:
            self._rings_at = inf
            if self._set:
                self._set_timer(loop, self._set[0][0])


class _Raised:
    """An error on its way to the consumer."""

    def __init__(self, error: BaseException) -> None:
        self.error = error


async def _read(hub: _Hub, source: AsyncSource) -> None:
    """The reader task. It holds the hub and the source, not the stream."""
    inline, loop = hub.inline, _loop()
    try:
        items = 0
        async for item in source.iterator:
            wanted = inline.push(item)
            if hub.waiters:
                hub.serve()
            items += 1
            if not wanted and not await hub.wait_for_room():
                break
            if items % BREATH == 0:
                # A source that always has something would let nobody else run.
                await asyncio.sleep(0)
        inline.finish()
    except asyncio.CancelledError:
        # Unless the stream was closed, which makes this nothing, the consumer must know.
        inline.fail(RuntimeError("the task that reads this stream was cancelled"))
        raise
    except BaseException as error:  # It belongs to the consumer, whatever it is.
        if isinstance(error, GeneratorExit) and not loop.is_running():
            # The loop was closed before the task was done: there is nobody to serve or to await.
            source.closing = True
            raise
        inline.fail(error)
    finally:
        if not source.closing:
            source.closing = True
            try:
                hub.serve()
            finally:
                await _close(source)


async def _close(source: AsyncSource, *, behind: bool = False) -> None:
    try:
        await (source.close_behind() if behind else source.aclose())
    except Exception as error:
        warn_of_close(error)


def _clock_of(loop: asyncio.AbstractEventLoop) -> _Clock:
    clock = _clocks.get(loop)
    if clock is None:
        clock = _clocks[loop] = _Clock()
    return clock


def _loop() -> asyncio.AbstractEventLoop:
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        raise Misuse(
            "decluster's async streams need asyncio (uvloop is fine): no event loop of it runs here"
        ) from None


NO_CLOCK = _Clock()
# A clock lives as long as the streams that it was set for, and its timer.
_clocks: WeakValueDictionary[asyncio.AbstractEventLoop, _Clock] = WeakValueDictionary()
LEAST_S = 0.0006
# Items that a source may give without a pause before others get their turn: a burst, not more.
BREATH = 64
