"""What `help(decluster)` tells: everything public says what it is, and every example runs."""

from __future__ import annotations

import doctest
import importlib
import inspect
import pkgutil
import pydoc
import re
import sys
import typing
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

import decluster
from decluster._types import CollectOptions, Options, Parameters

ROOT = Path(__file__).parents[2]
MODULES = [
    importlib.import_module(f"decluster.{found.name}")
    for found in pkgutil.iter_modules(decluster.__path__)
]
CLASSES = [value for name in decluster.__all__ if inspect.isclass(value := vars(decluster)[name])]


def examples(module: ModuleType) -> Iterator[doctest.DocTest]:
    """Those of the module's own functions and classes; what Rust defines says `decluster`."""
    for found in doctest.DocTestFinder().find(module):
        if found.examples:
            yield found


EXAMPLES = {found.name: found for module in (decluster, *MODULES) for found in examples(module)}


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_example_in_a_docstring_runs(name: str) -> None:
    runner = doctest.DocTestRunner()
    runner.run(EXAMPLES[name])
    assert runner.failures == 0


def test_no_example_is_overlooked() -> None:
    sources = [*ROOT.glob("python/decluster/*.py"), *ROOT.glob("bindings/python/src/*.rs")]
    written = sum(
        len(re.findall(r"^(?: *|\s*/// )>>> ", source.read_text(encoding="utf-8"), re.MULTILINE))
        for source in sources
    )
    assert sum(len(found.examples) for found in EXAMPLES.values()) == written


@pytest.mark.parametrize("of", CLASSES, ids=lambda of: of.__name__)
def test_a_public_class_and_all_that_it_shows_says_what_it_is(of: type) -> None:
    assert inspect.cleandoc(of.__doc__ or "")
    shown = {
        name: inspect.getattr_static(of, name)
        for base in of.__mro__
        if base.__module__.startswith("decluster")
        for name in vars(base)
        if not name.startswith("_")
    }
    fields = getattr(of, "__dataclass_fields__", {})
    silent = [name for name, value in shown.items() if not value.__doc__ and name not in fields]
    assert not silent


def test_a_public_function_says_what_it_does() -> None:
    for name in decluster.__all__:
        value = vars(decluster)[name]
        if inspect.isfunction(value):
            assert value.__doc__, name


@pytest.mark.skipif(sys.version_info < (3, 11), reason="typing has no Unpack")
@pytest.mark.parametrize("verb", ["wrap", "pieces", "blocks", "collect", "usage", "config_from"])
def test_annotations_can_be_read_at_run_time(verb: str) -> None:
    assert "return" in typing.get_type_hints(getattr(decluster, verb))


def test_help_names_the_verbs_before_anything_else() -> None:
    told = pydoc.render_doc(decluster, renderer=pydoc.plaintext)
    begin = told[: told.index("PACKAGE CONTENTS")]
    for verb in ("wrap", "pieces", "blocks", "collect", "usage"):
        assert f"`{verb}(" in begin


def test_type_checkers_know_all_that_the_verbs_take_by_name() -> None:
    for verb, known in (
        (decluster.wrap, Options),
        (decluster.pieces, Options),
        (decluster.blocks, Options),
        (decluster.collect, CollectOptions),
    ):
        named = {
            name
            for name, parameter in inspect.signature(verb).parameters.items()
            if parameter.kind is inspect.Parameter.KEYWORD_ONLY and name != "events"
        }
        assert named | set(Parameters.__annotations__) == set(known.__annotations__)
