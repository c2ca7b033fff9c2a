"""Each file of python/examples, run as it stands against a provider on loopback."""

from __future__ import annotations

import functools
import json
import os
import pty
import select
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import batch_collect
import cli_agent
import httpx
import pytest
import tts_loop
from example_streams import (
    ANSWER,
    BROKEN,
    CALLING,
    DONE,
    HOW,
    SAID,
    THOUGHT,
    WHY,
    Provider,
    base_of,
    called,
    clustered,
    environment,
    event,
)
from readers import no_reader_left

import decluster
from decluster._demo_server import Cut, Hold, Script, Send, Server

EXAMPLES = Path(__file__).parents[2] / "python" / "examples"


def run(
    name: str, server: Server | Provider, *arguments: str, say: str = "", errors: str = ""
) -> str:
    """What an example prints; it must end well."""
    done = subprocess.run(
        [sys.executable, EXAMPLES / name, *arguments],
        env=environment(server),
        input=say,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, errors)
    return done.stdout


# The agent


def test_the_agent_runs_tools_until_the_model_has_its_answer() -> None:
    with Server(CALLING, ANSWER) as server:
        out = run("cli_agent.py", server, say="What is 6 times 7?\n")
        first, second = (json.loads(each.body) for each in server.connections)
    assert WHY in out
    assert HOW in out
    assert "-> 42" in out
    assert [tool["function"]["name"] for tool in first["tools"]] == ["calculate", "clock"]
    user, assistant, tool = second["messages"]
    assert user == {"role": "user", "content": "What is 6 times 7?"}
    assert assistant["reasoning_content"] == WHY
    (call,) = assistant["tool_calls"]
    assert json.loads(call["function"]["arguments"]) == {"expression": "6 * (3 + 4)"}
    assert tool == {"role": "tool", "tool_call_id": call["id"], "content": "42"}


def test_the_agent_runs_no_tool_of_an_answer_that_broke_off() -> None:
    script = [Send(THOUGHT), *[Send(part) for part in called("clock", {})], Send(b"")]
    with Server(script, ANSWER) as server:
        out = run("cli_agent.py", server, say="What time is it?\nAgain?\n")
        messages = json.loads(server.connections[1].body)["messages"]
    assert "[truncated" in out
    assert "clock(" not in out
    assert messages == [{"role": "user", "content": "Again?"}]


def test_a_refusal_is_shown_and_the_agent_goes_on() -> None:
    with Provider(b'{"error": "no such key"}', 401, content_type="application/json") as provider:
        out = run("cli_agent.py", provider, say="Why?\nHow?\n")
    assert out.count('[401: {"error": "no such key"}]') == 2


def test_an_interrupt_stops_the_answer_and_not_the_agent() -> None:
    master, terminal = pty.openpty()
    with Server([Send(THOUGHT), Hold()], ANSWER) as server:
        agent = subprocess.Popen(
            [sys.executable, EXAMPLES / "cli_agent.py"],
            env=environment(server),
            stdin=subprocess.PIPE,
            stdout=terminal,
            text=True,
        )
        os.close(terminal)
        assert agent.stdin is not None
        shown = b""

        def until(text: bytes) -> None:
            nonlocal shown
            while text not in shown:
                assert select.select([master], [], [], 20)[0], shown
                shown += os.read(master, 4096)

        try:
            agent.stdin.write("Why?\n")
            agent.stdin.flush()
            # Thought is dim on a terminal.
            until(b"\x1b[2mThe lease ends")
            agent.send_signal(signal.SIGINT)
            until(b"[stopped]")
            assert server.wait_open_connections(0)
            assert server.connections[0].outcome == "client closed"
            agent.stdin.write("And how?\n")
            agent.stdin.flush()
            until(b"still held.")
            agent.stdin.close()
            assert agent.wait(10) == 0
        finally:
            agent.kill()
            agent.wait()
            agent.stdin.close()
            os.close(master)
    assert b"\x1b[0mRenew the lease" in shown


