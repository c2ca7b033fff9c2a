"""What sync and async streams have in common: what is known of them, and what they pass on."""

from __future__ import annotations

import json
import warnings
from typing import TYPE_CHECKING, Any, NoReturn, get_args

from ._core import Known
from ._types import Dialect, Verdict
from ._usage import Tokens, tokens_of


class Told:
    """What is known of a stream, at any time and from any thread."""

    def __init__(self, known: Known, otherwise: str) -> None:
        self._known = known
        self._otherwise = otherwise
        self._unsure = True

    def __reduce__(self) -> NoReturn:
        # A copy would share the engine, and end it when it is dropped.
        raise TypeError(f"a {type(self).__name__} cannot be copied or pickled")

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            """What a wrapped SDK stream has besides its items, such as `response`."""

    def stats(self) -> dict[str, Any]:
        """Counters so far: what came in, what went out, delays in seconds, rate in tokens/s."""
        return self._known.stats()

    @property
    def dialect(self) -> Dialect | None:
        """The dialect, once an event told it; `None` before, and for a stream that is not known."""
        return self._known.dialect()

    @property
    def usage(self) -> dict[str, Any] | None:
        """The provider's own usage object, once it was sent."""
        usage = self._known.usage()
        return None if usage is None else json.loads(usage)

    @property
    def tokens(self) -> Tokens | None:
        """The usage in one meaning for all providers, once it was sent."""
        return tokens_of(self._known.tokens())

    @property
    def tool_calls(self) -> list[dict[str, Any]]:
        """The tool calls so far, each put together: as in `Answer`."""
        return self._known.tool_calls()

    @property
    def finish(self) -> str | None:
        """The provider's own word for why choice 0 stopped, once it was sent."""
        return self._known.finish()

    @property
    def verdict(self) -> Verdict | None:
        """How the stream ended; `None` before, and where the dialect is not known."""
        return self._known.verdict()

    @property
    def reason(self) -> str | None:
        """Why, where the verdict alone does not tell."""
        return self._known.reason()

    def _warn_of_bypass(self) -> None:
        recognised = self._known.recognised()
        if recognised is None:
            return
        self._unsure = False
        if not recognised:
            warnings.warn(
                "decluster does not recognise this stream"
                + (f" ({reason})" if (reason := self.reason) else "")
                + f": {self._otherwise}. The dialects are {', '.join(get_args(Dialect))}; dialect= "
                "names one.",
                RuntimeWarning,
                stacklevel=3,
            )


class PassesOn:
    """A stream around an SDK's stream: what that has besides its items is to be had as before.

    A class of its own, since looking for attributes costs more in a class that has `__getattr__`.
    """

    _given: Any

    def __getattr__(self, name: str) -> Any:
        given = None if name[:2] == "__" else self.__dict__.get("_given")
        if given is None:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        return getattr(given, name)
