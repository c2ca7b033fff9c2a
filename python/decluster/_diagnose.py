"""`decluster diagnose`: whether recorded streams are clustered, before and after the pacer."""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Callable
from contextlib import suppress
from typing import Any, get_args

from ._core import Diagnosis
from ._errors import DeclusterError
from ._files import complain, fail, open_named
from ._settings import add_settings, in_force, setting, settings_of
from ._types import Dialect

DESCRIPTION = """\
Says whether recorded streams are clustered: whether many tokens come at once, and nothing
before or after them for long. Each stream is then played through the pacer on a virtual
clock, and the same is said of what leaves. A file is one of these, told by its content:

  a capture with times, one stream; either a line of JSON for every arrival, with the bytes
  as "data" or, where they are not whole characters, as "base64":
      {"t_ms": 1400.2, "data": "event: ...\\ndata: ...\\n\\n"}
  or the stream's own lines, each behind a time, as ts writes them ('%.s' or '%FT%.T');
  arrival traces, a stream a line, as simulate takes them:
      {"t_ms": [0, 12.5, 1400], "tokens": [40, 27, 81]}
  a stream without times (events, JSON lines or one JSON array, in any dialect that is
  read): then only the sizes of its deltas can be told. Ollama's streams say themselves
  when the server sent what."""

