"""The verbs over plain iterables: what comes out has the form of what went in."""

from __future__ import annotations

import contextvars
import copy
import gc
import json
import pickle
import socket
import threading
import time
import warnings
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from readers import no_reader_left

import decluster


def chat(text: str, field: str = "content", **more: object) -> str:
    choice = {"index": 0, "delta": {field: text}, "finish_reason": None, **more}
    return f"data: {json.dumps({'id': 'c', 'choices': [choice]})}"


REASONING = [
    "The counter is read before the lock is taken, so two workers see the same value. Wait, th",
    "at is only half of it: the second write wins. So a job is lost, not doubled.",
]
OUTPUT = "Take the lock first. Then read, add, and write — in that order. Naïve 🦀 code fails."
LINES = [
    ": keep-alive",
    "",
    *(line for text in REASONING for line in (chat(text, "reasoning_content"), "")),
    chat(OUTPUT),
    "",
    chat("", finish_reason="stop"),
    "",
    'data: {"choices":[],"usage":{"completion_tokens":60}}',
    "",
    "data: [DONE]",
    "",
]


def texts(lines: Iterator[str] | list[str]) -> dict[str, str]:
    found = {"reasoning_content": "", "content": ""}
    for line in lines:
        if line.startswith("data: {"):
            for choice in json.loads(line[6:])["choices"]:
                for field in found:
                    found[field] += choice["delta"].get(field) or ""
    return found


EXPECTED = {"reasoning_content": "".join(REASONING), "content": OUTPUT}


def test_str_lines_stay_str_lines() -> None:
    out = list(decluster.wrap(LINES))
    assert all(isinstance(line, str) and "\n" not in line for line in out)
    assert texts(out) == EXPECTED
    assert len(out) > len(LINES)
    assert out[-2:] == ["data: [DONE]", ""]


def test_bytes_lines_stay_bytes_lines() -> None:
    out = list(decluster.wrap(line.encode() for line in LINES))
    assert all(isinstance(line, bytes) and b"\n" not in line for line in out)
    assert texts([line.decode() for line in out]) == EXPECTED


def test_lines_with_terminators_keep_them() -> None:
    out = list(decluster.wrap(f"{line}\n" for line in LINES))
    assert all(line.endswith("\n") and line.count("\n") == 1 for line in out)
    assert texts([line[:-1] for line in out]) == EXPECTED


def test_lines_without_the_blank_ones() -> None:
    out = list(decluster.wrap(line for line in LINES if line))
    assert "" not in out
    assert texts(out) == EXPECTED


@pytest.mark.parametrize("size", [1, 7, 100, 100_000])
def test_chunks_of_bytes_stay_a_stream_of_bytes(size: int) -> None:
    body = "".join(f"{line}\n" for line in LINES).encode()
    chunks = [body[at : at + size] for at in range(0, len(body), size)]
    out = b"".join(decluster.wrap(chunks, framing="bytes"))
    assert texts(out.decode().splitlines()) == EXPECTED
    if size >= 100:
        told = b"".join(decluster.wrap(chunks))
        assert texts(told.decode().splitlines()) == EXPECTED


def test_chunks_need_no_name_however_they_are_cut() -> None:
    body = "".join(f"{line}\n" for line in LINES[2:4] + LINES[-2:]).encode()
    expected = {"reasoning_content": REASONING[0], "content": ""}
    for at in range(1, len(body)):
        out = list(decluster.wrap([body[:at], body[at:]], pace="off"))
        assert texts(b"".join(out).decode().splitlines()) == expected, at
        assert decluster.collect([body[:at], body[at:]]).reasoning == REASONING[0], at
    prefix, data = body[:6], body[6:]
    event, rest = data.split(b"\n\n", 1)
    out = list(decluster.wrap([prefix, event, b"\n\n", rest]))
    assert texts(b"".join(out).decode().splitlines()) == expected
    out = list(decluster.wrap([prefix + event, b"\n\n", rest]))
    assert b"".join(out).endswith(b"data: [DONE]\n\n")


def test_an_odd_first_line_is_still_a_line() -> None:
    odd = [b'data: {"caf\xe9"', b"data: {oops", b"data: {'a': 1}", b"\xff\xfe"]
    for first in odd:
        lines = [first, b"", *(line.encode() for line in LINES)]
        out = list(decluster.wrap(lines))
        assert first in out
        assert texts([line.decode() for line in out if line != first]) == EXPECTED


