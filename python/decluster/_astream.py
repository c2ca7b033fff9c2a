"""The async iterator that the verbs give back: a task that reads, the engine, the event loop."""

from __future__ import annotations

import asyncio
import warnings
from collections import deque
from contextlib import suppress
from types import TracebackType
from typing import Any, Generic, TypeVar

from ._core import PENDING, Inline, Known
from ._source import AsyncSource
from ._told import PassesOn, Told

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
        otherwise: str,
    ) -> None:
        super().__init__(known, otherwise)
        self._hub = _Hub(inline)
        self._source = source
        self._reader: asyncio.Task[None] | None = None
        self._turn = None if background else asyncio.Lock()
        self._ended = self._cancelled = self._reads = False

    def __aiter__(self: S) -> S:
        return self

    async def __anext__(self) -> T:
        try:
            item = self._hub.take()
            if item is PENDING:
                item = await (self._next_of_reader() if self._turn is None else self._read_here())
        except Exception as error:
            try:
                await self.aclose()
            except asyncio.CancelledError:
                # Who was cancelled has not seen it: else the next `anext` would be a clean end.
                self._hub.keep(error)
                raise
            raise
        if self._unsure:
            self._warn_of_bypass()
        if item is None:
            await self._finish()
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
        if reader is None:
            return
        # An error that nobody took leads to the hub by its frames, and no collector sees that.
        self._hub.inline.close()
        if not reader.done() and not self._source.closing and not reader.get_loop().is_closed():
            # This may be another thread, or no moment for the loop's own.
            reader.get_loop().call_soon_threadsafe(reader.cancel)

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

    async def _next_of_reader(self) -> Any:
        if self._reader is None and not self._ended:
            self._reader = _loop().create_task(
                _read(self._hub, self._source), name="decluster-reader"
            )
        if self._reader is not None and self._reader.get_loop() is not _loop():
            raise RuntimeError("this stream is read in another event loop, where it was begun")
        # An eager task has read already.
        item = self._hub.take()
        while item is PENDING:
            await self._hub.wait()
            item = self._hub.take()
        return item

    async def _read_here(self) -> Any:
        """Reads in the caller's task: what is due comes between two reads, silences stay."""
        assert self._turn is not None
        hub, inline = self._hub, self._hub.inline
        async with self._turn:
            item = hub.take()
            while item is PENDING:
                if inline.wants_input:
                    try:
                        inline.push(await self._read_one())
                    except StopAsyncIteration:
                        inline.finish()
                    except Exception as error:
                        inline.fail(error)
                else:
                    await hub.wait()
                item = hub.take()
        return item

    async def _read_one(self) -> Any:
        self._reads = True
        try:
            return await self._source.iterator.__anext__()
        except asyncio.CancelledError:
            if getattr(self._source.iterator, "ag_frame", self) is None:
                # The next one must not take this for the end.
                ended = RuntimeError("a read was cancelled, which ended the generator it read from")
                self._hub.inline.fail(ended)
            raise
        finally:
            self._reads = False
            if self._ended:
                await _close(self._source)

    async def _finish(self) -> None:
        """Waits for the reader to close the source, or closes it."""
        first, self._ended = not self._ended, True
        if self._reader is not None:
            here = self._reader.get_loop() is _loop()
            if here and not self._reader.done() and self._reader is not asyncio.current_task():
                await asyncio.wait({self._reader}, timeout=CLOSE_WITHIN_S)
        elif first and self._reads:
            # It closes the rest when it is back.
            await _close(self._source, behind=True)
        elif first:
            await _close(self._source)


class AsyncSdkStream(PassesOn, AsyncStream[T]):
    """Around an SDK's stream."""


class _Hub:
    """What the consumers and the reader of a stream share, so that neither holds the other.

    While a consumer waits, what is due is taken for it when it is due, by a timer or by the reader:
    so a task is woken only for something. All of this happens in one event loop.
    """

    def __init__(self, inline: Inline) -> None:
        self.inline = inline
        self._ready: deque[Any] = deque()
        self._waiters: deque[asyncio.Future[None]] = deque()
        self._timer: asyncio.Handle | None = None
        self._timer_at = 0.0
        self._room: asyncio.Future[None] | None = None

    def take(self) -> Any:
        """The next item, `PENDING`, or `None` at the end. Raises the source's error."""
        item = self._ready.popleft() if self._ready else self._poll()
        if isinstance(item, _Raised):
            raise item.error
        return item

    def keep(self, error: Exception) -> None:
        """An error that was taken, and is to be taken again."""
        self._ready.appendleft(_Raised(error))

    async def wait(self) -> None:
        """Waits until something can be taken."""
        waiter = _loop().create_future()
        self._waiters.append(waiter)
        self._set_timer()
        try:
            await waiter
        except asyncio.CancelledError:
            if waiter.cancelled():
                with suppress(ValueError):
                    self._waiters.remove(waiter)
                if self._timer is not None and not self._waiters:
                    # Who waits next may do so in another loop, where this one never comes.
                    self._timer.cancel()
                    self._timer = None
            elif self._ready:
                # What it was woken for is for somebody else now.
                self._wake()
            raise

    def serve(self) -> None:
        """Takes what is due for those who wait."""
        while self._waiters:
            item = self._poll()
            if item is PENDING:
                self._set_timer()
                return
            self._ready.append(item)
            self._wake()

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
        if self._timer is not None:
            self._timer.cancel()
        self._make_room()

    def _poll(self) -> Any:
        try:
            item = self.inline.poll()
        except BaseException as error:
            return _Raised(error)
        if self._room is not None and (item is None or self.inline.wants_input):
            self._make_room()
        return item

    def _make_room(self) -> None:
        if self._room is not None and not self._room.done():
            self._room.set_result(None)

    def _wake(self) -> None:
        while self._waiters:
            waiter = self._waiters.popleft()
            if not waiter.done():
                waiter.set_result(None)
                return

    def _set_timer(self) -> None:
        due = self.inline.due()
        if due is None:
            return
        loop = _loop()
        at = loop.time() + due
        if self._timer is not None:
            if self._timer_at <= at:
                # It looks, finds nothing, and sets itself anew.
                return
            self._timer.cancel()
        # The handle does not always know its time: uvloop's has none where the time has come.
        self._timer, self._timer_at = loop.call_at(at, self._time_has_come), at

    def _time_has_come(self) -> None:
        self._timer = None
        self.serve()


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
        # The stream itself is complete; a client that fails to close loses nothing of it.
        warnings.warn(f"closing the source failed: {error!r}", RuntimeWarning, stacklevel=2)


def _loop() -> asyncio.AbstractEventLoop:
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        raise RuntimeError(
            "decluster's async streams need asyncio (uvloop is fine): no event loop of it runs here"
        ) from None


CLOSE_WITHIN_S = 0.08
# Items that a source may give without a pause before others get their turn: a burst, not more.
BREATH = 64
