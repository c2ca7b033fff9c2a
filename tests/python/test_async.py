"""The verbs over async sources: what comes out has the form of what went in; nothing is left."""

from __future__ import annotations

import asyncio
import contextvars
import gc
import json
import threading
import time
import weakref
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from typing import Any

import anyio
import pytest
import uvloop
from readers import no_task_left, run, soon
from test_wrap import EXPECTED, LINES, OUTPUT, REASONING, BoomError, chat, texts

import decluster

LOOPS = pytest.mark.parametrize(
    "new_loop", [asyncio.new_event_loop, uvloop.new_event_loop], ids=["asyncio", "uvloop"]
)
BACKGROUND = pytest.mark.parametrize("background", [True, False])


async def lines_of(lines: list[str] = LINES) -> AsyncIterator[str]:
    for line in lines:
        yield line
        await asyncio.sleep(0)


async def endless(closed: asyncio.Event | None = None) -> AsyncIterator[str]:
    try:
        while True:
            yield chat("And on it goes, and on. ")
            yield ""
            await asyncio.sleep(0)
    finally:
        if closed is not None:
            closed.set()


async def silent_after_first(closed: asyncio.Event) -> AsyncIterator[str]:
    try:
        yield chat("First of all. Then ")
        yield ""
        await asyncio.Event().wait()
    finally:
        closed.set()


@LOOPS
@BACKGROUND
def test_lines_stay_lines(new_loop: Any, background: bool) -> None:
    async def main() -> list[str]:
        stream = decluster.wrap(lines_of(), background=background)
        out = [line async for line in stream]
        assert no_task_left()
        assert (stream.verdict, stream.dialect) == ("complete", "openai-chat")
        assert stream.usage == {"completion_tokens": 60}
        assert stream.tokens is not None
        assert stream.tokens.output == 60
        return out

    out = run(main(), new_loop)
    assert texts(out) == EXPECTED
    assert len(out) > len(LINES)
    assert out[-2:] == ["data: [DONE]", ""]


@pytest.mark.parametrize("size", [1, 7, 100, 100_000])
def test_chunks_stay_chunks(size: int) -> None:
    body = "".join(f"{line}\n" for line in LINES).encode()

    async def chunks() -> AsyncIterator[bytes]:
        for at in range(0, len(body), size):
            yield body[at : at + size]

    async def main() -> bytes:
        return b"".join([c async for c in decluster.wrap(chunks(), framing="bytes")])

    assert texts(run(main()).decode().splitlines()) == EXPECTED


def test_events_stay_events() -> None:
    events = [json.loads(line[6:]) for line in LINES if line.startswith("data: {")]

    async def source() -> AsyncIterator[dict[str, Any]]:
        for event in events:
            yield event

    async def main() -> list[dict[str, Any]]:
        return [event async for event in decluster.wrap(source())]

    out = run(main())
    assert texts([f"data: {json.dumps(event)}" for event in out]) == EXPECTED
    assert len(out) > len(events)
    assert out[-1] is events[-1]


@BACKGROUND
def test_pieces_and_blocks(background: bool) -> None:
    async def main() -> None:
        pieces = [p async for p in decluster.pieces(lines_of(), background=background)]
        assert "".join(p.text for p in pieces if p.kind == "reasoning") == "".join(REASONING)
        assert "".join(map(str, (p for p in pieces if p.kind == "output"))) == OUTPUT
        assert [p.seq for p in pieces] == sorted(p.seq for p in pieces)
        blocks = [b async for b in decluster.blocks(lines_of(), background=background)]
        assert all(block.ends_block and block.part == 0 for block in blocks)
        events = [i async for i in decluster.pieces(lines_of(), events=True)]
        assert isinstance(events[-1], decluster.Event)

    run(main())


def test_collect_is_awaited() -> None:
    async def main() -> decluster.Answer:
        return await decluster.collect(lines_of())

    answer = run(main())
    assert (answer.reasoning, answer.output) == ("".join(REASONING), OUTPUT)
    assert (answer.verdict, answer.usage) == ("complete", {"completion_tokens": 60})


