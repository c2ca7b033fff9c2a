"""The `demo` verb: one clustered stream, read as it comes and through `wrap`, and compared.

Starts the server, runs both readings at the same time, shows them, and judges the result. What is
measured is in `_demo_metrics`, how it is read in `_demo_read`, how it looks live in `_demo_view`.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from importlib import import_module
from importlib.util import find_spec
from typing import Any, cast

from ._demo_metrics import Metrics, broken_limits, difference, measure, text_seen
from ._demo_read import Reading, Wrap, direct, wrapped
from ._demo_server import Server
from ._demo_stream import KINDS, Burst, chat_script, load_bursts, text_of, within
from ._demo_view import View


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of the verb."""
    parser.add_argument(
        "--seconds",
        type=_positive_seconds,
        metavar="N",
        help="play only what arrives in the first N seconds (default: all, about 21)",
    )
    parser.add_argument("--json", action="store_true", help="print the result as one JSON object")


def run(args: argparse.Namespace, wrap: Wrap | None = None) -> int:
    """Runs the verb: 0 when all promises were kept, 1 when not or when it could not run."""
    if find_spec("requests") is None:
        return _fail("the demo reads with requests: pip install requests")
    if wrap is None:
        wrap = cast(Wrap, import_module("decluster").wrap)
    bursts = load_bursts()
    if args.seconds is not None:
        bursts = within(bursts, args.seconds)
    try:
        result = compare(bursts, wrap, show=_shower(bursts, args.json))
    except KeyboardInterrupt:
        return INTERRUPTED
    except UnreadableError as error:
        return _fail(str(error))
    print(json.dumps(result.as_json()) if args.json else result.as_table())
    return 1 if result.broken else 0


class UnreadableError(Exception):
    """A reading ended in an error, or without text, so there is nothing to compare."""


@dataclass(frozen=True, slots=True)
class Result:
    """Both readings in numbers, and what was wrong with them."""

    direct: Metrics
    wrapped: Metrics
    tokens: int
    blocks: int
    different: list[str]
    missed: list[str]

    @property
    def broken(self) -> list[str]:
        """Every reason to fail, each in one line."""
        return self.different + self.missed

    def as_json(self) -> dict[str, Any]:
        return {
            "direct": asdict(self.direct),
            "wrapped": asdict(self.wrapped),
            "tokens": self.tokens,
            "blocks": self.blocks,
            "identical": not self.different,
            "broken": self.broken,
        }

    def as_table(self) -> str:
        names = [name for name, _ in ROWS]
        cells = [[form(metrics) for _, form in ROWS] for metrics in (self.direct, self.wrapped)]
        columns = [["", *names], ["direct", *cells[0]], ["wrapped", *cells[1]]]
        widths = [max(map(len, column)) for column in columns]
        lines = [
            f"{name:<{widths[0]}}   {one:>{widths[1]}}   {other:>{widths[2]}}"
            for name, one, other in zip(*columns, strict=True)
        ]
        lines.append("")
        lines.append("texts: " + ("; ".join(self.different) or "identical"))
        lines.extend(f"broken: {reason}" for reason in self.missed)
        if not self.broken:
            lines.append("every promise kept")
        return "\n".join(lines)


Show = Callable[[Reading, Reading], None]


def compare(bursts: Sequence[Burst], wrap: Wrap, show: Show | None = None) -> Result:
    """Plays the bursts to two readers at once and compares what they saw.

    `show` gets both readings while they run, and returns when they are over.
    """
    with Server(chat_script(bursts)) as server:
        plain, paced = direct(server.url), wrapped(server.url, wrap)
        plain.start()
        paced.start()
        if show is not None:
            show(plain, paced)
        plain.wait()
        paced.wait()
    for reading in (plain, paced):
        if reading.error is not None:
            error = reading.error
            raise UnreadableError(
                f"the {reading.name} reading failed: {type(error).__name__}: {error}"
            ) from error
        if not reading.seen or not reading.arrived:
            raise UnreadableError(f"the {reading.name} reading saw no text")
    return _judge(bursts, plain, paced)


def _judge(bursts: Sequence[Burst], plain: Reading, paced: Reading) -> Result:
    # The text is the same, so the engine's count of its tokens serves for both.
    tokens, blocks = int(paced.stats["tokens_out"]), int(paced.stats["blocks"])
    before = measure(plain.arrived, plain.seen, tokens=tokens, blocks=len(plain.seen))
    after = measure(paced.arrived, paced.seen, tokens=tokens, blocks=blocks)
    different = [
        found
        for reading in (plain, paced)
        for kind in KINDS
        if (
            found := difference(
                f"{reading.name} {kind}", text_seen(reading.seen, kind), text_of(bursts, kind)
            )
        )
    ]
    return Result(
        direct=before,
        wrapped=after,
        tokens=tokens,
        blocks=blocks,
        different=different,
        missed=broken_limits(before, after, tokens=tokens),
    )


def _shower(bursts: Sequence[Burst], quiet: bool) -> Show:
    """Live on a terminal, else one line; never on the standard output where JSON goes."""
    seconds = sum(burst.after_ms for burst in bursts) / 1000

    def live(plain: Reading, paced: Reading) -> None:
        started = time.monotonic()
        with View(sys.stdout, TITLES) as view:
            while plain.running or paced.running:
                elapsed = time.monotonic() - started
                note = f"{elapsed:.0f} of about {seconds:.0f} s; Ctrl-C stops"
                view.draw((plain.seen, paced.seen), note)
                time.sleep(REDRAW_S)

    def line(plain: Reading, paced: Reading) -> None:
        out = sys.stderr if quiet else sys.stdout
        print(f"reading {seconds:.0f} s of stream twice at once …", file=out, flush=True)

    return live if sys.stdout.isatty() and not quiet else line


def _positive_seconds(text: str) -> float:
    seconds = float(text)
    if not (seconds > 0 and math.isfinite(seconds)):
        raise argparse.ArgumentTypeError(f"not a length of time: {text}")
    return seconds


def _fail(message: str) -> int:
    print(f"decluster demo: {message}", file=sys.stderr)
    return 1


def _ms(value: float) -> str:
    return f"{value:,.0f} ms"


ROWS: tuple[tuple[str, Callable[[Metrics], str]], ...] = (
    ("pieces with text", lambda m: f"{m.pieces}"),
    ("tokens a block, mean", lambda m: f"{m.tokens_per_block:.1f}"),
    ("first text after", lambda m: _ms(m.first_text_ms)),
    ("gaps over 250 ms", lambda m: f"{m.gaps_over_250_ms}"),
    ("gaps over 1 s", lambda m: f"{m.gaps_over_1_s}"),
    ("longest gap", lambda m: _ms(m.longest_gap_ms)),
    ("time in gaps over 400 ms", lambda m: f"{m.dead_time:.1%}"),
    ("added delay, mean", lambda m: _ms(m.mean_added_ms)),
    ("added delay, max", lambda m: _ms(m.max_added_ms)),
    ("tail after the last text", lambda m: _ms(m.tail_ms)),
)

TITLES = ("resp.iter_lines()", "decluster.wrap(resp.iter_lines())")

# Twenty times a second; more would take time from the readings that are being measured.
REDRAW_S = 0.05

# What a shell reports for a program that Ctrl-C ended.
INTERRUPTED = 130
