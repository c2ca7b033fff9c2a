"""Prices and ledgers: what is added by hand, and what streams add by themselves."""

from __future__ import annotations

import asyncio
import dataclasses
import datetime
import gc
import itertools
import json
import threading
import warnings
from collections.abc import AsyncIterator, Callable, Iterator
from decimal import Decimal
from pathlib import Path
from types import MappingProxyType
from typing import Any

import httpx
import pytest
from readers import no_reader_left, run, soon, until

import decluster
from decluster import Cost, Ledger, LedgerEntry, Prices, Tokens, UnknownModel, httpx_hooks

TOML = """
as_of = 2026-11-30
[models."m-1"]
prompt = 2
cached = 0.5
reasoning = 6
output = 4.00
aliases = ["provider/m-1"]
"""
TABLE: dict[str, Any] = {
    "as_of": "2026-11-30",
    "models": {
        "m-1": {
            "prompt": 2,
            "cached": 0.5,
            "reasoning": 6,
            "output": "4.00",
            "aliases": ["provider/m-1"],
        }
    },
}
PRICE = decluster.Price(
    prompt=Decimal(2),
    cached=Decimal("0.5"),
    cache_write=Decimal(2),
    reasoning=Decimal(6),
    output=Decimal(4),
    aliases=("provider/m-1",),
    as_of="2026-11-30",
    source=None,
)
PRICES = Prices(TOML)
# 100 x 2 of input, 10 x 6 of reasoning and 20 x 4 of the rest of 30: 340 by the million.
USAGE = (
    '{"prompt_tokens":100,"completion_tokens":30,"total_tokens":130,'
    '"completion_tokens_details":{"reasoning_tokens":10}}'
)
TOTAL = Decimal("0.00034")


def lines(model: str = "m-1") -> list[str]:
    return [
        f'data: {{"model":"{model}","choices":[{{"index":0,"delta":{{"content":"One two. "}}}}]}}',
        "",
        'data: {"choices":[{"index":0,"delta":{"content":"Three four."},"finish_reason":"stop"}]}',
        "",
        f'data: {{"choices":[],"usage":{USAGE}}}',
        "",
        "data: [DONE]",
        "",
    ]


LINES = lines()


def counts(entry: LedgerEntry) -> tuple[int, int, int]:
    return entry.streams, entry.unreported, entry.unpriced


def priced() -> Ledger:
    return Ledger(PRICES)


@pytest.mark.parametrize(
    "table",
    [
        TOML,
        json.dumps(TABLE),
        TABLE,
        MappingProxyType({**TABLE, "models": MappingProxyType(TABLE["models"])}),
        {"as_of": datetime.date(2026, 11, 30), "models": {"m-1": dataclasses.asdict(PRICE)}},
    ],
)
def test_a_table_of_every_kind_says_the_same(table: Any) -> None:
    if not isinstance(table, str):
        figures = {k: v for k, v in table["models"]["m-1"].items() if v is not None}
        table = MappingProxyType({**table, "models": {"m-1": figures}})
    prices = Prices(table)
    assert (prices.currency, prices.models) == ("USD", ("m-1",))
    assert prices.price("m-1") == prices.price("provider/m-1") == PRICE


def test_a_table_is_loaded_from_a_file(tmp_path: Path) -> None:
    file = tmp_path / "prices.toml"
    file.write_text(TOML)
    assert Prices.load(file).price("m-1") == Prices.load(str(file)).price("m-1") == PRICE
    file.write_bytes(b"\xff")
    with pytest.raises(decluster.ConfigError, match=r"prices\.toml: .*utf-8"):
        Prices.load(file)
    file.write_text("[models.m]\nprompt = -1")
    with pytest.raises(
        decluster.ConfigError, match=r'prices\.toml: line 2: model "m", prompt is b'
    ):
        Prices.load(file)
    with pytest.raises(FileNotFoundError):
        Prices.load(tmp_path / "none")


