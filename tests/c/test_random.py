"""Calls in any order with anything in them (random.c), under AddressSanitizer and UBSan."""

from __future__ import annotations

from pathlib import Path

import pytest
from conftest import HERE, SANITIZE, Installed, run


@pytest.fixture(scope="module")
def program(installed: Installed, tmp_path_factory: pytest.TempPathFactory) -> Path:
    to = tmp_path_factory.mktemp("random") / "random"
    return installed.compile(to, HERE / "random.c", standard="c99", flags=SANITIZE)


@pytest.mark.parametrize("seed", range(3))
def test_no_order_of_calls_does_harm(program: Path, seed: int) -> None:
    run(program, str(seed), "500000")


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100, 140))
def test_no_order_of_many_more_calls_does_harm(program: Path, seed: int) -> None:
    run(program, str(seed), "2000000")
