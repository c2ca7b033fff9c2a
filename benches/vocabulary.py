"""The tables of the token estimate: what of the o200k vocabulary fits into 3 KB.

`make vocabulary` runs this and writes crates/decluster/src/segment/vocabulary.rs; the same
sources give the same file. They are

- the vocabulary `o200k_base`, of PyPI `bpe-openai` 0.1.4 (MIT). It was built by merging what is
  most frequent first, so a token's rank tells how common it is: it weighs 1/rank (Zipf's law).
- English words: /usr/share/dict/american-english of Debian's `wamerican` 2020.12.07 (SCOWL, free to
  use for any purpose). They tell which words there are, not how common they are, and no word of
  the list gets into the tables, only bits.
- how often Chinese characters meet in words: the dictionary of PyPI `jieba` 0.42.1 (MIT). Ranks do
  not tell that, as a good part of the vocabulary's Chinese is spam.
- which Chinese and Japanese characters are common: the first levels of GB 2312 and JIS X 0208, by
  Python's codecs.

How well the tables do is a matter of `make bench-segment`.
"""

from __future__ import annotations

import re
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from importlib.metadata import distribution
from itertools import pairwise
from pathlib import Path
from typing import TypeVar

from bpe_openai import get_encoding

T = TypeVar("T")

WRITTEN = Path(__file__).parent.parent / "crates/decluster/src/segment/vocabulary.rs"
O200K = get_encoding("o200k_base")
RANKS = {token: rank for rank, token in enumerate(O200K.token_byte_values())}
# The ranks of what is no token: twice that of the last; ten times that for a character not common.
SPLIT, UNCOMMON = 400_000, 4_000_000

STEM = 6
# As in tokens.rs: the sixteenths of a token, and the prices of all letters after a stem (of Stock,
# Usual, Rare and Strange).
TOKEN = 16
PRICES = [lambda n: 3 * max(n - 7, 0), lambda n: 2 * n, lambda n: 4 * n, lambda n: 6 * n]
UNKNOWN = 2
STEM_BITS, MULTIPLIER = 12, 0xCB91_CE37

HAN = range(0x4E00, 0xA000)
NEIGHBOURS = 4
PAIRS = 1500


def main() -> None:
    words = Path(sys.argv[1]).read_text(encoding="utf-8").split()
    text = TEMPLATE.format(
        pairs="".join(f"    {line}\\\n" for line in parts("".join(pairs()), 52)),
        rare=array(rare(), 1),
        stems=array(stems(words), 2),
        letters=STEM,
        multiplier=f"0x{MULTIPLIER:08x}",
        bits=STEM_BITS,
    )
    WRITTEN.write_text(text, encoding="utf-8")


def stems(words: Iterable[str]) -> list[int]:
    """For each hash of six letters, which prices fit the words that begin so best."""
    errors: dict[int, list[float]] = defaultdict(lambda: [0.0] * len(PRICES))
    for word in sorted(words):
        more = len(word) - STEM
        if more < 1 or not re.fullmatch("[a-z]+", word):
            continue
        tokens = O200K.encode_ordinary(f" {word}")
        weight = 1 / (tokens[0] if len(tokens) == 1 else SPLIT)
        letters = 0
        for letter in word[:STEM]:
            letters = letters << 5 | ord(letter) & 31
        slot = (letters * MULTIPLIER & 0xFFFF_FFFF) >> (32 - STEM_BITS)
        for at, price in enumerate(PRICES):
            errors[slot][at] += weight * ((len(tokens) - 1) * TOKEN - price(more)) ** 2
    fits = [errors.get(slot) for slot in range(1 << STEM_BITS)]
    return [fit.index(min(fit)) if fit else UNKNOWN for fit in fits]


def rare() -> list[bool]:
    """Whether most characters of each few neighbours are no token, by weight."""
    found = []
    for first in range(HAN.start, HAN.stop, NEIGHBOURS):
        balance = 0.0
        for c in map(chr, range(first, first + NEIGHBOURS)):
            rank = RANKS.get(c.encode())
            balance += 1 / (SPLIT if is_common(c) else UNCOMMON) if rank is None else -1 / rank
        found.append(balance > 0)
    return found


def is_common(c: str) -> bool:
    # What comes next in both is sorted by radical: the second levels, of rarer characters.
    for level, end in ("gb2312", b"\xd8"), ("shift_jis", b"\x98\x9f"):
        code = c.encode(level, "ignore")
        if code and code < end:
            return True
    return False


def pairs() -> list[str]:
    """The commonest pairs of Chinese characters that are one token."""
    dictionary = Path(distribution("jieba").locate_file("jieba/dict.txt"))
    found: Counter[str] = Counter()
    for line in dictionary.read_text(encoding="utf-8").splitlines():
        word, frequency, _ = line.split(" ")
        for first, second in pairwise(word):
            if ord(first) in HAN and ord(second) in HAN and (first + second).encode() in RANKS:
                found[first + second] += int(frequency)
    return sorted(found, key=lambda pair: (-found[pair], pair))[:PAIRS]


def array(values: Sequence[int], bits: int) -> str:
    """The values in words of 64 bits, the first in the lowest."""
    words = [
        f"0x{sum(value << at * bits for at, value in enumerate(part)):016x}"
        for part in parts(values, 64 // bits)
    ]
    return "".join(f"    {', '.join(line)},\n" for line in parts(words, 5))


def parts(values: Sequence[T], size: int) -> Iterator[Sequence[T]]:
    return (values[at : at + size] for at in range(0, len(values), size))


TEMPLATE = """\
//! What the token estimate knows of the `o200k_base` vocabulary. Generated by
//! benches/vocabulary.py, which says from what; `make vocabulary` writes it anew.
#![expect(clippy::unreadable_literal, reason = "bits")]

/// So many letters tell how well the vocabulary knows an English word: "understanding" is one
/// token, "pericardium" is four.
pub(super) const STEM: u32 = {letters};
/// Their hash is the highest bits of their product with this.
pub(super) const STEM_MULTIPLIER: u32 = {multiplier};
pub(super) const STEM_BITS: u32 = {bits};

/// Two bits for each hash of the six letters that an English word begins with: which of four prices
/// fits its further letters best. That is by the squared error of the tokens of all such words. A
/// word weighs 1/rank; the rank of one that is no token is taken for 400,000.
#[rustfmt::skip]
pub(super) static STEMS: [u64; 128] = [
{stems}];

/// One bit for four neighbours each, from U+4E00: whether they are mostly no token, by the same
/// weights. A character that is no token weighs a tenth if it is not in the first level of GB 2312
/// or JIS X 0208.
#[rustfmt::skip]
pub(super) static RARE: [u64; 82] = [
{rare}];

/// The commonest pairs of Chinese characters that are one token, by the words of a dictionary and
/// their frequencies.
pub(super) const PAIRS: &str = "\\
{pairs}";
"""


if __name__ == "__main__":
    main()