def test_with_everything_off_the_lines_are_the_same() -> None:
    async def main() -> list[str]:
        return [line async for line in decluster.wrap(lines_of(), pace="off", segment="off")]

    assert run(main()) == LINES


def test_wrapped_twice_says_the_same() -> None:
    async def main() -> list[str]:
        return [line async for line in decluster.wrap(decluster.wrap(lines_of()))]

    assert texts(run(main())) == EXPECTED


@LOOPS
@BACKGROUND
def test_an_error_of_the_source_comes_after_the_text_before_it(
    new_loop: Any, background: bool
) -> None:
    async def source() -> AsyncIterator[str]:
        for line in LINES[:6]:
            yield line
        raise BoomError("mid-frame")

    async def main() -> list[str]:
        seen: list[str] = []
        with pytest.raises(BoomError, match="mid-frame"):
            async for line in decluster.wrap(source(), background=background):
                seen.append(line)
        assert no_task_left()
        return seen

    assert texts(run(main(), new_loop))["reasoning_content"] == "".join(REASONING)


@LOOPS
@BACKGROUND
def test_closing_early_closes_the_source_and_ends_the_task(new_loop: Any, background: bool) -> None:
    async def main() -> None:
        closed = asyncio.Event()
        async with decluster.wrap(silent_after_first(closed), background=background) as stream:
            await anext(stream)
        assert closed.is_set()
        assert no_task_left()
        assert [line async for line in stream] == []
        assert stream.verdict != "complete"

    run(main(), new_loop)


@LOOPS
def test_a_loop_that_breaks_leaves_nothing_behind(new_loop: Any) -> None:
    async def main() -> None:
        closed = asyncio.Event()
        async for _ in decluster.wrap(silent_after_first(closed)):
            break
        assert await soon(closed.is_set)
        assert await soon(no_task_left)

    run(main(), new_loop)


@LOOPS
def test_a_cancelled_consumer_leaves_nothing_behind(new_loop: Any) -> None:
    async def main() -> None:
        closed, begun = asyncio.Event(), asyncio.Event()

        async def consume() -> None:
            async for _ in decluster.wrap(silent_after_first(closed)):
                begun.set()

        consumer = asyncio.create_task(consume())
        await begun.wait()
        consumer.cancel()
        with suppress(asyncio.CancelledError):
            await consumer
        del consumer
        assert await soon(closed.is_set)
        assert await soon(no_task_left)

    run(main(), new_loop)


@LOOPS
def test_a_cancelled_wait_loses_nothing(new_loop: Any) -> None:
    """As `wait_for(anext(stream), …)` does it, for heartbeats between the items."""

    async def main() -> list[str]:
        stream = decluster.wrap(lines_of())
        out: list[str] = []
        beats = 0
        while True:
            try:
                out.append(await asyncio.wait_for(anext(stream), 0.005))
            except (TimeoutError, asyncio.TimeoutError):
                beats += 1
            except StopAsyncIteration:
                break
        assert beats > 0
        return out

    assert texts(run(main(), new_loop)) == EXPECTED


@LOOPS
def test_inside_a_cancel_scope(new_loop: Any) -> None:
    async def main() -> None:
        closed = asyncio.Event()
        seen: list[str] = []
        async with anyio.create_task_group() as group:

            async def consume() -> None:
                async with decluster.wrap(silent_after_first(closed)) as stream:
                    async for line in stream:
                        seen.append(line)
                        if len(seen) == 2:
                            group.cancel_scope.cancel()

            group.start_soon(consume)
        assert seen
        assert await soon(closed.is_set)
        assert await soon(no_task_left)

    run(main(), new_loop)


@LOOPS
def test_several_tasks_share_a_stream(new_loop: Any) -> None:
    async def main() -> list[decluster.Piece]:
        stream = decluster.pieces(lines_of())
        seen: list[decluster.Piece] = []
        taken = [0, 0, 0]

        async def work(number: int) -> None:
            async for piece in stream:
                seen.append(piece)
                taken[number] += 1

        await asyncio.gather(*map(work, range(3)))
        assert sum(count > 0 for count in taken) > 1
        return seen

    seen = run(main(), new_loop)
    seen.sort(key=lambda piece: piece.seq)
    assert [piece.seq for piece in seen] == list(range(len(seen)))
    assert "".join(piece.text for piece in seen) == "".join(REASONING) + OUTPUT


