"""Runs the example programs: what goes in over time, and what comes out when."""

from __future__ import annotations

import json
import os
import select
import subprocess
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

from conftest import ROOT, SANITIZE, Installed, run

from decluster._demo_server import Send
from decluster._demo_stream import Burst, load_bursts

EXAMPLES = ROOT / "bindings" / "c" / "examples"
POSIX = ("-std=c99", "-D_POSIX_C_SOURCE=200809L", "-pedantic", "-Wall", "-Wextra", "-Werror")
SANITIZED = (*SANITIZE, "-fno-omit-frame-pointer")
PATIENCE_S = 60


def build(name: str, to: Path, installed: Installed, *flags: str, compiler: str = "gcc") -> Path:
    """Compiles an example with what pkg-config says, as its first comment asks for."""
    packages = ["decluster", *(["libcurl"] if "curl" in name else [])]
    where = {**os.environ, "PKG_CONFIG_PATH": str(installed.library / "pkgconfig")}
    told = run("pkg-config", "--cflags", "--libs", *packages, env=where).split()
    source = EXAMPLES / f"{name}.c"
    rpath = f"-Wl,-rpath,{installed.library}"
    run(compiler, *POSIX, "-g", "-O1", *flags, source, "-o", to, *told, rpath)
    return to


def clustered() -> list[Burst]:
    """Three bursts of reasoning and one of output, with more than a second between them."""
    bursts = load_bursts()
    said = next(burst for burst in bursts if burst.kind == "output")
    return [replace(bursts[0], after_ms=0), *bursts[1:3], replace(said, after_ms=1200)]


def longest_silence(script: Sequence[Send]) -> float:
    return max(step.after for step in script)


@dataclass
class Told:
    """What a program wrote, and when; when its input was written; how it ended."""

    writes: list[float] = field(default_factory=list[float])
    reads: list[tuple[float, bytes]] = field(default_factory=list[tuple[float, bytes]])
    status: int = -1
    stderr: str = ""

    @property
    def stdout(self) -> bytes:
        return b"".join(data for _, data in self.reads)

    @property
    def answer(self) -> dict[str, Any]:
        """The JSON that it writes in the end."""
        (line,) = (line for line in self.stderr.splitlines() if line.startswith("{"))
        return json.loads(line)

    def longest_gap(self) -> float:
        times = [at for at, _ in self.reads]
        return max(later - sooner for sooner, later in pairwise(times))


class Program:
    """A program that runs. Whoever waits for it reads what it writes in the meantime."""

    def __init__(self, *command: str | Path, environment: dict[str, str] | None = None) -> None:
        self.told = Told()
        self.process = subprocess.Popen(
            [str(word) for word in command],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, **(environment or {})},
        )
        # One that hangs fails its test.
        self.watchdog = threading.Timer(PATIENCE_S, self.process.kill)
        self.watchdog.daemon = True
        self.watchdog.start()
        assert self.process.stdin
        assert self.process.stdout
        self.stdin, self.stdout = self.process.stdin.fileno(), self.process.stdout.fileno()

    def write(self, data: bytes) -> None:
        self.told.writes.append(time.monotonic())
        while data:
            data = data[os.write(self.stdin, data) :]

    def play(self, script: Sequence[Send]) -> None:
        """Writes each step when it is due."""
        due = time.monotonic()
        for step in script:
            due += step.after
            self.read_until(due)
            self.write(step.data)

    def read_until(self, due: float | None) -> bool:
        """Reads what comes until then, or to the end, which is told by False."""
        while due is None or due > time.monotonic():
            left = None if due is None else max(0.0, due - time.monotonic())
            if select.select([self.stdout], [], [], left)[0] and not self.read():
                return False
        return True

    def read(self) -> bytes:
        data = os.read(self.stdout, 1 << 16)
        if data:
            self.told.reads.append((time.monotonic(), data))
        return data

    def end(self) -> Told:
        """Closes its input, and reads to the end of its output."""
        assert self.process.stdin
        self.process.stdin.close()
        self.read_until(None)
        return self.left()

    def left(self) -> Told:
        """Waits for its end, having read what was to be read."""
        with self.process as process:
            assert process.stderr
            self.told.stderr = process.stderr.read().decode()
            self.told.status = process.wait()
        self.watchdog.cancel()
        return self.told


def event(members: dict[str, Any]) -> bytes:
    return f"data: {json.dumps(members, ensure_ascii=False)}\n\n".encode()


def delta(text: str, kind: str = "content") -> bytes:
    choice = {"index": 0, "delta": {kind: text}, "finish_reason": None}
    return event({"id": "c", "object": "chat.completion.chunk", "choices": [choice]})


def texts_of(stream: bytes, key: str) -> list[str]:
    """The texts of one field of a chat stream's deltas."""
    lines = [line[6:] for line in stream.splitlines() if line.startswith(b"data: {")]
    choices = [choice for line in lines for choice in json.loads(line).get("choices", [])]
    return [choice["delta"][key] for choice in choices if choice["delta"].get(key)]
