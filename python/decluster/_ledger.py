"""What streams and responses cost: prices, and a ledger that adds up."""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, fields
from decimal import Context, Decimal
from math import isfinite
from typing import Any, cast

from ._core import Book, PriceTable
from ._errors import ConfigError, UnknownModel
from ._usage import Tokens


@dataclass(frozen=True)
class Price:
    """What a model costs, in units of the table's currency per million tokens."""

    prompt: Decimal
    """Of input that was neither read from a cache nor written to one."""
    cached: Decimal
    """Of input that was read from a cache."""
    cache_write: Decimal
    """Of input that was written to a cache."""
    reasoning: Decimal
    """Of reasoning."""
    output: Decimal
    """Of output that is no reasoning, or of which it is not known."""
    aliases: tuple[str, ...]
    """Other names of the model."""
    as_of: str | None
    """From when the prices are, as the table says it."""
    source: str | None
    """Where they are from, as the table says it."""


@dataclass(frozen=True)
class Cost:
    """What an answer cost, or several did, part by part. No token is in two parts.

    All numbers are exact, unless one would have more than 28 digits.
    """

    prompt: Decimal
    """Of the input that was neither read from a cache nor written to one."""
    cached: Decimal
    """Of the input that was read from a cache."""
    cache_write: Decimal
    """Of the input that was written to a cache."""
    reasoning: Decimal
    """Of the reasoning. 0 where the provider does not count it: then it is in `output`."""
    output: Decimal
    """Of the output without reasoning."""
    total: Decimal
    """Of all of these."""
    currency: str
    """What they are in."""

    def rounded(self, decimals: int = 2) -> Cost:
        """For display: each number rounded, to the even digit where it lies half-way.

        `decimals` is 0 to 28. The total is rounded from the exact one, so the parts may add up to a
        little more or less.
        """
        if not isinstance(cast("object", decimals), int):
            raise TypeError(f"decimals is a {type(decimals).__name__}: give an int")
        if not 0 <= decimals <= MOST_DECIMALS:
            raise ValueError(f"decimals is out of its bounds: 0 to {MOST_DECIMALS}")
        last, enough = Decimal((0, (1,), -decimals)), Context(prec=100)
        numbers = {name: getattr(self, name).quantize(last, context=enough) for name in COSTS}
        return Cost(**numbers, currency=self.currency)


@dataclass(frozen=True)
class LedgerEntry:
    """Answers added up: those of a model and a key, of one of the two, or all."""

    model: str | None
    """By its name in the price table where that has it; `None` without one, and for several."""
    key: str | None
    """`None` if none was given, and for several."""
    streams: int
    """All answers."""
    unreported: int
    """Of these, those without usage: nothing is known of what they cost.

    Anthropic's streams begin with a usage: one that broke off is none of these, and has all of its
    input but only the first count of its output (mostly 1).
    """
    unpriced: int
    """Of these, those with usage whose model has no price; none without a price table."""
    tokens: Tokens
    """The sums of the counts; `None` where no answer had the count."""
    costs_told: int
    """Of how many the provider said what they cost: `tokens.cost_picodollars` is the sum."""
    cost: Cost | None
    """By the price table, without `unreported` and `unpriced`. `None` without a price table."""