def test_what_is_no_table_is_refused_with_the_reason() -> None:
    with pytest.raises(decluster.ConfigError, match=r"^line 1: this is not TOML"):
        Prices("prices.toml")
    # A line of a text that nobody wrote says nothing.
    with pytest.raises(decluster.ConfigError, match=r'^model "m" has no output$'):
        Prices({"models": {"m": {"prompt": 1}}})
    with pytest.raises(
        decluster.ConfigError, match=r'^model "m", prompt is no decimal number: "x"'
    ):
        Prices({"models": {"m": {"prompt": "x", "output": 1}}})
    with pytest.raises(TypeError, match=r"not PosixPath; Prices\.load\(path\) reads a file"):
        Prices(Path("prices.toml"))  # type: ignore[arg-type]


def test_floats_are_taken_as_they_are_written() -> None:
    # The nearest double to 0.1 is not 0.1, and three of them are not 0.3.
    prices = Prices({"models": {"m": {"prompt": 0.1, "output": Decimal("0.2")}}})
    ledger = Ledger(prices, currency="EUR", rate=0.9)
    for _ in range(3):
        ledger.add(Tokens(input=1_000_000, output=0), model="m")
    assert ledger.total.cost is not None
    assert ledger.total.cost.total == Decimal("0.27")


def test_an_unknown_model_is_a_lookup_error_that_can_be_read() -> None:
    for ask in (PRICES.price, lambda model: priced().add(None, model=model)):
        with pytest.raises(UnknownModel) as caught:
            ask("M-12")
        error = caught.value
        assert isinstance(error, LookupError)
        assert isinstance(error, decluster.CallerError)
        assert (
            str(error) == 'no price for the model "M-12"; did you mean "m-1"?; the table has: "m-1"'
        )
        assert (error.model, error.known, error.nearest) == ("M-12", ["m-1"], "m-1")
    with pytest.raises(UnknownModel, match="no model was named") as caught:
        priced().add(Tokens(input=1))
    assert caught.value.model is None


def finished() -> decluster.Stream[str]:
    stream = decluster.wrap(LINES)
    assert len(list(stream)) >= 8
    return stream


@pytest.mark.parametrize(
    "what",
    [
        finished(),
        decluster.collect(LINES),
        decluster.usage(f'{{"model":"m-1","choices":[],"usage":{USAGE}}}'),
    ],
    ids=lambda what: type(what).__name__,
)
def test_what_was_read_is_added_under_its_own_model(what: Any) -> None:
    assert what.model == "m-1"
    ledger = priced()
    cost = ledger.add(what, key="k")
    assert cost == Cost(
        prompt=Decimal("0.0002"),
        cached=Decimal(0),
        cache_write=Decimal(0),
        reasoning=Decimal("0.00006"),
        output=Decimal("0.00008"),
        total=TOTAL,
        currency="USD",
    )
    tokens = Tokens(input=100, output=30, reasoning=10, visible=20)
    entry = LedgerEntry("m-1", "k", 1, 0, 0, tokens, 0, cost)
    assert ledger.rows() == [entry]
    assert ledger.by_model() == [dataclasses.replace(entry, key=None)]
    assert ledger.by_key() == [dataclasses.replace(entry, model=None)]
    assert ledger.total == dataclasses.replace(entry, key=None, model=None)


def test_the_model_that_is_given_counts() -> None:
    ledger = Ledger()
    ledger.add(decluster.collect(LINES), model="mine")
    assert [entry.model for entry in ledger.rows()] == ["mine"]


def test_tokens_need_a_model_only_for_their_price() -> None:
    ledger = Ledger()
    assert ledger.add(Tokens(input=1)) is None
    assert ledger.add(None) is None
    assert (counts(ledger.total), ledger.total.cost) == ((2, 1, 0), None)


def test_a_response_without_usage_is_unreported() -> None:
    ledger = priced()
    assert ledger.add(decluster.usage(b'{"error": {"code": 429}}'), model="m-1") is None
    assert counts(ledger.total) == (1, 1, 0)