def test_a_finished_answer_is_no_stream() -> None:
    body = '{"choices":[{"index":0,"message":{"content":"Hi"},"finish_reason":"stop"}]}'
    answer = decluster.collect([body])
    assert (answer.verdict, answer.reason) == ("failed", "the body is JSON, not an event stream")
    stream = decluster.wrap([body])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert list(stream) == [body]
    assert stream.verdict == "failed"


def test_a_wrong_dialect_is_told() -> None:
    with pytest.warns(RuntimeWarning, match="does not recognise"):
        list(decluster.wrap(LINES, dialect="openai-responses"))


def test_blocks_take_no_unit() -> None:
    with pytest.raises(TypeError, match="takes no unit"):
        decluster.blocks(LINES, unit="word")


def test_with_everything_off_the_lines_are_the_same() -> None:
    assert list(decluster.wrap(LINES, pace="off", segment="off")) == LINES


def test_wrapped_twice_says_the_same() -> None:
    assert texts(list(decluster.wrap(decluster.wrap(LINES)))) == EXPECTED


def test_without_a_thread() -> None:
    before = threading.active_count()
    stream = decluster.wrap(LINES, background=False)
    assert texts(list(stream)) == EXPECTED
    assert threading.active_count() == before


def test_pieces_and_blocks() -> None:
    pieces = list(decluster.pieces(LINES))
    assert "".join(p.text for p in pieces if p.kind == "reasoning") == "".join(REASONING)
    assert "".join(map(str, (p for p in pieces if p.kind == "output"))) == OUTPUT
    blocks = list(decluster.blocks(LINES))
    assert all(block.part == 0 and block.ends_block for block in blocks)
    assert "".join(block.text for block in blocks) == "".join(REASONING) + OUTPUT


def test_sentences_stay_whole_however_the_stream_was_cut() -> None:
    long = "The worker holds the lease, renews it, checks it, writes, and " * 3 + "ends."
    sentences = ["No.", f" {long}", " It costs 3.50 euros, says Dr. Ito.", " So be it."]
    text = "".join(sentences)
    for size in (1, 7, len(text)):
        lines = [chat(text[at : at + size]) for at in range(0, len(text), size)]
        lines.append("data: [DONE]")
        blocks = list(decluster.blocks(lines, segment="sentences"))
        assert [block.text for block in blocks] == sentences
        assert {block.boundary for block in blocks} == {"sentence"}
        pieces = list(decluster.pieces(lines, segment="sentences"))
        whole = ["".join(p.text for p in pieces if p.block == n) for n in range(len(sentences))]
        assert whole == sentences

    def events(**parameters: str) -> list[str]:
        *out, _ = decluster.wrap([chat(text), "data: [DONE]"], **parameters)  # type: ignore[arg-type]
        return [texts([event])["content"] for event in out]

    assert events(segment="sentences", pace="off") == sentences
    assert events(pace="off") != sentences


def test_events_come_between_the_pieces() -> None:
    items = list(decluster.pieces(LINES, events=True))
    events = [item for item in items if isinstance(item, decluster.Event)]
    assert [event.data for event in events[-1:]] == ["[DONE]"]
    assert '"finish_reason": "stop"' in events[-3].data
    assert isinstance(items[0], decluster.Piece)


def test_collect() -> None:
    answer = decluster.collect(LINES)
    assert answer.reasoning == "".join(REASONING)
    assert answer.output == OUTPUT
    assert answer.usage == {"completion_tokens": 60}
    assert (answer.finish, answer.verdict, answer.dialect) == ("stop", "complete", "openai-chat")
    assert answer.tool_calls == []
    assert decluster.collect(LINES[:4]).verdict == "truncated"


def test_what_is_known_of_a_stream() -> None:
    with decluster.wrap(LINES) as stream:
        assert stream.dialect is None
        list(stream)
        assert stream.dialect == "openai-chat"
        assert stream.usage == {"completion_tokens": 60}
        assert stream.verdict == "complete"
        stats = stream.stats()
    assert stats["paced"]
    assert stats["blocks"] <= stats["pieces"]
    assert stats["bytes_in"] == stats["bytes_out"] == len("".join(REASONING) + OUTPUT) + 6
    assert 0 < stats["max_delay"] < 1.5
    assert (stats["malformed"], stats["comments"]) == (0, 1)