class Prices:
    """Prices by model, from a table that you give: JSON or TOML text, or a mapping like it.

        currency = "USD"      # the default
        as_of = "2026-11-30"  # for models without their own; so has `source`

        [models."gpt-4.1"]    # in quotes, for the dot
        prompt = 3            # per million tokens of input
        cached = 0.75         # of input read from a cache; else as `prompt`
        cache_write = 3       # of input written to a cache; else as `prompt`
        reasoning = 8         # of reasoning; else as `output`
        output = 8            # of output
        aliases = ["openai/gpt-4.1"]

    Numbers are taken as they are written, digit by digit; they may be strings. A price is from 0 to
    1,000,000 with at most 9 decimals. A table has at most 1 MiB of text and 10,000 names.

    Raises `ConfigError` for what is no such table, with the line.

    >>> prices = Prices({"models": {"mine": {"prompt": 0.25, "output": "1.50"}}})
    >>> prices.price("mine").reasoning
    Decimal('1.50')
    """

    def __init__(self, table: str | Mapping[str, Any]) -> None:
        if isinstance(table, str):
            self._table = PriceTable(table)
        elif isinstance(cast("object", table), Mapping):
            self._table = PriceTable(_json_of(table), is_made=True)
        else:
            raise TypeError(
                f"prices are JSON or TOML text, or a mapping, not {type(table).__name__}; "
                "Prices.load(path) reads a file"
            )

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Prices:
        """Reads a file, in JSON or TOML, UTF-8.

        Raises `ConfigError` with its name, and `OSError` if it cannot be read.
        """
        if not isinstance(cast("object", path), (str, os.PathLike)):
            # A number would be taken for a descriptor.
            raise TypeError(f"path is a {type(path).__name__}: give the name of a file")
        try:
            with open(path, encoding="utf-8") as file:
                return cls(file.read())
        except ValueError as error:
            raise ConfigError(f"{os.fspath(path)}: {error}") from None

    @classmethod
    def examples(cls) -> Prices:
        """The five models of the published incident report, with its figures of 2026-11-30.

        They are to try things with, and no provider's price list.

        >>> Prices.examples().price("gpt-4.1").output
        Decimal('8')
        """
        made = cls.__new__(cls)
        made._table = PriceTable()
        return made

    @property
    def currency(self) -> str:
        """What the prices are in."""
        return self._table.currency()

    @property
    def models(self) -> tuple[str, ...]:
        """The names of the models, without aliases, in order."""
        return tuple(self._table.models())

    def price(self, model: str) -> Price:
        """The price of a model, by its exact name or by an alias. Raises `UnknownModel`."""
        found = self._table.price(model)
        found["aliases"] = tuple(found["aliases"])
        return Price(**_decimals(found, FIGURES))

    def __repr__(self) -> str:
        return f"<decluster.Prices of {len(self.models)} models in {self.currency}>"


