"""The vendors' own SDKs read what the rewriter writes, and tell the same as of the original."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from sdk_readers import WAYS, Readers, Told
from sdk_streams import BEGIN, HOW, STREAMS, WHY, Own, chat, chunk

import decluster

CAPTURES = Path(__file__).parents[2] / "../shared/captures"


@pytest.fixture(scope="module", params=["sync", "async"])
def readers(request: pytest.FixtureRequest) -> Iterator[Readers]:
    with Readers(background=request.param == "async") as readers:
        yield readers


def recut(body: bytes, **parameters: Any) -> bytes:
    """The stream in blocks or words, at once: without pacing nothing waits."""
    with warnings.catch_warnings():
        # A stream that ends before it says what it is passes as it is, with a warning.
        warnings.simplefilter("ignore", RuntimeWarning)
        stream = decluster.wrap([body], framing="bytes", background=False, pace="off", **parameters)
        return b"".join(stream)


def cuts(body: bytes) -> dict[str, bytes]:
    """The stream as it is written in each way to cut it."""
    blocks = recut(body, unit="block")
    return {
        "blocks": blocks,
        "words": recut(body, unit="word"),
        "blocks, and then words": recut(blocks, unit="word"),
    }


def at(told: Any, path: str) -> Any:
    """A member by a dotted path, such as `choices.0.content`."""
    for name in path.split("."):
        told = told[int(name)] if isinstance(told, list) else told[name]
    return told


def own_texts(told: Told) -> dict[tuple[Any, ...], str]:
    """The text of the wire's own events, without that of events which an SDK adds."""
    return {place: text for place, text in told.texts.items() if place[0] != "event"}


@pytest.mark.parametrize("way", ["create", "stream"])
@pytest.mark.parametrize("own", STREAMS, ids=lambda own: f"{own.dialect}: {own.name}")
def test_an_sdk_tells_the_same_of_our_own_streams(readers: Readers, own: Own, way: str) -> None:
    read = WAYS[own.dialect][way]
    told = readers.read(read, own.body)
    assert (own_texts(told), told.error) == (own.texts, own.error)
    if way == "stream" and own.error is None:
        assert {path: at(told.final, path) for path in own.final} == own.final
    for cut, body in cuts(own.body).items():
        again = readers.read(read, body)
        assert again == told, cut
        before, after = told.events, again.events
        assert after > before, f"{cut}: nothing was cut"


def test_what_a_chunk_says_besides_text_is_accumulated_once(readers: Readers) -> None:
    """An accumulator joins strings: what is said once must not be said with each part again."""
    told_once = {
        "role": "assistant",
        "content": HOW,
        "reasoning_details": [
            {"type": "reasoning.text", "text": WHY, "index": 0, "id": "r1", "format": "unknown"}
        ],
    }
    body = chat(chunk(told_once), chunk({"finish_reason": "stop"}))
    read = WAYS["openai-chat"]["stream"]
    whole = at(readers.read(read, body).raw, "choices.0.message")
    assert whole["role"] == "assistant"
    for cut, again in cuts(body).items():
        message = at(readers.read(read, again).raw, "choices.0.message")
        assert message == whole, cut


def test_an_error_beside_text_is_raised_before_that_text(readers: Readers) -> None:
    """An SDK gives nothing of an event that has an error."""
    failed = chunk({"content": HOW, "finish_reason": "error"}, error={"message": "too busy"})
    body = chat(BEGIN, chunk({"content": WHY}), failed)
    for read in WAYS["openai-chat"].values():
        told = readers.read(read, body)
        assert (told.error, own_texts(told)) == (("APIError", "too busy"), {(0, "content"): WHY})
        for cut, again in cuts(body).items():
            assert readers.read(read, again) == told, cut


def recordings() -> Iterator[Any]:
    """Each recorded stream with each way to read it."""
    for dialect, ways in WAYS.items():
        for path in sorted((CAPTURES / dialect).glob("*.sse")):
            slow = path.read_bytes().count(b"data:") > FEW_EVENTS
            for way in ways:
                marks = [pytest.mark.slow] if slow else []
                name = f"{dialect}: {path.stem}, {way}"
                yield pytest.param(dialect, path, way, marks=marks, id=name)


FEW_EVENTS = 100
"""Three of four recordings have no more, and together a seventh of all events."""

