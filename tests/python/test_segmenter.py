"""The segmenter alone: lossless, blind to how the text was cut, and clear about misuse."""

from __future__ import annotations

import codecs
import inspect
import json
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

import decluster
from decluster import Block, Segmenter

TEXT = (
    "The counter is read before the lock is taken. So two workers see the same value, and one of "
    "them writes last — a job is lost. Dr. Ito calls it 3.5 times as likely!\n\n"
    "- first item\n- second item\n\n```\nlet x = 1. Then\n```\n"
    "锁先释放。然后任务又被分配。👩‍👩‍👧 Naïve.\n"
)
# Text as it comes: signs that mean something, words, and whatever else Unicode has.
TEXTS = st.lists(
    st.one_of(
        st.sampled_from(
            [" ", ". ", "\n", "\n\n", ", ", "$", "```\n", "。", "Dr. ", "3.5", "e\u0301"]
        ),
        st.sampled_from(["the", "So", "lease", "锁", "क्षि", "👩‍👧", "x = 1"]),
        st.text(st.characters(exclude_categories=["Cs"]), max_size=8),
    ),
    max_size=80,
).map("".join)
WAYS = [{}, {"target": 40}, {"level": False, "target": 4}, {"mode": "sentences"}]


def cut(text: str, sizes: list[int]) -> list[str]:
    """The text in parts of these sizes, over and over."""
    parts, at, number = [], 0, 0
    while at < len(text):
        size = sizes[number % len(sizes)]
        parts.append(text[at : at + size])
        at, number = at + size, number + 1
    return parts


def blocks_of(parts: list[str], **how: object) -> list[Block]:
    segmenter = Segmenter(**how)  # type: ignore[arg-type]
    return [block for part in parts for block in segmenter.push(part)] + segmenter.finish()


@given(TEXTS, st.lists(st.integers(1, 30), min_size=1, max_size=8), st.sampled_from(WAYS))
def test_blocks_in_a_row_are_the_text_however_it_was_cut(
    text: str, sizes: list[int], how: dict[str, object]
) -> None:
    once = blocks_of([text], **how)
    assert "".join(block.text for block in once) == text
    assert [block.number for block in once] == list(range(len(once)))
    assert blocks_of(cut(text, sizes), **how) == once


def test_a_block_is_given_as_soon_as_its_end_is_known() -> None:
    segmenter = Segmenter()
    assert segmenter.push("First we count the apples. ") == []
    (block,) = segmenter.push("Then the pears")
    assert (block.number, block.text) == (0, "First we count the apples.")
    assert (block.boundary, block.tokens > 3) == ("sentence", True)
    assert [block.text for block in segmenter.finish()] == [" Then the pears"]
    assert segmenter.finish() == []


def test_in_a_silence_what_may_be_complete_is_given() -> None:
    segmenter = Segmenter(mode="sentences")
    assert segmenter.push("So said Dr.") == segmenter.flush() == []
    assert segmenter.pending == "So said Dr."
    assert segmenter.push(" Ito.") == []
    (block,) = segmenter.flush()
    assert (block.text, block.boundary, segmenter.pending) == ("So said Dr. Ito.", "sentence", "")
    assert segmenter.push(" It rains") + segmenter.flush() == []
    assert segmenter.finish()[0].text == " It rains"


def test_the_verbs_call_it_segment() -> None:
    with pytest.raises(decluster.ConfigError, match="mode"):
        decluster.blocks([], mode="sentences")  # type: ignore[call-overload]


def test_a_push_after_the_end_begins_a_new_text() -> None:
    segmenter = Segmenter()
    texts = ["One text ends without a full", "stop comes late. And that is all of it."]
    found = []
    for text in texts:
        found.append([*segmenter.push(text), *segmenter.finish()])
    assert ["".join(map(str, blocks)) for blocks in found] == texts
    numbers = [block.number for blocks in found for block in blocks]
    assert numbers == list(range(len(numbers)))


def test_blocks_are_near_the_target() -> None:
    text = (
        "The lease ends, and the queue hands out the job again, since nobody renewed it. So it is "
        "done twice. Whoever reads the counter first wins the race, while all of the others wait. "
    ) * 50
    for target in (6, 12.4, 30):
        blocks = blocks_of([text], target=target)
        mean = sum(block.tokens for block in blocks) / len(blocks)
        assert 0.75 * target < mean < 1.35 * target


def test_sentences_are_whole_however_short_or_long() -> None:
    long = "The worker holds the lease, renews it, checks it, writes, and " * 8 + "ends."
    sentences = ["Yes.", " It costs 3.50 euros, says Dr. Ito.", f" {long}", " No!\n", "So it is.\n"]
    blocks = blocks_of(cut("".join(sentences), [3]), mode="sentences")
    assert [block.text for block in blocks] == sentences
    assert [block.boundary for block in blocks] == ["sentence"] * 3 + ["line"] * 2
    assert blocks_of(["".join(sentences)], mode="sentences", target=4, level=False) == blocks


