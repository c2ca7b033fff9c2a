"""Small streams of three dialects, and what an SDK must tell of each."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

WHY = (
    "The lease ends while the worker still runs. So the job is handed out again, and both write. "
    "That explains what the log shows."
)
HOW = (
    "Renew the lease from a thread of its own.\n\nOr take a longer one: naïve, but it works 🦀. "
    "Nothing else has to change."
)
NO = (
    "I cannot help with that. It would delete what others rely on, and nobody could bring it back. "
    "Ask the one who owns it."
)


@dataclass(frozen=True)
class Own:
    """A stream, and what it says."""

    name: str
    dialect: str
    body: bytes
    texts: dict[tuple[Any, ...], str]
    """All its text, by place; so an SDK must tell it."""
    final: dict[str, Any] = field(default_factory=dict)
    """Some members of what the SDK accumulates, by path."""
    error: tuple[str, str] | None = None


def chunk(*choices: dict[str, Any], **more: Any) -> dict[str, Any]:
    """A chunk of a chat stream. A choice is its delta's members, and `index` and so on."""
    told = []
    for choice in choices:
        outer = {key: choice[key] for key in CHOICE if key in choice}
        delta = {key: value for key, value in choice.items() if key not in CHOICE}
        told.append({"index": 0, "finish_reason": None, **outer, "delta": delta})
    head = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m"}
    return {**head, "choices": told, **more}


def chat(*chunks: dict[str, Any]) -> bytes:
    events = [f"data: {json.dumps(chunk)}\n\n" for chunk in chunks]
    return "".join([*events, "data: [DONE]\n\n"]).encode()


def named(*events: dict[str, Any]) -> bytes:
    """Events with their type as their name."""
    return "".join(
        f"event: {event['type']}\ndata: {json.dumps(event, ensure_ascii=False)}\n\n"
        for event in events
    ).encode()


def responses(*events: dict[str, Any]) -> bytes:
    """Numbered events, the first of them the response's creation."""
    created = {"type": "response.created", "response": RESPONSE}
    return named(*({**e, "sequence_number": n} for n, e in enumerate([created, *events])))


def completed(*output: dict[str, Any]) -> dict[str, Any]:
    done = {**RESPONSE, "status": "completed", "output": list(output), "usage": RESPONSE_USAGE}
    return {"type": "response.completed", "response": done}


def item(place: int, item: dict[str, Any], *within: dict[str, Any]) -> list[dict[str, Any]]:
    """An item that is opened, filled and closed."""
    lists = {key: [] for key in ("content", "summary") if key in item}
    begun = {**item, **lists, **({"arguments": ""} if "arguments" in item else {})}
    return [
        {"type": "response.output_item.added", "output_index": place, "item": begun},
        *({"item_id": item["id"], "output_index": place, **event} for event in within),
        {"type": "response.output_item.done", "output_index": place, "item": item},
    ]


def text_part(kind: str, stem: str, text: str, key: str = "text") -> list[dict[str, Any]]:
    """The events of a part of a message or a reasoning item, its text in one delta."""
    at = {"content_index": 0}
    # Only visible text has these.
    more = {"logprobs": []} if kind == "output_text" else {}
    empty, full = ({"type": kind, key: t, **PART_MORE.get(kind, {})} for t in ("", text))
    return [
        {"type": "response.content_part.added", **at, "part": empty},
        {"type": f"response.{stem}.delta", **at, "delta": text, **more},
        {"type": f"response.{stem}.done", **at, key: text, **more},
        {"type": "response.content_part.done", **at, "part": full},
    ]


def summary_part(place: int, text: str) -> list[dict[str, Any]]:
    at = {"summary_index": place}
    empty, full = ({"type": "summary_text", "text": t} for t in ("", text))
    stem = "response.reasoning_summary_"
    return [
        {"type": f"{stem}part.added", **at, "part": empty},
        {"type": f"{stem}text.delta", **at, "delta": text, "obfuscation": "xK2"},
        {"type": f"{stem}text.done", **at, "text": text},
        {"type": f"{stem}part.done", **at, "part": full},
    ]


def block(place: int, begun: dict[str, Any], *deltas: dict[str, Any]) -> list[dict[str, Any]]:
    """A content block of Anthropic's, opened, filled and closed."""
    return [
        {"type": "content_block_start", "index": place, "content_block": begun},
        *({"type": "content_block_delta", "index": place, "delta": delta} for delta in deltas),
        {"type": "content_block_stop", "index": place},
    ]