def test_several_tasks_share_a_stream_without_a_reader() -> None:
    async def main() -> list[str]:
        stream = decluster.wrap(lines_of(), background=False, pace="off")
        seen: list[str] = []

        async def work() -> None:
            async for line in stream:
                seen.append(line)

        await asyncio.gather(work(), work(), work())
        return seen

    assert run(main()).count("data: [DONE]") == 1


def test_a_consumer_that_leaves_passes_the_reading_on() -> None:
    async def main() -> list[str]:
        stream = decluster.pieces(lines_of(), background=False)
        seen: list[str] = []

        async def work(at_most: int) -> None:
            async for piece in stream:
                seen.append(str(piece))
                if len(seen) >= at_most:
                    return

        quitter = asyncio.create_task(work(2))
        await asyncio.gather(work(10_000), quitter, work(10_000))
        return seen

    assert len("".join(run(main()))) == len("".join(REASONING) + OUTPUT)


def test_a_cancelled_read_is_passed_on() -> None:
    """Who waits beside a task that reads goes on reading when that one is cancelled."""

    class Source:
        def __init__(self) -> None:
            self.lines: asyncio.Queue[str | None] = asyncio.Queue()

        def __aiter__(self) -> Source:
            return self

        async def __anext__(self) -> str:
            line = await self.lines.get()
            if line is None:
                raise StopAsyncIteration
            return line

    async def main() -> str:
        source = Source()
        stream = decluster.pieces(source, background=False)
        reads = asyncio.ensure_future(anext(stream))
        waits = asyncio.ensure_future(anext(stream))
        await asyncio.sleep(0)
        reads.cancel()
        with suppress(asyncio.CancelledError):
            await reads
        for line in (chat("First of all. Then it ends."), "", None):
            source.lines.put_nowait(line)
        text = str(await asyncio.wait_for(waits, 5))
        return text + "".join([str(piece) async for piece in stream])

    assert run(main()) == "First of all. Then it ends."


@LOOPS
@BACKGROUND
def test_many_paced_streams_share_a_loop(new_loop: Any, background: bool) -> None:
    words = [f"word{number} " for number in range(60)]

    async def source(phase: float) -> AsyncIterator[str]:
        await asyncio.sleep(phase)
        for at in range(0, len(words), 20):
            yield chat("".join(words[at : at + 20]))
            yield ""
            await asyncio.sleep(0.05)

    async def one(number: int) -> str:
        stream = decluster.pieces(source(number / 2_000), background=background, unit="word")
        return "".join([str(piece) async for piece in stream])

    async def main() -> list[str]:
        return await asyncio.gather(*map(one, range(50)))

    assert set(run(main(), new_loop)) == {"".join(words)}


def test_a_slow_consumer_stops_the_reader_and_loses_nothing() -> None:
    produced = 0

    async def source() -> AsyncIterator[str]:
        nonlocal produced
        for number in range(20_000):
            produced += 1
            yield chat(f"{number} ")
            yield ""

    async def main() -> None:
        async with decluster.wrap(source(), max_queue_bytes=65_536, pace="off") as stream:
            for _ in range(20):
                await anext(stream)
                assert produced < 5_000
            for _ in range(100):
                # The reader has all the time it needs.
                await asyncio.sleep(0)
            assert produced < 5_000
            out = [line async for line in stream]
        assert out
        assert produced == 20_000
        assert stream.stats()["bytes_out"] == sum(len(f"{n} ") for n in range(20_000))

    run(main())


def test_a_source_that_never_pauses_lets_others_run() -> None:
    async def ready() -> AsyncIterator[str]:
        for number in range(2_000):
            yield chat(f"{number} ")
            yield ""

    async def main() -> int:
        turns = 0

        async def other() -> None:
            nonlocal turns
            while True:
                turns += 1
                await asyncio.sleep(0)

        task = asyncio.create_task(other())
        async for _ in decluster.wrap(ready(), pace="off", segment="off"):
            pass
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
        return turns

    assert run(main()) > 10