RECORDINGS = list(recordings())
SYNC_NOW_ASYNC_LATER = ["sync", pytest.param("async", marks=pytest.mark.slow)]
"""The two read alike, as our own streams show; so of recordings one is enough most of the time."""

needs_recordings = pytest.mark.skipif(not RECORDINGS, reason=f"{CAPTURES} is absent")


@needs_recordings
@pytest.mark.parametrize("readers", SYNC_NOW_ASYNC_LATER, indirect=True)
@pytest.mark.parametrize(("dialect", "path", "way"), RECORDINGS or [("", Path(), "")])
def test_an_sdk_tells_the_same_of_recorded_streams(
    readers: Readers, dialect: str, path: Path, way: str
) -> None:
    read, body = WAYS[dialect][way], path.read_bytes()
    told = readers.read(read, body)
    own, _ = UNREADABLE.get((dialect, path.stem, way), (None, ""))
    raised = None if told.error is None or told.error[0] in PROVIDERS_OWN else told.error[0]
    assert raised == own, "the list of what an SDK cannot read is stale"
    for unit in ("block", "word"):
        again = readers.read(read, recut(body, unit=unit))
        if (dialect, path.stem, way) in AT_THE_SECOND_EVENT:
            assert again.error is not None
            assert again.error[0] == own
            assert all(told.texts[place].startswith(text) for place, text in again.texts.items())
            continue
        assert again == told, unit
        before, after = told.longest, again.longest
        if unit == "word" and before > LONG and (dialect, path.stem) not in UNCUT:
            assert after < before, "nothing was cut"


@needs_recordings
def test_what_an_sdk_cannot_read_is_among_the_recordings() -> None:
    there = {(dialect, path.stem, way) for dialect, path, way in (p.values for p in RECORDINGS)}
    assert UNREADABLE.keys() <= there
    assert UNREADABLE.keys() >= AT_THE_SECOND_EVENT
    assert {(dialect, stem) for dialect, stem, _ in there} >= UNCUT.keys()


LONG = 40
"""Characters of a delta that has more than one word in any of the recordings."""

PROVIDERS_OWN = {"APIError", "APIStatusError"}
"""What an SDK raises because the stream says so."""

NO_OBJECT = ("AssertionError", "the helper skips chunks without `object`: nothing is left")
NO_COMPLETED = ("RuntimeError", "the helper wants `response.completed` as the last word")

UNREADABLE = {
    ("openai-chat", "azure-filter-per-chunk", "stream"): (
        "AttributeError",
        "the helper wants a `delta` in each choice of the first chunk",
    ),
    ("openai-chat", "moonshot-kimi-k3", "stream"): NO_OBJECT,
    ("openai-chat", "openrouter-logfire", "stream"): (
        "RuntimeError",
        "the helper cannot join entries of `reasoning_details` without `index`",
    ),
    ("openai-chat", "vllm-opt-old", "stream"): (
        "LengthFinishReasonError",
        "the helper takes `length` for an error",
    ),
    ("openai-chat", "zai-coder-glm-4-6-reqllm", "stream"): NO_OBJECT,
    ("openai-chat", "zai-glm-4-5-reqllm", "stream"): NO_OBJECT,
    ("openai-chat", "zai-glm-4-6-reqllm", "stream"): NO_OBJECT,
    ("openai-responses", "background-starting-after-1", "stream"): (
        "RuntimeError",
        "the helper wants `response.created` first; a resumed stream has none",
    ),
    ("openai-responses", "copilot-id-rotation", "stream"): (
        "RuntimeError",
        "the helper wants one id for the response; the gateway gives each event another",
    ),
    ("openai-responses", "incomplete-max-tokens", "stream"): NO_COMPLETED,
    # Its last event lacks the blank line, so the SDK never gets it.
    ("openai-responses", "multi-output-items", "stream"): NO_COMPLETED,
    ("anthropic", "legacy-completion-crlf", "stream"): (
        "AssertionError",
        "text completions are no messages",
    ),
}
"""Recordings that an SDK cannot read for reasons of its own: what it raises, and why."""

AT_THE_SECOND_EVENT = {("openai-chat", "openrouter-logfire", "stream")}
"""Where the SDK gives up at the second event with some member: after less text, if that was cut."""

UNCUT: dict[tuple[str, str], str] = {}
"""Recordings with long deltas that must not be cut, and why."""
