"""The engine with explicit times, on a virtual clock that leaps."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

import decluster
from decluster import FINISHED, NEED_INPUT, Engine, Event, Mark, Piece, Wait

MS = 1_000_000


def drain(engine: Engine, now: int) -> list[tuple[int, object]]:
    """Leaps from wait to wait until the engine needs input or is finished."""
    out: list[tuple[int, object]] = []
    for _ in range(100_000):
        match engine.poll(now):
            case Wait(at_ns):
                early = engine.poll(at_ns - 1)
                assert isinstance(early, Wait)
                assert early.at_ns == at_ns
                now = at_ns
            case item if item is FINISHED or item is NEED_INPUT:
                return out
            case item:
                out.append((now, item))
    raise AssertionError("polling leads nowhere")


def text(out: list[tuple[int, object]], kind: str | None = None) -> str:
    pieces = [item for _, item in out if isinstance(item, Piece)]
    return "".join(piece.text for piece in pieces if kind in (None, piece.kind))


def test_a_burst_becomes_a_flow() -> None:
    engine = Engine()
    burst = "The lease ends while the worker runs. So the queue hands the job out again. " * 4
    engine.push(0, "reasoning", burst)
    engine.finish(0)
    out = drain(engine, 0)
    assert text(out) == burst
    times = [at for at, _ in out]
    assert times[0] == 0
    assert 100 * MS < times[-1] <= 300 * MS
    first = out[0][1]
    assert isinstance(first, Piece)
    assert (first.kind, first.index, first.block, first.part) == ("reasoning", 0, 0, 0)
    assert (first.seq, first.origin, first.arrived_ns) == (0, 0, 0)
    assert str(first) == first.text
    assert first.boundary == "sentence"
    assert first.ends_block
    assert repr(first).startswith("Piece('The lease ends while the worker runs.', kind='reasoning'")


def test_marks_and_restarts_come_in_their_place() -> None:
    engine = Engine()
    engine.push(0, "reasoning", "One thing. ")
    engine.mark(0, 7, hurry=True)
    engine.push(0, "output", "Another thing.")
    engine.begin_attempt(0)
    engine.push(0, "output", "Once more.")
    engine.finish(0)
    order = [item for _, item in drain(engine, 0)]
    marks = [n for n, item in enumerate(order) if isinstance(item, (Mark, Event))]
    assert text([(0, item) for item in order[: marks[0]]]) == "One thing. "
    assert isinstance(order[marks[0]], Mark)
    assert order[marks[0]].id == 7
    assert isinstance(order[marks[1]], Event)
    assert (order[marks[1]].name, order[marks[1]].data) == ("restarted", '{"attempt":2}')
    assert text([(0, item) for item in order[marks[1] :]]) == "Once more."


def test_counts_without_text_are_paced_too() -> None:
    engine = Engine()
    engine.push(0, "reasoning", "", tokens=67)
    engine.finish(0)
    pieces = [item for _, item in drain(engine, 0) if isinstance(item, Piece)]
    assert [piece.tokens for piece in pieces] == [14, 14, 13, 13, 13]


def test_flush_stops_pacing_and_cancel_drops() -> None:
    engine = Engine()
    engine.push(0, "output", "A sentence that ends here. Another that ends there. " * 5)
    engine.poll(0)
    engine.flush()
    assert {at for at, _ in drain(engine, 0) if at > 0} <= {100 * MS}
    engine.push(200 * MS, "output", "Never shown.")
    engine.cancel("drop")
    assert engine.poll(200 * MS) is FINISHED
    assert not engine.wants_input


def test_what_is_said_before_the_first_time_counts() -> None:
    engine = Engine()
    engine.cancel("drop")
    with pytest.raises(decluster.Finished):
        engine.push(5, "output", "late")


def test_a_fixed_rate_is_the_published_bucket() -> None:
    engine = Engine(pace="fixed", unit="word", rate=240, burst=32, max_delay=10.0)
    engine.push(0, "output", "word " * 400)
    out = drain(engine, 0)
    at_once = sum(item.tokens for at, item in out if at == 0 and isinstance(item, Piece))
    # Whole words of a little more than a token each: thirty fit, and thirty-one do not.
    assert 31 <= at_once <= 33
    # The very last is the blank after the last word, which may become part of another.
    seconds = (engine.stats()["tokens_in"] - 32) / 240
    assert abs(out[-2][0] / 1e9 - seconds) < 0.1


@pytest.mark.parametrize(
    ("parameters", "error", "says"),
    [
        (
            {"max_delay": 0.01},
            decluster.ConfigError,
            r"max_delay = 0.01 is out of bounds: 0.1 to 60.0 seconds",
        ),
        ({"max_delay": -1}, decluster.ConfigError, "max_delay = -1 is out of bounds"),
        ({"burst": 2**70}, decluster.ConfigError, "burst = 1180591620717411303424 is out"),
        ({"unit": 1}, TypeError, "unit takes one of: block word whole"),
        ({"max_dealy": 1.0}, decluster.ConfigError, "no parameter"),
        ({"unit": "sentence"}, decluster.ConfigError, "block word whole"),
        ({"unit": 1.5}, TypeError, "unit takes one of: block word whole"),
        ({"max_delay": "soon"}, TypeError, "max_delay takes a number of seconds"),
        ({"rate": True}, TypeError, "rate takes a whole number"),
        ({"target": float("nan")}, decluster.ConfigError, "out of bounds"),
    ],
)
def test_bad_parameters_are_named(parameters: dict, error: type[Exception], says: str) -> None:
    with pytest.raises(error, match=says):
        Engine(**parameters)
    assert issubclass(decluster.ConfigError, ValueError)


def test_misuse_says_what_was_wrong_and_changes_nothing() -> None:
    engine = Engine(max_queue_bytes=65_536, max_event_bytes=1_024)
    with pytest.raises(decluster.TooLarge, match="2000 bytes exceeds max_event_bytes = 1024"):
        engine.push(0, "output", "x" * 2_000)
    with pytest.raises(ValueError, match="'reasoning' or 'output', not \"thinking\""):
        engine.push(0, "thinking", "x")  # type: ignore[arg-type]
    with pytest.raises(decluster.Full, match="max_queue_bytes = 65536"):
        for _ in range(100):
            engine.push(0, "output", "x " * 500)
    engine.finish(0)
    with pytest.raises(decluster.Finished):
        engine.push(0, "output", "late")
    with pytest.raises(OverflowError):
        engine.poll(-1)
    assert set(text(drain(engine, 0))) == {"x", " "}


def test_the_table_of_parameters_has_what_the_docs_need() -> None:
    table = {parameter.name: parameter for parameter in decluster.PARAMETERS}
    assert table["max_delay"].default == 1.5
    assert table["max_delay"].unit == "seconds"
    assert table["unit"].choices == ["block", "word", "whole"]
    assert table["unit"].default == "block"
    assert table["target"].default == 12.4
    assert all(parameter.doc for parameter in decluster.PARAMETERS)
    assert repr(table["max_tail"]).startswith(
        'Parameter("max_tail", 0.0 to 10.0 seconds, default=0.3: How long text may still take'
    )


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["reasoning", "output"]),
            st.text(max_size=60),
            st.integers(0, 2_000 * MS),
        ),
        max_size=20,
    ),
    st.sampled_from(["block", "word", "whole"]),
)
def test_nothing_is_lost_whatever_comes(deltas: list[tuple[str, str, int]], unit: str) -> None:
    deltas = [(kind, piece.encode("utf-8", "ignore").decode(), gap) for kind, piece, gap in deltas]
    engine = Engine(unit=unit)
    now, out = 0, []
    for kind, piece, gap in deltas:
        now += gap
        engine.push(now, kind, piece)  # type: ignore[arg-type]
        item = engine.poll(now)
        while isinstance(item, Piece):
            out.append((now, item))
            item = engine.poll(now)
    engine.finish(now)
    out += drain(engine, now)
    for kind in ("reasoning", "output"):
        assert text(out, kind) == "".join(piece for k, piece, _ in deltas if k == kind)