def test_nothing_is_read_before_the_first_next() -> None:
    begun: list[bool] = []

    async def source() -> AsyncIterator[str]:
        begun.append(True)
        yield LINES[0]

    async def main() -> None:
        stream = decluster.wrap(source())
        await asyncio.sleep(0)
        assert not begun
        await stream.aclose()
        assert not begun
        assert [line async for line in stream] == []

    run(main())


def test_context_variables_reach_the_source() -> None:
    variable: contextvars.ContextVar[str] = contextvars.ContextVar("variable", default="unset")
    seen: list[str] = []

    async def source() -> AsyncIterator[str]:
        seen.append(variable.get())
        for line in LINES:
            yield line

    async def main() -> None:
        variable.set("ours")
        async for _ in decluster.wrap(source()):
            pass

    run(main())
    assert seen == ["ours"]


def test_flush_wakes_who_waits() -> None:
    async def source() -> AsyncIterator[str]:
        yield chat("One sentence is here, and one more is there, and so on to the end. " * 9)
        yield ""
        await asyncio.Event().wait()

    async def main() -> float:
        stream = decluster.pieces(source(), max_delay=20.0, preset="steady")
        await anext(stream)
        waiting = asyncio.ensure_future(anext(stream))
        await asyncio.sleep(0)
        stream.flush()
        start = time.monotonic()
        text = str(await waiting)
        while stream.stats()["queued_bytes"] > 100:
            text += str(await anext(stream))
        await stream.aclose()
        return time.monotonic() - start

    assert run(main()) < 1


@pytest.mark.parametrize("kind", ["sync", "async"])
def test_the_closer_is_called_and_awaited(kind: str) -> None:
    calls: list[str] = []

    async def close_async() -> None:
        await asyncio.sleep(0)
        calls.append("async")

    async def main() -> None:
        closer: Callable[[], object] = close_async
        if kind == "sync":

            def closer() -> None:
                calls.append("sync")

        async for _ in decluster.wrap(lines_of(), closer=closer):
            pass
        assert calls == [kind]

    run(main())


def test_a_source_that_fails_to_close_is_told() -> None:
    async def failing() -> None:
        raise BoomError

    async def main() -> list[str]:
        return [line async for line in decluster.wrap(lines_of(), closer=failing)]

    with pytest.warns(RuntimeWarning, match="closing the source failed"):
        assert texts(run(main())) == EXPECTED


def test_aclose_does_not_wait_for_a_source_that_will_not_end() -> None:
    async def main() -> None:
        release = asyncio.Event()

        async def stubborn() -> AsyncIterator[str]:
            try:
                yield chat("First of all. Then ")
                yield ""
                await asyncio.Event().wait()
            finally:
                await release.wait()

        stream = decluster.wrap(stubborn())
        await anext(stream)
        start = time.monotonic()
        await stream.aclose()
        assert time.monotonic() - start < 0.5
        release.set()
        assert await soon(no_task_left)

    run(main())


def test_closing_wakes_who_waits() -> None:
    async def main() -> None:
        closed = asyncio.Event()
        stream = decluster.pieces(silent_after_first(closed), pace="off")

        async def consume() -> int:
            return len([piece async for piece in stream])

        consumers = [asyncio.create_task(consume()) for _ in range(3)]
        assert await soon(lambda: stream.stats()["pieces"] > 0)
        await stream.aclose()
        await asyncio.gather(*consumers)
        assert no_task_left()

    run(main())


def test_a_reader_that_somebody_cancels_is_no_end() -> None:
    async def main() -> None:
        stream = decluster.wrap(endless())
        await anext(stream)
        for task in asyncio.all_tasks() - {asyncio.current_task()}:
            task.cancel()
        with pytest.raises(RuntimeError, match="was cancelled"):
            async for _ in stream:
                pass

    run(main())


