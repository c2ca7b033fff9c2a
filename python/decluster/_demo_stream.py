"""The bundled demo stream: its bursts, and the same as steps for the server.

Owns the form of `data/demo-stream.jsonl` (one burst a line, in order) and how a burst looks on the
wire in the chat completions dialect. Knows nothing of sockets or of what a reader does with it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Any, Literal

from ._demo_server import Send

Kind = Literal["reasoning", "output"]

KINDS: tuple[Kind, ...] = ("reasoning", "output")

DELTA_KEYS: tuple[tuple[str, Kind], ...] = (
    ("reasoning_content", "reasoning"),
    ("content", "output"),
)
"""Where the text of each kind sits in a delta; reasoning first, as a reader must take it."""


@dataclass(frozen=True, slots=True)
class Burst:
    """Text that arrives at once, `after_ms` after the burst before it."""

    after_ms: int
    kind: Kind
    text: str
    tokens: int
    """What a model with the o200k vocabulary would bill for `text`."""


def load_bursts() -> list[Burst]:
    """The bundled stream: about 21 seconds, 15 bursts of reasoning and 4 of output."""
    source = files("decluster") / "data" / "demo-stream.jsonl"
    return [Burst(**json.loads(line)) for line in source.read_text(encoding="utf-8").splitlines()]


def within(bursts: Sequence[Burst], seconds: float) -> list[Burst]:
    """The bursts that arrive in the first `seconds`, and always the first one."""
    kept: list[Burst] = []
    elapsed_ms = 0
    for burst in bursts:
        elapsed_ms += burst.after_ms
        if kept and elapsed_ms > seconds * 1000:
            break
        kept.append(burst)
    return kept


def text_of(bursts: Iterable[Burst], kind: Kind) -> str:
    """All text of one kind."""
    return "".join(burst.text for burst in bursts if burst.kind == kind)


def chat_script(bursts: Sequence[Burst]) -> list[Send]:
    """A whole chat completions stream: the role, each burst as one event, the ends of all sorts."""
    key_of = {kind: key for key, kind in DELTA_KEYS}
    steps = [Send(_event(_choice({"role": "assistant", "content": ""})))]
    for burst in bursts:
        event = _event(_choice({key_of[burst.kind]: burst.text}))
        steps.append(Send(event, after=burst.after_ms / 1000))
    steps.append(Send(_event(_choice({}, finish_reason="stop"))))
    steps.append(Send(_event({"choices": [], "usage": _usage(bursts)})))
    steps.append(Send(b"data: [DONE]\n\n"))
    return steps


def _choice(delta: dict[str, str], finish_reason: str | None = None) -> dict[str, Any]:
    return {"choices": [{"index": 0, "delta": delta, "finish_reason": finish_reason}]}


def _usage(bursts: Sequence[Burst]) -> dict[str, Any]:
    completion = sum(burst.tokens for burst in bursts)
    reasoning = sum(burst.tokens for burst in bursts if burst.kind == "reasoning")
    return {
        "prompt_tokens": PROMPT_TOKENS,
        "completion_tokens": completion,
        "total_tokens": PROMPT_TOKENS + completion,
        "completion_tokens_details": {"reasoning_tokens": reasoning},
    }


def _event(members: dict[str, Any]) -> bytes:
    chunk = {**CHUNK, **members}
    body = json.dumps(chunk, ensure_ascii=False, separators=(",", ":"))
    return f"data: {body}\n\n".encode()


# No prompt is really sent: a round number, so that nobody takes it for a measured one.
PROMPT_TOKENS = 100

CHUNK: dict[str, Any] = {
    "id": "chatcmpl-demo",
    "object": "chat.completion.chunk",
    "created": 1_700_000_000,
    "model": "demo",
}
