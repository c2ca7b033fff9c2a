"""The demo itself, with stand-ins for `wrap`: what it compares, says and returns."""

from __future__ import annotations

import argparse
import io
import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from decluster import _demo
from decluster._demo_read import deltas
from decluster._demo_stream import Burst, chat_script, load_bursts, text_of, within
from decluster._demo_view import Column, View, wrap_cells

BURSTS = [
    Burst(after_ms=0, kind="reasoning", text="So the naïve", tokens=5),
    Burst(after_ms=5, kind="reasoning", text=" way fails.", tokens=4),
    Burst(after_ms=5, kind="output", text="Use a key 🎯", tokens=5),
]


class StandIn:
    """Passes lines on, each changed by `change`."""

    def __init__(self, source: Iterator[bytes], change: Callable[[bytes], bytes]) -> None:
        self._source = source
        self._change = change
        self.closed = False

    def __iter__(self) -> Iterator[bytes]:
        return (self._change(line) for line in self._source)

    def close(self) -> None:
        self.closed = True

    def stats(self) -> dict[str, Any]:
        return {"pieces": 3, "blocks": 3, "tokens_out": 14}


def same(source: Iterator[bytes]) -> StandIn:
    return StandIn(source, lambda line: line)


def lossy(source: Iterator[bytes]) -> StandIn:
    return StandIn(source, lambda line: line.replace(b" way", b" wax"))


def arguments(*given: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    _demo.add_arguments(parser)
    return parser.parse_args(given)


def test_both_readings_see_the_same_text() -> None:
    result = _demo.compare(BURSTS, same)
    assert result.different == []
    assert result.direct.pieces == result.wrapped.pieces == 3
    assert (result.tokens, result.blocks) == (14, 3)


def test_lost_text_is_named_and_fails() -> None:
    result = _demo.compare(BURSTS, lossy)
    assert len(result.different) == 1
    assert result.different[0].startswith("wrapped reasoning differs at character 15: 'x")
    assert result.different[0] in result.as_table()
    assert result.broken


def test_wrap_is_closed_also_when_the_reading_fails() -> None:
    made: list[StandIn] = []

    def failing(source: Iterator[bytes]) -> StandIn:
        def fail(line: bytes) -> bytes:
            raise RuntimeError("no luck")

        made.append(StandIn(source, fail))
        return made[0]

    with pytest.raises(
        _demo.UnreadableError, match="wrapped reading failed: RuntimeError: no luck"
    ):
        _demo.compare(BURSTS, failing)
    assert made[0].closed


def test_the_verb_prints_a_table_and_judges(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(_demo, "load_bursts", lambda: BURSTS)
    assert _demo.run(arguments(), same) == 0
    out = capsys.readouterr().out
    assert "direct" in out
    assert "texts: identical" in out
    assert _demo.run(arguments(), lossy) == 1


def test_json_is_all_there_is_on_the_standard_output(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(_demo, "load_bursts", lambda: BURSTS)
    assert _demo.run(arguments("--json"), same) == 0
    result = json.loads(capsys.readouterr().out)
    assert result["identical"] is True
    assert result["direct"]["pieces"] == 3


def test_without_requests_one_line_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(_demo, "find_spec", lambda name: None)
    assert _demo.run(arguments(), same) == 1
    err = capsys.readouterr().err
    assert "pip install requests" in err
    assert err.count("\n") == 1


@pytest.mark.parametrize("bad", ["0", "-1", "nan", "inf", "soon"])
def test_a_length_that_is_none_is_wrong_usage(bad: str) -> None:
    with pytest.raises(SystemExit) as stopped:
        arguments("--seconds", bad)
    assert stopped.value.code == 2


def test_the_bundled_stream_is_clustered_as_promised() -> None:
    bursts = load_bursts()
    assert [burst.kind for burst in bursts] == ["reasoning"] * 15 + ["output"] * 4
    assert all(40 <= burst.tokens <= 150 for burst in bursts)
    assert all(1000 <= burst.after_ms <= 1500 for burst in bursts[1:])
    assert 18_000 <= sum(burst.after_ms for burst in bursts) <= 22_000
    assert 150 <= sum(burst.tokens for burst in bursts if burst.kind == "output") <= 250
    assert all(mark in text_of(bursts, "output") for mark in "—ï🎯`")


def test_a_shorter_stream_keeps_at_least_one_burst() -> None:
    bursts = load_bursts()
    assert within(bursts, 0.001) == bursts[:1]
    assert within(bursts, 1000) == bursts
    assert sum(burst.after_ms for burst in within(bursts, 5)) <= 5000


def test_the_script_says_what_the_bursts_say() -> None:
    lines = b"".join(step.data for step in chat_script(BURSTS)).splitlines()
    found = [delta for line in lines for delta in deltas(line)]
    assert found == [(burst.kind, burst.text) for burst in BURSTS]
    usage = json.loads(lines[-4][len(b"data: ") :])["usage"]
    assert usage["completion_tokens"] == 14
    assert usage["completion_tokens_details"] == {"reasoning_tokens": 9}
    assert lines[-2] == b"data: [DONE]"


def test_wrapping_breaks_at_spaces_and_wide_characters_take_two_cells() -> None:
    assert wrap_cells("one two three", 8) == ["one two ", "three"]
    assert wrap_cells("abcdefgh", 3) == ["abc", "def", "gh"]
    assert wrap_cells("🎯🎯🎯", 4) == ["🎯🎯", "🎯"]
    assert wrap_cells("", 4) == [""]


def test_a_word_that_comes_in_two_parts_is_wrapped_as_one() -> None:
    column = Column(8)
    for part in ("one th", "ree fo", "ur\nnew"):
        column.add("reasoning", part)
    assert [row for _, row in column.rows] == ["one ", "three ", "four", "new"]


def test_another_kind_begins_after_an_empty_row() -> None:
    column = Column(8)
    column.add("reasoning", "why")
    column.add("output", "so")
    assert column.rows == [("reasoning", "why"), ("output", ""), ("output", "so")]


def test_the_terminal_is_given_back_also_after_an_interrupt() -> None:
    out = io.StringIO()
    with pytest.raises(KeyboardInterrupt), View(out, ("a", "b")) as view:
        view.draw(([], []), "note")
        raise KeyboardInterrupt
    assert out.getvalue().endswith("\x1b[0m\x1b[?25h\x1b[?1049l")
