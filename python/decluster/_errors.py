"""The errors of decluster itself. A source's own errors come through as they are."""


class DeclusterError(Exception):
    """Base of all errors that decluster raises."""


class ConfigError(DeclusterError, ValueError):
    """A parameter or preset that does not exist, or a value out of its bounds."""


class Full(DeclusterError):
    """The engine would exceed `max_queue_bytes`; it is as it was. Poll first."""


class Finished(DeclusterError):
    """The engine was finished; it takes no more input."""


class BodyError(DeclusterError, ValueError):
    """What was given is no finished response of a provider."""


class TooLarge(DeclusterError):
    """An event or delta exceeds `max_event_bytes`. All text before it was delivered."""
