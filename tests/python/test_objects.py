"""The verbs over parsed events: what comes out are the objects that went in, or copies of them."""

from __future__ import annotations

import copy
import datetime
import json
import math
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from readers import no_reader_left

import decluster

TEXT = (
    "The counter is read before the lock is taken. Then two workers see the same value — naïve 🦀."
)


def chat(text: str | None, field: str = "content", **more: Any) -> dict[str, Any]:
    delta = {"content": None, "reasoning_content": None, field: text}
    return {"id": "c", "choices": [{"index": 0, "delta": delta, "finish_reason": None}], **more}


def response(kind: str, number: int, **more: Any) -> dict[str, Any]:
    return {"type": f"response.{kind}", "sequence_number": number, **more}


USAGE = {"choices": [], "usage": {"completion_tokens": 60}}
CHAT = [chat("", "content"), chat(TEXT, "reasoning_content"), chat("Done. All of it."), USAGE]
RESPONSES = [
    response("created", 0, response={"id": "r", "usage": None}),
    response("output_text.delta", 1, output_index=0, content_index=0, delta=TEXT, logprobs=[]),
    response("completed", 2, response={"id": "r", "status": "completed", "usage": {"x": 1}}),
]


def texts(events: list[dict[str, Any]], field: str = "content") -> str:
    deltas = [choice["delta"] for event in events for choice in event["choices"]]
    return "".join(delta[field] or "" for delta in deltas)


@pytest.mark.parametrize("background", [True, False])
def test_chat_events_come_out_as_events(background: bool) -> None:
    before = copy.deepcopy(CHAT)
    stream = decluster.wrap(CHAT, background=background)
    out = list(stream)
    assert before == CHAT
    assert len(out) > len(CHAT)
    assert texts(out, "reasoning_content") == TEXT
    assert texts(out) == "Done. All of it."
    assert out[0] is CHAT[0]
    assert out[-1] is USAGE
    assert (stream.dialect, stream.usage) == ("openai-chat", USAGE["usage"])
    assert all(event.keys() == CHAT[0].keys() for event in out[:-1])


def test_responses_events_come_out_as_events() -> None:
    out = list(decluster.wrap(RESPONSES))
    assert out[0] is RESPONSES[0]
    assert out[-1] is RESPONSES[-1]
    deltas = out[1:-1]
    assert len(deltas) > 1
    assert "".join(delta["delta"] for delta in deltas) == TEXT
    assert [delta["sequence_number"] for delta in deltas] == [0] * (len(deltas) - 1) + [1]


def test_pairs_of_name_and_event_stay_pairs() -> None:
    counts = [
        ("response.reasoning.delta", {"delta_tokens": 40}),
        ("response.output.delta", {"delta": "Done.", "delta_tokens": 2}),
    ]
    out = list(decluster.wrap(counts))
    names = [name for name, _ in out]
    assert names == ["response.reasoning.delta"] * (len(out) - 1) + ["response.output.delta"]
    assert sum(event["delta_tokens"] for _, event in out[:-1]) == 40
    assert out[-1] is counts[-1]
    unnamed = [(None, event) for event in CHAT]
    assert [name for name, _ in decluster.wrap(unnamed)][:2] == [None, None]


def test_what_passes_unchanged_is_the_same_object() -> None:
    odd: list[dict[str, Any]] = [
        {"type": "ping"},
        {"surprise": datetime.datetime(2026, 1, 1), "nan": math.nan, 7: b"bytes"},
        {"choices": [{"delta": {"content": "half \ud83d"}}]},
        {(1, 2): object()},
    ]
    odd[0]["itself"] = odd[0]
    events = [*CHAT, *odd]
    out = list(decluster.wrap(events, pace="off", segment="off"))
    assert all(after is before for after, before in zip(out[:-2], events, strict=False))
    assert {id(event) for event in odd} - {id(odd[2])} <= {id(event) for event in out}


def test_what_json_cannot_hold_stays_in_a_changed_event() -> None:
    when, raw, lock = datetime.datetime(2026, 1, 1), b"\xff", threading.Lock()
    event = chat(TEXT, at=when, raw=raw, nan=math.nan, more={"lock": lock, "pair": (1, [raw])})
    event[7] = "seven"  # type: ignore[index]
    out = list(decluster.wrap([event], pace="off"))
    assert len(out) > 1
    assert texts(out) == TEXT
    last = out[-1]
    assert last["at"] is when
    assert last["raw"] is raw
    assert math.isnan(last["nan"])
    assert last["more"] == {"lock": lock, "pair": (1, [raw])}
    assert last[7] == "seven"  # type: ignore[index]
    assert last["more"] is not event["more"]


def test_half_a_character_is_joined_with_its_other_half() -> None:
    out = list(decluster.wrap([chat("One \ud83e"), chat("\udd80 two."), chat(" Three.")]))
    assert texts(out) == "One 🦀 two. Three."