@pytest.mark.parametrize("what", [{"prompt_tokens": 1}, "m-1", 7, object()])
def test_what_has_no_tokens_is_a_type_error(what: object) -> None:
    with pytest.raises(
        TypeError, match=r"an Answer, a Usage or Tokens, not .*; usage\(\) reads re"
    ):
        Ledger().add(what)


def test_a_second_currency_needs_its_rate_and_prices() -> None:
    ledger = Ledger(PRICES, currency="CNY", rate="7.1")
    # 0.00034 x 7.1
    cost = ledger.add(decluster.collect(LINES))
    assert cost is not None
    assert (cost.total, cost.currency) == (Decimal("0.002414"), "CNY")
    assert ledger.currency == "CNY"
    for half in ({"currency": "CNY"}, {"rate": 7}):
        with pytest.raises(TypeError, match="currency and rate go together"):
            Ledger(PRICES, **half)  # type: ignore[arg-type]
    with pytest.raises(decluster.ConfigError, match="the rate is 0"):
        Ledger(PRICES, currency="CNY", rate=0)
    with pytest.raises(decluster.ConfigError, match="a ledger without prices has no currency"):
        Ledger(currency="CNY", rate=7)
    with pytest.raises(TypeError, match=r"prices is a dict: give decluster\.Prices"):
        Ledger(TABLE)  # type: ignore[arg-type]


def test_a_cost_is_rounded_for_display_and_not_before() -> None:
    cost = priced().add(Tokens(input=12_500, output=0), model="m-1")
    assert cost is not None
    assert (cost.total, str(cost.rounded().total)) == (Decimal("0.025"), "0.02")
    assert str(cost.rounded(4).prompt) == "0.0250"
    most = 2**64 - 1
    much = priced().add(Tokens(input=most, output=most), model="m-1")
    assert much is not None
    # 2^64 - 1 times 6, by the million.
    assert (much.total, str(much.rounded().total)) == (Decimal(most) * 6 / 10**6, f"{TOO_LONG}")


TOO_LONG = "110680464442257.31"


@pytest.mark.parametrize("background", [True, False])
def test_a_stream_is_added_once_and_when_it_is_over(background: bool) -> None:
    ledger = priced()
    stream = decluster.wrap(LINES, background=background)
    next(stream)
    with pytest.raises(decluster.CallerError, match="this stream is not over"):
        ledger.add(stream)
    for _ in stream:
        pass
    with pytest.raises(UnknownModel):
        ledger.add(stream, model="other")
    ledger.add(stream)
    with pytest.raises(decluster.CallerError, match="this stream is in this ledger already"):
        ledger.add(stream)
    Ledger().add(stream)
    entered = decluster.wrap(LINES, background=background, ledger=ledger)
    assert len(list(entered)) >= 8
    with pytest.raises(decluster.CallerError, match="this stream is in this ledger already"):
        ledger.add(entered)
    assert ledger.total.streams == 2


@pytest.mark.parametrize(
    ("tokens", "error", "says"),
    [
        (
            Tokens(input=-1),
            decluster.ConfigError,
            r"^input is -1: give a number from 0 to 2\^64 - 1",
        ),
        (Tokens(output=1 << 64), decluster.ConfigError, "^output is 18446744073709551616: "),
        (Tokens(input=1 << 99_999), decluster.ConfigError, "^input is too large: "),
        (Tokens(input="1"), TypeError, "^input is a str: give an int or None"),  # type: ignore[arg-type]
    ],
)
def test_a_count_out_of_bounds_is_named(tokens: Tokens, error: Any, says: str) -> None:
    ledger = Ledger()
    with pytest.raises(error, match=says):
        ledger.add(tokens)
    assert ledger.total.streams == 0


def test_what_is_given_in_place_of_something_else_is_told() -> None:
    with pytest.raises(TypeError, match="a Ledger merges with a Ledger, not int"):
        Ledger().merge(5)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="path is a int: give the name of a file"):
        Prices.load(5)  # type: ignore[arg-type]
    cost = priced().add(Tokens(input=1), model="m-1")
    assert cost is not None
    with pytest.raises(TypeError, match="decimals is a str: give an int"):
        cost.rounded("2")  # type: ignore[arg-type]
    for decimals in (-1, 29, 10**9):
        with pytest.raises(ValueError, match="decimals is out of its bounds: 0 to 28"):
            cost.rounded(decimals)