@pytest.mark.parametrize(
    ("text", "result"),
    [("6 * (3 + 4)", "42"), ("-1 / 4", "-0.25"), (" 2 - 3", "-1"), ("1_000 + .5", "1000.5")],
)
def test_the_calculator_knows_arithmetic(text: str, result: str) -> None:
    assert cli_agent.calculate(text) == result


@pytest.mark.parametrize("text", ["9 ** 9", "__import__('os')", "a", "'a' * 9", "1 < 2", ""])
def test_the_calculator_knows_nothing_else(text: str) -> None:
    with pytest.raises((ValueError, SyntaxError)):
        cli_agent.calculate(text)


def test_a_tools_error_is_for_the_model() -> None:
    assert cli_agent.run({"name": "calculate", "arguments": "{"}).startswith("JSONDecodeError")
    assert cli_agent.run({"name": "nothing", "arguments": ""}) == "KeyError: 'nothing'"


# Speech

MARKED = """\
## Leases

A lease ends after 3.5 s, wrote Dr. Ito. **Renew** it [in time](https://example.org/a).

```python
lease.renew()  # Not said.
```

---

- Use `renew`.

| a | b |
|---|---|
| 1 | 2 |

Done."""
SPOKEN = [
    "Leases",
    "A lease ends after 3.5 s, wrote Dr. Ito.",
    "Renew it in time.",
    "Use renew.",
    "Done.",
]


def test_one_sentence_at_a_time_is_spoken_and_nothing_that_is_no_speech() -> None:
    parts = [event({"content": MARKED[at : at + 50]}) for at in range(0, len(MARKED), 50)]
    with Server(clustered(THOUGHT, *parts)) as server:
        # Says each sentence that it is given in its standard input on a line of its own.
        out = run("tts_loop.py", server, "Why?", sys.executable, "-c", "print(input())")
    assert out.splitlines() == SPOKEN


def test_the_source_is_read_on_while_a_sentence_is_spoken() -> None:
    read = threading.Event()

    def source() -> Iterator[bytes]:
        yield from (step.data for step in clustered(event({"content": MARKED}), SAID))
        read.set()

    said = tts_loop.sentences(source())
    assert next(said) == SPOKEN[0]
    # It is being spoken: nobody asks for the next.
    assert read.wait(5)
    assert no_reader_left()
    assert next(said) == SPOKEN[1]


def test_a_listener_who_has_heard_enough_ends_the_stream() -> None:
    with (
        Server([Send(event({"content": MARKED})), Hold()]) as server,
        httpx.stream("POST", server.url, trust_env=False) as response,
    ):
        sentences = tts_loop.sentences(response)
        assert next(sentences) == SPOKEN[0]
        sentences.close()
        assert server.wait_open_connections(0)
    assert no_reader_left()


# The batch


def batch(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, server: Server | Provider, *prompts: str
) -> Any:
    """The exit code, and the lines that were written by their prompt."""
    for name, value in environment(server).items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(batch_collect, "BACKOFF_S", 0.0)
    asked, answers = tmp_path / "prompts.txt", tmp_path / "answers.jsonl"
    asked.write_text("\n".join(prompts))
    code = batch_collect.main(str(asked), str(answers))
    assert no_reader_left()
    rows = [json.loads(line) for line in answers.read_text().splitlines()]
    assert sorted(row["prompt"] for row in rows) == sorted(prompts)
    return code, {row["prompt"]: row for row in rows}


WHOLE = {
    "verdict": "complete",
    "finish": "stop",
    "reasoning": WHY,
    "output": HOW,
    "input_tokens": 7,
    "output_tokens": 40,
    "reasoning_tokens": 19,
}


def test_a_batch_writes_whole_answers(tmp_path: Path) -> None:
    prompts = [f"Question {number}?" for number in range(20)]
    asked, answers = tmp_path / "prompts.txt", tmp_path / "answers.jsonl"
    asked.write_text("\n".join(prompts))
    with Server(ANSWER) as server:
        told = "20 answers, 0 failed\n"
        run("batch_collect.py", server, str(asked), str(answers), errors=told)
        bodies = [json.loads(each.body) for each in server.connections]
    rows = [json.loads(line) for line in answers.read_text().splitlines()]
    assert sorted(row["prompt"] for row in rows) == sorted(prompts)
    assert all({**row, **WHOLE, "attempts": 1} == row for row in rows)
    assert all(body["stream_options"] == {"include_usage": True} for body in bodies)


