"""`decluster simulate`: the engine over recorded arrival traces, on a virtual clock."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeAlias

from ._core import (
    PRESETS,
    STALL_LIMITS_MS,
    Row,
    Simulated,
    Study,
    table_header,
)
from ._errors import DeclusterError
from ._files import complain, fail, open_named
from ._settings import UNITS, add_settings, settings_of

DESCRIPTION = """\
Runs the engine over arrival traces on a virtual clock, which takes no time, and prints how
well it paced them, beside pass-through and a clairvoyant. A trace is a line of JSON:
{"t_ms": [0, 12.5, 1400], "tokens": [40, 27, 81]}: when how many tokens arrived. Without
--text the tokens are counts without text, which the engine cuts evenly. What the engine
does not want yet (max_rate) waits outside, and its delay counts from its arrival."""

COLUMNS = """\
what the table says:
  delay         milliseconds that a token was held: mean and 95th percentile, each the mean
                over the traces; and the longest of all
  Steady %      100, less the avoidable stall (over 250 ms) as a part of the time in which
                the clairvoyant does not stall
  CV            standard deviation over mean of the tokens in every 250 ms
  M2            sum of the squares of the same, as a multiple of the clairvoyant's
  avoidable s / stalls > N ms
                by how many seconds silences exceed N ms, beyond those of the clairvoyant;
                and how many silences do, avoidable or not
  low flow %    half seconds with less than a quarter of the stream's mean rate
  in 10 / 50 ms the most tokens that left within so short a time
  backlog       the most tokens that were held at once, with the one that just came
  tail          milliseconds from the last arrival to the last release
  first         milliseconds until the first text, in the worst trace
  QoE           quality of experience after Andes (arXiv 2404.16283) for a reader of
                5 tokens a second; 1 is best

The clairvoyant knows the whole trace, keeps the max_delay asked for, and varies the rate
less than anything else that does.

--json gives seconds and shares. It has besides: stall, the seconds over each limit; dead,
the share of the time in silences over 400 ms; and of the engine its pieces, for how many
of them a deadline or a tail asked (hurried), and its blocks, how many of them left in
several pieces (cut), and how many of those began a stream (cut_first), for streams of at
least so many tokens a second."""

Outcome: TypeAlias = tuple[str, Row, dict[str, Any]]
"""A policy's name, its measures, and what is known of the engine besides."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.description = DESCRIPTION
    parser.epilog = COLUMNS
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument(
        "files", nargs="+", metavar="TRACES", help="a file of traces; - is standard input"
    )
    add_settings(parser)
    parser.add_argument(
        "--text",
        action="append",
        default=[],
        metavar="FILE",
        help="a UTF-8 text to lay under the traces, in turn with others; may be repeated",
    )
    parser.add_argument(
        "--until", type=_seconds, metavar="SECONDS", help="leave out what arrives later"
    )
    parser.add_argument(
        "--compare",
        action="store_true",
        help="add all presets, the other unit, more clairvoyants, and models of other pacers",
    )
    parser.add_argument(
        "--out",
        metavar="FILE",
        help='each stream\'s releases, a line of JSON each: {"name", "t_ms", "tokens"}',
    )
    parser.add_argument("--json", action="store_true", help="all measures as one JSON object")


def run(options: argparse.Namespace) -> int:
    """Runs the verb and gives the exit code."""
    settings = settings_of(options)
    try:
        study = Study([_text(name) for name in options.text], until=options.until, **settings)
        for name in options.files:
            _read(name, study)
        ours = study.engine(**settings)
        if options.out is not None:
            _write(options.out, ours, len(study))
        outcomes = _usual(study, _name(settings), ours)
        if options.compare:
            outcomes += _others(study, settings, {name for name, _, _ in outcomes})
    except BadFile as bad:
        return fail(*bad.args)
    except DeclusterError as error:
        # The engine refuses a trace; its message begins with the trace's name.
        return complain(str(error))
    print(_json(study, settings, outcomes) if options.json else _table(outcomes))
    return 0


class BadFile(Exception):
    """A file or line that cannot be used: its name, and the error that says why."""


def _name(settings: dict[str, Any]) -> str:
    """What the engine is called with these settings."""
    rest = dict(settings)
    begin = rest.pop("preset", None) or rest.pop("profile", None) or PRESETS[0].name
    unit = rest.pop("unit", UNITS[0])
    return ", ".join(
        [f"decluster {begin}", unit, *(f"{name}={value}" for name, value in rest.items())]
    )