class Ledger:
    """Adds up what answers cost, by model and by key: a customer, a job, whatever you name.

    The verbs do it by themselves: `wrap(source, ledger=ledger)`. Finished responses are added with
    `add(usage(body))`. Without `prices` tokens are counted and no cost. Costs are in the currency
    of the prices, or in `currency`, of which `rate` makes one of theirs (above 0, at most 12
    decimals). At most 10,000 pairs of model and key, each of at most 256 bytes. Any thread may use
    it.

    >>> ledger = Ledger(Prices.examples(), currency="CNY", rate="7.1")
    >>> cost = ledger.add(Tokens(input=1000, output=500), model="gpt-4.1", key="search")
    >>> cost.total, cost.currency  # (1000 x 3 + 500 x 8) by the million are 0.007 dollars
    (Decimal('0.0497'), 'CNY')
    >>> ledger.total.streams, ledger.by_key()[0].key
    (1, 'search')
    """

    def __init__(
        self,
        prices: Prices | None = None,
        *,
        currency: str | None = None,
        rate: Decimal | float | str | None = None,
    ) -> None:
        if prices is not None and not isinstance(cast("object", prices), Prices):
            raise TypeError(f"prices is a {type(prices).__name__}: give decluster.Prices(...)")
        if (currency is None) != (rate is None):
            raise TypeError("currency and rate go together: how many of it are one of the prices'")
        table = None if prices is None else prices._table
        self._book = Book(table, currency, None if rate is None else str(rate))
        # Models of which it was said that they have no price.
        self._missed: set[str | None] = set()

    @property
    def currency(self) -> str | None:
        """What costs are in; `None` without prices."""
        return self._book.currency()

    def add(self, what: Any, *, model: str | None = None, key: str | None = None) -> Cost | None:
        """Adds a stream that is over, an `Answer`, a `Usage` or `Tokens`, and says what it cost.

        `model` is as the answer names it, unless given. `None` is an answer without usage. The cost
        is `None` without prices, and for an answer without usage.

        Raises `UnknownModel` if the model has no price, `Full`, `ConfigError` for a name that is
        too long or a count out of its bounds, and `CallerError` for a stream that is not over, or
        is in this ledger already (also by `ledger=`); then nothing was added.
        """
        _check_name("model", model)
        _check_name("key", key)
        tokens: Any = what
        if what is not None and not isinstance(what, Tokens):
            tokens = getattr(what, "tokens", self)
            if tokens is not None and not isinstance(tokens, Tokens):
                raise TypeError(
                    "a ledger adds a stream, an Answer, a Usage or Tokens, not "
                    f"{type(what).__name__}; usage() reads responses"
                )
        stream: Any = what if hasattr(cast("object", type(what)), "_check_for") else None
        if stream is not None:
            stream._check_for(self)
        cost = self._add(tokens, model or getattr(what, "model", None), key, keep=False)
        if stream is not None:
            stream._ledgers.append(self)
        return cost

    def account(self, *, model: str | None = None, key: str | None = None) -> Account:
        """For the `ledger` of the verbs: streams under this key, and under this model if given.

        Raises `ConfigError` for a name that is too long.
        """
        return Account(self, model, key)

    @property
    def total(self) -> LedgerEntry:
        """All answers together."""
        return self._entries("total")[0]

    def by_model(self) -> list[LedgerEntry]:
        """The answers of each model, in the order of their names."""
        return self._entries("model")

    def by_key(self) -> list[LedgerEntry]:
        """The answers of each key, in their order."""
        return self._entries("key")

    def rows(self) -> list[LedgerEntry]:
        """The answers of each pair of model and key, in the order of the models."""
        return self._entries("row")

    def merge(self, other: Ledger) -> None:
        """Adds all that another ledger holds. It is priced here, in this one's currency.

        Raises `Full`; then nothing was added.
        """
        if not isinstance(cast("object", other), Ledger):
            raise TypeError(f"a Ledger merges with a Ledger, not {type(other).__name__}")
        self._book.merge(other._book)

    def __repr__(self) -> str:
        total = self.total
        cost = "no prices" if total.cost is None else f"{total.cost.total} {total.cost.currency}"
        return f"<decluster.Ledger of {total.streams} streams: {cost}>"

    def _add(
        self, tokens: Tokens | None, model: str | None, key: str | None, *, keep: bool
    ) -> Cost | None:
        try:
            return _cost(self._book.add(tokens, model, key, keep))
        except (OverflowError, TypeError):
            _check_counts(tokens)
            raise

    def _entries(self, of: Any) -> list[LedgerEntry]:
        entries = self._book.entries(of)
        for entry in entries:
            entry["tokens"] = Tokens(**entry["tokens"])
            entry["cost"] = _cost(entry["cost"])
        return [LedgerEntry(**entry) for entry in entries]


@dataclass(frozen=True)
class Account:
    """Where the verbs enter a stream once it is over: `ledger.account(key=...)`.

    A model without a price breaks no stream: it is counted as `unpriced`, and a `RuntimeWarning`
    says so once.
    """

    ledger: Ledger
    """What it is part of."""
    model: str | None = None
    """The model; else as the stream names it."""
    key: str | None = None
    """What its streams are told apart by."""

    def __post_init__(self) -> None:
        # At the end of a stream it would be too late to say so.
        _check_name("model", self.model)
        _check_name("key", self.key)

    def enter(self, tokens: Tokens | None, model: str | None) -> None:
        """Adds a stream that is over. What is wrong is a warning: it must hide no other error."""
        model, missed, said = self.model or model, self.ledger._missed, None
        try:
            try:
                self.ledger._add(tokens, model, self.key, keep=model in missed)
            except UnknownModel as error:
                self.ledger._add(tokens, model, self.key, keep=True)
                if tokens is not None and model not in missed:
                    missed.add(model)
                    said = f"a stream is in the ledger without its cost: {error}"
        except Exception as error:
            said = f"a stream is not in the ledger: {error}"
        if said is not None:
            _warn(said)