RECORDING = """\
how to record a stream with times:
  curl -sN https://... | ts -s '%.s' > capture
                ts is in the package moreutils; with -s times count from the begin of the
                request. With the time of day, `{ echo; curl -sN ...; } | ts '%.s'` does.
  in Python, where response comes from httpx.stream(...) or requests with stream=True:
      import base64, json, time
      begin = time.monotonic()  # before the request
      chunks = response.iter_raw()  # requests: iter(lambda: response.raw.read1(65536), b"")
      for chunk in chunks:
          t_ms = (time.monotonic() - begin) * 1000
          line = {"t_ms": t_ms, "base64": base64.b64encode(chunk).decode()}
          print(json.dumps(line), file=file)
                (these are the bytes of the network: ask for no compression, with the header
                "Accept-Encoding: identity"; read1 is of urllib3 2.1 or newer, and
                iter_content() would wait for a body that does not come in chunks)

what the report says:
  cluster       a group of at least --min-tokens beside a silence of at least --min-gap;
                arrivals within --group-gap of a group's first belong to it
  first token   from the begin of the recording, where its times count from there: where
                the first of them is above 0 and no date, or an empty line came first
  held          how long the pacer held tokens: the n-th that left against the n-th that
                came; the longest is that of any text
  came again    tokens that a restart within the stream made void (a second message_start
                or response), or whose event came before under the same id or number
Tokens are those that a stream counts itself, or estimates. Quantiles are exact.

limits: 256 MiB a file, 10 million tokens in all, a day a stream, 16 MiB an event
(--set max_event_bytes=...). Memory is up to six times the size of a file.
exit code: 1 if a file cannot be used, or with --fail-on-cluster if there are clusters before
the pacer, or if a stream has no times by which that could be told; 2 for wrong usage."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.description = DESCRIPTION
    parser.epilog = RECORDING
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("files", nargs="+", metavar="FILE", help="- is standard input")
    for name, unit, says in (
        ("min-tokens", "N", "the least tokens of a cluster (default: 40)"),
        ("min-gap", "SECONDS", "the least silence beside it (default: 1)"),
        ("group-gap", "SECONDS", "the longest that a group may last (default: 0.03)"),
    ):
        parser.add_argument(
            f"--{name}", type=_part(f"cluster_{name.replace('-', '_')}"), metavar=unit, help=says
        )
    add_settings(parser)
    parser.add_argument(
        "--dialect", choices=get_args(Dialect), help="do not tell the dialect from the data"
    )
    parser.add_argument(
        "--fail-on-cluster",
        action="store_true",
        help="exit 1 if there are clusters, name them, or if it cannot be told",
    )
    parser.add_argument(
        "--html", metavar="FILE", help="draw it, on a page of HTML that needs nothing but itself"
    )
    parser.add_argument("--json", action="store_true", help="all figures as one JSON object")


def run(options: argparse.Namespace) -> int:
    """Runs the verb and gives the exit code."""
    if options.html is not None and (wrong := _no_page(options.html, options.files)):
        complain(f"--html {options.html}: {wrong}")
        return 2
    settings = settings_of(options)
    for name in ("cluster_min_tokens", "cluster_min_gap", "cluster_group_gap"):
        value = getattr(options, name.removeprefix("cluster_"))
        if value is not None:
            settings[name] = value
    try:
        diagnosis = Diagnosis(dialect=options.dialect, **settings)
    except DeclusterError as error:
        return complain(str(error))
    for name in options.files:
        try:
            _read(name, diagnosis)
        except BadFile as bad:
            return fail(*bad.args)
    report = Report(diagnosis, [shown(name) for name in options.files], settings)
    if options.html is not None:
        from ._diagnose_page import write_page  # only who draws needs it

        try:
            write_page(report, options.html)
        except OSError as error:
            return fail(options.html, error)
    print(json.dumps(report.figures(), indent=2, ensure_ascii=False) if options.json else report)
    return _exit_code(report) if options.fail_on_cluster else 0


class BadFile(Exception):
    """A file that cannot be used: its name, and the error that says why."""


class Report:
    """What is said of some streams."""

    def __init__(self, diagnosis: Diagnosis, files: list[str], settings: dict[str, Any]) -> None:
        self.diagnosis = diagnosis
        self.files = files
        self.settings = settings
        self.rule = diagnosis.rule()
        self.total = diagnosis.summary()
        self.streams = [
            {**diagnosis.stream(place), **diagnosis.summary(place)}
            for place in range(len(diagnosis))
        ]

    def figures(self) -> dict[str, Any]:
        """All figures, for JSON: counts, shares, milliseconds."""
        streams = [
            {
                "name": stream["name"],
                "dialect": stream["dialect"],
                "timed": stream["times"] is not None,
                "times": stream["times"],
                **_figures(stream),
            }
            for stream in self.streams
        ]
        return {
            "files": len(self.files),
            "cluster": self.rule,
            "settings": self.settings,
            "verdict": self.sentences(),
            "timed": self.total["timed"] > 0,
            "timed_streams": self.total["timed"],
            "stream_count": self.total["streams"],
            **_figures(self.total),
            "streams": streams,
        }

    def sentences(self) -> list[str]:
        """The verdict: is it clustered, how badly, what does pacing change?"""
        said: list[str] = []
        if self.total["timed"]:
            said += [self._verdict(), *self._pacing()]
        said += self._retried()
        untimed = self.total["streams"] - self.total["timed"]
        if untimed:
            which = _of(untimed, self.total["streams"])
            said.append(
                f"{which} no arrival times: clusters cannot be told without, only the sizes of "
                "deltas (--help says how to record times)."
            )
        if at_once := self.at_once():
            which = _of(at_once, self.total["streams"])
            said.append(
                f"{which} one and the same time for all tokens: that is no record of arrivals, and "
                "says nothing of clusters (--help says how to record)."
            )
        if any(stream["times"] == "sent" for stream in self.streams):
            said.append("Ollama's times are those at the server: the network is not in them.")
        return said

    def at_once(self) -> int:
        """Streams of which all came at one time: it was noted later, or by whoever had waited."""
        return sum(
            stream["times"] is not None and stream["watched"] == 0 and stream["deltas"] > 1
            for stream in self.streams
        )

    def rows(self) -> list[tuple[str, str, str]]:
        """The table: what it is, before, after."""
        before, after = self.total["before"], self.total["after"]
        rows: list[tuple[str, str, str]] = []

        def both(name: str, say: Callable[[dict[str, Any]], str]) -> None:
            rows.append((name, say(before), say(after)))

        both("clusters", lambda side: count_of(side["events"]))
        both("clusters an hour", lambda side: _rate(side["per_hour"]))
        both("groups", lambda side: count_of(side["groups"]))
        for name, key, unit, parts in (
            ("tokens a group", "sizes", 1, PARTS),
            ("silence between groups, ms", "gaps", 1000, PARTS),
            ("first token, ms", "first", 1000, PARTS[:2]),
        ):
            for part in parts:
                one, other = (_part_of(side[key], part, unit) for side in (before, after))
                rows.append((f"{name}: {part}", one, other))
        for part in PARTS:
            rows.append((f"held, ms: {part}", "0", _part_of(self.total["held"], part, 1000)))
        return rows

    def facts(self) -> list[tuple[str, str]]:
        """What is known of the streams besides."""
        total = self.total
        facts = [
            ("streams", f"{count_of(total['streams'])}, {count_of(total['timed'])} with times")
        ]
        tokens = count_of(total["tokens"])
        if total["reasoning"] is not None:
            output = total["tokens"] - total["reasoning"]
            tokens += f": {count_of(total['reasoning'])} of reasoning, {count_of(output)} of output"
        facts.append(("tokens", tokens))
        sizes = total["delta_tokens"]
        if sizes is not None:
            three = " / ".join(_part_of(sizes, part, 1) for part in PARTS)
            facts.append(("deltas", f"{count_of(total['deltas'])}; tokens p50 / p95 / max {three}"))
            least = self.rule["min_tokens"]
            facts.append((f"deltas of {least} tokens or more", count_of(total["large_deltas"])))
        if total["timed"]:
            facts.append(("time", f"{seconds_of(total['watched'])} from first to last tokens"))
        facts.append(("came again or void", f"{count_of(total['retried'])} tokens"))
        given = ", ".join(f"{name}={value}" for name, value in self.settings.items())
        facts.append(("settings", given or "balanced, block"))
        return facts

    def __str__(self) -> str:
        lines = [*self.sentences(), ""]
        if self.total["timed"]:
            rows = [("", "before", "after"), *self.rows()]
            widths = [max(len(row[column]) for row in rows) for column in range(3)]
            lines += [
                f"{name.ljust(widths[0])}  {one.rjust(widths[1])}  {other.rjust(widths[2])}"
                for name, one, other in rows
            ]
            lines.append("")
        facts = self.facts()
        width = max(len(name) for name, _ in facts)
        return "\n".join([*lines, *(f"{name.ljust(width)}  {fact}" for name, fact in facts)])

    def clustered(self) -> list[dict[str, Any]]:
        """The streams with clusters, the worst first."""
        found = [stream for stream in self.streams if stream["before"]["events"]]
        return sorted(found, key=lambda stream: -stream["before"]["events"])

    def _verdict(self) -> str:
        before, least = self.total["before"], self.rule["min_tokens"]
        gap = seconds_of(self.rule["min_gap"])
        if not before["events"]:
            said = (
                f"Not clustered: no group of {least} tokens or more stands beside a silence of "
                f"{gap} or more."
            )
            if before["sizes"] is not None:
                said += f" The largest group has {_tokens(before['sizes']['max'])}"
                if before["gaps"] is not None:
                    said += f", the longest silence lasts {seconds_of(before['gaps']['max'])}"
                said += "."
            return said
        clusters = [group for group in self.diagnosis.groups(after=False) if group[3]]
        share = sum(group[2] for group in clusters) / self.total["tokens"]
        count, rate = before["events"], _rate(before["per_hour"])
        groups = "group" if count == 1 else "groups"
        where = ""
        if self.total["timed"] > 1:
            where = f", in {len(self.clustered())} of {self.total['timed']} streams"
        return (
            f"Clustered: {count_of(count)} {groups} of {least} tokens or more came beside a "
            f"silence of {gap} or more{where}. That is {rate} an hour, with {share_of(share)} of "
            "all tokens."
        )

    def _pacing(self) -> list[str]:
        before, after, held = self.total["before"], self.total["after"], self.total["held"]
        if held is None:
            return ["No text came."]
        max_delay = seconds_of(in_force(self.settings, "max_delay"))
        if after["events"]:
            left = f"{count_of(after['events'])} would be left"
            if self.total["unavoidable"]:
                part = self.total["unavoidable"]
                of_them = "" if part == after["events"] else f"{count_of(part)} of them "
                left += (
                    f", {of_them}beside a silence in which nothing came for longer than max_delay "
                    f"({max_delay})"
                )
        elif before["events"]:
            left = "none would be left"
        else:
            left = "it would not be clustered either"
        sizes = (
            f"the median group {_change(before['sizes'], after['sizes'], 'p50', count_of)} tokens"
        )
        if before["gaps"] is not None and after["gaps"] is not None:
            gaps = _change(before["gaps"], after["gaps"], "max", seconds_of)
            sizes += f", the longest silence {gaps}"
        return [
            f"Paced, {left}: {sizes}.",
            f"Half of the tokens would be held for {seconds_of(held['p50'])} at most, 95 % for "
            f"{seconds_of(held['p95'])}, the longest for {seconds_of(held['max'])}.",
        ]

    def _retried(self) -> list[str]:
        retried, attempts = self.total["retried"], self.total["attempts"]
        restarts = attempts - self.total["streams"]
        if not retried and not restarts:
            return []
        share = retried / self.total["tokens"] if self.total["tokens"] else 0.0
        began = f"; an answer began anew {_times(restarts)}" if restarts else ""
        return [f"{share_of(share)} of the tokens came again or were made void{began}."]


def _read(name: str, diagnosis: Diagnosis) -> None:
    try:
        with open_named(name) as file:
            data = file.read(MAX_FILE + 1)
    except OSError as error:
        raise BadFile(name, error) from None
    if len(data) > MAX_FILE:
        raise BadFile(name, ValueError(f"the file has more than {MAX_FILE >> 20} MiB"))
    try:
        diagnosis.add(shown(name), data)
    except ValueError as error:
        message, line = error.args
        raise BadFile(name if line is None else f"{name}:{line}", ValueError(message)) from None


def shown(name: str) -> str:
    """The name of a file, which may hold bytes that are no characters, as text."""
    return name.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def _exit_code(report: Report) -> int:
    found = report.clustered()
    if found:
        names = [f"{stream['name']} ({stream['before']['events']})" for stream in found]
        more = f" and {len(names) - MAX_NAMED} more" if len(names) > MAX_NAMED else ""
        return complain(f"clustered: {', '.join(names[:MAX_NAMED])}{more}")
    untold = report.total["streams"] - report.total["timed"] + report.at_once()
    if untold:
        which = _of(untold, report.total["streams"])
        return complain(f"{which} no arrival times: whether it is clustered cannot be told")
    return 0


def _no_page(name: str, files: list[str]) -> str | None:
    """Why the page cannot be written there."""
    if name == "-":
        return "give the name of a file; standard output has the report"
    for file in files:
        with suppress(OSError):
            if file != "-" and os.path.samefile(name, file):
                return "this is one of the files to read"
    return None


def _figures(found: dict[str, Any]) -> dict[str, Any]:
    """The same for a stream and for all."""
    tokens, reasoning = found["tokens"], found["reasoning"]
    return {
        "cluster_events": found["before"]["events"],
        "cluster_events_after": found["after"]["events"],
        "cluster_events_unavoidable": found["unavoidable"],
        "tokens": tokens,
        "reasoning_tokens": reasoning,
        "output_tokens": None if reasoning is None else tokens - reasoning,
        "deltas": found["deltas"],
        "delta_tokens": found["delta_tokens"],
        "large_deltas": found["large_deltas"],
        "attempts": found["attempts"],
        "retried_tokens": found["retried"],
        "retried_share": found["retried"] / tokens if tokens else 0.0,
        "seconds": found["watched"],
        "before": _side(found["before"], None, None),
        "after": _side(found["after"], found["held"], found["first_held"]),
    }


def _side(
    side: dict[str, Any], held: dict[str, float] | None, first_held: dict[str, float] | None
) -> dict[str, Any]:
    figures = {
        "cluster_events": side["events"],
        "events_per_hour": side["per_hour"],
        "groups": side["groups"],
        "group_tokens": side["sizes"],
        "gap_ms": _ms(side["gaps"]),
        "first_token_ms": _ms(side["first"]),
    }
    if held is not None:
        figures["delay_ms"] = _ms(held)
        figures["first_token_delay_ms"] = _ms(first_held)
    return figures


def _ms(spread: dict[str, float] | None) -> dict[str, float] | None:
    return spread and {name: round(value * 1000, 3) for name, value in spread.items()}


def _part(parameter: str) -> Callable[[str], Any]:
    """Takes the value of a parameter."""

    def take(text: str) -> Any:
        return setting(f"{parameter}={text}")[1]

    return take


def _part_of(spread: dict[str, float] | None, part: str, unit: int) -> str:
    return UNKNOWN if spread is None else count_of(spread[part] * unit)


def _change(
    one: dict[str, float], other: dict[str, float], part: str, say: Callable[[float], str]
) -> str:
    before, after = say(one[part]), say(other[part])
    return f"stays at {after}" if before == after else f"goes from {before} to {after}"


def share_of(share: float) -> str:
    return f"{share * 100:.0f} %" if share >= 0.1 or share == 0 else f"{share * 100:.1f} %"


def _of(part: int, all_of_them: int) -> str:
    if all_of_them == 1:
        return "The stream has"
    if part == all_of_them:
        return f"All {part} streams have"
    return f"{part} of {all_of_them} streams {'has' if part == 1 else 'have'}"


def _times(count: int) -> str:
    return {1: "once", 2: "twice"}.get(count, f"{count_of(count)} times")


def _tokens(count: float) -> str:
    return f"{count_of(count)} token{'' if count == 1 else 's'}"


def seconds_of(seconds: float) -> str:
    if 0 < seconds < 1:
        return f"{seconds * 1000:.0f} ms"
    return f"{seconds:,.2f}".rstrip("0").rstrip(".") + " s"


def count_of(count: float) -> str:
    return f"{count:,.0f}"


def _rate(rate: float | None) -> str:
    if rate is None:
        return UNKNOWN
    return f"{rate:,.0f}" if rate == 0 or rate >= 10 else f"{rate:.1f}"


MAX_FILE = 1 << 28
"""Bytes of a file: all of it is kept in memory."""
MAX_NAMED = 10
"""So many streams are named in one line."""
PARTS = ("p50", "p95", "max")
UNKNOWN = "-"
