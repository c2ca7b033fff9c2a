"""The compiled module. Use the names that `decluster` re-exports."""

from collections.abc import Iterator, Sequence
from typing import Any, ClassVar, Final, Literal, final

from ._types import Boundary, CountSource, Dialect, Verdict

__all__ = [
    "FINISHED",
    "NEED_INPUT",
    "PARAMETERS",
    "PRESETS",
    "PROFILES",
    "STALL_LIMITS_MS",
    "Block",
    "Book",
    "Budget",
    "Clusters",
    "Collector",
    "Diagnosis",
    "Engine",
    "Event",
    "Feed",
    "Flow",
    "Inline",
    "Known",
    "Mark",
    "Parameter",
    "Piece",
    "Preset",
    "PriceTable",
    "Row",
    "Segmenter",
    "Signal",
    "Simulated",
    "Study",
    "Wait",
    "__version__",
    "lay_text",
    "metrics",
    "open_flow",
    "open_inline",
    "read_body",
    "table_header",
]

__version__: str
PARAMETERS: tuple[Parameter, ...]
PRESETS: tuple[Preset, ...]
PROFILES: tuple[Preset, ...]
STALL_LIMITS_MS: tuple[int, ...]

@final
class Signal:
    """An answer without content: one object, compared by identity."""

NEED_INPUT: Final[Signal]
FINISHED: Final[Signal]

@final
class Parameter:
    """One row of the table of parameters, in the units that Python takes."""

    @property
    def name(self) -> str:
        """The keyword argument."""
    @property
    def unit(self) -> str:
        """What its numbers count; of names and switches, what kind they are."""
    @property
    def min(self) -> int | float | str:
        """The least value that is taken; of names, see `choices`."""
    @property
    def max(self) -> int | float | str:
        """The largest value that is taken; of names, see `choices`."""
    @property
    def default(self) -> int | float | str:
        """What holds unless it is given."""
    @property
    def choices(self) -> list[str]:
        """The names that are taken; empty for numbers."""
    @property
    def doc(self) -> str:
        """What it means."""

@final
class Preset:
    """Named settings: a row of `PRESETS` or `PROFILES`."""

    @property
    def name(self) -> str:
        """What `preset` or `profile` takes."""
    @property
    def values(self) -> dict[str, int | float | str]:
        """The values that differ from the defaults, in the units that Python takes."""
    @property
    def doc(self) -> str:
        """What it is for."""

@final
class Piece:
    """What is released at once: a block, or a part of one. `str(piece)` is its text."""

    __match_args__: tuple[Literal["text"], Literal["kind"]]
    @property
    def text(self) -> str:
        """The text; empty for a part of a token count without text."""
    @property
    def kind(self) -> Literal["reasoning", "output"]:
        """Whether it is reasoning or visible output."""
    @property
    def index(self) -> int:
        """The choice."""
    @property
    def seq(self) -> int:
        """Numbers all that leaves, in order, from 0."""
    @property
    def block(self) -> int:
        """Number of the block within its choice, from 0."""
    @property
    def part(self) -> int:
        """Number of this piece within its block, from 0."""
    @property
    def boundary(self) -> Boundary:
        """What stands at its end."""
    @property
    def ends_block(self) -> bool:
        """Whether the block is known to end here."""
    @property
    def tokens(self) -> int:
        """Estimate of its LLM tokens."""
    @property
    def origin(self) -> int:
        """Number of the delta that holds its last byte, from 0."""
    @property
    def arrived_ns(self) -> int:
        """When its first byte arrived."""

@final
class Mark:
    """A mark whose turn has come (`Engine.mark`)."""

    __match_args__: tuple[Literal["id"]]
    @property
    def id(self) -> int:
        """The number that was given."""

@final
class Event:
    """Something that is not text: an event of the stream (`data` is mostly JSON), or one of these.

    `restarted`: what came so far is void, attempt number `attempt` follows. `reclassified`: all
    output of choice `index` so far was reasoning, since a closing tag came that nothing had opened.
    `budget_exceeded` (with `over_budget="event"`): the stream ends, with more reasoning (`used`)
    than the `limit` allows; `source` and `shared` as in `Exceeded`.
    """

    __match_args__: tuple[Literal["name"], Literal["data"]]
    @property
    def name(self) -> str:
        """The event's own name, `message` where it has none; or one of those above."""
    @property
    def data(self) -> str:
        """What it says, mostly JSON."""

@final
class Wait:
    """Nothing before `at_ns` unless there is input; then something."""

    __match_args__: tuple[Literal["at_ns"]]
    @property
    def at_ns(self) -> int:
        """When to poll again, on the clock of the calls."""

