"""On every recorded stream with usage a ledger's totals are the provider's.

What a provider counted is read from its raw object here, plainly and by dialect, without decluster.
"""

from __future__ import annotations

import warnings
from collections import Counter, defaultdict
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest
from vectors import Capture, captures

import decluster

Raw = dict[str, Any]
# Input, output and reasoning; the output with the reasoning, `None` where it is not counted.
Counts = tuple[int, int, "int | None"]

PRICES = decluster.Prices(
    {"models": {"any": {"prompt": "0.7", "cached": "0.7", "cache_write": "0.7", "output": "1.3"}}}
)


def chat(raw: Raw) -> Counts:
    said, output = raw["prompt_tokens"], raw["completion_tokens"]
    details: Raw = raw.get("completion_tokens_details") or {}
    reasoning = details.get("reasoning_tokens", raw.get("reasoning_tokens"))
    if reasoning and raw["total_tokens"] == said + output + reasoning:
        output += reasoning
    return said, output, reasoning


def responses(raw: Raw) -> Counts:
    reasoning = raw.get("output_tokens_details", {}).get("reasoning_tokens")
    return raw["input_tokens"], raw["output_tokens"], reasoning


def anthropic(raw: Raw) -> Counts:
    cached = (raw.get(f"cache_{how}_input_tokens") or 0 for how in ("read", "creation"))
    reasoning = raw.get("output_tokens_details", {}).get("thinking_tokens")
    return raw["input_tokens"] + sum(cached), raw["output_tokens"], reasoning


def gemini(raw: Raw) -> Counts:
    thoughts = raw.get("thoughtsTokenCount")
    return raw["promptTokenCount"], raw.get("candidatesTokenCount", 0) + (thoughts or 0), thoughts


def interactions(raw: Raw) -> Counts:
    thoughts = raw["total_thought_tokens"]
    return raw["total_input_tokens"], raw["total_output_tokens"] + thoughts, thoughts


def cohere(raw: Raw) -> Counts:
    tokens: Raw = raw["tokens"]
    return tokens["input_tokens"], tokens["output_tokens"], tokens.get("reasoning_tokens")


PLAIN: dict[str, Callable[[Raw], Counts]] = {
    "anthropic": anthropic,
    "bedrock-converse": lambda raw: (raw["inputTokens"], raw["outputTokens"], None),
    "cohere": cohere,
    "gemini": gemini,
    "gemini-interactions": interactions,
    "mistral": chat,
    "ollama": lambda raw: (raw["prompt_eval_count"], raw["eval_count"], None),
    "openai-chat": chat,
    "openai-responses": responses,
}
# Counts that contradict their own total. Here 61 tokens of reasoning are in neither the output (9)
# nor the total (37, with 28 of input): they are output, too.
IN_NO_SUM = "openai-chat/gateway-vercel-gemini3"
# And here are 11 of reasoning in 10 of output.
ABOVE_OUTPUT = "openai-chat/openrouter-error"


def plain(capture: Capture) -> Counts | None:
    raw = capture.expect["usage"]
    if not raw:
        return None
    given, output, reasoning = PLAIN[capture.name.split("/")[0]](raw)
    if capture.name == IN_NO_SUM:
        output += reasoning or 0
    if reasoning == 0 and capture.expect["reasoning"]["chars"]:
        # Text came, so this is no count.
        reasoning = None
    return given, output, reasoning


def told(capture: Capture) -> int | None:
    """What the provider said that it cost, in 10^-12 dollars."""
    raw: Raw = capture.expect["usage"] or {}
    cost = raw.get("cost", raw.get("estimated_cost"))
    if isinstance(cost, dict):
        cost = cost["total_cost"]
    if cost is None and "cost_in_usd_ticks" in raw:
        return int(raw["cost_in_usd_ticks"]) * 100
    return None if cost is None else round(Decimal(str(cost)) * 10**12)


def through_collect(capture: Capture, account: decluster.Account) -> None:
    decluster.collect((chunk for _, chunk in capture.chunks()), ledger=account)


def through_wrap(capture: Capture, account: decluster.Account) -> None:
    chunks = (chunk for _, chunk in capture.chunks())
    for _ in decluster.wrap(chunks, pace="off", background=False, ledger=account):
        pass


def through_pieces_of_lines(capture: Capture, account: decluster.Account) -> None:
    for _ in decluster.pieces(capture.data.splitlines(), pace="off", ledger=account):
        pass


@pytest.mark.parametrize("play", [through_collect, through_wrap, through_pieces_of_lines])
def test_the_totals_of_a_ledger_are_the_providers(
    play: Callable[[Capture, decluster.Account], None],
) -> None:
    ledger = decluster.Ledger(PRICES)
    streams: Counter[str] = Counter()
    sums: defaultdict[str, list[Decimal]] = defaultdict(lambda: [Decimal()] * 4)
    for capture in captures():
        dialect = capture.name.split("/")[0]
        counts = plain(capture)
        part = decluster.Ledger(PRICES)
        with warnings.catch_warnings():
            # Some are no streams, some report an error, and one is of a dialect that is not read.
            warnings.simplefilter("ignore", RuntimeWarning)
            play(capture, part.account(model="any", key=dialect))
        if dialect == "gemini-interactions":
            assert part.total.unreported == 1
            part = decluster.Ledger(PRICES)
            body = {"usage": capture.expect["usage"]}
            part.add(decluster.usage(body), model="any", key=dialect)
        ledger.merge(part)
        total, streams[dialect] = part.total, streams[dialect] + 1
        assert (total.streams, total.unreported) == (1, int(counts is None)), capture.name
        if counts is None:
            continue
        found = total.tokens
        assert (found.input, found.output, found.reasoning) == counts, capture.name
        assert found.cost_picodollars == told(capture), capture.name
        cost = (counts[0] * Decimal("0.7") + counts[1] * Decimal("1.3")) / 1_000_000
        assert total.cost is not None
        assert total.cost.total == cost, capture.name
        added = (counts[0], counts[1], counts[2] or 0, cost)
        for key in (dialect, "all"):
            sums[key] = [a + b for a, b in zip(sums[key], added, strict=True)]
    assert sum(streams.values()) >= 219
    entries = {entry.key or "": entry for entry in ledger.by_key()} | {"all": ledger.total}
    assert entries.keys() == sums.keys()
    for key, entry in entries.items():
        assert entry.cost is not None
        tokens = entry.tokens
        found_sums = [tokens.input, tokens.output, tokens.reasoning or 0, entry.cost.total]
        assert found_sums == sums[key], key
        assert entry.streams == (streams[key] or sum(streams.values()))


def test_two_recorded_totals_contradict_themselves() -> None:
    odd: set[str] = set()
    for capture in captures():
        raw: Raw = capture.expect["usage"] or {}
        counts = plain(capture)
        total = next((raw[name] for name in TOTALS if name in raw), None)
        if counts is None or total is None:
            continue
        given, output, reasoning = counts
        if total != given + output or (reasoning or 0) > output:
            odd.add(capture.name)
    assert odd == {IN_NO_SUM, ABOVE_OUTPUT}


TOTALS = ("total_tokens", "totalTokenCount", "totalTokens")