def _text(name: str) -> str:
    try:
        with open_named(name) as file:
            text = file.read().decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise BadFile(name, error) from None
    if not text:
        raise BadFile(name, ValueError("the text is empty"))
    return text


def _read(name: str, study: Study) -> None:
    before = len(study)
    try:
        with open_named(name) as file:
            for number, line in enumerate(iter(lambda: file.readline(MAX_LINE), b""), 1):
                if line.strip():
                    _add(f"{name}:{number}", line, study)
    except OSError as error:
        raise BadFile(name, error) from None
    if len(study) == before:
        raise BadFile(name, ValueError("no trace"))


def _add(name: str, line: bytes, study: Study) -> None:
    if len(line) == MAX_LINE:
        raise BadFile(name, ValueError(f"a line of {MAX_LINE >> 20} MiB or more"))
    try:
        study.add(name, line.decode("utf-8"))
    except ValueError as error:  # UnicodeDecodeError is one, too.
        raise BadFile(name, error) from None


def _write(name: str, ours: Simulated, traces: int) -> None:
    try:
        with Path(name).open("w", encoding="utf-8") as file:
            for place in range(traces):
                trace, times, tokens = ours.releases(place)
                # To the nanosecond, which a float might not print.
                t_ms = ", ".join(f"{ns // 1_000_000}.{ns % 1_000_000:06}" for ns in times)
                file.write(
                    f'{{"name": {json.dumps(trace)}, "t_ms": [{t_ms}], "tokens": {tokens}}}\n'
                )
    except OSError as error:
        raise BadFile(name, error) from None


def _usual(study: Study, name: str, ours: Simulated) -> list[Outcome]:
    return [
        (name, ours.row, _besides(ours)),
        ("pass-through", study.pass_through(), {}),
        ("clairvoyant, least variation", study.clairvoyant(), {}),
    ]


def _others(study: Study, settings: dict[str, Any], known: set[str]) -> Iterator[Outcome]:
    """What `--compare` adds to those that are known."""
    single = {k: v for k, v in settings.items() if k not in ("preset", "profile")}
    other = UNITS[1] if settings.get("unit", UNITS[0]) == UNITS[0] else UNITS[0]
    for more in (*({**single, "preset": row.name} for row in PRESETS), {**settings, "unit": other}):
        if _name(more) not in known:
            played = study.engine(**more)
            yield _name(more), played.row, _besides(played)
    for name, row in (*study.references(), *study.peers()):
        if name not in known:
            yield name, row, {}


def _besides(played: Simulated) -> dict[str, Any]:
    pieces, hurried = played.pieces()
    return {"pieces": pieces, "hurried": hurried, "blocks": played.blocks()}


def _table(outcomes: list[Outcome]) -> str:
    """An aligned Markdown table: few policies side by side, many one below the other."""
    header = table_header().split("\n")[0]
    lines = [header, *(row.line(name) for name, row, _ in outcomes)]
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    if len(outcomes) <= MAX_BESIDE:
        cells = [list(column) for column in zip(*cells, strict=True)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    cells.insert(1, ["-" * widths[0], *("-" * (width - 1) + ":" for width in widths[1:])])
    return "\n".join(_aligned(line, widths) for line in cells)


def _aligned(cells: list[str], widths: list[int]) -> str:
    first, *rest = zip(cells, widths, strict=True)
    return " | ".join(["| " + first[0].ljust(first[1]), *(c.rjust(w) for c, w in rest)]) + " |"


def _json(study: Study, settings: dict[str, Any], outcomes: list[Outcome]) -> str:
    rows = [{"policy": name, **row.values(), **besides} for name, row, besides in outcomes]
    return json.dumps(
        {
            "traces": len(study),
            "tokens": study.tokens,
            "settings": settings,
            "stall_limits_ms": STALL_LIMITS_MS,
            "rows": rows,
        },
        indent=2,
        ensure_ascii=False,
    )


def _seconds(text: str) -> float:
    seconds = 0.0
    with suppress(ValueError):
        seconds = float(text)
    if not 0 < seconds <= MAX_SECONDS:
        raise argparse.ArgumentTypeError(f"takes seconds, {MAX_SECONDS} at most, not {text!r}")
    return seconds


MAX_LINE = 1 << 26
"""Bytes of a line: more than any trace has, so that a file that is none fills no memory."""
MAX_SECONDS = 86_400
"""As long as a trace may be."""
MAX_BESIDE = 4
"""So many columns of a table fit a terminal."""