def test_a_stream_can_be_dropped_anywhere() -> None:
    """In another thread, and after its loop is gone: no reader is left, and nothing is raised."""
    held: list[Any] = []

    async def main() -> None:
        closed = asyncio.Event()
        stream = decluster.wrap(silent_after_first(closed))
        await anext(stream)
        held.append(stream)
        gone = weakref.ref(stream)
        del stream
        dropper = threading.Thread(target=held.clear)
        dropper.start()
        dropper.join()
        gc.collect()
        assert gone() is None
        assert await soon(closed.is_set)
        assert await soon(no_task_left)

    run(main())

    async def keep() -> None:
        stream = decluster.wrap(lines_of())
        await anext(stream)
        held.append(stream)
        for task in asyncio.all_tasks() - {asyncio.current_task()}:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task

    run(keep())
    held.clear()
    gc.collect()


def test_without_an_event_loop_it_says_so() -> None:
    stream = decluster.wrap(lines_of())
    with pytest.raises(RuntimeError, match="need asyncio"):
        stream.__anext__().send(None)


def test_an_event_over_the_cap_is_an_error_after_the_text_before_it() -> None:
    lines = [chat("Kept whole."), "", chat("x" * 5_000), ""]

    async def main() -> list[str]:
        seen: list[str] = []
        with pytest.raises(decluster.TooLarge, match="4096 bytes"):
            async for line in decluster.wrap(lines_of(lines), max_event_bytes=4_096):
                seen.append(line)
        assert no_task_left()
        return seen

    assert texts(run(main()))["content"] == "Kept whole."


def test_items_that_are_no_lines_are_refused_by_name() -> None:
    async def source() -> AsyncIterator[Any]:
        yield ["data: x"]

    async def main() -> None:
        async for _ in decluster.wrap(source()):
            pass

    with pytest.raises(TypeError, match="gave a list"):
        run(main())


def test_a_stream_of_no_known_dialect_passes_with_one_warning() -> None:
    lines = ['data: {"surprise":1}', "", 'data: {"surprise":2}', ""]

    async def main() -> list[str]:
        return [line async for line in decluster.wrap(lines_of(lines))]

    with pytest.warns(RuntimeWarning, match="does not recognise this stream") as caught:
        assert run(main()) == lines
    assert len(caught) == 1


def test_a_failed_stream_lets_its_source_be_closed_in_peace() -> None:
    async def main() -> None:
        closed: list[str] = []

        async def closer() -> None:
            await asyncio.sleep(0.001)
            closed.append("closed")

        async def fails() -> AsyncIterator[str]:
            yield chat("First of all. Then ")
            raise BoomError

        stream = decluster.wrap(fails(), closer=closer)
        with pytest.raises(BoomError):
            async for _ in stream:
                pass
        await asyncio.gather(stream.aclose(), stream.aclose())
        assert closed == ["closed"]
        assert no_task_left()

    run(main())


def test_an_error_is_not_lost_if_its_consumer_is_cancelled_meanwhile() -> None:
    async def main() -> None:
        closing, release = asyncio.Event(), asyncio.Event()

        async def closer() -> None:
            closing.set()
            await release.wait()

        async def fails() -> AsyncIterator[str]:
            raise BoomError
            yield ""

        stream = decluster.wrap(fails(), closer=closer)
        consumer = asyncio.ensure_future(anext(stream))
        await closing.wait()
        await asyncio.sleep(0)
        consumer.cancel()
        with pytest.raises(asyncio.CancelledError):
            await consumer
        with pytest.raises(BoomError):
            await anext(stream)
        release.set()
        assert await soon(no_task_left)

    run(main())


def test_an_error_that_nobody_took_is_freed() -> None:
    class Marker:
        pass

    async def main() -> None:
        freed: list[bool] = []

        async def fails() -> AsyncIterator[str]:
            marker = Marker()
            weakref.finalize(marker, freed.append, True)
            yield chat("First of all. Then ")
            yield ""
            raise BoomError

        stream = decluster.wrap(fails())
        await anext(stream)
        assert await soon(no_task_left)
        assert not freed
        del stream
        gc.collect()
        assert freed

    run(main())