ITSELF: dict[str, Any] = {}
ITSELF["itself"] = ITSELF


@pytest.mark.parametrize(
    ("figure", "says"),
    [
        (float("nan"), '^model "m", prompt is nan: give a number'),
        (float("inf"), '^model "m", prompt is inf: give a number'),
        (0.1 + 0.2, r'^model "m", prompt is 0\.30000000000000004, .* give text or a Decimal'),
        (ITSELF, '^model "m", prompt is no number, but a dict'),
    ],
)
def test_a_figure_that_is_none_is_named(figure: Any, says: str) -> None:
    with pytest.raises(decluster.ConfigError, match=says):
        Prices({"models": {"m": {"prompt": figure, "output": 1}}})
    with pytest.raises(decluster.ConfigError, match=r"^this is no price table: Circular"):
        Prices(ITSELF)


def test_hooks_take_a_budget() -> None:
    line = 'data: {"choices":[{"index":0,"delta":{"reasoning_content":"One two three four. "}}]}'

    def handle(_: httpx.Request) -> httpx.Response:
        content = iter([f"{line}\n\n".encode()])
        return httpx.Response(200, headers={"content-type": "text/event-stream"}, content=content)

    hooks = httpx_hooks.hooks(budget=decluster.Budget(0))
    with (
        httpx.Client(transport=httpx.MockTransport(handle), event_hooks=hooks) as client,
        client.stream("GET", "http://test") as response,
        pytest.raises(decluster.ReasoningBudgetExceeded),
    ):
        list(response.iter_lines())


def test_ledgers_merge_also_with_themselves() -> None:
    ledger, other = priced(), Ledger()
    other.add(decluster.collect(LINES), key="k")
    ledger.merge(other)
    ledger.merge(ledger)
    assert ledger.total.cost is not None
    assert (ledger.total.streams, ledger.total.cost.total) == (2, TOTAL * 2)


