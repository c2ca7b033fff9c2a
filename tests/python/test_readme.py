"""The README's examples run as they stand, and name what exists."""

from __future__ import annotations

import ast
import asyncio
import inspect
import re
import subprocess
import sys
import types
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import openai
import pytest
import requests
from example_streams import ANSWER, HOW, WHY, clustered, environment, event, texts_of
from starlette.applications import Starlette
from starlette.routing import Route

import decluster
from decluster._demo_server import Server

README = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")


EXAMPLES = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
# Parts of a program, with names that it has.
FRAGMENTS = re.findall(r"```py\n(.*?)```", README, re.DOTALL)


def printed(example: str) -> str:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", example], capture_output=True, text=True, check=True
    )
    return done.stdout


def test_the_example_runs_and_shows_all_of_its_text() -> None:
    out = printed(EXAMPLES[0])
    assert out.startswith("The queue hands a job out again when its lease ends. So a slow")
    assert out.endswith("must check that the lease is still held.\n")


def test_the_example_of_the_segmenter_speaks_whole_sentences() -> None:
    assert printed(EXAMPLES[4]) == "It took 3.5 hours, wrote Dr. Ito.\nThen it held.\n"


def test_the_example_of_usage_prints_what_it_says() -> None:
    assert printed(EXAMPLES[1]) == "216 210 6\n"
    assert len(EXAMPLES) == 5


def test_the_example_of_clusters_prints_what_it_says() -> None:
    assert printed(EXAMPLES[2]) == "2 93\n"


def test_the_example_of_the_ledger_prints_what_it_says() -> None:
    expected = "0.0024 0.0088\nmail 1 0 0.0024\nsearch 1 350 0.0064\n"
    assert printed(EXAMPLES[3]) == expected


def test_the_verbs_and_parameters_it_names_exist() -> None:
    known = {parameter.name: parameter for parameter in decluster.PARAMETERS}
    for name, default in re.findall(r"^\| `(\w+)` \| (\S+) \|", README, re.MULTILINE):
        assert str(known[name].default) == default.strip('`"')
    for verb in re.findall(r"^\| `(\w+)\(source\)`", README, re.MULTILINE):
        assert callable(getattr(decluster, verb))


Run = Callable[[str, Server], dict[str, Any]]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch) -> Run:
    """Runs the one fragment that has a text in it; `handled` is what came out of it."""

    def run(part: str, server: Server) -> dict[str, Any]:
        for name, value in {**environment(server), "NO_PROXY": "*"}.items():
            monkeypatch.setenv(name, value)
        (fragment,) = (each for each in FRAGMENTS if part in each)
        handled: list[Any] = []
        known: dict[str, Any] = {
            "url": server.url,
            "headers": {},
            "body": {"stream": True},
            "model": "m",
            "messages": [{"role": "user", "content": "Why?"}],
            "handle": handled.append,
            "handled": handled,
            "decluster": decluster,
            "openai": openai,
        }
        if "(response" in fragment and "as response" not in fragment:
            known["response"] = requests.post(server.url, stream=True, timeout=10)
        code = compile(fragment, "README.md", "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
        if code.co_flags & inspect.CO_COROUTINE:
            asyncio.run(types.FunctionType(code, known)())
        else:
            exec(code, known)
        return known

    return run


def texts_of_lines(lines: list[Any]) -> list[str]:
    return texts_of(
        [(line if isinstance(line, bytes) else line.encode()) + b"\n" for line in lines]
    )


def texts_of_chunks(chunks: list[Any]) -> list[str]:
    deltas = [choice.delta for chunk in chunks for choice in chunk.choices]
    found = [getattr(delta, "reasoning_content", None) or delta.content for delta in deltas]
    return [text for text in found if text]


@pytest.mark.parametrize(
    ("part", "texts"),
    [
        ("requests.post(", texts_of_lines),
        ('client.stream("POST"', texts_of_lines),
        ("client = openai.OpenAI()", texts_of_chunks),
        ("client = openai.AsyncOpenAI()", texts_of_chunks),
    ],
)
def test_the_loop_for_a_client_reads_all_of_the_text_in_smaller_parts(
    part: str, texts: Callable[[list[Any]], list[str]], run: Run
) -> None:
    with Server(ANSWER) as server:
        told = texts(run(part, server)["handled"])
        assert "".join(told) == WHY + HOW
        assert len(told) > 2


def test_the_hook_paces_an_sdks_helper(run: Run) -> None:
    with Server(ANSWER) as server:
        events = run("httpx_hooks", server)["handled"]
        deltas = [event.delta for event in events if event.type == "content.delta"]
        assert "".join(deltas) == HOW
        assert len(deltas) > 1


def test_the_relay_gives_a_valid_stream(run: Run) -> None:
    async def ask(relay: Any) -> httpx.Response:
        app = Starlette(routes=[Route("/", relay, methods=["POST"])])
        transport = httpx.ASGITransport(app=app)
        async with httpx.AsyncClient(transport=transport, base_url="http://relay") as browser:
            return await browser.post("/", json={"stream": True})

    with Server(ANSWER) as server:
        response = asyncio.run(ask(run("def relay(", server)["relay"]))
        told = texts_of([response.content])
        assert "".join(told) == WHY + HOW
        assert len(told) > 2
        assert response.headers["content-type"].startswith("text/event-stream")
        assert response.headers["x-accel-buffering"] == "no"


def test_the_verbs_show_what_they_say(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    with Server(ANSWER) as server:
        run('piece.kind == "output"', server)
        assert capsys.readouterr().out == HOW
        run("collect(response)", server)
        told = capsys.readouterr().out
        assert told.startswith(HOW)
        assert told.endswith("complete\n")


def test_the_budget_lets_what_is_within_it_through(
    run: Run, capsys: pytest.CaptureFixture[str]
) -> None:
    long = clustered(*(event({"reasoning_content": f" {WHY}"}) for _ in range(600)))
    with Server([replace(step, after=0) for step in long]) as server:
        handled = run("ReasoningBudgetExceeded", server)["handled"]
        assert {piece.kind for piece in handled} == {"reasoning"}
        assert capsys.readouterr().out.startswith("gave up: about 8")
        assert server.wait_open_connections(0)


def test_every_fragment_is_run_here() -> None:
    assert len(FRAGMENTS) == 9