class BoomError(Exception):
    pass


@pytest.mark.parametrize("background", [True, False])
def test_an_error_of_the_source_comes_after_the_text_before_it(background: bool) -> None:
    def source() -> Iterator[str]:
        yield from LINES[:6]
        raise BoomError("mid-frame")

    seen: list[str] = []
    with pytest.raises(BoomError, match="mid-frame"):
        for line in decluster.wrap(source(), background=background):
            seen.append(line)
    assert texts(seen)["reasoning_content"] == "".join(REASONING)
    assert no_reader_left()


def test_an_event_over_the_cap_is_an_error_after_the_text_before_it() -> None:
    seen: list[str] = []
    lines = [chat("Kept whole."), "", chat("x" * 5_000), ""]
    with pytest.raises(decluster.TooLarge, match="4096 bytes"):
        for line in decluster.wrap(lines, max_event_bytes=4_096):
            seen.append(line)
    assert texts(seen)["content"] == "Kept whole."
    with pytest.raises(decluster.TooLarge):
        decluster.collect(lines, max_event_bytes=4_096)


@pytest.mark.parametrize("background", [True, False])
def test_reasoning_over_budget_is_an_error_and_closes_the_source(background: bool) -> None:
    closed = threading.Event()

    def source() -> Iterator[str]:
        try:
            yield from LINES
        finally:
            closed.set()

    seen: list[str] = []
    with pytest.raises(RuntimeError, match="budget exceeded") as raised:
        for line in decluster.wrap(source(), max_reasoning_tokens=10, background=background):
            seen.append(line)
    assert isinstance(raised.value, decluster.ReasoningBudgetExceeded)
    assert raised.value.limit == 10 < raised.value.used
    told = texts(seen)
    assert told["content"] == ""
    assert EXPECTED["reasoning_content"].startswith(told["reasoning_content"])
    assert closed.wait(5)
    assert no_reader_left()
    with pytest.raises(decluster.ReasoningBudgetExceeded, match="the limit is 10"):
        decluster.collect(LINES, max_reasoning_tokens=10)


def test_a_broken_event_passes_and_is_counted() -> None:
    broken = 'data: {"choices":[{"index":0,"delta":{"content":"half'
    stream = decluster.wrap([chat("One. "), "", broken, "", chat("Two."), "", "data: [DONE]", ""])
    out = list(stream)
    assert broken in out
    assert stream.stats()["malformed"] == 1
    assert stream.verdict == "complete"


def test_a_stream_of_no_known_dialect_passes_with_one_warning() -> None:
    lines = ['data: {"surprise":1}', "", 'data: {"surprise":2}', ""]
    with pytest.warns(RuntimeWarning, match="does not recognise this stream") as caught:
        stream = decluster.wrap(lines)
        assert list(stream) == lines
    assert len(caught) == 1
    assert stream.stats()["paced"] is False


def test_a_page_of_markup_passes_and_fails() -> None:
    page = ["<html>", "<body>502 Bad Gateway</body>", "</html>"]
    stream = decluster.wrap(page)
    with pytest.warns(RuntimeWarning, match="a page of markup, not an event stream"):
        assert list(stream) == page
    assert stream.verdict == "failed"
    assert stream.reason == "the body is a page of markup, not an event stream"


FINISHED = '{"choices":[{"index":0,"message":{"content":"Hi"},"finish_reason":"stop"}]}'
REFUSED = '{"error":{"message":"bad key","type":"auth"}}'
OVERLOADED = [chat("Half of"), "", 'data: {"error":{"message":"overloaded"}}', ""]


@pytest.mark.parametrize(
    ("source", "says"),
    [
        ([FINISHED], "JSON, not an event stream; was it asked for with stream=True"),
        ([REFUSED], "bad key"),
        (["<html>", "502"], "a page of markup"),
        (["Hello ", "there."], 'framing="text" is for bare texts'),
        (OVERLOADED, "the provider reported an error: overloaded"),
    ],
)
def test_a_failure_that_the_pieces_do_not_show_is_told(source: list[str], says: str) -> None:
    stream = decluster.pieces(source)
    with pytest.warns(RuntimeWarning, match=says) as caught:
        list(stream)
    assert len(caught) == 1
    assert stream.verdict == "failed"
    with warnings.catch_warnings():
        # Once is enough.
        warnings.simplefilter("error")
        assert list(stream) == []


