"""Streams of a provider on loopback, for the tests of the examples."""

from __future__ import annotations

import json
import os
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from decluster._demo_server import Cut, Script, Send, Server

WHY = "The lease ends while the worker still runs, so the job is handed out again. Renew it, then."
HOW = "Renew the lease from a thread of its own: a timer does it. Then check that it is still held."


def event(delta: dict[str, Any], finish: str | None = None) -> bytes:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    body = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m"}
    return f"data: {json.dumps({**body, 'choices': [choice]})}\n\n".encode()


def called(name: str, arguments: dict[str, str], id: str = "call-1") -> list[bytes]:
    """A tool call as it comes: its name, then its arguments in two parts."""
    text = json.dumps(arguments)
    parts = [
        {"id": id, "type": "function", "function": {"name": name, "arguments": ""}},
        {"function": {"arguments": text[:5]}},
        {"function": {"arguments": text[5:]}},
    ]
    return [event({"tool_calls": [{"index": 0, **part}]}) for part in parts]


USAGE = (
    b'data: {"id":"c","object":"chat.completion.chunk","created":1,"model":"m","choices":[],'
    b'"usage":{"prompt_tokens":7,"completion_tokens":40,"total_tokens":47,'
    b'"completion_tokens_details":{"reasoning_tokens":19}}}\n\n'
)
DONE = b"data: [DONE]\n\n"


def clustered(*events: bytes, finish: str = "stop") -> list[Send]:
    whole = [event({"role": "assistant", "content": ""}), *events, event({}, finish), USAGE, DONE]
    return [Send(data, after=0.05) for data in whole]


THOUGHT = event({"reasoning_content": WHY})
SAID = event({"content": HOW})
ANSWER = clustered(THOUGHT, SAID)
BROKEN: Script = [Send(THOUGHT), Send(event({"content": HOW[:30]})), Send(SAID[:20]), Cut(0.05)]
CALLING = clustered(
    THOUGHT, *called("calculate", {"expression": "6 * (3 + 4)"}), finish="tool_calls"
)


class Provider(ThreadingHTTPServer):
    """Answers with one body, and keeps connections; counts them."""

    daemon_threads = True

    def __init__(self, body: bytes, status: int = 200, **headers: str) -> None:
        self.accepted = 0
        said = {"content_length": str(len(body)), "content_type": "text/event-stream", **headers}

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True

            def do_POST(self) -> None:
                self.rfile.read(int(self.headers.get("content-length", 0)))
                self.send_response(status)
                for name, value in said.items():
                    self.send_header(name.replace("_", "-"), value)
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *args: Any) -> None:
                """Says nothing."""

        super().__init__(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server_address[1]}/v1/chat/completions"
        threading.Thread(target=self.serve_forever, args=(0.01,), daemon=True).start()

    def process_request(self, request: Any, client_address: Any) -> None:
        self.accepted += 1
        super().process_request(request, client_address)

    def __exit__(self, *error: object) -> None:
        self.shutdown()
        super().__exit__(*error)


def environment(server: Server | Provider) -> dict[str, str]:
    own = {"OPENAI_BASE_URL": base_of(server), "OPENAI_API_KEY": "none", "OPENAI_MODEL": "m"}
    return {**os.environ, **own, "NO_PROXY": "127.0.0.1", "PYTHONWARNINGS": "error"}


def base_of(server: Server | Provider) -> str:
    return server.url.removesuffix("/chat/completions")


def texts_of(chunks: list[bytes]) -> list[str]:
    """The texts of a stream's deltas; half an event at its end has none."""
    found = []
    for line in b"".join(chunks).splitlines():
        if line.startswith(b"data: {") and line.endswith(b"}"):
            for choice in json.loads(line[6:])["choices"]:
                delta = choice["delta"]
                found.append(delta.get("reasoning_content") or delta.get("content") or "")
    return [text for text in found if text]
