"""How clustered streams are: in `stats()`, by `Clusters`, and summed up for Prometheus."""

from __future__ import annotations

import asyncio
import json
import math
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import suppress
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

import decluster
from decluster import Clusters, ConfigError, Engine, httpx_hooks

MS = 1_000_000
TEXT = "The lease ends while the worker runs. So the queue hands the job out again. "


def chunk(text: str, **delta: Any) -> bytes:
    event = {"choices": [{"index": 0, "delta": {"content": text, **delta}}]}
    return f"data: {json.dumps(event)}\n\n".encode()


def stream(count: int = 3) -> Iterator[bytes]:
    for _ in range(count):
        yield chunk(TEXT)
    usage = {"completion_tokens": 60, "completion_tokens_details": {"reasoning_tokens": 7}}
    yield b"data: " + json.dumps({"choices": [], "usage": usage}).encode() + b"\n\n"
    yield b"data: [DONE]\n\n"


Sample = tuple[str, tuple[tuple[str, str], ...]]


def scrape() -> dict[Sample, float]:
    families = text_string_to_metric_families(decluster.metrics())
    return {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in families
        for sample in family.samples
    }


def grown(before: dict[Sample, float], name: str, **labels: str) -> float:
    key = (name, tuple(sorted(labels.items())))
    return scrape()[key] - before[key]


def streams(before: dict[Sample, float]) -> float:
    """However they ended: a reader may have seen the end before the stream was closed."""
    verdicts = ("complete", "failed", "truncated", "none")
    return sum(grown(before, "decluster_streams_total", verdict=verdict) for verdict in verdicts)


def test_the_engine_tells_what_came_and_what_left() -> None:
    engine = Engine()
    for at, tokens in [(0, 67), (1_400, 81), (1_405, 12)]:
        now = at * MS
        engine.push(now, "reasoning", "", tokens=tokens)
    before = engine.stats()["clusters"]["before"]
    assert (before["events"], before["groups"], before["tokens"]) == (2, 2, 160)
    assert before["seconds"] == pytest.approx(1.405)
    assert before["events_per_hour"] == pytest.approx(2 / 1.405 * 3600)
    assert before["size"] == {"p50": 67, "p95": 93, "max": 93, "mean": 80.0}
    gap = before["gap"]
    assert gap["max"] == gap["mean"] == 1.4
    assert 1.4 <= gap["p50"] <= 1.414


def test_nothing_seen_is_none() -> None:
    stats = Clusters().stats()
    nothing = {"p50": None, "p95": None, "max": None, "mean": None}
    assert stats["size"] == stats["gap"] == nothing
    assert stats["events_per_hour"] is None
    assert (stats["events"], stats["groups"], stats["tokens"], stats["seconds"]) == (0, 0, 0, 0.0)


def test_a_rule_of_ones_own() -> None:
    clusters = Clusters(min_tokens=10, min_gap=0.2, group_gap=0.001)
    for at in [0, 2, 300]:
        clusters.record(at * MS, 10)
    assert clusters.events == 2
    assert clusters.stats()["groups"] == 3


@pytest.mark.parametrize("seconds", [-1.0, math.nan])
@pytest.mark.parametrize("name", ["min_gap", "group_gap"])
def test_a_rule_that_is_none_is_refused(name: str, seconds: float) -> None:
    with pytest.raises(ConfigError, match=name):
        Clusters(**{name: seconds})  # type: ignore[arg-type]


def test_merging_is_as_seeing_all() -> None:
    whole, merged = Clusters(), Clusters()
    for gap in (900, 1_000, 1_100):
        each = Clusters()
        for clusters in (whole, each):
            clusters.record(0, 50)
            clusters.record(gap * MS, 50)
        whole.end_stream()
        merged.merge(each)
    assert merged.stats() == whole.stats()
    assert merged.events == 4
    merged.merge(merged)
    assert merged.events == 8


def test_a_stream_tells_the_same_tokens_in_both() -> None:
    off = decluster.wrap(stream(), pace="off", segment="off")
    for wrapped in (decluster.wrap(stream()), off):
        list(wrapped)
        stats = wrapped.stats()
        sides = stats["clusters"]
        assert sides["before"]["tokens"] == stats["tokens_in"] > 0
        assert sides["after"]["tokens"] == stats["tokens_out"] == stats["tokens_in"]


