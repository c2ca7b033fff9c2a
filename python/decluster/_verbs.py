"""The verbs: `wrap`, `pieces`, `blocks`, `collect`."""

from __future__ import annotations

import json
import sys
from collections.abc import AsyncIterable, Callable, Coroutine, Generator, Iterable
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeVar, cast, overload

from ._astream import AsyncSdkStream, AsyncStream
from ._core import Budget, Collector, Event, Piece, open_flow, open_inline
from ._errors import ConfigError, Exceeded, ReasoningBudgetExceeded
from ._ledger import Account, Ledger, account_of
from ._source import AsyncSource, Source, open_source
from ._stream import SdkStream, Stream
from ._told import How, PassesOn
from ._types import (
    AnyAsyncSource,
    AnyEvent,
    AnySource,
    AsyncContentSource,
    AsyncLineSource,
    CollectOptions,
    Dialect,
    Framing,
    LineSource,
    Options,
    Parameters,
    Verdict,
)
from ._usage import Tokens, tokens_of

if sys.version_info >= (3, 11):
    # At run time, too: frameworks look at annotations.
    from typing import Unpack
elif TYPE_CHECKING:
    from typing_extensions import Unpack

T = TypeVar("T", str, bytes)
E = TypeVar("E", bound=AnyEvent)
T_co = TypeVar("T_co", covariant=True)


@dataclass(frozen=True)
class Answer:
    """A stream read to its end. `reasoning` and `output` are those of choice 0.

    `verdict` says how the stream ended, `finish` why the model stopped, in the provider's own word.
    `usage` is the provider's own object, `tokens` the same in one meaning for all providers.
    """

    reasoning: str
    output: str
    tool_calls: list[dict[str, Any]]
    usage: dict[str, Any] | None
    """The provider's own usage object."""
    tokens: Tokens | None
    """The usage in one meaning for all providers."""
    reasoning_tokens: int | None
    """As the provider counts them."""
    finish: str | None
    """The provider's own word for why it stopped."""
    verdict: Verdict | None
    """How it ended; `None` where the dialect is not known."""
    reason: str | None
    """Why, where the verdict alone does not tell."""
    error: Any
    """The first error object in the stream."""
    dialect: Dialect | None
    model: str | None
    """As the provider names it; the first name counts."""
    choices: list[dict[str, Any]]
    """For each choice: `index`, `reasoning`, `output`, `finish`."""
    events: int
    comments: int
    restarts: int
    """How often the answer began anew within the stream; what came before is not part of it."""
    repairs: int
    malformed: int
    exceeded: Exceeded | None = None
    """By how much the reasoning exceeded its limit; reading stopped there."""


@overload
def wrap(source: LineSource[T_co], **options: Unpack[Options]) -> Stream[T_co]: ...
@overload
def wrap(source: Iterable[T], **options: Unpack[Options]) -> Stream[T]: ...
@overload
def wrap(source: Iterable[E], **options: Unpack[Options]) -> Stream[E]: ...
@overload
def wrap(source: AsyncLineSource[T_co], **options: Unpack[Options]) -> AsyncStream[T_co]: ...
@overload
def wrap(source: AsyncContentSource, **options: Unpack[Options]) -> AsyncStream[bytes]: ...
@overload
def wrap(source: AsyncIterable[T], **options: Unpack[Options]) -> AsyncStream[T]: ...
@overload
def wrap(source: AsyncIterable[E], **options: Unpack[Options]) -> AsyncStream[E]: ...
def wrap(
    source: Any,
    *,
    framing: Framing | None = None,
    dialect: Dialect | None = None,
    closer: Callable[[], object] | None = None,
    background: bool = True,
    budget: Budget | None = None,
    ledger: Ledger | Account | None = None,
    **parameters: Unpack[Parameters],
) -> Stream[Any] | AsyncStream[Any]:
    """Gives back what it was given, re-cut and paced: the loop around it does not change.

    `source` is an iterable of lines (SSE or JSON) or of chunks, `str` or `bytes`, or a response of
    requests, httpx or aiohttp, which gives its lines; the items that come out are of the same type
    and dialect. Each text delta becomes one or more events with the same JSON but for the text;
    everything else is passed on as it is. It may also be an iterable of parsed events: dicts, pairs
    `(event name, dict)`, or an SDK's stream of its objects (openai, anthropic, google-genai,
    litellm). Then what comes out are these very objects, or copies of them with other text, and
    what else the SDK's stream has (`.response`) is to be had as before.

    If `source` is async, so is what comes out: `async for line in wrap(response.aiter_lines())`.

    A sync source is read in a background thread, an async one in a task; neither keeps a stream
    alive that nobody holds. `background=False` reads where the stream is consumed, and paces
    nothing: what is complete leaves before the next read. `framing` and `dialect` are told from the
    data unless named; `framing="text"` says that the items are bare texts. `closer` is called when
    the source is closed, and awaited if need be. With `closer=response.close` an early close also
    ends a read that blocks; of a response and of its own `iter_lines()` this is known without it.

    With `ledger`, a `Ledger` or its `account()`, the stream is added to that once it is over, in
    whatever way.

    `preset` (one of `PRESETS`) or `profile` (one of `PROFILES`) gives the parameters to begin with;
    single ones (`PARAMETERS`) override it.

    `max_reasoning_tokens` limits this stream's reasoning, `budget` (a `Budget`) that of all streams
    that it is given to. Beyond either the source is closed and `ReasoningBudgetExceeded` raised;
    with `over_budget="event"` the stream just ends, and its `exceeded` says so.

    Raises `ConfigError` for a parameter out of bounds, `TypeError` for what is no stream, and while
    iterating the source's own error, `TooLarge`, `Stalled` (after `max_silence`) or another
    `ProviderError`, each after all text that had arrived before it.

    >>> lines = ['data: {"choices":[{"index":0,"delta":{"content":"Hi there."}}]}', ""]
    >>> for line in wrap(lines):
    ...     print(line)
    data: {"choices":[{"index":0,"delta":{"content":"Hi"}}]}
    <BLANKLINE>
    data: {"choices":[{"index":0,"delta":{"content":" there."}}]}
    <BLANKLINE>
    """
    mode = "texts" if framing == "text" else "bytes"
    otherwise = "it passes as it is, unpaced"
    how = How(
        "wrap", mode, framing, dialect, otherwise, shows_errors=True, account=account_of(ledger)
    )
    return _open(source, how, closer, background, budget, parameters)


