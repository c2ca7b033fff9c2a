"""How good blocks are: sizes in true tokens, where blocks end, look-ahead, and the token estimate.

`make bench-segment` runs this over recorded reasoning, prints a table and writes it into
benches/README.md. Tokens are counted with the o200k vocabulary (PyPI `bpe-openai`). The same
figures are gates in tests/python/test_segment_corpus.py.
"""

from __future__ import annotations

import argparse
import bisect
import codecs
import sys
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import accumulate
from pathlib import Path
from typing import Any

import decluster

BENCHES = Path(__file__).resolve().parent
CORPUS = BENCHES.parent.parent / "shared" / "reasoning-text"
BEGIN, END = "<!-- segment: begin -->", "<!-- segment: end -->"
WHOLE = {"paragraph", "line", "sentence"}


@dataclass
class Trace:
    """One recorded text and its tokens."""

    name: str
    text: str
    # Where each token ends, in bytes of UTF-8.
    tokens: list[int]

    @property
    def group(self) -> str:
        kinds = {"humaneval": "en, code", "mbpp": "en, code", "dsmathv2": "en, proofs"}
        for part, group in kinds.items():
            if part in self.name:
                return group
        language = self.name[:2]
        return "en, prose" if language == "en" else language

    @property
    def tuned(self) -> bool:
        """The weights of the estimate were fitted on this half of the files."""
        return zlib.crc32(f"{self.name}.txt".encode()) % 2 == 0