def test_an_error_that_is_among_the_items_needs_no_warning() -> None:
    for stream in (decluster.wrap(OVERLOADED), decluster.pieces(OVERLOADED, events=True)):
        assert "overloaded" in str(list(stream)[-2:])
        assert (stream.verdict, stream.error) == ("failed", {"message": "overloaded"})


TEXTS = ["The lease ", "ends. So <think>it</think> ", "runs twice."]


@pytest.mark.parametrize("background", [True, False])
def test_bare_texts_are_paced_as_such(background: bool) -> None:
    stream = decluster.wrap(TEXTS, framing="text", background=background)
    out = list(stream)
    assert "".join(out) == "".join(TEXTS)
    assert "The lease ends." in "".join(out[:2])
    assert (stream.dialect, stream.verdict) == (None, None)
    blocks = decluster.blocks(TEXTS, framing="text", segment="sentences")
    assert str(next(blocks)) == "The lease ends."
    blocks.close()
    answer = decluster.collect(TEXTS, framing="text")
    assert (answer.output, answer.verdict, answer.dialect) == ("".join(TEXTS), None, None)
    with pytest.raises(TypeError, match="gave a bytes, but framing says that it gives texts"):
        list(decluster.wrap([b"The"], framing="text"))


def test_without_a_reader_nothing_complete_waits_for_a_read() -> None:
    """What is paced would be late whenever the source is silent."""
    read = 0

    def source() -> Iterator[str]:
        nonlocal read
        for line in (chat("The lease ends. So a job runs twice. And so on. "), "", chat("x"), ""):
            read += 1
            yield line

    pieces = decluster.pieces(source(), background=False)
    told = ""
    while read < 3:
        told += str(next(pieces))
    assert told.startswith("The lease ends. So a job runs twice. And so on.")
    with pytest.raises(decluster.ConfigError, match="background=False has none"):
        decluster.wrap(LINES, background=False, pace="fixed")


def test_a_stream_says_what_it_is() -> None:
    stream = decluster.wrap(LINES)
    assert repr(stream) == "<decluster.Stream of wrap(): no dialect known, no verdict>"
    list(stream)
    assert repr(stream) == "<decluster.Stream of wrap(): openai-chat, complete>"


def test_a_stream_cut_short_is_truncated_and_no_end_is_made_up() -> None:
    stream = decluster.wrap(LINES[:4])
    out = list(stream)
    assert "data: [DONE]" not in out
    assert stream.verdict == "truncated"


def test_closing_early_closes_the_source_and_ends_the_thread() -> None:
    closed = threading.Event()

    def source() -> Iterator[str]:
        try:
            while True:
                yield chat("And on it goes, and on. ")
                yield ""
        finally:
            closed.set()

    with decluster.wrap(source()) as stream:
        next(stream)
    assert closed.wait(5)
    assert no_reader_left()
    assert list(stream) == []


def test_a_stream_nobody_holds_ends_its_thread() -> None:
    closed = threading.Event()

    def source() -> Iterator[str]:
        try:
            while True:
                yield chat("And on it goes, and on. ")
                yield ""
        finally:
            closed.set()

    stream = decluster.wrap(source())
    next(stream)
    gone = weakref.ref(stream)
    del stream
    gc.collect()
    assert gone() is None
    assert closed.wait(5)
    assert no_reader_left()


def test_a_slow_consumer_stops_the_reader_and_loses_nothing() -> None:
    produced = 0

    def source() -> Iterator[str]:
        nonlocal produced
        for number in range(50_000):
            produced += 1
            yield chat(f"{number} ")
            yield ""

    # Each item is waited for, which leaves a reader without bounds all the time it needs.
    with decluster.wrap(source(), max_queue_bytes=65_536) as stream:
        for _ in range(20):
            next(stream)
            assert produced < 5_000


def test_close_does_not_wait_for_a_source_that_blocks() -> None:
    release = threading.Event()

    def source() -> Iterator[str]:
        yield chat("First of all. Then ")
        yield ""
        release.wait(10)

    stream = decluster.wrap(source())
    next(stream)
    start = time.monotonic()
    stream.close()
    assert time.monotonic() - start < 0.5
    release.set()
    assert no_reader_left()


