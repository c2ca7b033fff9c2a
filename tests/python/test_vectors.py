"""The shared vectors, replayed through `decluster.Engine` (tests/vectors/README.md)."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator

import pytest
from vectors import (
    VECTORS,
    Arrivals,
    calls,
    expected,
    made_traces,
    needs,
    recorded_traces,
    unquoted,
)

import decluster
from decluster import FINISHED, NEED_INPUT, Engine, Event, Mark, Piece, Wait, _core

TABLE = {parameter.name: parameter for parameter in decluster.PARAMETERS}


def in_units_of_python(name: str, value: int) -> object:
    parameter = TABLE[name]
    if parameter.choices:
        return parameter.choices[value]
    if isinstance(parameter.default, float):
        return value / (1e9 if parameter.unit == "seconds" else 1e3)
    return value


class Replay:
    """An engine and its clock, led by the lines of a file."""

    def __init__(self) -> None:
        self.settings: dict[str, object] = {}
        self.engine: Engine | None = None
        self.now = 0

    def line(self, line: str) -> None:
        match line.split(" ", 2):
            case ["#", *_]:
                pass
            case ["preset" | "profile" as what, name]:
                self.settings[what] = name
            case ["set", name, value]:
                self.settings[name] = in_units_of_python(name, int(value))
            case [">", call, rest]:
                self.call(call, rest)
            case ["<", _, _]:
                assert self.next_output() == line

    def call(self, call: str, rest: str) -> None:
        time, _, rest = rest.partition(" ")
        if self.engine is None:
            self.engine = Engine(**self.settings)
        else:
            due = self.engine.poll(self.now)
            assert due is NEED_INPUT or (isinstance(due, Wait) and due.at_ns >= int(time))
        self.now = int(time)
        if call == "push":
            kind, index, tokens, text = rest.split(" ", 3)
            count = None if tokens == "-" else int(tokens)
            text = unquoted(text)
            self.engine.push(self.now, kind, text, index=int(index), tokens=count)  # type: ignore[arg-type]
        elif call == "mark":
            number, hurry = rest.split(" ")
            self.engine.mark(self.now, int(number), hurry == "1")
        elif call == "flush":
            self.engine.flush()
        else:
            getattr(self.engine, call)(self.now)

    def next_output(self) -> str:
        assert self.engine is not None
        item = self.engine.poll(self.now)
        if isinstance(item, Wait):
            self.now = item.at_ns
            item = self.engine.poll(self.now)
        return described(self.now, item)


def described(now: int, item: object) -> str:
    match item:
        case Piece() as p:
            size, ends = len(p.text.encode()), int(p.ends_block)
            return (
                f"< piece {now} {size} {p.kind} {p.index} {p.seq} {p.block} {p.part} "
                f"{p.boundary} {ends} {p.tokens} {p.origin}"
            )
        case Mark(number):
            return f"< mark {now} {number}"
        case Event("restarted", data):
            return f"< restarted {now} {json.loads(data)['attempt']}"
        case _ if item is FINISHED:
            return f"< finished {now}"
    return repr(item)


def test_calls_give_the_same_as_in_rust() -> None:
    for file in calls():
        replay = Replay()
        lines = file.read_text(encoding="utf-8").removesuffix("\n").split("\n")
        for number, line in enumerate(lines, 1):
            try:
                replay.line(line)
            except AssertionError as error:
                raise AssertionError(f"{file.name}:{number}: {line}") from error
        assert lines[-1] == f"< finished {replay.now}"


def schedule(arrivals: Arrivals, tokens: list[str], unit: str) -> Iterator[tuple[int, Piece]]:
    """Plays a trace; tokens are those of one pass over the text."""
    engine, now, place = Engine(unit=unit), 0, 0
    calls: list[tuple[int, int] | None] = [*arrivals, None]
    for number, arrival in enumerate(calls):
        until = None if arrival is None else arrival[0]
        while True:
            item = engine.poll(now) if number > 0 else NEED_INPUT
            if isinstance(item, Piece):
                yield now, item
            elif isinstance(item, Wait) and (until is None or item.at_ns < until):
                now = item.at_ns
            else:
                break
        if arrival is not None:
            now, count = arrival
            text = "".join(tokens[n % len(tokens)] for n in range(place, place + count))
            place += count
            engine.push(now, "reasoning", text)
            if calls[number + 1] is None:
                engine.finish(now)


def hashed(arrivals: Arrivals, tokens: list[str], unit: str) -> str:
    digest = hashlib.sha256()
    for now, p in schedule(arrivals, tokens, unit):
        line = f"{now} {len(p.text.encode())} {p.tokens} {p.block} {p.part}\n"
        digest.update(line.encode())
    return digest.hexdigest()


@pytest.fixture(scope="module")
def tokens() -> list[str]:
    needs(VECTORS / "schedules", "; `make vectors` makes it")
    lines = (VECTORS / "schedules" / "tokens.txt").read_text(encoding="utf-8")
    return [unquoted(line) for line in lines.removesuffix("\n").split("\n")]


def test_the_text_is_laid_by_the_same_rule(tokens: list[str]) -> None:
    text = (VECTORS / "text.txt").read_bytes().decode()
    assert "".join(tokens) == text
    twice = 2 * len(tokens)
    assert _core.lay_text(text, twice) == tokens * 2


def test_made_traces_have_the_schedules_of_rust(tokens: list[str]) -> None:
    traces = made_traces()
    wanted = list(expected("schedules/made.txt"))
    assert len(wanted) == 2 * len(traces) == 240
    wrong = [
        (trace, unit)
        for trace, unit, digest in wanted
        if hashed(traces[trace], tokens, unit) != digest
    ]
    assert wrong == []


def test_recorded_traces_have_the_schedules_of_rust(tokens: list[str]) -> None:
    found = recorded_traces()
    wanted = list(expected("schedules/recorded.txt"))
    assert {trace for trace, _, _ in wanted} == set(found)
    wrong = [
        (trace, unit)
        for trace, unit, digest in wanted
        if hashed(found[trace], tokens, unit) != digest
    ]
    assert wrong == []
