"""The verbs over streams that are no event streams: JSON lines, and one JSON array."""

from __future__ import annotations

import json

import pytest

import decluster

TEXTS = ["The lease", " ends first. Then it is", " renewed by the one", " who holds it. Nobody"]


def chat(text: str) -> dict[str, object]:
    return {"choices": [{"index": 0, "delta": {"content": text}, "finish_reason": None}]}


def said(events: list[dict[str, object]]) -> str:
    return "".join(event["choices"][0]["delta"]["content"] for event in events)  # type: ignore[index]


NDJSON = [json.dumps(chat(text)) for text in TEXTS]
ARRAY = json.dumps([chat(text) for text in TEXTS], indent=2).splitlines()
GEMINI = "[" + ",\r\n".join(json.dumps(chat(text), indent=2) for text in TEXTS) + "\n]\n"


def test_json_lines_stay_json_lines() -> None:
    out = list(decluster.wrap(NDJSON))
    assert said([json.loads(line) for line in out]) == "".join(TEXTS)
    assert out != NDJSON
    assert list(decluster.wrap(NDJSON, pace="off", segment="off")) == NDJSON


@pytest.mark.parametrize("lines", [ARRAY, GEMINI.splitlines(), GEMINI.splitlines(True)])
def test_an_array_by_lines_stays_an_array_by_lines(lines: list[str]) -> None:
    assert list(decluster.wrap(lines, pace="off", segment="off")) == lines
    out = list(decluster.wrap(lines))
    assert said(json.loads("\n".join(out))) == "".join(TEXTS)
    assert "".join(map(str, decluster.blocks(lines))) == "".join(TEXTS)
    assert decluster.collect(lines).output == "".join(TEXTS)


@pytest.mark.parametrize("size", [1, 7, 100, 10_000])
def test_an_array_in_chunks_stays_an_array(size: int) -> None:
    body = GEMINI.encode()
    chunks = [body[at : at + size] for at in range(0, len(body), size)]
    off = decluster.wrap(chunks, framing="bytes", pace="off", segment="off")
    assert b"".join(off) == body
    out = b"".join(decluster.wrap(chunks, framing="bytes"))
    assert said(json.loads(out)) == "".join(TEXTS)


def test_an_array_cut_short_keeps_what_came() -> None:
    lines = GEMINI.splitlines()[:-8]
    stream = decluster.wrap(lines, pace="off", segment="off")
    assert list(stream) == lines
    assert stream.verdict == "truncated"
