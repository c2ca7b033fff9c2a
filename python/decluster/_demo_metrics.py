"""What a reader felt, in numbers: pure functions of what arrived and what was seen, and when.

Times are nanoseconds of one clock going in and milliseconds coming out. No input or output here.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from ._demo_stream import KINDS, Kind


@dataclass(frozen=True, slots=True)
class Seen:
    """One text delta, as somebody got it."""

    at_ns: int
    kind: Kind
    text: str


@dataclass(frozen=True, slots=True)
class Metrics:
    """One reading of one stream. The table and the JSON are made of these."""

    pieces: int
    tokens_per_block: float
    first_text_ms: float
    gaps_over_250_ms: int
    gaps_over_1_s: int
    longest_gap_ms: float
    dead_time: float
    """Share of the time from first to last text that lies in gaps over 400 ms."""
    mean_added_ms: float
    max_added_ms: float
    tail_ms: float


def measure(arrived: Sequence[Seen], seen: Sequence[Seen], *, tokens: int, blocks: int) -> Metrics:
    """All metrics of one reading. Both sequences must hold the same text; neither may be empty."""
    between = gaps_ms([item.at_ns for item in seen])
    added = added_delays(arrived, seen)
    return Metrics(
        pieces=len(seen),
        tokens_per_block=tokens / blocks if blocks else 0.0,
        first_text_ms=(seen[0].at_ns - arrived[0].at_ns) / NS_PER_MS,
        gaps_over_250_ms=count_over(between, 250),
        gaps_over_1_s=count_over(between, 1000),
        longest_gap_ms=max(between, default=0.0),
        dead_time=share_over(between, DEAD_GAP_MS),
        mean_added_ms=weighted_mean(added),
        max_added_ms=max((delay for delay, _ in added), default=0.0),
        tail_ms=(seen[-1].at_ns - arrived[-1].at_ns) / NS_PER_MS,
    )


def gaps_ms(times_ns: Sequence[int]) -> list[float]:
    """The time between each text and the next."""
    return [(after - before) / NS_PER_MS for before, after in pairwise(times_ns)]


def count_over(gaps: Iterable[float], limit: float) -> int:
    """How many gaps are longer than the limit."""
    return sum(gap > limit for gap in gaps)


def share_over(gaps: Sequence[float], limit: float) -> float:
    """What share of all the time lies in gaps over the limit; each of them counts whole."""
    total = sum(gaps)
    return sum(gap for gap in gaps if gap > limit) / total if total else 0.0


def added_delays(arrived: Iterable[Seen], seen: Iterable[Seen]) -> list[tuple[float, int]]:
    """How much later each character was seen than it arrived, as (milliseconds, characters).

    Characters are matched by their place within their kind, as far as both sides have text.
    """
    arrived, seen = list(arrived), list(seen)
    delays: list[tuple[float, int]] = []
    for kind in KINDS:
        waiting = [[item.at_ns, len(item.text)] for item in reversed(arrived) if item.kind == kind]
        for item in seen:
            wanted = len(item.text) if item.kind == kind else 0
            while wanted and waiting:
                at_ns, left = waiting[-1]
                taken = min(wanted, left)
                if taken:
                    delays.append(((item.at_ns - at_ns) / NS_PER_MS, taken))
                wanted -= taken
                waiting[-1][1] -= taken
                if not waiting[-1][1]:
                    waiting.pop()
    return delays


def weighted_mean(delays: Sequence[tuple[float, int]]) -> float:
    """The mean over characters."""
    characters = sum(count for _, count in delays)
    return sum(delay * count for delay, count in delays) / characters if characters else 0.0


def text_seen(seen: Iterable[Seen], kind: Kind) -> str:
    """All text of one kind, put together."""
    return "".join(item.text for item in seen if item.kind == kind)


def difference(what: str, got: str, expected: str) -> str | None:
    """Where two texts part, in words; nothing when they are the same."""
    if got == expected:
        return None
    at = next(
        (i for i, (a, b) in enumerate(zip(got, expected, strict=False)) if a != b),
        min(len(got), len(expected)),
    )
    near = slice(at, at + SHOWN_CHARS)
    return f"{what} differs at character {at}: {got[near]!a} instead of {expected[near]!a}"


def broken_limits(direct: Metrics, wrapped: Metrics, *, tokens: int) -> list[str]:
    """Which of the product's promises this reading broke, each in one line."""
    broken: list[str] = []
    low, high = TOKENS_PER_BLOCK
    size = wrapped.tokens_per_block
    if tokens >= TOKENS_TO_JUDGE and not low <= size <= high:
        broken.append(f"{size:.1f} tokens a block on average; promised are {low} to {high}")
    if not wrapped.first_text_ms < FIRST_TEXT_MS:
        broken.append(
            f"first text after {wrapped.first_text_ms:.0f} ms; promised is under {FIRST_TEXT_MS} ms"
        )
    if wrapped.max_added_ms > MAX_DELAY_MS + TIMER_STEP_MS:
        broken.append(
            f"some text was {wrapped.max_added_ms:.0f} ms late; promised is at most "
            f"{MAX_DELAY_MS} ms and {TIMER_STEP_MS} ms of timer step"
        )
    if wrapped.dead_time > direct.dead_time * DEAD_TIME_RATIO:
        broken.append(
            f"{wrapped.dead_time:.1%} of the time lies in gaps over {DEAD_GAP_MS} ms; promised is "
            f"a tenth of the {direct.dead_time:.1%} without decluster"
        )
    return broken


NS_PER_MS = 1_000_000

# Longer than this without new text and a reader notices that nothing comes.
DEAD_GAP_MS = 400

# The limits. Blocks are 12.4 tokens on average over much text; one short stream may be one off.
TOKENS_PER_BLOCK = (11.4, 13.4)
FIRST_TEXT_MS = 50
MAX_DELAY_MS = 1500
TIMER_STEP_MS = 20
DEAD_TIME_RATIO = 0.1

# The mean over fewer tokens, about 50 blocks, says little: single blocks run from 2 to over 30.
TOKENS_TO_JUDGE = 600

SHOWN_CHARS = 24