def account_of(ledger: Any) -> Account | None:
    """What a verb was given as its `ledger`."""
    if ledger is None or isinstance(ledger, Account):
        return ledger
    if isinstance(ledger, Ledger):
        return Account(ledger)
    raise TypeError(f"ledger is a {type(ledger).__name__}: give a Ledger or its account()")


def _check_name(what: str, name: Any) -> None:
    if name is None:
        return
    if not isinstance(name, str):
        raise TypeError(f"{what} is a {type(name).__name__}: give a str")
    try:
        size = len(name.encode())
    except UnicodeEncodeError as error:
        raise ConfigError(f"{what} is no text: {error.reason}") from None
    if size > NAME_BYTES:
        raise ConfigError(f"{what} has {size} bytes: a ledger's names have at most {NAME_BYTES}")


def _check_counts(tokens: Tokens | None) -> None:
    """Says which count no ledger takes."""
    for field in fields(Tokens):
        count: Any = getattr(tokens, field.name, None)
        if count is not None and not isinstance(count, int):
            raise TypeError(f"{field.name} is a {type(count).__name__}: give an int or None")
        if count is not None and not 0 <= count < 1 << 64:
            raise ConfigError(f"{field.name} is {_short(count)}: give a number from 0 to 2^64 - 1")


def _short(number: int) -> str:
    return str(number) if abs(number) < 1 << 128 else "too large"


def _cost(found: dict[str, Any] | None) -> Cost | None:
    if found is None:
        return None
    return Cost(**_decimals(found, COSTS))


def _decimals(found: dict[str, Any], names: tuple[str, ...]) -> dict[str, Any]:
    return {name: Decimal(value) if name in names else value for name, value in found.items()}


def _json_of(table: Mapping[str, Any]) -> str:
    _check_figures(table)
    try:
        return json.dumps(table, default=_plain)
    except (RecursionError, ValueError) as error:
        said = "it nests too deeply" if isinstance(error, RecursionError) else error
        raise ConfigError(f"this is no price table: {said}") from None


def _check_figures(table: Mapping[str, Any]) -> None:
    """Finds what as JSON would be a syntax error, or a number that nobody wrote."""
    for model, price in _members(table.get("models")):
        for member, figure in _members(price):
            at = f'model "{model}", {member}'
            if type(figure) in (dict, list) and member != "aliases":
                raise ConfigError(f"{at} is no number, but a {type(figure).__name__}")
            if not isinstance(figure, float):
                continue
            if not isfinite(figure):
                raise ConfigError(f"{at} is {figure}: give a number")
            exponent = Decimal(repr(figure)).as_tuple().exponent
            if isinstance(exponent, int) and exponent < -9:
                raise ConfigError(
                    f"{at} is {figure!r}, with more than 9 decimals: a float is seldom what was "
                    "written, give text or a Decimal"
                )


def _members(of: Any) -> list[tuple[Any, Any]]:
    return list(cast("dict[Any, Any]", of).items()) if isinstance(of, Mapping) else []


def _plain(value: Any) -> Any:
    """What JSON does not know: decimals and dates are texts."""
    return dict(cast("dict[Any, Any]", value)) if isinstance(value, Mapping) else str(value)


def _warn(message: str) -> None:
    warnings.warn(message, RuntimeWarning, stacklevel=3)


NAME_BYTES = 256
MOST_DECIMALS = 28
FIGURES = ("prompt", "cached", "cache_write", "reasoning", "output")
COSTS = (*FIGURES, "total")