def thinking(place: int, text: str, signature: str) -> list[dict[str, Any]]:
    return block(
        place,
        {"type": "thinking", "thinking": "", "signature": ""},
        {"type": "thinking_delta", "thinking": text},
        {"type": "signature_delta", "signature": signature},
    )


def text_block(place: int, text: str) -> list[dict[str, Any]]:
    delta = {"type": "text_delta", "text": text}
    return block(place, {"type": "text", "text": ""}, delta)


def messages(*events: dict[str, Any], stop: str | None = "end_turn") -> bytes:
    """A message of Anthropic's; without `stop` it is cut short."""
    begun = {
        "id": "msg",
        "type": "message",
        "role": "assistant",
        "model": "m",
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": {"input_tokens": 9, "output_tokens": 1},
    }
    end = {
        "type": "message_delta",
        "delta": {"stop_reason": stop, "stop_sequence": None},
        "usage": {"output_tokens": 57},
    }
    ends = [end, {"type": "message_stop"}] if stop else []
    return named({"type": "message_start", "message": begun}, {"type": "ping"}, *events, *ends)


def function(arguments: str, **more: Any) -> dict[str, Any]:
    return {"index": 0, **more, "function": {"arguments": arguments}}


CHOICE = ("index", "finish_reason", "logprobs", "content_filter_results")
USAGE = {"prompt_tokens": 9, "completion_tokens": 57, "total_tokens": 66}
RESPONSE_USAGE = {
    "input_tokens": 9,
    "input_tokens_details": {"cached_tokens": 0},
    "output_tokens": 57,
    "output_tokens_details": {"reasoning_tokens": 31},
    "total_tokens": 66,
}
MESSAGE_USAGE = {"input_tokens": 9, "output_tokens": 57}
RESPONSE: dict[str, Any] = {
    "id": "resp",
    "object": "response",
    "created_at": 1,
    "model": "m",
    "status": "in_progress",
    "output": [],
    "parallel_tool_calls": True,
    "tool_choice": "auto",
    "tools": [],
}
PART_MORE: dict[str, Any] = {"output_text": {"annotations": []}}
BEGIN = chunk({"role": "assistant", "content": ""})
STOP = chunk({"finish_reason": "stop"})
USED = chunk(usage=USAGE)
CALL = {
    "index": 0,
    "id": "call",
    "type": "function",
    "function": {"name": "renew", "arguments": '{"seconds": 30}'},
}


def called(arguments: str) -> dict[str, Any]:
    return {
        "type": "function_call",
        "id": "fc",
        "call_id": "call",
        "name": "renew",
        "arguments": arguments,
        "status": "completed",
    }


def message(part: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "message",
        "id": "m",
        "role": "assistant",
        "status": "completed",
        "content": [part],
    }


TEXT = message({"type": "output_text", "text": HOW, "annotations": []})
REFUSAL = message({"type": "refusal", "refusal": NO})
SUMMARY = {
    "type": "reasoning",
    "id": "rs",
    "summary": [{"type": "summary_text", "text": text} for text in (WHY, HOW)],
    "encrypted_content": "b3BhcXVl",
}
RAW = {
    "type": "reasoning",
    "id": "rs",
    "summary": [],
    "content": [{"type": "reasoning_text", "text": WHY}],
}
ARGUMENTS = "response.function_call_arguments"
CALLED = item(
    1,
    called('{"seconds": 30}'),
    {"type": f"{ARGUMENTS}.delta", "delta": '{"seco'},
    {"type": f"{ARGUMENTS}.delta", "delta": 'nds": 30}'},
    {"type": f"{ARGUMENTS}.done", "arguments": '{"seconds": 30}'},
)

