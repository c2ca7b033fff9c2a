"""Many prompts, each answer whole or not at all: a batch with retries that writes JSON lines.

    OPENAI_API_KEY=... OPENAI_MODEL=... python batch_collect.py prompts.txt answers.jsonl

One prompt a line. It streams though nobody watches, since a long answer that does not is cut by
whatever stands between once nothing came for a minute, and a stream tells when it broke off.
OPENAI_BASE_URL names another provider. Exits with 1 if prompts are left without an answer.
Needs httpx.
"""

import json
import os
import sys
import time
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from typing import Any

import httpx

import decluster

WORKERS = 8
ATTEMPTS = 3
BACKOFF_S = 2.0
MODEL = os.environ.get("OPENAI_MODEL", "gpt-5-mini")


class Failed(Exception):
    """There is no whole answer; `again` if another attempt may help, after `wait` seconds."""

    def __init__(self, why: object, again: bool, wait: float = 0.0) -> None:
        super().__init__(str(why))
        self.again, self.wait = again, wait


def ask(client: httpx.Client, prompt: str) -> dict[str, Any]:
    body = {
        "model": MODEL,
        "messages": [{"role": "user", "content": prompt}],
        "stream": True,
        # Else a stream of chat completions says nothing of what it cost.
        "stream_options": {"include_usage": True},
    }
    try:
        with client.stream("POST", "chat/completions", json=body) as response:
            if response.is_error:
                status = response.status_code
                wait = response.headers.get("retry-after", "")
                raise Failed(
                    f"{status}: {response.read().decode()}",
                    again=status in (408, 409, 429) or status >= 500,
                    wait=float(wait) if wait.isdecimal() else 0.0,
                )
            # Not by lines: those of httpx end at U+2028 too, and the text would lack it.
            answer = decluster.collect(response.iter_bytes())
    except httpx.TransportError as error:
        raise Failed(repr(error), again=True) from error
    except decluster.ProviderError as error:
        raise Failed(repr(error), again=False) from error
    if answer.verdict != "complete":
        raise Failed(f"{answer.verdict}: {answer.reason or answer.error}", again=True)
    if answer.finish == "length":
        # The stream is complete, the text is not. It would be cut at the same place again.
        raise Failed("cut at the limit of tokens", again=False)
    return {
        "verdict": answer.verdict,
        "finish": answer.finish,
        "reasoning": answer.reasoning,
        "output": answer.output,
        "input_tokens": answer.tokens.input if answer.tokens else None,
        "output_tokens": answer.tokens.output if answer.tokens else None,
        "reasoning_tokens": answer.tokens.reasoning if answer.tokens else None,
    }


def answer(client: httpx.Client, prompt: str) -> dict[str, Any]:
    """The line for one prompt: an answer, or the error of the last attempt."""
    for attempt in range(1, ATTEMPTS + 1):
        try:
            return {"prompt": prompt, "attempts": attempt, **ask(client, prompt)}
        except Failed as error:
            if not error.again or attempt == ATTEMPTS:
                return {"prompt": prompt, "attempts": attempt, "error": str(error)}
            time.sleep(max(error.wait, BACKOFF_S * 2 ** (attempt - 1)))
    raise AssertionError("there is at least one attempt")


def main(prompts: str, answers: str) -> int:
    client = httpx.Client(
        base_url=os.environ.get("OPENAI_BASE_URL", "https://api.openai.com/v1"),
        headers={"Authorization": f"Bearer {os.environ.get('OPENAI_API_KEY', 'none')}"},
        timeout=httpx.Timeout(10, read=300, pool=None),
    )
    failed = 0
    with (
        client,
        ThreadPoolExecutor(WORKERS) as pool,
        Path(answers).open("w", encoding="utf-8") as out,
    ):
        lines = [
            line for line in Path(prompts).read_text(encoding="utf-8").splitlines() if line.strip()
        ]
        for done in as_completed([pool.submit(answer, client, line) for line in lines]):
            row = done.result()
            failed += "error" in row
            print(json.dumps(row), file=out, flush=True)
    print(f"{len(lines) - failed} answers, {failed} failed", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    sys.exit(main(*sys.argv[1:]))
