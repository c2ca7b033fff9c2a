"""What must work wherever the package is installed, with the standard library alone.

smoke.py VERSION
"""

from __future__ import annotations

import asyncio
import importlib.metadata
import json
import pydoc
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import decluster
from decluster._demo_stream import load_bursts

TEXTS = (
    "The lease ends, so the queue hands the job out again. A second worker does",
    " the same job twice, then. The lease must be renewed while the job is done.",
)
DONE = "data: [DONE]"


def lines() -> Iterator[str]:
    """Two clusters of many tokens, and a silence between them."""
    for text in TEXTS:
        yield "data: " + json.dumps({"choices": [{"index": 0, "delta": {"content": text}}]})
        yield ""
        time.sleep(0.3)
    yield DONE
    yield ""


async def lines_in_time() -> AsyncIterator[str]:
    for line in lines():
        yield line
        await asyncio.sleep(0)


def check_wrapped(wrapped: list[str]) -> None:
    events = [line for line in wrapped if line]
    assert events.pop() == DONE
    texts = [json.loads(event[6:])["choices"][0]["delta"]["content"] for event in events]
    assert "".join(texts) == "".join(TEXTS)
    assert len(texts) > len(TEXTS), texts


async def wrapped_in_time() -> list[str]:
    async with decluster.wrap(lines_in_time()) as wrapped:
        return [line async for line in wrapped]


def check_command(version: str) -> None:
    command = Path(sys.prefix, "bin", "decluster")
    told = subprocess.run([command, "--version"], capture_output=True, text=True, check=True)
    assert told.stdout == f"decluster {version}\n", told.stdout
    with tempfile.TemporaryDirectory() as place:
        recorded = Path(place, "recorded.sse")
        recorded.write_text("".join(f"{line}\n" for line in lines()))
        decode = [command, "decode", "--text", recorded]
        told = subprocess.run(decode, capture_output=True, text=True, check=True)
    decoded = json.loads(told.stdout)
    assert decoded["output"] == "".join(TEXTS)
    assert decoded["verdict"] == "complete"


def main() -> None:
    (version,) = sys.argv[1:]
    assert Path(decluster.__file__).is_relative_to(sys.prefix), decluster.__file__
    assert decluster.__version__ == importlib.metadata.version("decluster") == version
    check_wrapped(list(decluster.wrap(lines())))
    check_wrapped(asyncio.run(wrapped_in_time()))
    assert decluster.collect(lines()).output == "".join(TEXTS)
    assert load_bursts()
    check_command(version)
    told = pydoc.render_doc(decluster, renderer=pydoc.plaintext)
    assert all(f"\n    {verb}(" in told for verb in ("wrap", "pieces", "blocks", "collect")), told
    print(f"CPython {sys.version.split()[0]}: installs and works")


if __name__ == "__main__":
    main()
