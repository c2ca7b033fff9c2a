"""Made streams for the benches in Python, and how their tables are written."""

from __future__ import annotations

import json
import random
import re
from dataclasses import dataclass
from itertools import accumulate, pairwise
from pathlib import Path

BENCHES = Path(__file__).resolve().parent
READ = 8_192
# Like the tokens of the other benches: a word with the blank before it, digits, marks, line ends.
TOKEN = re.compile(r" ?[^\W\d_]{1,9}| ?\d{1,3}| ?[^\w\s]{1,3}|\n{1,2}|\s|.")


@dataclass(frozen=True)
class Upstream:
    """One stream as it is sent."""

    name: str
    text: str
    events: list[str]

    @property
    def sent(self) -> bytes:
        return "".join(self.events).encode()

    @property
    def data(self) -> list[str]:
        """The JSON of each event."""
        return [line[6:] for line in self.lines if line.startswith("data: {")]

    @property
    def lines(self) -> list[str]:
        """As `iter_lines()` gives them: without ends, the empty ones too."""
        return [line for event in self.events for line in event.split("\n")[:-1]]

    def cut(self, how: str) -> list[bytes]:
        if how == "an event":
            return [event.encode() for event in self.events]
        whole = self.sent
        if how == "8 KiB":
            ends = [*range(0, len(whole), READ), len(whole)]
        else:
            # As many chunks as there are events, each of any length.
            rng = random.Random(7)
            mean = len(whole) // len(self.events)
            steps = [rng.randint(1, 2 * mean) for _ in range(3 * len(self.events))]
            ends = [0, *(end for end in accumulate(steps) if end < len(whole)), len(whole)]
        return [whole[start:end] for start, end in pairwise(ends)]


def chat(events: int, tokens: int) -> Upstream:
    def data(text: str) -> str:
        return compact(
            {
                "id": "chatcmpl-CkB7wq0VZt3nYdR5uXsLmA91",
                "object": "chat.completion.chunk",
                "created": 1764500000,
                "model": "gpt-5-mini-2025-08-07",
                "service_tier": "default",
                "choices": [
                    {
                        "index": 0,
                        "delta": {"reasoning_content": text},
                        "logprobs": None,
                        "finish_reason": None,
                    }
                ],
            }
        )

    texts = deltas(events, tokens)
    end = compact({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})
    sent = [f"data: {data(text)}\n\n" for text in texts]
    name = "chat" if tokens == 1 else f"chat, {tokens} tokens"
    return Upstream(name, "".join(texts), [*sent, f"data: {end}\n\n", "data: [DONE]\n\n"])


def responses(events: int, tokens: int) -> Upstream:
    kind = "response.reasoning_summary_text.delta"
    texts = deltas(events, tokens)
    sent = [
        f"event: {kind}\ndata: "
        + compact(
            {
                "type": kind,
                "sequence_number": number,
                "item_id": "rs_68d1f0a2c4e7b90051f3a8d62b7c4e19a0d5e81f7b3c6d2a94",
                "output_index": 0,
                "summary_index": 0,
                "delta": text,
                "obfuscation": "q7Zt3nYdR5uXsLmA"[len(text) :],
            }
        )
        + "\n\n"
        for number, text in enumerate(texts, 4)
    ]
    end = {"type": "response.completed", "response": {"status": "completed", "output": []}}
    last = f"event: response.completed\ndata: {compact(end)}\n\n"
    return Upstream("Responses", "".join(texts), [*sent, last])


def deltas(events: int, tokens: int) -> list[str]:
    text = (BENCHES / "text.txt").read_text("utf-8")
    found = TOKEN.findall(text * (events * tokens * 8 // len(text) + 1))
    return ["".join(found[i * tokens : (i + 1) * tokens]) for i in range(events)]


def compact(value: object) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def markdown(rows: list[list[str]]) -> str:
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def write_between(path: Path, begin: str, end: str, report: str) -> None:
    """Puts a report between two markers of a file."""
    before, _, rest = path.read_text("utf-8").partition(begin)
    _, found, after = rest.partition(end)
    if not found:
        raise SystemExit(f"{path} has no markers {begin} … {end}")
    path.write_text(f"{before}{begin}\n\n{report}\n\n{end}{after}", "utf-8")