@overload
def pieces(
    source: AnySource, *, events: Literal[False] = False, **options: Unpack[Options]
) -> Stream[Piece]: ...
@overload
def pieces(
    source: AnySource, *, events: bool, **options: Unpack[Options]
) -> Stream[Piece | Event]: ...
@overload
def pieces(
    source: AnyAsyncSource, *, events: Literal[False] = False, **options: Unpack[Options]
) -> AsyncStream[Piece]: ...
@overload
def pieces(
    source: AnyAsyncSource, *, events: bool, **options: Unpack[Options]
) -> AsyncStream[Piece | Event]: ...
def pieces(
    source: Any,
    *,
    events: bool = False,
    framing: Framing | None = None,
    dialect: Dialect | None = None,
    closer: Callable[[], object] | None = None,
    background: bool = True,
    budget: Budget | None = None,
    ledger: Ledger | Account | None = None,
    **parameters: Unpack[Parameters],
) -> Stream[Any] | AsyncStream[Any]:
    """The text as it is released, piece by piece: `str(piece)`, `piece.kind`, `piece.block`.

    With `events=True` everything that is not text comes in its place as an `Event`, with
    `over_budget="event"` also `budget_exceeded` before the end. Else as `wrap`.

    >>> lines = ['data: {"choices":[{"index":0,"delta":{"content":"Hi there."}}]}', ""]
    >>> [str(piece) for piece in pieces(lines)]
    ['Hi', ' there.']
    """
    how = How(
        "pieces",
        _mode(events),
        framing,
        dialect,
        NOTHING_KNOWN,
        shows_errors=events,
        account=account_of(ledger),
    )
    return _open(source, how, closer, background, budget, parameters)


@overload
def blocks(
    source: AnySource, *, events: Literal[False] = False, **options: Unpack[Options]
) -> Stream[Piece]: ...
@overload
def blocks(
    source: AnySource, *, events: bool, **options: Unpack[Options]
) -> Stream[Piece | Event]: ...
@overload
def blocks(
    source: AnyAsyncSource, *, events: Literal[False] = False, **options: Unpack[Options]
) -> AsyncStream[Piece]: ...
@overload
def blocks(
    source: AnyAsyncSource, *, events: bool, **options: Unpack[Options]
) -> AsyncStream[Piece | Event]: ...
def blocks(
    source: Any,
    *,
    events: bool = False,
    framing: Framing | None = None,
    dialect: Dialect | None = None,
    closer: Callable[[], object] | None = None,
    background: bool = True,
    budget: Budget | None = None,
    ledger: Ledger | Account | None = None,
    **parameters: Unpack[Parameters],
) -> Stream[Any] | AsyncStream[Any]:
    """Whole blocks only, late rather than broken: for speech, for pipelines. Else as `pieces`.

    >>> lines = ['data: {"choices":[{"index":0,"delta":{"content":"Hi there. It holds."}}]}', ""]
    >>> [str(block) for block in blocks(lines, segment="sentences")]
    ['Hi there.', ' It holds.']
    """
    if "unit" in parameters:
        raise TypeError("blocks() gives whole blocks: it takes no unit")
    how = How(
        "blocks",
        _mode(events),
        framing,
        dialect,
        NOTHING_KNOWN,
        shows_errors=events,
        account=account_of(ledger),
    )
    return _open(source, how, closer, background, budget, {**parameters, "unit": "whole"})


