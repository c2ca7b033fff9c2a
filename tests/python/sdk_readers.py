"""The vendors' own SDKs, reading a stream from a server on loopback: what they tell of it."""

from __future__ import annotations

import asyncio
import re
import sys
import threading
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, ClassVar, TypeAlias

import anthropic
import openai


@dataclass
class Told:
    """What an SDK made of a stream. Two are equal if a program that reads it cannot tell them apart
    but by where the text was cut."""

    texts: dict[tuple[Any, ...], str] = field(default_factory=dict)
    """All text that came in deltas, by where it belongs; the field's name is last."""
    others: list[Any] = field(default_factory=list)
    """Events that carry no such text, whole and in order: tool calls, usage, beginnings, ends."""
    ends: dict[Any, Any] = field(default_factory=dict)
    """What may stand beside text: finish reasons, usage, tool calls, signatures."""
    final: Any = None
    """What the SDK's own accumulator put together, if the way of reading has one."""
    error: tuple[str, str] | None = None
    """Type and message of what was raised."""
    raw: Any = field(compare=False, default=None)
    """The accumulated answer as it is."""
    events: int = field(compare=False, default=0)
    longest: int = field(compare=False, default=0)
    """Characters of the longest delta."""

    def text(self, *place: Any, text: Any) -> bool:
        """Takes text if it is some; says whether it was."""
        if not isinstance(text, str) or not text:
            return False
        self.texts[place] = self.texts.get(place, "") + text
        self.longest = max(self.longest, len(text))
        return True

    def more(self, *place: Any, of: Any) -> None:
        """Takes one more of what comes in parts that are no text."""
        self.ends.setdefault(place, []).append(of)


@dataclass(frozen=True)
class Way:
    """One way to read a stream with an SDK: a method, its accumulator, and how to sum it up."""

    sdk: str
    open: Callable[[Any, str], Any]
    """The SDK's call on a client, for a body by its number: what `with` or `async with` takes."""
    final: str | None
    tell: Callable[[list[Any], Any], Told]


Through: TypeAlias = Callable[[Any], Any]


class Bodies:
    """Serves the bodies that it was given, by number, to whoever asks for `?body=N` or `body/N`."""

    def __init__(self) -> None:
        self._bodies: list[bytes] = []
        bodies = self._bodies

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            # Else a small body waits for the acknowledgement of its headers.
            disable_nagle_algorithm = True

            def do_POST(self) -> None:
                self.rfile.read(int(self.headers["content-length"]))
                found = re.search(r"\bbody[=/](\d+)", self.path)
                assert found, self.path
                body = bodies[int(found[1])]
                self.send_response(200)
                self.send_header("content-type", "text/event-stream")
                self.send_header("content-length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *args: Any) -> None:
                """Says nothing."""

        class Http(ThreadingHTTPServer):
            def handle_error(self, request: Any, client_address: Any) -> None:
                # An SDK that raises drops the connection in the middle of a body.
                if not isinstance(sys.exc_info()[1], ConnectionError):
                    super().handle_error(request, client_address)

        self._http = Http(("127.0.0.1", 0), Handler)
        self._http.daemon_threads = True
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.01,), daemon=True)
        self._thread.start()
        self.url = f"http://127.0.0.1:{self._http.server_address[1]}"

    def add(self, body: bytes) -> str:
        """Serves one more body; gives its number."""
        self._bodies.append(body)
        return str(len(self._bodies) - 1)

    def close(self) -> None:
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()


