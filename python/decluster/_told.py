"""What sync and async streams have in common: what is known of them, and what they pass on."""

from __future__ import annotations

import json
import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn, cast, get_args

from ._core import Known
from ._errors import Exceeded, Misuse
from ._types import Dialect, Framing, Verdict
from ._usage import Tokens, tokens_of

if TYPE_CHECKING:
    from ._ledger import Account, Ledger


@dataclass(frozen=True)
class How:
    """How a stream comes and goes."""

    verb: str
    mode: str
    """What the core gives: see `open_flow`."""
    framing: Framing | None
    dialect: Dialect | None
    otherwise: str
    """What becomes of a stream that is not recognised."""
    shows_errors: bool
    """An error that the provider sends is among the items."""
    account: Account | None = None
    """Where the stream is entered once it is over."""

    @property
    def is_text(self) -> bool:
        return self.framing == "text"


class Told:
    """What is known of a stream, at any time and from any thread."""

    _ended: bool

    def __init__(self, known: Known, how: How) -> None:
        self._known = known
        self._how = how
        self._unsure = not how.is_text
        self._looked = how.is_text
        self._account: Account | None = how.account
        self._ledgers: list[Ledger] = [how.account.ledger] if how.account else []

    def __reduce__(self) -> NoReturn:
        # A copy would share the engine, and end it when it is dropped.
        raise TypeError(f"a {type(self).__name__} cannot be copied or pickled")

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            """What a wrapped SDK stream has besides its items, such as `response`."""

    def stats(self) -> dict[str, Any]:
        """Counters so far: what came in, what went out, delays in seconds, rate in tokens/s.

        - `deltas`, `tokens_in`, `bytes_in`: what came in; `events`, `comments`, `repairs`,
          `malformed`: what the wire was like; `dialect`, and `paced`: whether it is known.
        - `pieces`, `blocks`, `tokens_out`, `bytes_out`: what went out; `cuts`: pieces that ended
          inside a block; `hurried`: pieces that a deadline asked for; `max_delay`.
        - `queued_bytes` and `rate`: as they are at present.
        - `clusters`: how it came (`before`) and how it left (`after`): `events` are groups of
          `cluster_min_tokens` and more beside a silence of `cluster_min_gap`, `events_per_hour` is
          `None` before any time has passed, `groups`, `tokens`, and `seconds` from the first to
          the last; `size` of the groups in tokens and the `gap` between them in seconds, each with
          `p50` and `p95` (at most 1 % too large), `max` and `mean`, or `None` where there is none.

        LLM tokens are estimates, but for those the provider counts without text.
        """
        return self._known.stats()

    @property
    def dialect(self) -> Dialect | None:
        """The dialect, once an event told it; `None` before, and for a stream that is not known."""
        return None if self._how.is_text else self._known.dialect()

    @property
    def model(self) -> str | None:
        """The model as the provider names it, once an event told it."""
        return self._known.model()

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
    def error(self) -> Any:
        """The first error object that the provider sent in the stream."""
        error = self._known.error()
        return None if error is None else json.loads(error)

    @property
    def verdict(self) -> Verdict | None:
        """How the stream ended; `None` before, and where the dialect is not known."""
        return None if self._how.is_text else self._known.verdict()

    @property
    def reason(self) -> str | None:
        """Why, where the verdict alone does not tell."""
        return self._known.reason()

    @property
    def exceeded(self) -> Exceeded | None:
        """By how much the reasoning exceeded its limit, or that of a shared budget, if it did."""
        told = self._known.exceeded()
        return None if told is None else Exceeded(*told)

    def __repr__(self) -> str:
        told = [self.dialect or "no dialect known", self.verdict or "no verdict"]
        return f"<decluster.{type(self).__name__} of {self._how.verb}(): {', '.join(told)}>"

    def _settle(self) -> None:
        """The stream is over, in whatever way: it is entered in its ledger, once."""
        account = self.__dict__.pop("_account", None)
        if account is not None:
            account.enter(self.tokens, self.model)

    def _check_for(self, ledger: Ledger) -> None:
        """It can be added to this ledger. Raises `Misuse`."""
        if not self._ended:
            raise Misuse(
                "this stream is not over: a ledger adds it once it was read to its end, or closed"
            )
        if any(ledger is entered for entered in self._ledgers):
            raise Misuse("this stream is in this ledger already")

    def _warn_of_bypass(self) -> None:
        """While it is not known what this is. Once it is known to be nothing, a warning says so."""
        recognised = self._known.recognised()
        if recognised is not None:
            self._unsure = False
        if recognised is False and self._known.verdict() != "failed":
            dialects = ", ".join(get_args(Dialect))
            self._warn(
                "decluster does not recognise this stream"
                + (f" ({reason})" if (reason := self.reason) else "")
                + f": {self._how.otherwise}. The dialects are {dialects}; dialect= names one, and "
                'framing="text" is for bare texts'
            )

    def _look_at_end(self) -> None:
        """At the end a warning tells of a failure that the items did not show."""
        if self._looked or self._known.verdict() != "failed":
            return
        self._looked = True
        reason, error = self.reason, self.error
        told = cast("dict[str, Any]", error).get("message") if isinstance(error, dict) else error
        if reason is not None and self._known.stats()["deltas"] == 0:
            says = f". It says: {told}" if told else next((h for w, h in HINTS if w in reason), "")
            self._warn(f"this is no stream: {reason}{says}")
        elif error is not None and not self._how.shows_errors:
            self._warn(f"the provider reported an error: {told or error} (.error has all of it)")

    def _warn(self, message: str) -> None:
        warnings.warn(message, RuntimeWarning, stacklevel=4)


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


HINTS = (
    ("is JSON", "; was it asked for with stream=True?"),
    ("is text", '; framing="text" is for bare texts'),
)
