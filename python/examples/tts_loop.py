"""Speaks an answer while it is written: one sentence at a time, no reasoning, no code.

    OPENAI_API_KEY=... OPENAI_MODEL=... python tts_loop.py "Why is the sky blue?" espeak-ng -s 170

The words behind the question are a command that reads a sentence from its standard input and ends
when it is spoken; without one it is `espeak-ng` or `say`, or else the text is printed.
OPENAI_BASE_URL names another provider. Needs httpx.
"""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any

import httpx

import decluster


def sentences(source: Any) -> Iterator[str]:
    """What a voice should say of a stream, as it becomes known."""
    # A voice is slower than a model and sets the pace: every sentence as soon as it is complete.
    # The source is read on while a sentence is spoken.
    with decluster.blocks(source, segment="sentences", pace="off") as blocks:
        in_code = False
        for block in blocks:
            text = block.text.strip()
            if block.kind == "reasoning":
                continue
            if text.startswith(("```", "~~~")):
                in_code = not in_code
            elif not in_code and not text.startswith("|"):
                # Marks of headings, lists and emphasis are for the eye, and so is a link's target.
                text = re.sub(r"^[#>*+-]+\s+|\*+|`|\]\([^)]*\)|\[", "", text)
                if re.search(r"\w", text):
                    yield text


def voice(command: list[str]) -> Callable[[str], object]:
    if not command:
        command = [name for name in ("espeak-ng", "say") if shutil.which(name)][:1]
    if not command:
        return print
    return lambda text: subprocess.run(command, input=text, text=True, check=True)


def main(question: str, *command: str) -> None:
    body = {
        "model": os.environ.get("OPENAI_MODEL", "gpt-5-mini"),
        "messages": [{"role": "user", "content": question}],
        "stream": True,
    }
    url = os.environ.get("OPENAI_BASE_URL", "https://api.openai.com/v1") + "/chat/completions"
    headers = {"Authorization": f"Bearer {os.environ.get('OPENAI_API_KEY', 'none')}"}
    # A model that thinks may be silent for longer than httpx's five seconds.
    timeout = httpx.Timeout(10, read=300)
    speak = voice(list(command))
    with httpx.stream("POST", url, json=body, headers=headers, timeout=timeout) as response:
        response.raise_for_status()
        for text in sentences(response.iter_bytes()):
            speak(text)


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    main(*sys.argv[1:])
