"""The README's examples run as they stand, and name what exists."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import decluster

README = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")


EXAMPLES = re.findall(r"```python\n(.*?)```", README, re.DOTALL)


def printed(example: str) -> str:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", example], capture_output=True, text=True, check=True
    )
    return done.stdout


def test_the_example_runs_and_shows_all_of_its_text() -> None:
    out = printed(EXAMPLES[0])
    assert out.startswith("The queue hands a job out again when its lease ends. So a slow")
    assert out.endswith("must check that the lease is still held.\n")


def test_the_example_of_the_segmenter_speaks_whole_sentences() -> None:
    assert printed(EXAMPLES[2]) == "It took 3.5 hours, wrote Dr. Ito.\nThen it held.\n"


def test_the_example_of_usage_prints_what_it_says() -> None:
    assert printed(EXAMPLES[1]) == "216 210 6\n"
    assert len(EXAMPLES) == 3


def test_the_verbs_and_parameters_it_names_exist() -> None:
    known = {parameter.name: parameter for parameter in decluster.PARAMETERS}
    for name, default in re.findall(r"^\| `(\w+)` \| (\S+) \|", README, re.MULTILINE):
        assert str(known[name].default) == default.strip('`"')
    for verb in re.findall(r"^\| `(\w+)\(source\)`", README, re.MULTILINE):
        assert callable(getattr(decluster, verb))
