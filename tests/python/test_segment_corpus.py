"""Blocks of recorded reasoning, counted in true tokens: the figures of `make bench-segment` as
gates. Skipped, saying so, where the recordings are not at hand.
"""

from __future__ import annotations

import pytest
import segment

import decluster

if not segment.CORPUS.is_dir():
    pytest.skip(f"{segment.CORPUS} is absent", allow_module_level=True)


TRACES = list(segment.corpus())


@pytest.fixture(scope="module")
def study() -> segment.Study:
    return segment.study(TRACES)


@pytest.mark.parametrize("mode", ["semantic", "sentences"])
def test_token_by_token_the_blocks_are_those_of_the_whole_text(mode: str) -> None:
    for trace in TRACES:
        segmenter = decluster.Segmenter(mode=mode)
        whole = segmenter.push(trace.text) + segmenter.finish()
        assert [block for block, _ in segment.streamed(trace, mode=mode)] == whole, trace.name
        assert "".join(map(str, whole)) == trace.text


def test_blocks_have_the_target_size(study: segment.Study) -> None:
    assert 12.2 <= study.all().mean <= 12.6
    assert study.near() >= 88
    assert study.all().largest <= 36


def test_blocks_end_where_a_reader_would_pause(study: segment.Study) -> None:
    assert study.all().whole >= 70
    assert study.all().clause >= 95
    assert study.all().forced_share <= 1.5
    assert study.groups["en, proofs"].forced_share <= 8


def test_the_end_of_a_block_is_known_soon(study: segment.Study) -> None:
    assert study.all().mean_ahead <= 1.2
    assert study.all().most_ahead <= 5


@pytest.mark.parametrize("tuned", [True, False])
def test_the_estimate_is_close_to_true_tokens(study: segment.Study, tuned: bool) -> None:
    assert study.all(tuned).block_error <= 9
    assert abs(study.all(tuned).bias) <= 1
    for group, figures in study.halves[tuned].items():
        assert abs(figures.bias) <= 6, group
