"""Types that the verbs take and give, for annotations."""

from __future__ import annotations

from collections.abc import AsyncIterable, AsyncIterator, Callable, Iterable, Iterator, Mapping
from typing import Any, Literal, Protocol, TypeAlias, TypedDict, TypeVar

from ._core import Budget
from ._ledger import Account, Ledger

T_co = TypeVar("T_co", covariant=True)

Boundary: TypeAlias = Literal["paragraph", "line", "sentence", "clause", "word", "grapheme"]
Framing: TypeAlias = Literal["lines", "bytes", "text"]
Dialect: TypeAlias = Literal[
    "openai-chat",
    "openai-responses",
    "anthropic",
    "gemini",
    "ollama",
    "mistral",
    "cohere",
    "bedrock-converse",
    "incident",
]
CountSource: TypeAlias = Literal["estimate", "provider", "usage"]
Verdict: TypeAlias = Literal["complete", "failed", "truncated"]


class LineSource(Protocol[T_co]):
    """A response: requests', httpx's, or one like them."""

    def iter_lines(self) -> Iterator[T_co]: ...


class AsyncLineSource(Protocol[T_co]):
    """A response that an async SDK hands over as it is."""

    def iter_lines(self) -> AsyncIterator[T_co]: ...


class AsyncContentSource(Protocol):
    """A response of aiohttp."""

    @property
    def content(self) -> AsyncIterable[bytes]: ...


class Model(Protocol):
    """An event of an SDK: a pydantic model."""

    def model_dump_json(self) -> str: ...


# A parsed event, alone or with its name.
AnyEvent: TypeAlias = Mapping[str, Any] | tuple[str | None, Mapping[str, Any]] | Model
AnySource: TypeAlias = LineSource[Any] | Iterable[str] | Iterable[bytes] | Iterable[AnyEvent]
AnyAsyncSource: TypeAlias = (
    AsyncLineSource[Any]
    | AsyncContentSource
    | AsyncIterable[str]
    | AsyncIterable[bytes]
    | AsyncIterable[AnyEvent]
)


class Parameters(TypedDict, total=False):
    """The engine's parameters; `decluster.PARAMETERS` has bounds, defaults and meaning.

    `preset` or `profile` gives the values to begin with; the others override them.
    """

    preset: Literal["balanced", "steady", "snappy"] | None
    profile: Literal["codex-low-latency"] | None
    unit: Literal["block", "word", "whole"]
    pace: Literal["adaptive", "fixed", "off"]
    segment: Literal["semantic", "off", "sentences"]
    target: float
    max_delay: float
    first_hold: float
    max_tail: float
    max_gap: float
    word_gap: float
    cut_part: float
    grapheme_hold: float
    rate: int
    burst: int
    max_rate: int
    quantum: float
    piece_max: float
    cluster_burst: float
    cluster_rate: float
    group_gap: float
    silence_quantile: float
    late_part: float
    horizon_min: float
    silence_short: float
    silence_long: float
    horizon_part_word: float
    horizon_part_block: float
    horizon_part_long: float
    reserve_word: float
    reserve_block: float
    reserve_time: float
    reserve_silence: float
    rate_cap: float
    drain: float
    prior_silence: float
    prior_tokens: float
    rate_first: int
    rate_memory: float
    rate_trust: float
    rate_trust_groups: int
    deadline_margin: float
    max_queue_bytes: int
    max_event_bytes: int
    max_choices: int
    max_reasoning_tokens: int
    think_tags: Literal["common", "all", "off"]
    starts_inside: bool
    think_reopens: bool
    think_copies: bool
    max_silence: float
    over_budget: Literal["raise", "event"]
    cluster_min_tokens: int
    cluster_min_gap: float
    cluster_group_gap: float


class CollectOptions(Parameters, total=False):
    """What `collect` takes besides its source."""

    framing: Framing | None
    dialect: Dialect | None
    closer: Callable[[], object] | None
    budget: Budget | None
    ledger: Ledger | Account | None


class Options(CollectOptions, total=False):
    """What the other verbs take besides their source."""

    background: bool