@dataclass
class Figures:
    """Sums over blocks."""

    blocks: int = 0
    tokens: int = 0
    estimate: int = 0
    largest: int = 0
    ends: dict[str, int] = field(default_factory=dict)
    # Blocks cut at a blank or within a word, though the text went on.
    forced: int = 0
    error: float = 0.0
    # How many tokens had come behind a block's end when the block came out, by count.
    ahead: dict[int, int] = field(default_factory=dict)

    def add(self, block: decluster.Block, tokens: int, ahead: int | None) -> None:
        self.blocks += 1
        self.tokens += tokens
        self.estimate += block.tokens
        self.largest = max(self.largest, block.tokens)
        self.ends[block.boundary] = self.ends.get(block.boundary, 0) + 1
        self.error += abs(block.tokens - tokens) / tokens
        if ahead is not None:
            self.ahead[ahead] = self.ahead.get(ahead, 0) + 1
            self.forced += block.boundary in ("word", "grapheme")

    def merge(self, other: Figures) -> None:
        for name in ("blocks", "tokens", "estimate", "forced", "error"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.largest = max(self.largest, other.largest)
        for mine, theirs in ((self.ends, other.ends), (self.ahead, other.ahead)):
            for key, count in theirs.items():
                mine[key] = mine.get(key, 0) + count  # type: ignore[index]

    @property
    def mean(self) -> float:
        return self.tokens / self.blocks

    @property
    def whole(self) -> float:
        """The share of blocks that end at a sentence, a line or a paragraph, in per cent."""
        return 100 * sum(self.ends.get(end, 0) for end in WHOLE) / self.blocks

    @property
    def clause(self) -> float:
        """The same, with clauses."""
        return self.whole + 100 * self.ends.get("clause", 0) / self.blocks

    @property
    def forced_share(self) -> float:
        return 100 * self.forced / self.blocks

    @property
    def bias(self) -> float:
        """How far the estimate of the total is off, in per cent."""
        return 100 * (self.estimate / self.tokens - 1)

    @property
    def block_error(self) -> float:
        """The mean error of the estimate of a block, in per cent."""
        return 100 * self.error / self.blocks

    @property
    def mean_ahead(self) -> float:
        return sum(n * count for n, count in self.ahead.items()) / max(1, sum(self.ahead.values()))

    @property
    def most_ahead(self) -> int:
        return max(self.ahead, default=0)


@dataclass
class Study:
    """The figures of all traces."""

    groups: dict[str, Figures] = field(default_factory=dict)
    # The means of the traces of 300 tokens and more, by group.
    means: dict[str, list[float]] = field(default_factory=dict)
    # The figures of the halves: the one that the estimate was fitted on, and the other.
    halves: dict[bool, dict[str, Figures]] = field(default_factory=lambda: {True: {}, False: {}})

    def all(self, tuned: bool | None = None) -> Figures:
        total = Figures()
        for figures in (self.groups if tuned is None else self.halves[tuned]).values():
            total.merge(figures)
        return total

    def near(self, means: Iterable[float] | None = None) -> float:
        """The share of traces whose blocks have 11.4 to 13.4 tokens on average, in per cent."""
        all_means = [mean for group in self.means.values() for mean in group]
        means = all_means if means is None else list(means)
        return 100 * sum(11.4 <= mean <= 13.4 for mean in means) / max(1, len(means))


def encoding() -> Any:
    import bpe_openai

    return bpe_openai.get_encoding("o200k_base")


def corpus(folder: Path = CORPUS) -> Iterator[Trace]:
    """The traces of a folder, by name."""
    vocabulary = encoding()
    for path in sorted(folder.glob("*-*.txt")):
        text = path.read_text("utf-8")
        lengths = (len(vocabulary.decode_single_token_bytes(t)) for t in vocabulary.encode(text))
        yield Trace(path.stem, text, list(accumulate(lengths)))


def streamed(trace: Trace, **settings: Any) -> Iterator[tuple[decluster.Block, int | None]]:
    """Pushes token by token; gives each block, and how many tokens had come behind it."""
    data = trace.text.encode()
    decoder = codecs.getincrementaldecoder("utf-8")()
    segmenter = decluster.Segmenter(**settings)
    start = end = 0
    for number, stop in enumerate(trace.tokens):
        for block in segmenter.push(decoder.decode(data[start:stop])):
            end += len(block.text.encode())
            yield block, number - bisect.bisect_left(trace.tokens, end)
        start = stop
    for block in segmenter.finish():
        end += len(block.text.encode())
        yield block, None


def study(traces: Iterable[Trace], **settings: Any) -> Study:
    """Streams all traces through a segmenter of these settings."""
    vocabulary = encoding()
    result = Study()
    for trace in traces:
        figures = Figures()
        for block, ahead in streamed(trace, **settings):
            figures.add(block, len(vocabulary.encode(block.text)), ahead)
        for groups in (result.groups, result.halves[trace.tuned]):
            groups.setdefault(trace.group, Figures()).merge(figures)
        if len(trace.tokens) >= 300:
            result.means.setdefault(trace.group, []).append(figures.mean)
    return result


def table(result: Study) -> str:
    """The figures as Markdown."""
    lines = [
        "| | blocks | tokens a block | near 12.4 | sentence or line | + clause | forced "
        "| largest (estimate) | look-ahead mean / most | estimate: total | a block |",
        "| --- |" + " ---: |" * 10,
    ]

    def row(name: str, figures: Figures, near: float | None) -> str:
        cells = [
            str(figures.blocks),
            f"{figures.mean:.2f}",
            "" if near is None else f"{near:.0f} %",
            f"{figures.whole:.1f} %",
            f"{figures.clause:.1f} %",
            f"{figures.forced_share:.1f} %",
            str(figures.largest),
            f"{figures.mean_ahead:.2f} / {figures.most_ahead}",
            f"{figures.bias:+.1f} %",
            f"{figures.block_error:.1f} %",
        ]
        return f"| {name} | " + " | ".join(cells) + " |"

    lines.append(row("**all**", result.all(), result.near()))
    for group in sorted(result.groups):
        means = result.means.get(group)
        near = result.near(means) if means else None
        lines.append(row(group, result.groups[group], near))
    for tuned, name in ((True, "half that the estimate was fitted on"), (False, "other half")):
        lines.append(row(name, result.all(tuned), None))
    worst = max(result.halves[False].items(), key=lambda item: abs(item[1].bias))
    lines.append("")
    lines.append(
        f"Largest bias of the estimate in the other half: {worst[1].bias:+.1f} % ({worst[0]}). "
        f"Traces of 300 tokens or more: {sum(map(len, result.means.values()))}."
    )
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False)
    parser.add_argument("--write", type=Path, metavar="FILE", help="put the table into a file")
    parser.add_argument("--target", type=float, default=12.4, help="tokens a block (default 12.4)")
    parser.add_argument("--traces", type=Path, default=CORPUS, help="a folder of texts")
    options = parser.parse_args()
    traces = list(corpus(options.traces))
    if not traces:
        print(f"no texts in {options.traces}", file=sys.stderr)
        return 1
    report = table(study(traces, target=options.target))
    print(report)
    if options.write:
        before, _, rest = options.write.read_text("utf-8").partition(BEGIN)
        _, found, after = rest.partition(END)
        if not found:
            print(f"{options.write} has no markers {BEGIN} … {END}", file=sys.stderr)
            return 1
        options.write.write_text(f"{before}{BEGIN}\n\n{report}\n\n{END}{after}", "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
