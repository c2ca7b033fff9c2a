"""The segmenter's speed beside that of the sentence splitters that Python programs stream with.

`make bench-peers` installs them and runs this. *Token by token* is text as providers send it; who
has no streaming splits what is pending after every token, and all but the last sentence is taken.
*In one go* is the whole text at once. The text is recorded reasoning from ../shared, where somebody
has that, else the project's own.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable, Iterator
from importlib.metadata import version
from pathlib import Path

import pysbd
import sentence_stream
import stream2sentence

import decluster

BENCHES = Path(__file__).resolve().parent
RECORDED = BENCHES / "../../shared/reasoning-text"
BYTES = 400_000
# A peer that has not come to the end of the text by then is measured on what it has had.
SECONDS = 10.0
# So few that asking for the time costs nothing, and so many that no peer exceeds its time by much.
BETWEEN_LOOKS = 64
ROUNDS = 5
# Like the tokens of the Rust benches: a word with the blank before it, digits, marks, line ends.
TOKEN = re.compile(r" ?[^\W\d_]{1,9}| ?\d{1,3}| ?[^\w\s]{1,3}|\n{1,2}|\s|.")

Stream = Callable[[Iterable[str]], None]


def main() -> None:
    text = prose()
    tokens = TOKEN.findall(text)
    assert "".join(tokens) == text
    rows: list[tuple[str, str, Stream, Callable[[str], object], int]] = [
        ("decluster", "native", decluster_in("semantic"), whole(decluster_in("semantic")), BYTES),
        (
            "decluster, sentences",
            "native",
            decluster_in("sentences"),
            whole(decluster_in("sentences")),
            BYTES,
        ),
        (
            f"sentence-stream {version('sentence-stream')}",
            "native",
            detector,
            whole(detector),
            BYTES,
        ),
        (
            f"stream2sentence {version('stream2sentence')}",
            "native (pulls)",
            generator,
            whole(generator),
            20_000,
        ),
        (f"pySBD {version('pysbd')}", "re-run", rerun, PYSBD.segment, 20_000),
    ]
    print("| splitter | streaming | us per token | MB/s in one go |")
    print("| --- | --- | --- | --- |")
    for name, how, stream, cut, size in rows:
        per_token = min(streamed(stream, tokens) for _ in range(ROUNDS))
        speed = max(in_one_go(cut, text[:size]) for _ in range(ROUNDS))
        print(f"| {name} | {how} | {per_token * 1e6:.3g} | {speed / 1e6:.2g} |", flush=True)


def prose() -> str:
    """English that is neither code nor a proof."""
    files = [
        file
        for file in sorted(RECORDED.glob("en-*.txt"))
        if not file.name.startswith(("en-code", "en-dsmath"))
    ]
    text = "\n\n".join(file.read_text("utf-8") for file in files[::2])
    if len(text) < BYTES:
        print("No recorded text beside the project: its own, repeated.\n")
        own = (BENCHES / "text.txt").read_text("utf-8")
        text = own * (BYTES // len(own) + 1)
    return text[:BYTES]


class Feed:
    """Tokens until the time is up, and how many there were."""

    def __init__(self, tokens: list[str]) -> None:
        self.tokens = tokens
        self.given = 0

    def __iter__(self) -> Iterator[str]:
        end = time.perf_counter() + SECONDS / ROUNDS
        for start in range(0, len(self.tokens), BETWEEN_LOOKS):
            if time.perf_counter() > end:
                return
            some = self.tokens[start : start + BETWEEN_LOOKS]
            self.given += len(some)
            yield from some


def streamed(stream: Stream, tokens: list[str]) -> float:
    """Seconds per token."""
    feed = Feed(tokens)
    start = time.perf_counter()
    stream(feed)
    return (time.perf_counter() - start) / feed.given


def in_one_go(cut: Callable[[str], object], text: str) -> float:
    """Bytes per second."""
    start = time.perf_counter()
    cut(text)
    return len(text.encode()) / (time.perf_counter() - start)


def whole(stream: Stream) -> Callable[[str], object]:
    return lambda text: stream([text])


def decluster_in(mode: str) -> Stream:
    def stream(tokens: Iterable[str]) -> None:
        segmenter = decluster.Segmenter(mode=mode)
        for token in tokens:
            segmenter.push(token)
        segmenter.finish()

    return stream


def detector(tokens: Iterable[str]) -> None:
    boundaries = sentence_stream.SentenceBoundaryDetector()
    for token in tokens:
        for _ in boundaries.add_chunk(token):
            pass
    boundaries.finish()


def generator(tokens: Iterable[str]) -> None:
    for _ in stream2sentence.generate_sentences(tokens):
        pass


PYSBD = pysbd.Segmenter(language="en", clean=False)


def rerun(tokens: Iterable[str]) -> None:
    pending = ""
    for token in tokens:
        pending += token
        sentences = PYSBD.segment(pending)
        if len(sentences) > 1:
            pending = sentences[-1]


if __name__ == "__main__":
    main()