@final
class Engine:
    """Takes the deltas of one stream and gives them back paced, on the caller's own clock.

    Times are integers: nanoseconds of one monotonic clock, such as `time.monotonic_ns()`. The
    parameters are those of `PARAMETERS`, with `preset` or `profile` for the values to begin with.
    """

    def __new__(cls, **parameters: Any) -> Engine: ...
    def push(
        self,
        now_ns: int,
        kind: Literal["reasoning", "output"],
        text: str,
        *,
        index: int = 0,
        tokens: int | None = None,
    ) -> None:
        """Takes in one delta, as a whole or not at all. Raises `Full`, `TooLarge` or `Finished`."""
    def mark(self, now_ns: int, id: int, hurry: bool = False) -> None:
        """Queues an opaque number; it comes back as a `Mark` in its place."""
    def end_block(self, now_ns: int) -> None:
        """What comes after this belongs to other blocks than what came before."""
    def begin_attempt(self, now_ns: int) -> None:
        """The stream starts again: an `Event` named `restarted` comes in its place."""
    def finish(self, now_ns: int) -> None:
        """No more input will come: what is queued leaves within `max_tail`, then `FINISHED`."""
    def flush(self) -> None:
        """Stops pacing what is queued at present."""
    def cancel(self, how: Literal["flush", "drop"] = "flush") -> None:
        """Ends the stream early: what is queued leaves at once, or is dropped."""
    def poll(self, now_ns: int) -> Piece | Mark | Event | Wait | Signal:
        """What to do now; the signals are `NEED_INPUT` and `FINISHED`."""
    @property
    def wants_input(self) -> bool:
        """Whether the caller should go on reading its source."""
    def stats(self) -> dict[str, Any]:
        """Counters so far, as those of `Stream.stats()`; delays in seconds."""

@final
class Clusters:
    """Counts how often text comes in clusters: groups of many tokens beside a silence.

    Arrivals within `group_gap` seconds of a group's first one belong to it. A group of `min_tokens`
    and more counts as a cluster if a silence of `min_gap` seconds and more came before it or came
    after it, within the stream.
    """

    def __new__(
        cls, *, min_tokens: int = 40, min_gap: float = 1.0, group_gap: float = 0.03
    ) -> Clusters: ...
    def record(self, now_ns: int, tokens: int) -> None:
        """So many LLM tokens came, or left, at this time of a monotonic clock.

        A time before the last one counts as that one. A number below 0 or above 2^64 - 1 is an
        `OverflowError`.
        """
    def end_stream(self) -> None:
        """The stream is over; what is recorded next is of another, on a clock of its own."""
    def merge(self, other: Clusters) -> None:
        """Counts what another one counted, as if its streams had been seen here."""
    @property
    def events(self) -> int:
        """How many clusters were seen."""
    def stats(self) -> dict[str, Any]:
        """The figures, as under `clusters` in `Stream.stats()`."""

def metrics() -> str:
    """The sums over all streams of this process that are over, in the Prometheus text format."""

@final
class Block:
    """What a `Segmenter` gives: a sentence, a line, a clause. `str(block)` is its text."""

    __match_args__: tuple[Literal["text"], Literal["boundary"]]
    @property
    def text(self) -> str:
        """Its text, with the blank before it and the newlines after it."""
    @property
    def boundary(self) -> Boundary:
        """What stands at its end."""
    @property
    def number(self) -> int:
        """Counts the blocks of a segmenter, from 0."""
    @property
    def tokens(self) -> int:
        """Estimate of its LLM tokens."""

@final
class Segmenter:
    """Cuts a text that arrives in parts into blocks, each given as soon as its end is known.

    The blocks in a row are the text, to the character. `mode` is `semantic`, blocks of about
    `target` LLM tokens (4 to 64), or `sentences`. `level` keeps the average near the target.
    """

    def __new__(
        cls,
        *,
        target: float = 12.4,
        mode: Literal["semantic", "sentences"] = "semantic",
        level: bool = True,
    ) -> Segmenter: ...
    def push(self, text: str) -> list[Block]:
        """Takes in more of the text and gives the blocks that are complete now."""
    def flush(self) -> list[Block]:
        """Gives what is held if a sentence or a line may end there, and nothing otherwise."""
    @property
    def pending(self) -> str:
        """The text that has not been given out yet."""
    def finish(self) -> list[Block]:
        """The text ends here: gives what is left. A `push` after that begins a new text."""

@final
class Flow:
    """The consuming end of a stream that a thread reads."""

    def next(self) -> Any: ...
    def close(self) -> None: ...
    def flush(self) -> None: ...

@final
class Inline:
    """Both ends of a stream that is read where it is consumed."""

    def pull(self, iterator: Iterator[Any]) -> Any: ...
    def poll(self) -> Any: ...
    def push(self, item: object) -> bool: ...
    @property
    def wants_input(self) -> bool: ...
    @property
    def ended(self) -> bool: ...
    def finish(self) -> None: ...
    def fail(self, error: BaseException) -> None: ...
    def close(self) -> None: ...
    def flush(self) -> None: ...

@final
class Known:
    """What is known of a stream."""

    def stats(self) -> dict[str, Any]: ...
    def dialect(self) -> Dialect | None: ...
    def model(self) -> str | None: ...
    def usage(self) -> str | None: ...
    def tokens(self) -> dict[str, int | None] | None: ...
    def tool_calls(self) -> list[dict[str, Any]]: ...
    def finish(self) -> str | None: ...
    def error(self) -> str | None: ...
    def verdict(self) -> Verdict | None: ...
    def reason(self) -> str | None: ...
    def exceeded(self) -> tuple[int, int, CountSource, bool] | None: ...
    def recognised(self) -> bool | None: ...

