"""One answer in each dialect, in parts of any size, and what a reader must find in it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from sdk_streams import (
    BEGIN,
    CALL,
    RAW,
    USAGE,
    block,
    called,
    chunk,
    completed,
    function,
    item,
    message,
    messages,
    responses,
    text_part,
)

REASONING = (
    "The lease ends while the worker still runs, so the job is handed out again. Both write — "
    "the naïve counter shows one. First the clock must be ruled out: it is the same for both. "
    "That leaves the renewal, which comes from the thread that works. 仕事が長いと、間に合わない。"
)
OUTPUT = (
    "Renew the lease from a thread of its own. It costs one timer, and nothing else has to "
    "change. Where that is too much, take a longer lease; être lent n'est pas être mort. "
    "Watch the log for a week, then remove the old path 🦀."
)
ARGUMENTS = {"seconds": 30, "why": "zu früh"}


@dataclass
class Reading:
    """What one loop found in a stream. Two are equal if only the cuts differ."""

    reasoning: str = ""
    output: str = ""
    tools: dict[int, list[str]] = field(default_factory=dict)
    """For each call its name and its arguments as JSON."""
    usage: Any = None
    finish: str | None = None
    order: list[str] = field(default_factory=list)
    """What came in which order, neighbours of one kind as one."""
    wire_error: Any = None
    """The error object that the provider sent."""
    error: type[BaseException] | None = None
    """What the client raised."""
    kinds: set[type] = field(default_factory=set)
    """The types of the items."""
    told: Any = None
    """All else that an SDK made of it."""
    queued: int = field(default=0, compare=False)
    """The most bytes that a slow consumer left in the engine."""
    texts: int = field(default=0, compare=False)
    """How many events had text."""

    def found(self, kind: str) -> None:
        if self.order[-1:] != [kind]:
            self.order.append(kind)

    def text(self, kind: str, text: str | None) -> None:
        if text:
            self.found(kind)
            self.texts += 1
            setattr(self, kind, getattr(self, kind) + text)

    def tool(self, index: int, name: str | None, arguments: str | None) -> None:
        self.found("tool")
        call = self.tools.setdefault(index, ["", ""])
        call[0] += name or ""
        call[1] += arguments or ""

    def end(self, finish: str | None, usage: Any) -> None:
        if finish:
            self.found("finish")
            self.finish = finish
        if usage:
            self.found("usage")
            self.usage = usage


@dataclass(frozen=True)
class Dialect:
    """How the answer is written in a dialect, and how a published loop reads it."""

    name: str
    body: Callable[[Sequence[str], Sequence[str]], bytes]
    """The whole stream, of reasoning and output in parts."""
    text: bytes
    """What only events with output have in them."""
    failure: bytes
    """The event by which the provider says that it failed."""
    read: Callable[[Reading, dict[str, Any]], None]

    def events(self, reasoning: Sequence[str], output: Sequence[str]) -> tuple[list[bytes], int]:
        """The stream event by event, and how many there are up to the last output."""
        events = [*split(self.body(reasoning, output))]
        return events, max(n for n, event in enumerate(events, 1) if self.text in event)


def split(body: bytes) -> Iterator[bytes]:
    end = b"\r\n\r\n" if b"\r\n\r\n" in body else b"\n\n"
    for event in body.removesuffix(end).split(end):
        yield event + end


def parts(text: str, count: int) -> list[str]:
    """The text in `count` parts of about one size, cut anywhere."""
    size = -(-len(text) // count)
    return [text[at : at + size] for at in range(0, len(text), size)]


def data(event: Any, end: str = "\n\n") -> bytes:
    """An event without a name, its text as it is and not as escapes."""
    return f"data: {json.dumps(event, ensure_ascii=False)}{end}".encode()


def halves(text: str) -> tuple[str, str]:
    return text[: len(text) // 2], text[len(text) // 2 :]


CALL_TEXT = json.dumps(ARGUMENTS, ensure_ascii=False)
TOOL = {**CALL, "function": {"name": "renew", "arguments": ""}}


def chat_body(reasoning: Sequence[str], output: Sequence[str]) -> bytes:
    events = [
        BEGIN,
        *(chunk({"reasoning_content": part}) for part in reasoning),
        *(chunk({"content": part}) for part in output),
        chunk({"tool_calls": [TOOL]}),
        *(chunk({"tool_calls": [function(half)]}) for half in halves(CALL_TEXT)),
        chunk({"finish_reason": "tool_calls"}),
        chunk(usage=USAGE),
    ]
    return b"".join(map(data, events)) + b"data: [DONE]\n\n"


def read_chat(reading: Reading, event: dict[str, Any]) -> None:
    reading.wire_error = event.get("error") or reading.wire_error
    for choice in event.get("choices") or ():
        delta = choice.get("delta") or {}
        reading.text("reasoning", delta.get("reasoning_content"))
        reading.text("output", delta.get("content"))
        for call in delta.get("tool_calls") or ():
            made = call["function"]
            reading.tool(call["index"], made.get("name"), made.get("arguments"))
        reading.end(choice.get("finish_reason"), None)
    reading.end(None, event.get("usage"))


def many(events: Iterable[dict[str, Any]], deltas: Sequence[str]) -> Iterator[dict[str, Any]]:
    """The events of a part, its text in as many deltas."""
    for event in events:
        if event["type"].endswith(".delta"):
            yield from ({**event, "delta": part} for part in deltas)
        else:
            yield event


def responses_body(reasoning: Sequence[str], output: Sequence[str]) -> bytes:
    why, how = "".join(reasoning), "".join(output)
    raw = {**RAW, "content": [{"type": "reasoning_text", "text": why}]}
    text = message({"type": "output_text", "text": how, "annotations": []})
    call = called(CALL_TEXT)
    stem = "response.function_call_arguments"
    return responses(
        *item(0, raw, *many(text_part("reasoning_text", "reasoning_text", why), reasoning)),
        *item(1, text, *many(text_part("output_text", "output_text", how), output)),
        *item(
            2,
            call,
            *({"type": f"{stem}.delta", "delta": half} for half in halves(CALL_TEXT)),
            {"type": f"{stem}.done", "arguments": CALL_TEXT},
        ),
        completed(raw, text, call),
    )


def read_responses(reading: Reading, event: dict[str, Any]) -> None:
    match event["type"]:
        case "response.reasoning_text.delta":
            reading.text("reasoning", event["delta"])
        case "response.output_text.delta":
            reading.text("output", event["delta"])
        case "response.output_item.added" if event["item"]["type"] == "function_call":
            reading.tool(event["output_index"], event["item"]["name"], None)
        case "response.function_call_arguments.delta":
            reading.tool(event["output_index"], None, event["delta"])
        case "response.completed":
            reading.end(event["response"]["status"], event["response"]["usage"])
        case "error":
            reading.wire_error = event["error"]


def anthropic_body(reasoning: Sequence[str], output: Sequence[str]) -> bytes:
    return messages(
        *block(
            0,
            {"type": "thinking", "thinking": "", "signature": ""},
            *({"type": "thinking_delta", "thinking": part} for part in reasoning),
            {"type": "signature_delta", "signature": "c2ln"},
        ),
        *block(
            1,
            {"type": "text", "text": ""},
            *({"type": "text_delta", "text": part} for part in output),
        ),
        *block(
            2,
            {"type": "tool_use", "id": "call", "name": "renew", "input": {}},
            *({"type": "input_json_delta", "partial_json": half} for half in halves(CALL_TEXT)),
        ),
        stop="tool_use",
    )


def read_anthropic(reading: Reading, event: dict[str, Any]) -> None:
    match event["type"]:
        case "content_block_start" if event["content_block"]["type"] == "tool_use":
            reading.tool(event["index"], event["content_block"]["name"], None)
        case "content_block_delta":
            delta = event["delta"]
            reading.text("reasoning", delta.get("thinking"))
            reading.text("output", delta.get("text"))
            if delta["type"] == "input_json_delta":
                reading.tool(event["index"], None, delta["partial_json"])
            if delta["type"] == "signature_delta":
                reading.found("signature")
        case "message_delta":
            reading.end(event["delta"]["stop_reason"], event["usage"])
        case "error":
            reading.wire_error = event["error"]


def gemini_body(reasoning: Sequence[str], output: Sequence[str]) -> bytes:
    def said(part: dict[str, Any], **more: Any) -> bytes:
        candidate = {"content": {"parts": [part], "role": "model"}, "index": 0, **more}
        event = {"candidates": [candidate], "usageMetadata": GEMINI_USAGE, "modelVersion": "m"}
        return data({**event, "responseId": "r"}, "\r\n\r\n")

    call = {"functionCall": {"name": "renew", "args": ARGUMENTS}, "thoughtSignature": "c2ln"}
    return b"".join(
        [
            *(said({"text": part, "thought": True}) for part in reasoning),
            *(said({"text": part}) for part in output),
            said(call, finishReason="STOP"),
        ]
    )


def read_gemini(reading: Reading, event: dict[str, Any]) -> None:
    reading.wire_error = event.get("error") or reading.wire_error
    for candidate in event.get("candidates") or ():
        for part in (candidate.get("content") or {}).get("parts") or ():
            kind = "reasoning" if part.get("thought") else "output"
            reading.text(kind, part.get("text"))
            if call := part.get("functionCall"):
                reading.tool(0, call["name"], json.dumps(call["args"], ensure_ascii=False))
        reading.end(candidate.get("finishReason"), None)
    # It stands on each event and says the same; only that of the last counts.
    reading.usage = event.get("usageMetadata") or reading.usage


GEMINI_USAGE = {
    "promptTokenCount": 9,
    "candidatesTokenCount": 26,
    "thoughtsTokenCount": 31,
    "totalTokenCount": 66,
}
BUSY = {"message": "too busy", "code": 503}

CHAT = Dialect("openai-chat", chat_body, b'"content": "', data({"error": BUSY}), read_chat)
RESPONSES = Dialect(
    "openai-responses",
    responses_body,
    b"event: response.output_text.delta",
    b"event: error\n" + data({"type": "error", "error": BUSY}),
    read_responses,
)
ANTHROPIC = Dialect(
    "anthropic",
    anthropic_body,
    b'"text_delta"',
    b"event: error\n"
    + data({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}),
    read_anthropic,
)
GEMINI = Dialect(
    "gemini",
    gemini_body,
    b'{"text": ',
    data({"error": {**BUSY, "status": "UNAVAILABLE"}}, "\r\n\r\n"),
    read_gemini,
)