@pytest.mark.skipif(not hasattr(asyncio, "eager_task_factory"), reason="no eager tasks here")
def test_a_reader_that_is_eager() -> None:
    async def whole() -> AsyncIterator[str]:
        for line in LINES:
            yield line

    async def main() -> list[str]:
        asyncio.get_running_loop().set_task_factory(
            asyncio.eager_task_factory  # type: ignore[attr-defined,unused-ignore]
        )
        return [line async for line in decluster.wrap(whole())]

    assert texts(run(main())) == EXPECTED


def test_a_loop_that_is_closed_too_early_has_nothing_else_to_tell() -> None:
    loop = asyncio.new_event_loop()
    told: list[str] = []
    loop.set_exception_handler(lambda _, context: told.append(context["message"]))
    stream = decluster.wrap(silent_after_first(asyncio.Event()))
    loop.run_until_complete(anext(stream))
    loop.close()
    run(stream.aclose())
    del stream
    gc.collect()
    assert told == ["Task was destroyed but it is pending!"]


def test_another_event_loop_is_refused() -> None:
    here, there = asyncio.new_event_loop(), asyncio.new_event_loop()
    closed: list[bool] = []

    async def silent() -> AsyncIterator[str]:
        try:
            yield chat("First of all. ")
            await asyncio.Event().wait()
        finally:
            closed.append(True)

    async def read(stream: decluster.AsyncStream[str]) -> str:
        return await anext(stream)

    async def nothing_left() -> bool:
        return await soon(no_task_left)

    try:
        stream = decluster.wrap(silent())
        first = here.create_task(read(stream))
        here.run_until_complete(asyncio.sleep(0.01))
        with pytest.raises(RuntimeError, match="another event loop"):
            there.run_until_complete(read(stream))
        # Where it was begun, it goes on.
        assert not closed
        here.run_until_complete(stream.aclose())
        assert here.run_until_complete(nothing_left())
        assert isinstance(first.exception(), StopAsyncIteration)
        assert closed == [True]
    finally:
        here.close()
        there.close()


def test_without_a_reader_a_source_that_is_read_is_closed_when_it_is_back() -> None:
    async def main() -> None:
        reads, back = asyncio.Event(), asyncio.Event()
        closed: list[str] = []

        async def source() -> AsyncIterator[str]:
            try:
                yield chat("First of all. Then ")
                yield ""
                reads.set()
                await back.wait()
            finally:
                closed.append("source")

        def closer() -> None:
            closed.append("closer")
            back.set()

        stream = decluster.wrap(source(), background=False, closer=closer)

        async def consume() -> None:
            async for _ in stream:
                pass

        consumer = asyncio.create_task(consume())
        await reads.wait()
        await stream.aclose()
        await consumer
        assert closed == ["closer", "source"]

    run(main())


def test_without_a_reader_a_generator_that_a_cancelled_read_ended_is_no_end() -> None:
    async def main() -> None:
        reads = asyncio.Event()

        async def source() -> AsyncIterator[str]:
            yield chat("First of all. ")
            yield ""
            reads.set()
            await asyncio.Event().wait()

        stream = decluster.wrap(source(), background=False, pace="off")

        async def consume() -> None:
            async for _ in stream:
                pass

        consumer = asyncio.create_task(consume())
        await reads.wait()
        consumer.cancel()
        with pytest.raises(asyncio.CancelledError):
            await consumer
        with pytest.raises(RuntimeError, match="a read was cancelled"):
            await consume()

    run(main())


def test_without_a_reader_a_cancelled_wait_leaves_no_timer_to_the_next_loop() -> None:
    class Whole:
        def __init__(self) -> None:
            self.lines = iter([chat("One more sentence of some words. " * 20), ""])

        def __aiter__(self) -> Whole:
            return self

        async def __anext__(self) -> str:
            for line in self.lines:
                return line
            raise StopAsyncIteration

    stream = decluster.pieces(Whole(), background=False, max_rate=60)

    async def until_it_waits() -> None:
        with suppress(asyncio.TimeoutError):
            while True:
                await asyncio.wait_for(anext(stream), 0.01)

    for _ in range(6):
        run(until_it_waits())
        assert str(run(asyncio.wait_for(anext(stream), 5)))