def test_a_batch_keeps_every_character(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    odd = "One\u2028two\u0085three, naïve 🦀."
    # As it is, not escaped: some clients end a line there.
    said = event({"content": "odd"}).replace(b"odd", odd.encode())
    with Server(clustered(said)) as server:
        _, rows = batch(tmp_path, monkeypatch, server, "Why?")
    assert rows["Why?"]["output"] == odd


@pytest.mark.parametrize("broken", [BROKEN, BROKEN[:1], [Send(THOUGHT), Cut(0.05, reset=True)]])
def test_an_answer_that_broke_off_is_asked_for_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, broken: Script
) -> None:
    with Server(broken, ANSWER) as server:
        code, rows = batch(tmp_path, monkeypatch, server, "Why?")
    assert code == 0
    assert rows["Why?"] == {"prompt": "Why?", "attempts": 2, **WHOLE}


def test_what_never_becomes_whole_is_reported_and_has_no_output(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Server(BROKEN) as server:
        code, rows = batch(tmp_path, monkeypatch, server, "Why?", "How?")
        assert len(server.connections) == 6
    assert code == 1
    for row in rows.values():
        assert row.keys() == {"prompt", "attempts", "error"}
        assert (row["attempts"], "RemoteProtocolError" in row["error"]) == (3, True)


def test_an_error_in_the_stream_is_no_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    failed = [
        Send(SAID),
        Send(b'data: {"error":{"message":"too busy","code":503}}\n\n'),
        Send(DONE),
    ]
    with Server(failed) as server:
        code, rows = batch(tmp_path, monkeypatch, server, "Why?")
    assert code == 1
    assert rows["Why?"]["error"].startswith("failed: ")
    assert "too busy" in rows["Why?"]["error"]


def test_a_stream_that_is_none_does_not_end_the_batch(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    little = functools.partial(decluster.collect, max_event_bytes=1024)
    monkeypatch.setattr(decluster, "collect", little)
    with Server([Send(b"data: " + b"x" * 2000 + b"\n\n")], ANSWER) as server:
        monkeypatch.setattr(batch_collect, "WORKERS", 1)
        code, rows = batch(tmp_path, monkeypatch, server, "Why?", "How?")
    assert code == 1
    assert rows["Why?"]["error"].startswith("TooLarge(")
    assert rows["How?"]["output"] == HOW


def test_an_answer_cut_at_its_limit_is_not_asked_for_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Server(clustered(SAID, finish="length")) as server:
        code, rows = batch(tmp_path, monkeypatch, server, "Why?")
        assert len(server.connections) == 1
    assert code == 1
    assert rows["Why?"]["error"] == "cut at the limit of tokens"


@pytest.mark.parametrize(("status", "attempts"), [(400, 1), (401, 1), (429, 3), (503, 3)])
def test_a_refusal_that_may_pass_is_asked_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, status: int, attempts: int
) -> None:
    with Provider(b"not now", status, content_type="text/plain", retry_after="0") as provider:
        code, rows = batch(tmp_path, monkeypatch, provider, "Why?")
    assert code == 1
    error = f"{status}: not now"
    assert rows == {"Why?": {"prompt": "Why?", "attempts": attempts, "error": error}}


def test_a_batch_waits_as_long_as_the_provider_asks(monkeypatch: pytest.MonkeyPatch) -> None:
    waits: list[float] = []
    monkeypatch.setattr(batch_collect.time, "sleep", waits.append)
    with (
        Provider(b"not now", 429, content_type="text/plain", retry_after="7") as provider,
        httpx.Client(base_url=base_of(provider), trust_env=False) as client,
    ):
        batch_collect.answer(client, "Why?")
    assert waits == [7.0, 7.0]