def test_several_threads_share_a_stream() -> None:
    stream = decluster.pieces(LINES)
    seen: list[decluster.Piece] = []
    lock = threading.Lock()

    def work() -> None:
        for piece in stream:
            with lock:
                seen.append(piece)

    workers = [threading.Thread(target=work) for _ in range(2)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(10)
    seen.sort(key=lambda piece: piece.seq)
    assert "".join(piece.text for piece in seen) == "".join(REASONING) + OUTPUT


def test_several_threads_share_lines_and_lose_none() -> None:
    for _ in range(20):
        stream = decluster.wrap(LINES, pace="off", unit="word")
        expected = len(list(decluster.wrap(LINES, pace="off", unit="word")))
        seen: list[str] = []
        workers = [threading.Thread(target=seen.extend, args=(stream,)) for _ in range(4)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join(10)
        assert len(seen) == expected


def test_several_threads_share_a_stream_without_a_reader() -> None:
    stream = decluster.wrap((line for line in LINES), background=False, pace="off")
    seen: list[str] = []
    workers = [threading.Thread(target=lambda: seen.extend(stream)) for _ in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(10)
    assert seen.count("data: [DONE]") == 1


def test_a_source_that_reads_its_own_stream_is_told() -> None:
    """Without a reader it would wait for itself."""

    def source() -> Iterator[str]:
        yield LINES[0]
        next(held[0])

    held = [decluster.wrap(source(), background=False)]
    with pytest.raises(RuntimeError, match="by this very thread"):
        list(held[0])


def test_a_closer_is_called_though_the_source_blocks_or_fails_to_close() -> None:
    release, called = threading.Event(), threading.Event()

    def source() -> Iterator[str]:
        yield chat("First of all. Then ")
        yield ""
        release.wait(10)

    stream = decluster.wrap(source(), closer=called.set)
    next(stream)
    stream.close()
    assert called.wait(5)
    release.set()
    assert no_reader_left()

    class Stubborn:
        def __iter__(self) -> Iterator[str]:
            return self

        def __next__(self) -> str:
            raise StopIteration

        def close(self) -> None:
            raise BoomError

    called.clear()
    with pytest.warns(RuntimeWarning, match="closing the source failed"):
        assert list(decluster.wrap(Stubborn(), closer=called.set, background=False)) == []
    assert called.is_set()


def test_a_connection_that_was_read_to_its_end_is_the_clients_again() -> None:
    ours, theirs = socket.socketpair()

    class Response:
        """As httpx has it: the socket can be reached after the end, and serves the next request."""

        def __init__(self) -> None:
            self.extensions = {"network_stream": self}

        def get_extra_info(self, _name: str) -> socket.socket:
            return ours

        def iter_lines(self) -> Iterator[str]:
            return iter(LINES)

        def close(self) -> None:
            pass

    with ours, theirs:
        with decluster.wrap(Response()) as stream:
            assert texts(list(stream)) == EXPECTED
        ours.sendall(b"next request")
        assert theirs.recv(100) == b"next request"


def test_a_whole_answer_in_one_event_fits_any_queue() -> None:
    text = "One more sentence that stands here. " * 4_000
    lines = [chat(text, finish_reason="stop"), "", "data: [DONE]", ""]
    out = list(decluster.wrap(lines, max_queue_bytes=65_536, pace="off"))
    assert texts(out)["content"] == text
    blocks = decluster.blocks([chat(text, x="y" * 500), ""], max_queue_bytes=65_536)
    assert "".join(map(str, blocks)) == text


def test_context_variables_reach_the_source() -> None:
    variable: contextvars.ContextVar[str] = contextvars.ContextVar("variable", default="unset")
    seen: list[str] = []

    def source() -> Iterator[str]:
        seen.append(variable.get())
        yield from LINES

    variable.set("ours")
    list(decluster.wrap(source()))
    assert seen == ["ours"]


def test_the_closer_is_called() -> None:
    calls: list[str] = []
    list(decluster.wrap(LINES, closer=lambda: calls.append("closed")))
    assert no_reader_left()
    assert calls == ["closed"]


async def ask() -> list[bytes]:
    return []


@pytest.mark.parametrize(
    ("source", "says"),
    [
        (lambda: "data: x", "a str is not a stream"),
        (lambda: b"data: x", "a bytes is not a stream"),
        (lambda: 42, "int is not a stream"),
        (ask, "await it"),
        (lambda: {"choices": []}, "a dict is a finished answer, not a stream"),
        (lambda: len, "not a stream"),
        (lambda: test_collect, "call it"),
    ],
)
def test_what_is_no_stream_is_refused(source: Callable[[], object], says: str) -> None:
    with pytest.raises(TypeError, match=says):
        decluster.wrap(source())  # type: ignore[call-overload]


def test_items_that_are_no_lines_are_refused_by_name() -> None:
    with pytest.raises(TypeError, match="gave a list"):
        list(decluster.wrap([["data: x"]]))  # type: ignore[list-item]


def test_an_unknown_dialect_or_framing_is_refused() -> None:
    with pytest.raises(ValueError, match=r"openai-chat, .*, anthropic, .*, incident"):
        decluster.wrap(LINES, dialect="gpt")  # type: ignore[call-overload]
    with pytest.raises(ValueError, match="'lines', 'bytes' or 'text'"):
        decluster.wrap(LINES, framing="words")  # type: ignore[call-overload]
    with pytest.raises(decluster.ConfigError, match="unit = whole"):
        decluster.wrap(LINES, unit="whole")


def test_multi_line_data_is_lines() -> None:
    lines = ["data: {", 'data: "choices":[{"index":0,"delta":{"content":"Hi."}}]', "data: }", ""]
    assert list(decluster.wrap([*lines, "data: [DONE]", ""])) == [*lines, "data: [DONE]", ""]
    assert decluster.collect(lines).output == "Hi."


def test_collect_knows_about_tags() -> None:
    lines = [b'data: {"choices":[{"delta":{"content":"<think>a</think>b"}}]}', b""]
    assert decluster.collect(lines).reasoning == "a"
    assert decluster.collect(lines, think_tags="off").output == "<think>a</think>b"
    assert decluster.collect(lines, starts_inside=True).output == "b"
    with pytest.raises(TypeError, match="starts_inside takes True or False"):
        decluster.collect(lines, starts_inside="on")  # type: ignore[arg-type]


def test_without_a_reader_a_source_that_is_read_is_closed_when_it_is_back() -> None:
    reads, back = threading.Event(), threading.Event()
    closed: list[str] = []

    def source() -> Iterator[str]:
        try:
            yield chat("First of all. Then ")
            yield ""
            reads.set()
            back.wait(10)
        finally:
            closed.append("source")

    stream = decluster.wrap(source(), background=False, closer=back.set)
    consumer = threading.Thread(target=list, args=(stream,))
    consumer.start()
    assert reads.wait(10)
    stream.close()
    consumer.join(10)
    assert closed == ["source"]


def test_without_a_thread_to_be_had_the_source_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    def none(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", none)
    closed: list[bool] = []
    stream = decluster.wrap(iter(LINES), closer=lambda: closed.append(True))
    with pytest.raises(RuntimeError, match="can't start"):
        next(stream)
    stream.close()
    assert closed == [True]


def test_a_closer_that_fails_beside_a_read_is_told() -> None:
    release = threading.Event()

    def source() -> Iterator[str]:
        yield chat("First of all. Then ")
        yield ""
        release.wait(10)

    def fails() -> None:
        release.set()
        raise BoomError

    stream = decluster.wrap(source(), closer=fails)
    next(stream)
    with pytest.warns(RuntimeWarning, match="closing the source failed"):
        stream.close()
        assert no_reader_left()
        while any(thread.name == "decluster-closer" for thread in threading.enumerate()):
            pass


async def nobody_awaits() -> None: ...


@pytest.mark.parametrize("closer", [nobody_awaits, object()])
def test_a_closer_that_cannot_be_called_is_refused(closer: Any) -> None:
    with pytest.raises(TypeError, match="give a function"):
        decluster.wrap(iter(LINES), closer=closer)


@pytest.mark.parametrize("of", [copy.copy, copy.deepcopy, pickle.dumps])
def test_a_stream_cannot_be_copied(of: Callable[[object], object]) -> None:
    stream = decluster.wrap(iter(LINES))
    with pytest.raises(TypeError, match="cannot be copied"):
        of(stream)
    assert texts(stream) == EXPECTED