@final
class Feed:
    def send(self, item: object) -> bool: ...
    def finish(self) -> None: ...
    def fail(self, error: BaseException) -> None: ...

@final
class Budget:
    """Tokens of reasoning that several streams may use between them: `budget=` of the verbs."""

    def __new__(cls, max_reasoning_tokens: int) -> Budget:
        """A budget of so many tokens. Raises `ConfigError` for a number below 0."""
    @property
    def used(self) -> int:
        """Tokens that were charged so far, over all streams."""
    @property
    def limit(self) -> int:
        """The limit."""
    @property
    def remaining(self) -> int:
        """What is left of it; 0 once it is exceeded."""

@final
class Collector:
    def __new__(
        cls,
        *,
        framing: str | None = None,
        dialect: str | None = None,
        budget: Budget | None = None,
        **parameters: Any,
    ) -> Collector: ...
    def push(self, item: object) -> bool: ...
    def finish(self) -> None: ...
    def answer(self) -> dict[str, Any]: ...
    def told(self) -> tuple[str | None, dict[str, Any] | None]: ...

@final
class PriceTable:
    """What models cost. Decimals are texts."""

    def __new__(cls, text: str | None = None, *, is_made: bool = False) -> PriceTable: ...
    def currency(self) -> str: ...
    def models(self) -> list[str]: ...
    def price(self, model: str) -> dict[str, Any]: ...

@final
class Book:
    """A ledger that many threads write to. Decimals are texts."""

    def __new__(cls, prices: PriceTable | None, currency: str | None, rate: str | None) -> Book: ...
    def add(
        self, tokens: object, model: str | None, key: str | None, keep: bool
    ) -> dict[str, Any] | None: ...
    def merge(self, other: Book) -> None: ...
    def entries(self, of: Literal["total", "model", "key", "row"]) -> list[dict[str, Any]]: ...
    def currency(self) -> str | None: ...

@final
class Study:
    """A set of arrival traces.

    What takes long lets other threads run, and looks for signals between two traces.
    """

    def __new__(
        cls, texts: Sequence[str], *, until: float | None = None, **parameters: Any
    ) -> Study: ...
    def add(self, name: str, line: str) -> None:
        """Takes in one line of a trace file. Raises `ValueError` with what is wrong with it."""
    def __len__(self) -> int: ...
    @property
    def tokens(self) -> int: ...
    def engine(self, **parameters: Any) -> Simulated: ...
    def pass_through(self) -> Row: ...
    def clairvoyant(self) -> Row: ...
    def references(self) -> list[tuple[str, Row]]: ...
    def peers(self) -> list[tuple[str, Row]]: ...

@final
class Row:
    """The measures of one policy over all traces."""

    def line(self, name: str) -> str: ...
    def values(self) -> dict[str, Any]: ...

@final
class Simulated:
    """The engine over all traces."""

    @property
    def row(self) -> Row: ...
    def pieces(self) -> tuple[int, int]:
        """How many pieces left, and for how many of them a deadline or a tail asked."""
    def blocks(self) -> list[dict[str, Any]]: ...
    def releases(self, place: int) -> tuple[str, list[int], list[int]]:
        """What left when: the name of the trace, nanoseconds, and tokens."""

@final
class Diagnosis:
    """How recorded streams cluster, before and after the pacer.

    What takes long lets other threads run.
    """

    MAX_TOKENS: ClassVar[int]
    def __new__(cls, *, dialect: str | None = None, **parameters: Any) -> Diagnosis: ...
    def add(self, name: str, file: bytes) -> None:
        """Takes in a file. Raises `ValueError`: what is wrong with it, and its line or `None`."""
    def __len__(self) -> int: ...
    def rule(self) -> dict[str, Any]: ...
    def stream(self, place: int) -> dict[str, Any]: ...
    def summary(self, place: int | None = None) -> dict[str, Any]: ...
    def groups(
        self, place: int | None = None, *, after: bool
    ) -> list[tuple[int, int, int, bool]]: ...
    def gaps(self, place: int | None = None, *, after: bool) -> list[int]: ...
    def flow(self, place: int, *, after: bool) -> list[tuple[int, int]]: ...

def table_header() -> str: ...
def lay_text(text: str, tokens: int) -> list[str]: ...
def open_flow(
    mode: str,
    /,
    *,
    framing: str | None = None,
    dialect: str | None = None,
    budget: Budget | None = None,
    **parameters: Any,
) -> tuple[Flow, Feed, Known]: ...
def open_inline(
    mode: str,
    /,
    *,
    framing: str | None = None,
    dialect: str | None = None,
    budget: Budget | None = None,
    **parameters: Any,
) -> tuple[Inline, Known]: ...
def read_body(body: bytes, /) -> dict[str, Any]: ...
