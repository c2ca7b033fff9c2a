"""Lines as the clients' own splitters cut them, also where they cut too much."""

from __future__ import annotations

import json

import pytest

import decluster


def stream(text: str, *, ascii_only: bool = False) -> str:
    def event(data: object) -> str:
        return f"data: {json.dumps(data, ensure_ascii=ascii_only)}\n\n"

    return (
        event({"choices": [{"index": 0, "delta": {"content": "Before. "}}]})
        + event({"choices": [{"index": 0, "delta": {"content": text}}]})
        + event({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})
        + "data: [DONE]\n\n"
    )


def agrees(lines: list[str] | list[bytes], output: str, repairs: int) -> None:
    answer = decluster.collect(lines)
    assert (answer.output, answer.verdict, answer.repairs) == (output, "complete", repairs)
    again = decluster.collect(list(decluster.wrap(lines)))
    assert (again.output, again.verdict, again.repairs) == (output, "complete", repairs)
    assert list(decluster.wrap(lines, pace="off", segment="off")) == lines


# florimondmanca/httpx-sse#34, Soju06/codex-lb#1010, langgenius/dify#39008,
# langchain-ai/langgraph#2560
@pytest.mark.parametrize("separator", ["\u2028", "\u2029", "\x85"])
def test_a_raw_separator_that_the_splitter_took_is_put_back(separator: str) -> None:
    whole = stream(f"a{separator}b")
    # httpx: `str.splitlines`, and the separator is lost; which one it was is a guess, and a repair.
    agrees(whole.splitlines(), "Before. a\u2028b", 1)
    # requests, on bytes: nothing is lost.
    agrees(whole.encode().splitlines(), f"Before. a{separator}b", 0)
    # An escaped one is none to any splitter.
    agrees(stream(f"a{separator}b", ascii_only=True).splitlines(), f"Before. a{separator}b", 0)


# open-metadata/OpenMetadata#29531, Moyf/moys-asr-workflow#132
def test_text_read_as_latin_1_is_told() -> None:
    # U+00C5 is the bytes C3 85, and 85 is a line end to `str.splitlines` once it is a character.
    lines = stream("\xc5b").encode().decode("latin-1").splitlines()
    assert len(lines) == len(stream("x").splitlines()) + 1
    answer = decluster.collect(lines)
    assert (answer.output, answer.verdict, answer.malformed) == ("Before. ", "complete", 1)
    assert answer.reason is not None
    assert "Latin-1" in answer.reason
    agrees(stream("\xc5b").encode().splitlines(), "Before. \xc5b", 0)


@pytest.mark.parametrize("blanks", [True, False])
@pytest.mark.parametrize("end", ["", "\n", "\r\n", "\r"])
def test_lines_may_come_with_any_end_or_none(end: str, blanks: bool) -> None:
    lines = [line + end for line in stream("a \u4f60\u597d").splitlines() if blanks or line]
    answer = decluster.collect(lines)
    assert (answer.output, answer.verdict) == ("Before. a \u4f60\u597d", "complete")
    encoded = decluster.collect([line.encode() for line in lines])
    assert (encoded.output, encoded.verdict) == ("Before. a \u4f60\u597d", "complete")


def test_lines_may_be_bare_data() -> None:
    lines = [line.removeprefix("data: ") for line in stream("a").splitlines() if line]
    assert decluster.collect(lines).output == "Before. a"


# rexxars/eventsource-parser#17, Effect-TS/effect#6954, ax-llm/ax#622, openclacky#489
def test_a_line_end_cut_in_two_by_the_splitter_ends_no_event_early() -> None:
    # requests cuts each chunk for itself: a CRLF in two chunks becomes two line ends.
    doubled = [part for line in stream("a").splitlines() for part in (line, "")]
    assert decluster.collect(doubled).output == "Before. a"


# 64bit/async-openai#74
def test_an_answer_is_complete_though_the_connection_fails_behind_its_end() -> None:
    def source() -> object:
        yield from stream("a").splitlines()
        raise ConnectionResetError

    out = []
    with pytest.raises(ConnectionResetError), decluster.wrap(source()) as wrapped:
        out.extend(wrapped)
    answer = decluster.collect(out)
    assert (answer.output, answer.verdict) == ("Before. a", "complete")
