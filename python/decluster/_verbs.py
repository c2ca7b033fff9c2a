"""The verbs: `wrap`, `pieces`, `blocks`, `collect`."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeVar, overload

from ._core import Collector, Event, Piece, open_flow
from ._source import Source
from ._stream import BlockStream, PieceStream, Stream, WrappedStream
from ._types import AnyEvent, AnySource, Dialect, Framing, LineSource, Parameters, Verdict
from ._usage import Tokens, tokens_of

if TYPE_CHECKING:
    from typing_extensions import Unpack

T = TypeVar("T", str, bytes)
E = TypeVar("E", bound=AnyEvent)
T_co = TypeVar("T_co", covariant=True)
S = TypeVar("S", bound=Stream[Any])


@dataclass(frozen=True)
class Answer:
    """A stream read to its end. `reasoning` and `output` are those of choice 0."""

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
    dialect: str | None
    choices: list[dict[str, Any]]
    """For each choice: `index`, `reasoning`, `output`, `finish`."""
    events: int
    comments: int
    restarts: int
    """How often the answer began anew within the stream; what came before is not part of it."""
    repairs: int
    malformed: int


@overload
def wrap(
    source: LineSource[T_co],
    *,
    framing: Framing | None = None,
    dialect: Dialect | None = None,
    closer: Callable[[], object] | None = None,
    background: bool = True,
    **parameters: Unpack[Parameters],
) -> WrappedStream[T_co]: ...
@overload
def wrap(
    source: Iterable[T],
    *,
    framing: Framing | None = None,
    dialect: Dialect | None = None,
    closer: Callable[[], object] | None = None,
    background: bool = True,
    **parameters: Unpack[Parameters],
) -> WrappedStream[T]: ...
@overload
def wrap(
    source: Iterable[E],
    *,
    dialect: Dialect | None = None,
    closer: Callable[[], object] | None = None,
    background: bool = True,
    **parameters: Unpack[Parameters],
) -> WrappedStream[E]: ...
def wrap(
    source: Any,
    *,
    framing: Framing | None = None,
    dialect: Dialect | None = None,
    closer: Callable[[], object] | None = None,
    background: bool = True,
    **parameters: Unpack[Parameters],
) -> WrappedStream[Any]:
    """Gives back what it was given, re-cut and paced: the loop around it does not change.

    `source` is an iterable of lines (SSE or JSON) or of chunks, `str` or `bytes`, or a response
    with `iter_lines()`; the items that come out are of the same type and dialect. Each text delta
    becomes one or more events with the same JSON but for the text; everything else is passed on as
    it is. It may also be an iterable of parsed events, dicts or pairs `(event name, dict)`: then
    what comes out are these very objects, or copies of them with other text.

    The source is read in a background thread, which keeps no stream alive that nobody holds;
    `background=False` reads in the caller's thread and cannot bridge silences. `framing` and
    `dialect` are told from the data unless named. `closer` is called when the source is closed.
    With `closer=response.close` an early close also ends a read that blocks; of a response and of
    its own `iter_lines()` this is known without it.

    `preset` (one of `PRESETS`) or `profile` (one of `PROFILES`) gives the parameters to begin with;
    single ones (`PARAMETERS`) override it.

    Raises `ConfigError` for a parameter out of bounds, `TypeError` for what is no stream, and while
    iterating the source's own error, after all text that had arrived before it, or `TooLarge`.
    """
    options = _Options("bytes", framing, dialect, closer, background)
    return _open(WrappedStream[Any], source, options, parameters)


@overload
def pieces(
    source: AnySource,
    *,
    events: Literal[False] = False,
    framing: Framing | None = None,
    dialect: Dialect | None = None,
    closer: Callable[[], object] | None = None,
    background: bool = True,
    **parameters: Unpack[Parameters],
) -> PieceStream[Piece]: ...
@overload
def pieces(
    source: AnySource,
    *,
    events: bool,
    framing: Framing | None = None,
    dialect: Dialect | None = None,
    closer: Callable[[], object] | None = None,
    background: bool = True,
    **parameters: Unpack[Parameters],
) -> PieceStream[Piece | Event]: ...
def pieces(
    source: AnySource,
    *,
    events: bool = False,
    framing: Framing | None = None,
    dialect: Dialect | None = None,
    closer: Callable[[], object] | None = None,
    background: bool = True,
    **parameters: Unpack[Parameters],
) -> PieceStream[Any]:
    """The text as it is released, piece by piece: `str(piece)`, `piece.kind`, `piece.block`.

    With `events=True` everything that is not text comes in its place as an `Event`. Else as `wrap`.
    """
    options = _Options(_mode(events), framing, dialect, closer, background)
    return _open(PieceStream[Any], source, options, parameters)


@overload
def blocks(
    source: AnySource,
    *,
    events: Literal[False] = False,
    framing: Framing | None = None,
    dialect: Dialect | None = None,
    closer: Callable[[], object] | None = None,
    background: bool = True,
    **parameters: Unpack[Parameters],
) -> BlockStream[Piece]: ...
@overload
def blocks(
    source: AnySource,
    *,
    events: bool,
    framing: Framing | None = None,
    dialect: Dialect | None = None,
    closer: Callable[[], object] | None = None,
    background: bool = True,
    **parameters: Unpack[Parameters],
) -> BlockStream[Piece | Event]: ...
def blocks(
    source: AnySource,
    *,
    events: bool = False,
    framing: Framing | None = None,
    dialect: Dialect | None = None,
    closer: Callable[[], object] | None = None,
    background: bool = True,
    **parameters: Unpack[Parameters],
) -> BlockStream[Any]:
    """Whole blocks only, late rather than broken: for speech, for pipelines. Else as `pieces`."""
    if "unit" in parameters:
        raise TypeError("blocks() gives whole blocks: it takes no unit")
    options = _Options(_mode(events), framing, dialect, closer, background)
    return _open(BlockStream[Any], source, options, {**parameters, "unit": "whole"})


def collect(
    source: AnySource,
    *,
    framing: Framing | None = None,
    dialect: Dialect | None = None,
    closer: Callable[[], object] | None = None,
    **parameters: Unpack[Parameters],
) -> Answer:
    """Reads a stream to its end without pacing, in the caller's thread: for batch jobs.

    Of the parameters only those count that say how to read: `max_event_bytes`, `think_tags`,
    `starts_inside`, `think_reopens`, `think_copies`.

    Raises the source's own error, and then gives no part of the answer (loop over `pieces` to have
    it), or `TooLarge`.
    """
    opened = Source(source, closer)
    collector = Collector(framing=framing, dialect=dialect, **parameters)
    try:
        for item in opened.iterator:
            collector.push(item)
    finally:
        opened.close()
    found = collector.finish()
    for name in ("usage", "error"):
        found[name] = None if found[name] is None else json.loads(found[name])
    found["tokens"] = tokens_of(found["tokens"])
    return Answer(**found)


def _mode(events: bool) -> str:
    return "pieces+events" if events else "pieces"


@dataclass(frozen=True)
class _Options:
    mode: str
    framing: Framing | None
    dialect: Dialect | None
    closer: Callable[[], object] | None
    background: bool


def _open(of: type[S], source: Any, options: _Options, parameters: Parameters) -> S:
    flow, feed = open_flow(
        options.mode, framing=options.framing, dialect=options.dialect, **parameters
    )
    return of(flow, feed, Source(source, options.closer), options.background)


__all__ = ["Answer", "Event", "Piece", "blocks", "collect", "pieces", "wrap"]
