"""The errors of decluster itself, by whose fault they are.

A source's own errors come through as they are.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ._types import CountSource
    from ._verbs import Answer


class DeclusterError(Exception):
    """Base of all errors that decluster raises."""


class CallerError(DeclusterError):
    """The caller asked for what cannot be."""


class ProviderError(DeclusterError):
    """The stream is not what it should be. All text before that was delivered."""


class ConfigError(CallerError, ValueError):
    """A parameter, preset or dialect that does not exist, or a value out of its bounds.

    Also a price table that cannot be read.
    """


class UnknownModel(CallerError, LookupError):
    """The price table has no price for a model; nothing was added to the ledger."""

    model: str | None
    """The name that was asked for; `None` if nobody named a model."""
    known: list[str]
    """The models that there are."""
    nearest: str | None
    """The name among them, or among their aliases, that is most like it."""


class Misuse(CallerError, RuntimeError):
    """A stream was used as it cannot be, from where it cannot be. The stream goes on."""


class Full(CallerError):
    """The engine would exceed `max_queue_bytes`; it is as it was: poll first.

    A ledger would have more than 10,000 pairs of model and key; it is as it was, too.
    """


class Finished(CallerError):
    """The engine was finished; it takes no more input."""


class BodyError(ProviderError, ValueError):
    """What was given is no finished response of a provider."""


class TooLarge(ProviderError):
    """An event or delta exceeds `max_event_bytes`. All text before it was delivered."""


class Stalled(ProviderError, TimeoutError):
    """Nothing but comments and pings came for `max_silence`. All text before that was delivered."""

    silence: float
    """Seconds of it, without those in which no input was wanted or nobody took any."""


class ReasoningBudgetExceeded(DeclusterError, RuntimeError):
    """More reasoning came than `max_reasoning_tokens` or a shared `Budget` allows.

    What is within it was delivered.
    """

    used: int
    """Tokens that were delivered: at most one piece above the limit where text is counted as it
    comes. Of a shared budget, those of all its streams."""
    limit: int
    source: CountSource
    """Who counted: `estimate` are we, from the text; `provider` its count while the stream ran;
    `usage` its final one, when everything had been delivered."""
    shared: bool
    """The limit is that of a `Budget`."""
    answer: Answer | None
    """From `collect`: what had come by then."""

    def __init__(self, *said: object) -> None:
        super().__init__(*said)
        self.answer = None


@dataclass(frozen=True)
class Exceeded:
    """By how much reasoning exceeded its limit: as in `ReasoningBudgetExceeded`."""

    used: int
    limit: int
    source: CountSource
    shared: bool
