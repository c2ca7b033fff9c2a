"""Types that the verbs take and give, for annotations."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Literal, Protocol, TypeAlias, TypedDict, TypeVar

T_co = TypeVar("T_co", covariant=True)

Framing: TypeAlias = Literal["lines", "bytes"]
Dialect: TypeAlias = Literal["openai-chat", "openai-responses", "incident"]
Verdict: TypeAlias = Literal["complete", "failed", "truncated"]


class LineSource(Protocol[T_co]):
    """A response: requests', httpx's, or one like them."""

    def iter_lines(self) -> Iterator[T_co]: ...


AnySource: TypeAlias = LineSource[Any] | Iterable[str] | Iterable[bytes]


class Parameters(TypedDict, total=False):
    """The engine's parameters; `decluster.PARAMETERS` has bounds, defaults and meaning."""

    unit: Literal["block", "word", "whole"]
    pace: Literal["adaptive", "fixed", "off"]
    segment: Literal["semantic", "off"]
    target: float
    max_delay: float
    first_hold: float
    max_tail: float
    max_gap: float
    grapheme_hold: float
    rate: int
    burst: int
    max_queue_bytes: int
    max_event_bytes: int
    max_choices: int