def test_a_stream_counts_once_when_it_has_ended() -> None:
    before = scrape()
    wrapped = decluster.wrap(stream())
    list(wrapped)
    wrapped.close()
    stats = wrapped.stats()
    del wrapped
    assert grown(before, "decluster_streams_total", verdict="complete") == 1
    for stage in ("in", "out"):
        assert grown(before, "decluster_tokens_total", stage=stage) == stats[f"tokens_{stage}"]
        assert grown(before, "decluster_text_bytes_total", stage=stage) == stats[f"bytes_{stage}"]
    assert grown(before, "decluster_pieces_total") == stats["pieces"]
    assert grown(before, "decluster_hurried_pieces_total") == stats["hurried"]
    assert grown(before, "decluster_reasoning_tokens_total") == 7
    for stage in ("before", "after"):
        side = stats["clusters"][stage]
        assert grown(before, "decluster_group_tokens_count", stage=stage) == side["groups"]
        assert grown(before, "decluster_group_tokens_sum", stage=stage) == side["tokens"]
        gaps = side["groups"] - 1
        assert grown(before, "decluster_gap_seconds_count", stage=stage) == gaps


def test_streams_without_a_reader_and_async_ones_count() -> None:
    async def source() -> AsyncIterator[bytes]:
        for item in stream():
            yield item

    async def read() -> None:
        async for _ in decluster.pieces(source()):
            pass

    before = scrape()
    list(decluster.blocks(stream(), background=False))
    asyncio.run(read())
    assert grown(before, "decluster_streams_total", verdict="complete") == 2


@pytest.mark.parametrize("background", [True, False])
def test_what_is_closed_early_or_dropped_counts_when_it_is(background: bool) -> None:
    before = scrape()
    closed = decluster.pieces(stream(), background=background)
    next(closed)
    assert streams(before) == 0
    closed.close()
    closed.close()
    assert streams(before) == 1


@pytest.mark.parametrize("background", [True, False])
def test_what_nobody_reads_does_not_count(background: bool) -> None:
    before = scrape()
    httpx_hooks.hooks(background=background)
    decluster.wrap(stream(), background=background).close()
    assert scrape() == before


@pytest.mark.parametrize("over_budget", ["raise", "event"])
def test_a_budget_that_is_exceeded_counts(over_budget: Any) -> None:
    before = scrape()
    source = [chunk("", reasoning_content=TEXT * 20), b"data: [DONE]\n\n"]
    with suppress(decluster.ReasoningBudgetExceeded):
        list(decluster.pieces(source, max_reasoning_tokens=20, over_budget=over_budget))
    assert grown(before, "decluster_reasoning_budget_exceeded_total") == 1


def test_what_is_collected_does_not_count() -> None:
    before = scrape()
    decluster.collect(stream())
    assert scrape() == before


def test_the_rendering_is_what_prometheus_reads() -> None:
    families = list(text_string_to_metric_families(decluster.metrics()))
    histograms = {"decluster_group_tokens", "decluster_gap_seconds"}
    assert histograms <= {family.name for family in families}
    for family in families:
        assert family.documentation.endswith(".")
        assert family.type == ("histogram" if family.name in histograms else "counter")
        assert family.samples
        for sample in family.samples:
            assert sample.value >= 0  # and no NaN
            if family.type == "counter":
                assert sample.name == f"{family.name}_total"


def check_buckets(samples: dict[Sample, float]) -> None:
    for name in ("decluster_group_tokens", "decluster_gap_seconds"):
        for stage in ("before", "after"):
            found = [
                (float(dict(labels)["le"]), value)
                for (sample, labels), value in samples.items()
                if sample == f"{name}_bucket" and dict(labels)["stage"] == stage
            ]
            counts = [value for _, value in sorted(found)]
            assert counts == sorted(counts)
            assert sorted(found)[-1] == (math.inf, samples[f"{name}_count", (("stage", stage),)])


def test_scrapes_are_consistent_and_never_fall_while_streams_end() -> None:
    def play() -> None:
        for _ in range(30):
            list(decluster.pieces(stream(), background=False, pace="off"))

    threads = [threading.Thread(target=play) for _ in range(4)]
    before = last = scrape()
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        samples = scrape()
        check_buckets(samples)
        assert all(samples[key] >= value for key, value in last.items())
        last = samples
    for thread in threads:
        thread.join()
    assert grown(before, "decluster_streams_total", verdict="complete") == 120