def test_many_threads_add_exactly() -> None:
    ledger, answer = priced(), decluster.collect(LINES)

    def work(key: str) -> None:
        for _ in range(1_000):
            ledger.add(answer, key=key)

    threads = [threading.Thread(target=work, args=(f"{n % 3}",)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert ledger.total.cost is not None
    assert (ledger.total.streams, ledger.total.cost.total) == (8_000, TOTAL * 8_000)
    assert [entry.streams for entry in ledger.by_key()] == [3_000, 3_000, 2_000]


def test_a_full_ledger_refuses_and_breaks_no_stream() -> None:
    ledger = Ledger()
    for key in range(10_000):
        ledger.add(None, key=str(key))
    with pytest.raises(decluster.Full, match="at most 10000 pairs of model and key"):
        ledger.add(None, key="more")
    with pytest.warns(RuntimeWarning, match="a stream is not in the ledger: a ledger has at most"):
        assert decluster.collect(LINES, ledger=ledger).output == "One two. Three four."


@pytest.mark.parametrize("name", ["key", "model"])
@pytest.mark.parametrize("opens", [Ledger.account, lambda ledger, **of: ledger.add(None, **of)])
def test_a_bad_name_is_refused_where_it_is_given(name: str, opens: Callable[..., Any]) -> None:
    ledger = Ledger()
    with pytest.raises(TypeError, match=f"^{name} is a int: give a str"):
        opens(ledger, **{name: 5})
    with pytest.raises(decluster.ConfigError, match=f"^{name} is no text: surrogates"):
        opens(ledger, **{name: "\ud800"})
    with pytest.raises(decluster.ConfigError, match=f"^{name} has 257 bytes: .* at most 256"):
        opens(ledger, **{name: "é" * 128 + "x"})
    opens(ledger, **{name: "é" * 128})


class Unwilling(Ledger):
    """Takes no stream."""

    def _add(self, *_: Any, **__: Any) -> Any:
        raise TypeError("not today")


@pytest.mark.parametrize(
    "read", [lambda *of, **by: list(decluster.wrap(*of, **by)), decluster.collect]
)
def test_what_a_ledger_raises_at_the_end_hides_no_error_and_closes_the_source(
    read: Callable[..., Any],
) -> None:
    closed: list[None] = []
    with (
        pytest.warns(RuntimeWarning, match="a stream is not in the ledger: not today"),
        pytest.raises(OSError, match="reset"),
    ):
        read(broken(), ledger=Unwilling(), closer=lambda: closed.append(None))
    assert until(lambda: closed == [None])


# Streams that enter a ledger by themselves.


@pytest.mark.parametrize("verb", [decluster.wrap, decluster.pieces, decluster.blocks])
@pytest.mark.parametrize("background", [True, False])
def test_a_stream_is_entered_once_when_it_ends(verb: Callable[..., Any], background: bool) -> None:
    ledger = priced()
    stream = verb(LINES, background=background, ledger=ledger.account(key="k"))
    with stream:
        next(stream)
        assert ledger.total.streams == 0
        for _ in stream:
            pass
        assert ledger.total.streams == 1
    stream.close()
    del stream
    gc.collect()
    assert [(e.model, e.key, counts(e)) for e in ledger.rows()] == [("m-1", "k", (1, 0, 0))]
    assert ledger.total.cost is not None
    assert ledger.total.cost.total == TOTAL


def broken() -> Iterator[str]:
    yield from LINES[:6]
    raise OSError("reset")


@pytest.mark.parametrize("background", [True, False])
def test_a_stream_that_fails_is_entered_with_what_came(background: bool) -> None:
    ledger = priced()
    with pytest.raises(OSError, match="reset"):
        list(decluster.wrap(broken(), background=background, ledger=ledger))
    assert no_reader_left()
    assert counts(ledger.total) == (1, 0, 0)


@pytest.mark.parametrize("background", [True, False])
def test_a_stream_that_is_closed_early_is_entered(background: bool) -> None:
    ledger = priced()
    endless = itertools.chain(LINES[:2], itertools.repeat(": ping"))
    stream = decluster.wrap(endless, background=background, ledger=ledger)
    next(stream)
    stream.close()
    stream.close()
    assert no_reader_left()
    assert [(entry.model, counts(entry)) for entry in ledger.rows()] == [("m-1", (1, 1, 0))]


@pytest.mark.parametrize("read", [0, 1])
def test_a_stream_that_nobody_holds_is_entered(read: int) -> None:
    ledger = priced()
    stream = decluster.wrap(LINES, ledger=ledger)
    for _ in range(read):
        next(stream)
    del stream
    assert until(lambda: gc.collect() >= 0 and ledger.total.streams == 1)


def test_collect_enters_what_it_read_also_where_it_raises() -> None:
    ledger = priced()
    decluster.collect(LINES, ledger=ledger)
    with pytest.raises(OSError, match="reset"):
        decluster.collect(broken(), ledger=ledger)
    with pytest.raises(decluster.ReasoningBudgetExceeded):
        decluster.collect(
            [
                'data: {"choices":[{"index":0,"delta":{"reasoning_content":"A b c d e f g h."}}]}',
                "",
            ],
            max_reasoning_tokens=1,
            ledger=ledger.account(model="m-1"),
        )
    assert counts(ledger.total) == (3, 1, 0)


async def each(items: list[str], then: BaseException | None = None) -> AsyncIterator[str]:
    for item in items:
        yield item
    if then is not None:
        raise then


@pytest.mark.parametrize("background", [True, False])
def test_async_streams_are_entered_however_they_end(background: bool) -> None:
    ledger = priced()

    async def main() -> None:
        def opened(items: AsyncIterator[str]) -> decluster.AsyncStream[Any]:
            return decluster.pieces(items, background=background, ledger=ledger)

        async for _ in opened(each(LINES)):
            assert ledger.total.streams == 0
        assert counts(ledger.total) == (1, 0, 0)
        with pytest.raises(OSError, match="reset"):
            async for _ in opened(each(LINES[:6], OSError("reset"))):
                pass
        assert counts(ledger.total) == (2, 0, 0)
        async with opened(each(LINES[:2] * 100)) as stream:
            await anext(stream)
        await stream.aclose()
        assert counts(ledger.total) == (3, 1, 0)
        # Nobody holds this one, nor has read of it.
        opened(each(LINES)).flush()
        gc.collect()
        assert await soon(lambda: ledger.total.streams == 4)
        task = asyncio.ensure_future(decluster.collect(each(LINES), ledger=ledger))
        assert (await task).model == "m-1"
        assert ledger.total.streams == 5

    run(main())


def test_a_model_without_a_price_breaks_no_stream_and_is_told_once() -> None:
    ledger = priced()
    for model, told in (("other", 1), ("other", 0), ("m-1", 0), ("third", 1)):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            assert len(list(decluster.wrap(lines(model), ledger=ledger))) >= 8
        messages = [str(warning.message) for warning in caught]
        expected = f'a stream is in the ledger without its cost: no price for the model "{model}"; '
        assert [message[: len(expected)] for message in messages] == [expected] * told
    total = ledger.total
    assert (counts(total), total.tokens.input) == ((4, 0, 3), 400)
    assert total.cost is not None
    assert total.cost.total == TOTAL


@pytest.mark.parametrize("background", [True, False])
def test_a_source_is_closed_also_where_warnings_are_errors(background: bool) -> None:
    closed: list[bool] = []

    async def source() -> AsyncIterator[str]:
        try:
            for line in lines("other"):
                yield line
            await asyncio.Event().wait()
        finally:
            closed.append(True)

    async def main() -> None:
        stream = decluster.wrap(source(), background=background, ledger=priced())
        async for _ in stream:
            if stream.usage is not None:
                break
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            with pytest.raises(RuntimeWarning, match='no price for the model "other"'):
                await stream.aclose()
        assert closed == [True]

    run(main())


def test_an_account_names_the_model() -> None:
    ledger = priced()
    decluster.collect(lines("deployment-7"), ledger=ledger.account(model="m-1"))
    assert [entry.model for entry in ledger.rows()] == ["m-1"]


@pytest.mark.parametrize("verb", [decluster.wrap, decluster.pieces, decluster.collect])
def test_what_is_no_ledger_is_refused(verb: Callable[..., Any]) -> None:
    with pytest.raises(TypeError, match=r"ledger is a Prices: give a Ledger or its account\(\)"):
        verb(LINES, ledger=PRICES)


def test_hooks_enter_each_response_and_nothing_else() -> None:
    ledger = priced()

    def handle(_: httpx.Request) -> httpx.Response:
        content = iter(["\n".join(LINES).encode()])
        return httpx.Response(200, headers={"content-type": "text/event-stream"}, content=content)

    hooks = httpx_hooks.hooks(background=False, ledger=ledger)
    assert ledger.total.streams == 0
    with httpx.Client(transport=httpx.MockTransport(handle), event_hooks=hooks) as client:
        for _ in range(2):
            with client.stream("GET", "http://test") as response:
                list(response.iter_lines())
    assert counts(ledger.total) == (2, 0, 0)


def test_nothing_that_was_added_can_be_changed() -> None:
    ledger = priced()
    cost = ledger.add(decluster.collect(LINES))
    for value, name in ((cost, "total"), (ledger.total, "streams"), (ledger.account(), "key")):
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(value, name, None)


def test_a_ledger_says_what_it_is() -> None:
    ledger = priced()
    ledger.add(decluster.collect(LINES))
    assert repr(ledger) == "<decluster.Ledger of 1 streams: 0.00034 USD>"
    assert repr(Ledger()) == "<decluster.Ledger of 0 streams: no prices>"
    assert repr(PRICES) == "<decluster.Prices of 1 models in USD>"
