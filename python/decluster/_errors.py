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
    """A parameter, preset or dialect that does not exist, or a value out of its bounds."""


class Misuse(CallerError, RuntimeError):
    """A stream was used as it cannot be, from where it cannot be. The stream goes on."""


class Full(CallerError):
    """The engine would exceed `max_queue_bytes`; it is as it was. Poll first."""


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