class Readers:
    """The clients of one kind, sync or async, on a server of their own."""

    def __init__(self, *, background: bool) -> None:
        self._bodies = Bodies()
        self._loop = asyncio.new_event_loop() if background else None
        kinds: Mapping[str, Any] = self._ASYNC if background else self._SYNC
        self._clients = {
            name: kind(api_key="none", base_url=self._bodies.url, max_retries=0, timeout=20)
            for name, kind in kinds.items()
        }

    _SYNC: ClassVar = {"openai": openai.OpenAI, "anthropic": anthropic.Anthropic}
    _ASYNC: ClassVar = {"openai": openai.AsyncOpenAI, "anthropic": anthropic.AsyncAnthropic}

    def read(self, way: Way, body: bytes, through: Through = lambda stream: stream) -> Told:
        """Reads a body to its end, or to where the SDK raises; `through` may wrap its stream."""
        client, number = self._clients[way.sdk], self._bodies.add(body)
        events: list[Any] = []
        final, error = None, None
        try:
            if self._loop is None:
                final = _read(way, client, number, through, events)
            else:
                read = _aread(way, client, number, through, events)
                final = self._loop.run_until_complete(read)
        except Exception as raised:
            error = (type(raised).__name__, str(raised))
        told = way.tell(events, final)
        told.error, told.events = error, len(events)
        told.raw = final and as_dict(final)
        return told

    def close(self) -> None:
        for client in self._clients.values():
            if self._loop is None:
                client.close()
            else:
                self._loop.run_until_complete(client.close())
        if self._loop is not None:
            self._loop.run_until_complete(self._loop.shutdown_asyncgens())
            self._loop.close()
        self._bodies.close()

    def __enter__(self) -> Readers:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()


def _read(way: Way, client: Any, number: str, through: Through, events: list[Any]) -> Any:
    with way.open(client, number) as stream:
        for event in through(stream):
            events.append(event)
        return getattr(stream, way.final)() if way.final else None


async def _aread(way: Way, client: Any, number: str, through: Through, events: list[Any]) -> Any:
    opened = way.open(client, number)
    # A plain call is a coroutine of the stream, a helper is a context manager itself.
    async with await opened if isinstance(opened, Awaitable) else opened as stream:
        async for event in through(stream):
            events.append(event)
        return await getattr(stream, way.final)() if way.final else None


def as_dict(model: Any) -> Any:
    """A model as it was sent: what was null is null, what was absent is absent."""
    return model.to_dict(warnings=False)


def _chat(chunks: Iterable[Any], final: Any) -> Told:
    told = Told()
    for chunk in chunks:
        texts = [_choice(told, choice) for choice in chunk.choices or ()]
        if chunk.usage is not None:
            told.ends["usage"] = as_dict(chunk.usage)
        if not any(texts):
            told.others.append(as_dict(chunk))
    return told


def _choice(told: Told, choice: Any) -> bool:
    """Takes in one choice of a chunk, read as a program would; says whether there was text."""
    index, delta = choice.index, choice.delta
    if choice.finish_reason is not None:
        told.ends[index, "finish_reason"] = choice.finish_reason
    for token in (choice.logprobs and choice.logprobs.content) or ():
        told.more(index, "logprobs", of=as_dict(token))
    if delta is None:
        return False
    if delta.role:
        told.ends[index, "role"] = delta.role
    for call in delta.tool_calls or ():
        told.more(index, "tool_calls", of=as_dict(call))
    extra = delta.model_extra or {}
    fields = {"content": delta.content, "refusal": delta.refusal}
    fields |= {name: extra.get(name) for name in CHAT_REASONING}
    said = [told.text(index, name, text=text) for name, text in fields.items()]
    for entry in extra.get("reasoning_details") or ():
        place = (index, entry.get("index"))
        said += [told.text(*place, f"details.{k}", text=entry.get(k)) for k in ("text", "summary")]
        for key in ("signature", "data"):
            if entry.get(key):
                told.more(*place, key, of=entry[key])
    return any(said)


def _chat_helper(events: list[Any], final: Any) -> Told:
    told = _chat((event.chunk for event in events if event.type == "chunk"), None)
    for event in events:
        if event.type in ("content.delta", "refusal.delta"):
            told.text("event", event.type, text=event.delta)
            told.ends[event.type] = event.snapshot
        elif event.type != "chunk":
            told.others.append(as_dict(event))
    if final is not None:
        # The accumulator joins all strings, not only texts: what a provider repeats on each chunk
        # stands there as often as there were chunks. So this looks at what has a meaning only.
        told.final = {
            "choices": [_message(choice) for choice in final.choices],
            "usage": final.usage and as_dict(final.usage),
        }
    return told