STREAMS = [
    Own(
        "reasoning, then an answer, then usage",
        "openai-chat",
        chat(
            BEGIN,
            chunk({"reasoning_content": WHY, "content": None}),
            chunk({"reasoning_content": None, "content": HOW}),
            STOP,
            USED,
        ),
        {(0, "reasoning_content"): WHY, (0, "content"): HOW},
        {
            "choices.0.content": HOW,
            "choices.0.reasoning": {"reasoning_content": WHY},
            "choices.0.finish_reason": "stop",
            "usage": USAGE,
        },
    ),
    Own(
        "reasoning said twice, with details and a signature",
        "openai-chat",
        chat(
            BEGIN,
            chunk(
                {
                    "reasoning": WHY,
                    "reasoning_details": [
                        {"type": "reasoning.text", "text": WHY, "index": 0, "signature": "c2ln"}
                    ],
                }
            ),
            chunk({"content": HOW}),
            STOP,
        ),
        {(0, "reasoning"): WHY, (0, 0, "details.text"): WHY, (0, "content"): HOW},
        {
            "choices.0.reasoning": {"reasoning": WHY},
            "choices.0.details.0.text": WHY,
            "choices.0.details.0.signature": "c2ln",
        },
    ),
    Own(
        "everything in one chunk",
        "openai-chat",
        chat(
            BEGIN,
            chunk(
                {
                    "reasoning_content": WHY,
                    "content": HOW,
                    "tool_calls": [CALL],
                    "finish_reason": "tool_calls",
                    "logprobs": {"content": None, "refusal": None},
                    "content_filter_results": {"hate": {"filtered": False, "severity": "safe"}},
                },
                usage=USAGE,
            ),
        ),
        {(0, "reasoning_content"): WHY, (0, "content"): HOW},
        {
            "choices.0.content": HOW,
            "choices.0.reasoning": {"reasoning_content": WHY},
            "choices.0.tool_calls.0.id": "call",
            "choices.0.tool_calls.0.function.arguments": '{"seconds": 30}',
            "choices.0.finish_reason": "tool_calls",
            "usage": USAGE,
        },
    ),
    Own(
        "two tool calls in fragments after text",
        "openai-chat",
        chat(
            BEGIN,
            chunk({"content": HOW}),
            chunk({"tool_calls": [{**CALL, "function": {"name": "renew", "arguments": ""}}]}),
            chunk({"tool_calls": [function('{"seco')]}),
            chunk({"tool_calls": [function('nds": 30}')]}),
            chunk({"tool_calls": [{**CALL, "index": 1, "id": "next"}]}),
            chunk({"finish_reason": "tool_calls"}),
        ),
        {(0, "content"): HOW},
        {
            "choices.0.content": HOW,
            "choices.0.tool_calls.0.function.name": "renew",
            "choices.0.tool_calls.0.function.arguments": '{"seconds": 30}',
            "choices.0.tool_calls.1.id": "next",
            "choices.0.finish_reason": "tool_calls",
        },
    ),
    Own(
        "two choices by turns",
        "openai-chat",
        chat(
            chunk({"content": WHY[:50]}),
            chunk({"index": 1, "content": HOW[:70]}),
            chunk({"content": WHY[50:]}),
            chunk({"index": 1, "content": HOW[70:]}),
            STOP,
            chunk({"index": 1, "finish_reason": "stop"}),
        ),
        {(0, "content"): WHY, (1, "content"): HOW},
        {
            "choices.0.content": WHY,
            "choices.1.content": HOW,
            "choices.1.finish_reason": "stop",
        },
    ),
    Own(
        "two choices in one chunk",
        "openai-chat",
        chat(
            chunk({"content": WHY}, {"index": 1, "content": HOW}),
            chunk({"finish_reason": "stop"}, {"index": 1, "finish_reason": "tool_calls"}),
        ),
        {(0, "content"): WHY, (1, "content"): HOW},
        {
            "choices.0.content": WHY,
            "choices.1.content": HOW,
            "choices.1.finish_reason": "tool_calls",
        },
    ),
    Own(
        "a refusal",
        "openai-chat",
        chat(BEGIN, chunk({"refusal": NO}), STOP, USED),
        {(0, "refusal"): NO},
        {"choices.0.refusal": NO, "choices.0.content": "", "usage": USAGE},
    ),
    Own(
        "usage on every chunk",
        "openai-chat",
        chat(
            BEGIN,
            chunk({"content": WHY}, usage={**USAGE, "completion_tokens": 30, "total_tokens": 39}),
            chunk({"content": HOW}, usage=USAGE),
            chunk({"finish_reason": "stop"}, usage=USAGE),
        ),
        {(0, "content"): WHY + HOW},
        {"choices.0.content": WHY + HOW, "usage": USAGE},
    ),
    Own(
        "an error after text",
        "openai-chat",
        chat(BEGIN, chunk({"content": HOW}), {"error": {"message": "too busy", "code": 503}}),
        {(0, "content"): HOW},
        error=("APIError", "too busy"),
    ),
    Own(
        "an answer after a summary in two parts",
        "openai-responses",
        responses(
            *item(0, SUMMARY, *summary_part(0, WHY), *summary_part(1, HOW)),
            *item(1, TEXT, *text_part("output_text", "output_text", HOW)),
            completed(SUMMARY, TEXT),
        ),
        {
            (0, 0, "response.reasoning_summary_text.delta"): WHY,
            (0, 1, "response.reasoning_summary_text.delta"): HOW,
            (1, 0, "response.output_text.delta"): HOW,
        },
        {
            "output.0.summary.1.text": HOW,
            "output.0.encrypted_content": "b3BhcXVl",
            "output.1.content.0.text": HOW,
            "usage": RESPONSE_USAGE,
        },
    ),
    Own(
        "raw reasoning, then a tool call",
        "openai-responses",
        responses(
            *item(0, RAW, *text_part("reasoning_text", "reasoning_text", WHY)),
            {"type": "keepalive"},
            *CALLED,
            completed(RAW, called('{"seconds": 30}')),
        ),
        {(0, 0, "response.reasoning_text.delta"): WHY},
        {
            "output.0.content.0.text": WHY,
            "output.1.arguments": '{"seconds": 30}',
            "usage": RESPONSE_USAGE,
        },
    ),
    Own(
        "a refusal",
        "openai-responses",
        responses(
            *item(0, REFUSAL, *text_part("refusal", "refusal", NO, "refusal")),
            completed(REFUSAL),
        ),
        {(0, 0, "response.refusal.delta"): NO},
        {"output.0.content.0.refusal": NO},
    ),
    Own(
        "an error after text",
        "openai-responses",
        responses(
            *item(0, TEXT, *text_part("output_text", "output_text", HOW)),
            {"type": "error", "error": {"message": "too busy", "code": "busy"}},
        ),
        {(0, 0, "response.output_text.delta"): HOW},
        error=("APIError", "too busy"),
    ),
    Own(
        "thinking, a signature, text and a tool",
        "anthropic",
        messages(
            *thinking(0, WHY, "c2ln"),
            *block(1, {"type": "redacted_thinking", "data": "b3BhcXVl"}),
            {"type": "ping"},
            *text_block(2, HOW),
            *block(
                3,
                {"type": "tool_use", "id": "call", "name": "renew", "input": {}},
                {"type": "input_json_delta", "partial_json": ""},
                {"type": "input_json_delta", "partial_json": '{"seco'},
                {"type": "input_json_delta", "partial_json": 'nds": 30}'},
            ),
            stop="tool_use",
        ),
        {(0, "thinking"): WHY, (2, "text"): HOW},
        {
            "content.0.thinking": WHY,
            "content.0.signature": "c2ln",
            "content.1.data": "b3BhcXVl",
            "content.2.text": HOW,
            "content.3.input": {"seconds": 30},
            "stop_reason": "tool_use",
            "usage": MESSAGE_USAGE,
        },
    ),
    Own(
        "a thinking block that begins with text",
        "anthropic",
        messages(
            *block(
                0,
                {"type": "thinking", "thinking": "Well. ", "signature": ""},
                {"type": "thinking_delta", "thinking": WHY},
                {"type": "signature_delta", "signature": "c2ln"},
            ),
            *text_block(1, HOW),
        ),
        {(0, "thinking"): WHY, (1, "text"): HOW},
        {"content.0.thinking": f"Well. {WHY}", "content.1.text": HOW, "usage": MESSAGE_USAGE},
    ),
    Own(
        "text in two blocks",
        "anthropic",
        messages(*text_block(0, WHY), *text_block(1, HOW), stop="refusal"),
        {(0, "text"): WHY, (1, "text"): HOW},
        {"content.0.text": WHY, "content.1.text": HOW, "stop_reason": "refusal"},
    ),
    Own(
        "an error after text",
        "anthropic",
        messages(
            *text_block(0, HOW)[:-1],
            {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}},
            stop=None,
        ),
        {(0, "text"): HOW},
        error=(
            "APIStatusError",
            "{'type': 'error', 'error': {'type': 'overloaded_error', 'message': 'Overloaded'}}",
        ),
    ),
]