def test_pieces_blocks_and_collect_take_events() -> None:
    assert "".join(map(str, decluster.pieces(CHAT))) == TEXT + "Done. All of it."
    assert "".join(map(str, decluster.blocks(RESPONSES))) == TEXT
    events = [e for e in decluster.pieces(CHAT, events=True) if isinstance(e, decluster.Event)]
    assert json.loads(events[-1].data) == USAGE
    answer = decluster.collect(RESPONSES)
    assert (answer.output, answer.verdict) == (TEXT, "complete")
    answer = decluster.collect(("message", event) for event in CHAT)
    assert (answer.reasoning, answer.usage) == (TEXT, USAGE["usage"])


def test_wrapped_twice_says_the_same() -> None:
    assert texts(list(decluster.wrap(decluster.wrap(CHAT)))) == "Done. All of it."


@pytest.mark.parametrize("background", [True, False])
def test_lines_and_events_do_not_mix(background: bool) -> None:
    seen: list[Any] = []
    for source, says in [
        ([CHAT[2], "data: x"], "gave a str after events"),
        ([f"data: {json.dumps(CHAT[2])}", "", CHAT[2]], "gave a dict after lines or chunks"),
    ]:
        with pytest.raises(TypeError, match=says):
            seen.extend(decluster.wrap(source, background=background))  # type: ignore[call-overload]
        with pytest.raises(TypeError, match=says):
            decluster.collect(source)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="gave a dict, but framing"):
        list(decluster.wrap(CHAT, framing="lines", background=background))
    assert no_reader_left()


def test_an_error_of_the_source_comes_after_the_events_before_it() -> None:
    def source() -> Iterator[dict[str, Any]]:
        yield from CHAT[:3]
        raise OSError("gone")

    seen = []
    with pytest.raises(OSError, match="gone"):
        for event in decluster.wrap(source()):
            seen.append(event)
    assert texts(seen) == "Done. All of it."
    assert no_reader_left()


def test_an_event_over_the_cap_is_an_error_after_the_events_before_it() -> None:
    seen = []
    with pytest.raises(decluster.TooLarge, match="4096 bytes"):
        for event in decluster.wrap([chat("Kept."), chat("x" * 5_000)], max_event_bytes=4_096):
            seen.append(event)
    assert texts(seen) == "Kept."
    with pytest.raises(decluster.TooLarge):
        decluster.collect([chat("x" * 5_000)], max_event_bytes=4_096)


def test_events_that_are_out_are_not_kept() -> None:
    class Event(dict[str, Any]):
        alive = 0

        def __new__(cls, *args: Any) -> Event:
            Event.alive += 1
            return super().__new__(cls, *args)

        def __del__(self) -> None:
            Event.alive -= 1

    def source() -> Iterator[dict[str, Any]]:
        for number in range(2_000):
            yield Event(chat(f"{number} "))

    most = 0
    with decluster.wrap(source(), pace="off", background=False) as stream:
        for event in stream:
            del event
            most = max(most, Event.alive)
    assert most < 100
    del stream
    assert Event.alive == 0


def test_items_of_other_types_are_refused_by_name() -> None:
    for item, name in [(7, "int"), (["x"], "list"), (("a", "b"), "tuple"), ((1, {}), "tuple")]:
        with pytest.raises(TypeError, match=f"gave a {name}"):
            list(decluster.wrap([item]))  # type: ignore[call-overload]


def test_a_dict_of_another_class_stays_one() -> None:
    class Told(dict[str, Any]):
        """One that shows its members as attributes, too."""

        def __init__(self, **members: Any) -> None:
            super().__init__(**members)
            vars(self).update(members)

    first = Told(index=0, delta=Told(content=TEXT), finish_reason="stop")
    out = list(decluster.wrap([Told(id="c", choices=[first])], pace="off"))
    assert len(out) > 1
    choices = [event["choices"][0] for event in out]
    assert {type(told) for told in [*out, *choices]} == {Told}
    assert "".join(event.choices[0].delta.content for event in out) == TEXT
    assert [choice.finish_reason for choice in choices] == [None] * (len(out) - 1) + ["stop"]
    assert choices[0]["finish_reason"] is None
    assert (first["delta"]["content"], first.delta.content) == (TEXT, TEXT)


def test_a_call_beside_text_is_handed_out_once() -> None:
    call = {"functionCall": {"name": "f", "args": {"blob": b"x"}}}
    parts = [{"text": TEXT}, call]
    event = {"candidates": [{"index": 0, "content": {"parts": parts}}], "usageMetadata": {"a": 1}}
    out = list(decluster.wrap([event], pace="off"))
    assert len(out) > 1
    parts_of = [item["candidates"][0]["content"]["parts"] for item in out]
    assert [parts[1] for parts in parts_of[:-1]] == [{"text": ""}] * (len(out) - 1)
    assert parts_of[-1][1] == call
    assert "".join(parts[0]["text"] for parts in parts_of) == TEXT
    # A copy lacks what stands on the last one; it has no null that the provider never sends.
    assert ["usageMetadata" in item for item in out] == [False] * (len(out) - 1) + [True]


def test_keys_that_are_no_strings_stay() -> None:
    out = list(decluster.wrap([chat(TEXT, more={1: "one", None: "none"})], pace="off"))
    assert len(out) > 1
    assert [item["more"] for item in out if "more" in item] == [{1: "one", None: "none"}]