def _message(choice: Any) -> Any:
    extra = choice.message.model_extra or {}
    return {
        "finish_reason": choice.finish_reason,
        "content": choice.message.content,
        "refusal": choice.message.refusal,
        "tool_calls": [as_dict(call) for call in choice.message.tool_calls or ()],
        "reasoning": {name: extra[name] for name in CHAT_REASONING if extra.get(name)},
        "details": [
            {key: entry.get(key) for key in ("type", "text", "summary", "signature", "data")}
            for entry in extra.get("reasoning_details") or ()
        ],
    }


def _responses(events: list[Any], final: Any) -> Told:
    told = Told(final=final and as_dict(final))
    for event in events:
        said = False
        if event.type in RESPONSES_TEXTS:
            part = getattr(event, "content_index", None)
            part = getattr(event, "summary_index", None) if part is None else part
            place = (event.output_index, part)
            said = told.text(*place, event.type, text=event.delta)
            if hasattr(event, "snapshot"):
                # The helper's events have the text so far, too.
                told.ends[(*place, "snapshot")] = event.snapshot
            for token in getattr(event, "logprobs", None) or ():
                told.more(*place, "logprobs", of=as_dict(token))
        if not said:
            told.others.append(as_dict(event))
    return told


def _messages(events: list[Any], final: Any) -> Told:
    told = Told(final=final and as_dict(final))
    for event in events:
        said = False
        if event.type in ANTHROPIC_TEXTS:
            # The helper's own: what the delta just before had, and the text so far.
            said = told.text("event", event.type, text=getattr(event, event.type))
            told.ends[event.type] = event.snapshot
        elif event.type == "content_block_delta":
            kind = event.delta.type.removesuffix("_delta")
            if kind in ANTHROPIC_TEXTS:
                said = told.text(event.index, kind, text=getattr(event.delta, kind))
        elif event.type == "completion" and event.stop_reason is None:
            # The events before Messages, which the SDK passes on.
            said = told.text("completion", text=event.completion)
        if not said:
            told.others.append(as_dict(event))
    return told


CHAT_REASONING = ("reasoning_content", "reasoning", "reasoning_text", "thinking")
RESPONSES_TEXTS = tuple(
    f"response.{name}.delta"
    for name in (
        "output_text",
        "refusal",
        "reasoning_text",
        "reasoning_summary_text",
        "reasoning",
        "reasoning_summary",
    )
)
ANTHROPIC_TEXTS = ("text", "thinking")

ASKED: dict[str, Any] = {"messages": [{"role": "user", "content": "?"}], "model": "m"}

WAYS = {
    "openai-chat": {
        "create": Way(
            "openai",
            lambda client, body: client.chat.completions.create(
                **ASKED, stream=True, extra_query={"body": body}
            ),
            None,
            _chat,
        ),
        "stream": Way(
            "openai",
            lambda client, body: client.chat.completions.stream(
                **ASKED, extra_query={"body": body}
            ),
            "get_final_completion",
            _chat_helper,
        ),
    },
    "openai-responses": {
        "create": Way(
            "openai",
            lambda client, body: client.responses.create(
                model="m", input="?", stream=True, extra_query={"body": body}
            ),
            None,
            _responses,
        ),
        "stream": Way(
            "openai",
            lambda client, body: client.responses.stream(
                model="m", input="?", extra_query={"body": body}
            ),
            "get_final_response",
            _responses,
        ),
    },
    "anthropic": {
        "create": Way(
            "anthropic",
            lambda client, body: client.messages.create(
                **ASKED, max_tokens=9, stream=True, extra_query={"body": body}
            ),
            None,
            _messages,
        ),
        "stream": Way(
            "anthropic",
            lambda client, body: client.messages.stream(
                **ASKED, max_tokens=9, extra_query={"body": body}
            ),
            "get_final_message",
            _messages,
        ),
    },
}
"""For each dialect the plain call and the helper that accumulates."""
