"""The engine in C gives what it gives in Rust and Python (tests/vectors/README.md)."""

from __future__ import annotations

import hashlib
import subprocess
from pathlib import Path

import pytest
from conftest import HERE, Installed, run
from vectors import VECTORS, Arrivals, calls, expected, made_traces, recorded_traces

TOKENS = VECTORS / "schedules" / "tokens.txt"


@pytest.fixture(scope="module")
def replay(installed: Installed, tmp_path_factory: pytest.TempPathFactory) -> Path:
    to = tmp_path_factory.mktemp("replay") / "replay"
    return installed.compile(to, HERE / "replay.c", HERE / "vectors.c", standard="c99")


def test_calls_give_the_same_as_in_rust(replay: Path) -> None:
    run(replay, "calls", *calls())


def test_the_program_complains_where_an_output_differs(replay: Path, tmp_path: Path) -> None:
    lines = calls()[0].read_text(encoding="utf-8").splitlines(keepends=True)
    number = next(n for n, line in enumerate(lines) if line.startswith("< piece"))
    _, _, time, size, rest = lines[number].split(" ", 4)
    lines[number] = f"< piece {time} {int(size) + 1} {rest}"
    other = tmp_path / "other.txt"
    other.write_text("".join(lines), encoding="utf-8")
    done = subprocess.run([replay, "calls", other], check=False, capture_output=True, text=True)
    assert done.returncode == 1
    assert done.stderr.startswith(f'{other}:{number + 1}: "< piece {time} {size} ')


def different(replay: Path, traces: dict[str, Arrivals], file: str) -> list[str]:
    """Which schedules are not those whose hashes are in the file, and where that says so."""
    lines = (
        f"{name} {' '.join(f'{at}:{count}' for at, count in arrivals)}\n"
        for name, arrivals in traces.items()
    )
    given = "".join(lines).encode()
    done = subprocess.run(
        [replay, "schedules", TOKENS], check=False, capture_output=True, input=given, timeout=300
    )
    assert done.returncode == 0, done.stderr.decode()
    found: dict[str, str] = {}
    for schedule in done.stdout.split(b"\n\n")[:-1]:
        name, _, pieces = schedule.partition(b"\n")
        found[name.decode()] = hashlib.sha256(pieces + b"\n").hexdigest()
    wanted = {f"{trace} {unit}": digest for trace, unit, digest in expected(file)}
    assert found.keys() == wanted.keys()
    return [
        f"{file}:{number}: {name} has {found[name]}"
        for number, (name, digest) in enumerate(wanted.items(), 1)
        if found[name] != digest
    ]


def test_made_traces_have_the_schedules_of_rust(replay: Path) -> None:
    assert different(replay, made_traces(), "schedules/made.txt") == []


def test_recorded_traces_have_the_schedules_of_rust(replay: Path) -> None:
    assert different(replay, recorded_traces(), "schedules/recorded.txt") == []
