"""The errors of decluster itself, by whose fault they are.

A source's own errors come through as they are.
"""


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


class ReasoningBudgetExceeded(DeclusterError, RuntimeError):
    """More reasoning came than `max_reasoning_tokens` allows. What is within it was delivered."""

    used: int
    """Tokens that were delivered, as estimated: at most one piece above the limit."""
    limit: int