@overload
def collect(source: AnySource, **options: Unpack[CollectOptions]) -> Answer: ...
@overload
def collect(
    source: AnyAsyncSource, **options: Unpack[CollectOptions]
) -> Coroutine[Any, Any, Answer]: ...
def collect(
    source: Any,
    *,
    framing: Framing | None = None,
    dialect: Dialect | None = None,
    closer: Callable[[], object] | None = None,
    budget: Budget | None = None,
    ledger: Ledger | Account | None = None,
    **parameters: Unpack[Parameters],
) -> Answer | Coroutine[Any, Any, Answer]:
    """Reads a stream to its end without pacing, in the caller's thread or task: for batch jobs.

    Of an async source the answer is awaited: `answer = await collect(response.aiter_lines())`.

    With `ledger` what was read is added to that, also where this raises. Of the parameters only
    these count: `max_event_bytes`, `max_reasoning_tokens`, `over_budget`, `think_tags`,
    `starts_inside`, `think_reopens`, `think_copies`; `max_silence` is refused.

    Raises the source's own error or `TooLarge`, and then gives no part of the answer: loop over
    `pieces` to have it. Beyond `max_reasoning_tokens` or `budget` reading stops, and the error,
    `ReasoningBudgetExceeded`, has what had come (`error.answer`); with `over_budget="event"` that
    is the answer, and its `exceeded` is set.

    >>> lines = ['data: {"choices":[{"index":0,"delta":{"content":"Hi there."}}]}', ""]
    >>> collect(lines).output
    'Hi there.'
    """
    account = account_of(ledger)
    if parameters.get("max_silence"):
        raise ConfigError(
            "max_silence needs a reader, collect has none: give the client a read timeout, or loop "
            "over pieces"
        )
    opened = open_source(source, closer, framing, as_lines=False)
    collector = Collector(framing=opened.framing, dialect=dialect, budget=budget, **parameters)
    if isinstance(opened, AsyncSource):
        return _collect_async(opened, collector, framing, account)
    with _reading(collector, framing, account):
        try:
            for item in opened.iterator:
                if not collector.push(item):
                    break
        finally:
            opened.close()
        collector.finish()
    return _answer(collector, framing)


async def _collect_async(
    source: AsyncSource, collector: Collector, framing: Framing | None, account: Account | None
) -> Answer:
    with _reading(collector, framing, account):
        try:
            async for item in source.iterator:
                if not collector.push(item):
                    break
        finally:
            await source.aclose()
        collector.finish()
    return _answer(collector, framing)


@contextmanager
def _reading(
    collector: Collector, framing: Framing | None, account: Account | None
) -> Generator[None]:
    """However it goes, what was read was paid for: the ledger has it, and the error of a budget."""
    try:
        yield
    except ReasoningBudgetExceeded as error:
        if error.answer is None:
            collector.finish()
            error.answer = _answer(collector, framing)
        raise
    finally:
        if account is not None:
            model, tokens = collector.told()
            account.enter(tokens_of(tokens), model)


def _answer(collector: Collector, framing: Framing | None) -> Answer:
    found = collector.answer()
    if framing == "text":
        # Bare texts have no dialect, and nothing that says how they ended.
        found.update(dialect=None, verdict=None, reason=None)
    for name in ("usage", "error"):
        found[name] = None if found[name] is None else json.loads(found[name])
    found["tokens"] = tokens_of(found["tokens"])
    found["exceeded"] = None if found["exceeded"] is None else Exceeded(*found["exceeded"])
    return Answer(**found)


def _mode(events: bool) -> str:
    return "pieces+events" if events else "pieces"


def _open(
    source: Any,
    how: How,
    closer: Callable[[], object] | None,
    background: bool,
    budget: Budget | None,
    parameters: Parameters,
) -> Stream[Any] | AsyncStream[Any]:
    opened = open_source(source, closer, how.framing, as_lines=how.mode == "bytes")
    given = opened.passed_on if how.mode == "bytes" else None
    said: Any = {
        "framing": opened.framing,
        "dialect": how.dialect,
        "budget": budget,
        **parameters,
    }
    if how.mode == "texts":
        # Every character stays.
        said["think_tags"] = "off"
    for name in parameters.keys() & {"rate", "burst"}:
        if said.get("pace") != "fixed":
            raise ConfigError(f"{name} is for pace='fixed'; a limit for any pace is max_rate")
    if not background:
        if said.get("pace") not in (None, "off"):
            raise ConfigError(f"pace = {said['pace']!r} needs a reader, background=False has none")
        if said.get("max_silence"):
            raise ConfigError("max_silence needs a reader, background=False has none")
        said["pace"] = "off"
    stream: Stream[Any] | AsyncStream[Any]
    if isinstance(opened, Source):
        of = cast("type[Stream[Any]]", Stream if given is None else SdkStream)
        if background:
            flow, feed, known = open_flow(how.mode, **said)
            stream = of(flow, feed, known, opened, how)
        else:
            inline, known = open_inline(how.mode, **said)
            stream = of(inline, None, known, opened, how)
    else:
        inline, known = open_inline(how.mode, **said)
        paced = AsyncStream if given is None else AsyncSdkStream
        stream = cast("type[AsyncStream[Any]]", paced)(inline, known, opened, background, how)
    if isinstance(stream, PassesOn):
        stream._given = given
    return stream


NOTHING_KNOWN = "nothing of it is known"

__all__ = ["Answer", "blocks", "collect", "pieces", "wrap"]