def test_a_block_is_a_frozen_value() -> None:
    one, same = blocks_of(["It's so.\nAnd so."])[0], blocks_of(["It's so.\nAnd so."])[0]
    assert str(one) == one.text == "It's so.\n"
    assert repr(one) == f"Block(\"It's so.\\n\", boundary='line', number=0, tokens={one.tokens})"
    assert one == same
    assert hash(one) == hash(same)
    assert one != blocks_of(["It's so.\n\nAnd so."])[0]
    assert one != one.text
    with pytest.raises(AttributeError):
        one.text = "else"  # type: ignore[misc]
    match one:
        case Block(text, "line"):
            assert text == one.text
        case _:
            pytest.fail("no match")


def test_it_says_how_it_was_made() -> None:
    assert repr(Segmenter()) == "Segmenter(target=12.4, mode='semantic', level=True)"
    made = Segmenter(target=8, mode="sentences", level=False)
    assert repr(made) == "Segmenter(target=8.0, mode='sentences', level=False)"
    signature = inspect.signature(Segmenter)
    defaults = {name: parameter.default for name, parameter in signature.parameters.items()}
    (target,) = (p for p in decluster.PARAMETERS if p.name == "target")
    assert defaults == {"target": target.default, "mode": "semantic", "level": True}
    assert repr(Segmenter(**defaults)) == repr(Segmenter())


@pytest.mark.parametrize(
    ("how", "error", "says"),
    [
        (
            {"target": 3.9},
            decluster.ConfigError,
            "target = 3.9 is out of bounds: 4.0 to 64.0 tokens",
        ),
        ({"target": 64.1}, decluster.ConfigError, "target = 64.1 is out of bounds"),
        ({"target": float("nan")}, decluster.ConfigError, "target = nan is out of bounds"),
        ({"target": "12"}, TypeError, "target takes a number of tokens"),
        ({"mode": "words"}, decluster.ConfigError, 'mode = "words" is none of: semantic sentences'),
        ({"mode": "off"}, decluster.ConfigError, 'mode = "off" is none of: semantic sentences'),
        ({"mode": True}, TypeError, "mode takes one of: semantic sentences"),
        ({"level": "no"}, TypeError, "bool"),
        ({"targte": 12}, TypeError, "targte"),
    ],
)
def test_bad_arguments_are_named(how: dict[str, object], error: type[Exception], says: str) -> None:
    with pytest.raises(error, match=says):
        Segmenter(**how)  # type: ignore[arg-type]


def test_what_is_no_text_is_refused_whole_and_changes_nothing() -> None:
    segmenter = Segmenter()
    segmenter.push("The lock is")
    with pytest.raises(TypeError, match=r"push takes str, not bytes: .* incremental decoder"):
        segmenter.push(b" taken.")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="push takes str, not NoneType"):
        segmenter.push(None)  # type: ignore[arg-type]
    with pytest.raises(UnicodeEncodeError, match="half a surrogate pair: join it") as caught:
        segmenter.push(" taken by \ud83e")
    assert (caught.value.object, caught.value.start) == (" taken by \ud83e", 10)
    assert [*segmenter.push(" free. 🦀"), *segmenter.finish()] == blocks_of(
        ["The lock is free. 🦀"]
    )


def test_halves_of_a_pair_that_are_joined_are_fine() -> None:
    delta = json.loads('" so \\ud83e"') + json.loads('"\\udd80 it is."')
    joined = delta.encode("utf-16", "surrogatepass").decode("utf-16")
    assert "".join(map(str, blocks_of([joined]))) == " so 🦀 it is."


def test_bytes_go_through_the_decoder_that_the_error_names() -> None:
    decoder, segmenter = codecs.getincrementaldecoder("utf-8")(), Segmenter()
    found = []
    for byte in TEXT.encode():
        found += segmenter.push(decoder.decode(bytes([byte])))
    assert found + segmenter.finish() == blocks_of([TEXT])


def test_threads_may_share_a_segmenter() -> None:
    segmenter, found = Segmenter(mode="sentences"), []
    start = threading.Barrier(4)

    def push(name: str) -> None:
        start.wait()
        for number in range(500):
            found.extend(segmenter.push(f"Worker {name} counts {number}.\n"))

    threads = [threading.Thread(target=push, args=[name]) for name in "ABCD"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    found.extend(segmenter.finish())
    found.sort(key=lambda block: block.number)
    assert [block.number for block in found] == list(range(2000))
    wanted = {f"Worker {name} counts {number}.\n" for name in "ABCD" for number in range(500)}
    assert {block.text for block in found} == wanted
