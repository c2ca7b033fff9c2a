"""Recorded streams for the tests of `decluster diagnose`."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

SHARED = Path(__file__).parents[2] / ".." / "shared"


def counted(kind: str, tokens: int) -> str:
    """An event that counts its tokens."""
    return f'event: response.{kind}.delta\ndata: {{"delta_tokens": {tokens}}}\n\n'


def said(text: str) -> str:
    """An event of chat completions."""
    return f"data: {json.dumps({'choices': [{'index': 0, 'delta': {'content': text}}]})}\n\n"


def timed(arrivals: Iterable[tuple[float, str]]) -> str:
    """A line of JSON for every arrival."""
    return "".join(f"{json.dumps({'t_ms': ms, 'data': data})}\n" for ms, data in arrivals)


INCIDENT = timed(
    [
        (612, counted("reasoning", 67)),
        (2012, counted("reasoning", 81)),
        (2016, counted("output", 12)),
    ]
)
"""The published log: 67 tokens, 1.4 s of nothing, 81 tokens, 12 of output."""
EVEN = timed((100 + 20 * place, said(f" word {place}")) for place in range(200))
"""Fifty words a second."""
