"""The demo's numbers, against cases worked out by hand."""

from __future__ import annotations

import pytest

from decluster._demo_metrics import (
    Metrics,
    Seen,
    added_delays,
    broken_limits,
    count_over,
    difference,
    gaps_ms,
    measure,
    share_over,
    text_seen,
    weighted_mean,
)
from decluster._demo_stream import Kind

MS = 1_000_000


def seen(at_ms: float, text: str, kind: Kind = "reasoning") -> Seen:
    return Seen(round(at_ms * MS), kind, text)


def test_gaps_lie_between_one_text_and_the_next() -> None:
    assert gaps_ms([0, 2 * MS, 5 * MS, 5 * MS]) == [2, 3, 0]
    assert gaps_ms([7]) == []
    assert gaps_ms([]) == []


def test_a_gap_of_exactly_the_limit_is_not_over_it() -> None:
    assert count_over([250, 250.5, 1000, 1200], 250) == 3
    assert count_over([250, 250.5, 1000, 1200], 1000) == 1


def test_a_gap_over_the_limit_counts_whole() -> None:
    # 500 and 700 of 2000 in all.
    assert share_over([400, 500, 400, 700], 400) == pytest.approx(0.6)


def test_no_time_has_no_dead_share() -> None:
    assert share_over([], 400) == 0
    assert share_over([0, 0], 400) == 0


def test_each_character_is_matched_with_its_own_arrival() -> None:
    arrived = [seen(0, "abcd"), seen(100, "ef")]
    released = [seen(10, "ab"), seen(60, "cd"), seen(130, "ef")]
    assert added_delays(arrived, released) == [(10, 2), (60, 2), (30, 2)]


def test_a_piece_across_two_arrivals_is_measured_in_two_parts() -> None:
    arrived = [seen(0, "abcd"), seen(100, "ef")]
    assert added_delays(arrived, [seen(150, "abcde"), seen(180, "f")]) == [
        (150, 4),
        (50, 1),
        (80, 1),
    ]


def test_kinds_are_matched_apart() -> None:
    arrived = [seen(0, "ab"), seen(10, "xy", "output"), seen(20, "c")]
    released = [seen(5, "abc"), seen(40, "xy", "output")]
    assert added_delays(arrived, released) == [(5, 2), (-15, 1), (30, 2)]


def test_text_that_never_arrived_has_no_delay() -> None:
    assert added_delays([seen(0, "a")], [seen(5, "abc")]) == [(5, 1)]
    assert added_delays([], [seen(5, "abc")]) == []


def test_the_mean_delay_weighs_characters() -> None:
    assert weighted_mean([(10, 1), (40, 3)]) == pytest.approx(32.5)
    assert weighted_mean([]) == 0


def test_a_whole_reading() -> None:
    arrived = [seen(1000, "abcdefgh"), seen(2500, "ij", "output")]
    released = [
        seen(1020, "ab"),
        seen(1300, "cdef"),  # 280 after the one before
        seen(1720, "gh"),  # 420
        seen(2800, "ij", "output"),  # 1080
    ]
    metrics = measure(arrived, released, tokens=50, blocks=4)
    assert metrics == Metrics(
        pieces=4,
        tokens_per_block=12.5,
        first_text_ms=20,
        gaps_over_250_ms=3,
        gaps_over_1_s=1,
        longest_gap_ms=1080,
        dead_time=pytest.approx((420 + 1080) / 1780),
        # 20 x 2, 300 x 4, 720 x 2 and 300 x 2 over ten characters.
        mean_added_ms=pytest.approx(328),
        max_added_ms=720,
        tail_ms=300,
    )


def test_a_direct_reading_adds_nothing() -> None:
    items = [seen(0, "ab"), seen(1200, "cd")]
    metrics = measure(items, items, tokens=160, blocks=2)
    assert (metrics.first_text_ms, metrics.max_added_ms, metrics.tail_ms) == (0, 0, 0)
    assert metrics.dead_time == 1
    assert metrics.tokens_per_block == 80


def test_one_text_alone_has_no_gaps() -> None:
    metrics = measure([seen(0, "a")], [seen(3, "a")], tokens=1, blocks=1)
    assert (metrics.longest_gap_ms, metrics.dead_time, metrics.first_text_ms) == (0, 0, 3)


def test_text_is_put_together_by_kind() -> None:
    items = [seen(0, "a"), seen(1, "X", "output"), seen(2, "b")]
    assert text_seen(items, "reasoning") == "ab"
    assert text_seen(items, "output") == "X"


def test_equal_texts_have_no_difference() -> None:
    assert difference("text", "naïve 🎯", "naïve 🎯") is None


@pytest.mark.parametrize(
    ("got", "expected", "at"),
    [("abXd", "abcd", 2), ("abc", "abcd", 3), ("abcd", "abc", 3), ("", "a", 0)],
)
def test_a_difference_is_named_by_its_place(got: str, expected: str, at: int) -> None:
    found = difference("wrapped output", got, expected)
    assert found is not None
    assert found.startswith(f"wrapped output differs at character {at}: ")


def metrics(**changes: float) -> Metrics:
    kept: dict[str, float] = {
        "pieces": 120,
        "tokens_per_block": 12.4,
        "first_text_ms": 2,
        "gaps_over_250_ms": 0,
        "gaps_over_1_s": 0,
        "longest_gap_ms": 240,
        "dead_time": 0.0,
        "mean_added_ms": 500,
        "max_added_ms": 1400,
        "tail_ms": 250,
    }
    return Metrics(**{**kept, **changes})  # type: ignore[arg-type]


DIRECT = metrics(dead_time=0.9, tokens_per_block=81)


def test_a_good_reading_breaks_no_limit() -> None:
    assert broken_limits(DIRECT, metrics(), tokens=1500) == []


@pytest.mark.parametrize(
    "edge",
    [
        {"tokens_per_block": 11.4},
        {"tokens_per_block": 13.4},
        {"first_text_ms": 49.9},
        {"max_added_ms": 1520},
        {"dead_time": 0.09},
    ],
)
def test_the_edges_are_within_the_limits(edge: dict[str, float]) -> None:
    assert broken_limits(DIRECT, metrics(**edge), tokens=1500) == []


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"tokens_per_block": 11.3}, "tokens a block"),
        ({"tokens_per_block": 81.3}, "tokens a block"),
        ({"first_text_ms": 50}, "first text"),
        ({"max_added_ms": 1520.5}, "late"),
        ({"dead_time": 0.091}, "gaps over 400 ms"),
    ],
)
def test_each_limit_is_reported_when_broken(change: dict[str, float], words: str) -> None:
    broken = broken_limits(DIRECT, metrics(**change), tokens=1500)
    assert len(broken) == 1
    assert words in broken[0]


def test_the_block_size_of_a_short_stream_is_not_judged() -> None:
    assert broken_limits(DIRECT, metrics(tokens_per_block=9), tokens=300) == []
