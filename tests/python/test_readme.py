"""The README's example runs as it stands, and names what exists."""

from __future__ import annotations

import doctest
import re
import subprocess
import sys
from pathlib import Path

import decluster

README = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")


def test_the_example_runs_and_shows_all_of_its_text() -> None:
    example = re.search(r"```python\n(.*?)```", README, re.DOTALL)
    assert example is not None
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", example[1]],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.startswith("The queue hands a job out again when its lease ends. So a slow")
    assert done.stdout.endswith("must check that the lease is still held.\n")


def test_the_verbs_and_parameters_it_names_exist() -> None:
    known = {parameter.name: parameter for parameter in decluster.PARAMETERS}
    for name, default in re.findall(r"^\| `(\w+)` \| (\S+) \|", README, re.MULTILINE):
        assert str(known[name].default) == default.strip('`"')
    for verb in re.findall(r"^\| `(\w+)\(source\)`", README, re.MULTILINE):
        assert callable(getattr(decluster, verb))


def test_the_examples_in_the_docstrings_run() -> None:
    assert doctest.testmod(decluster).attempted > 0
    assert doctest.testmod(decluster).failed == 0
