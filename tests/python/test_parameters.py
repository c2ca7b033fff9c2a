"""Parameters, presets and profiles, wherever they are taken."""

from __future__ import annotations

from typing import Any, get_args, get_type_hints

import pytest

import decluster
from decluster import Engine, Piece, Wait

TABLE = {parameter.name: parameter for parameter in decluster.PARAMETERS}
PRESETS = " ".join(preset.name for preset in decluster.PRESETS)
NAMED = {"preset": decluster.PRESETS, "profile": decluster.PROFILES}
LINES = [
    b'data: {"choices":[{"index":0,"delta":{"content":"Hello there."}}]}',
    b"",
    b"data: [DONE]",
]


def takes(**parameters: Any) -> list[Any]:
    """All that take parameters, made with these."""
    verbs = (decluster.wrap, decluster.pieces, decluster.blocks)
    return [Engine(**parameters), *(verb(LINES, **parameters) for verb in verbs)]


def last_release(engine: Engine) -> float:
    """Seconds until a long first burst has left."""
    engine.push(0, "reasoning", "", tokens=600)
    now = last = 0
    while True:
        match engine.poll(now):
            case Piece():
                last = now
            case Wait(at_ns):
                now = at_ns
            case _:
                return last / 1e9


def test_the_types_name_every_parameter_and_nothing_else() -> None:
    hints = get_type_hints(decluster.Parameters)
    assert [name for name in hints if name not in NAMED] == list(TABLE)
    for name, parameter in TABLE.items():
        number = {type(parameter.default)} - {str}
        assert parameter.choices == list(getattr(hints[name], "__args__", ()))
        assert not number or hints[name] in number, name
    for what, table in NAMED.items():
        literal = hints[what].__args__[0]
        assert literal.__args__ == tuple(row.name for row in table)


def test_every_default_and_bound_is_taken_back_as_it_is_given() -> None:
    for name, parameter in TABLE.items():
        bounds = (parameter.min, parameter.default, parameter.max)
        for value in parameter.choices or bounds:
            Engine(**{name: value})


def test_ratios_are_plain_numbers() -> None:
    ratio = TABLE["cluster_rate"]
    assert ratio.unit == "ratio"
    assert (ratio.min, ratio.default, ratio.max) == (1.0, 1.5, 1000.0)
    assert isinstance(ratio.default, float)
    Engine(cluster_rate=2.7)
    Engine(cluster_rate=1)
    with pytest.raises(decluster.ConfigError, match=r"cluster_rate = 0.5 is out of bounds: 1.0 to"):
        Engine(cluster_rate=0.5)
    with pytest.raises(TypeError, match=r"cluster_rate takes a number$"):
        Engine(cluster_rate="quick")


def test_presets_and_profiles_are_known_with_values_in_the_units_of_python() -> None:
    assert {"balanced", "steady"} <= {preset.name for preset in decluster.PRESETS}
    assert [profile.name for profile in decluster.PROFILES] == ["codex-low-latency"]
    assert decluster.PRESETS[0].values == {}
    for row in (*decluster.PRESETS, *decluster.PROFILES):
        assert row.doc
        Engine(**row.values)
        row.values.clear()  # a copy
    (profile,) = decluster.PROFILES
    assert profile.values["first_hold"] == 0.045
    assert repr(profile).startswith("Preset(\"codex-low-latency\", {'first_hold': 0.045")


@pytest.mark.parametrize(("what", "table"), NAMED.items())
def test_a_name_gives_what_its_values_give(what: str, table: tuple[decluster.Preset, ...]) -> None:
    for row in table:
        named, spelt = Engine(**{what: row.name}), Engine(**row.values)
        assert last_release(named) == last_release(spelt)
        takes(**{what: row.name})


def test_single_parameters_override_and_none_says_nothing() -> None:
    short = last_release(Engine(max_delay=0.5))
    assert short < last_release(Engine())
    for preset in decluster.PRESETS:
        assert last_release(Engine(preset=preset.name, max_delay=0.5)) <= 0.5
    assert last_release(Engine(max_delay=0.5, preset="balanced")) == short, "in any order"
    assert last_release(Engine(preset=None, profile=None, max_delay=0.5)) == short
    assert last_release(Engine(preset="balanced", profile=None, max_delay=0.5)) == short


@pytest.mark.parametrize(
    ("parameters", "error", "says"),
    [
        (
            {"preset": "quick"},
            decluster.ConfigError,
            f'preset = "quick" is none of: {PRESETS}',
        ),
        (
            {"profile": "steady"},
            decluster.ConfigError,
            'profile = "steady" is none of: codex-low-latency',
        ),
        (
            {"preset": "steady", "profile": "codex-low-latency"},
            decluster.ConfigError,
            "preset and profile exclude each other",
        ),
        ({"preset": 1}, TypeError, f"preset takes one of: {PRESETS}"),
        ({"preset": "steady", "max_dealy": 1.0}, decluster.ConfigError, "no parameter"),
    ],
)
def test_what_is_wrong_is_said(parameters: dict, error: type[Exception], says: str) -> None:
    for verb in (decluster.wrap, decluster.pieces, decluster.blocks):
        with pytest.raises(error, match=says):
            verb(LINES, **parameters)
    with pytest.raises(error, match=says):
        Engine(**parameters)


def test_type_checkers_know_the_dialects_by_name() -> None:
    with pytest.raises(decluster.ConfigError) as refused:
        decluster.wrap(LINES, dialect="smtp")
    named = str(refused.value).partition("there are: ")[2]
    assert named.split(", ") == list(get_args(decluster.Dialect))


def test_wrap_takes_a_preset() -> None:
    assert b"".join(decluster.wrap(LINES, preset="steady", unit="word")).count(b"data: ") > 2
    assert [str(block) for block in decluster.blocks(LINES, profile="codex-low-latency")] == [
        "Hello there."
    ]


def test_published_names_are_parameters() -> None:
    settings = {"relay_mode": "decluster_v3", "target_ttfrt_ms": 45, "budget_tokens": 8192}
    parameters = decluster.config_from(settings)
    assert parameters == {"first_hold": 0.045, "max_reasoning_tokens": 8192}
    lines = ['data: {"choices":[{"index":0,"delta":{"content":"Hi."}}]}', ""]
    assert list(decluster.wrap(lines, **parameters)) == lines
    assert decluster.config_from({"profile": "codex-low-latency", "max_delay": 0.5}) == {
        "profile": "codex-low-latency",
        "max_delay": 0.5,
    }


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"relay_mode": "decluster_v2"}, "the only mode"),
        ({"target_ttfrt_ms": 5_000}, "target_ttfrt_ms = 5000: first_hold = 5.0 is out of bounds"),
        ({"target_ttfrt_ms": "45"}, "number of milliseconds"),
        ({"budget_tokens": -1}, "budget_tokens = -1: .* out of bounds"),
        ({"profile": "codex"}, "codex-low-latency"),
        ({"budget_token": 1}, "did you mean budget_tokens"),
        ({"colour": 1}, "known are relay_mode"),
        ({"first_hold": 0.1, "target_ttfrt_ms": 45}, "said already"),
        ({"preset": "steady", "profile": "codex-low-latency"}, "exclude each other"),
    ],
)
def test_published_settings_that_are_none_are_refused(
    settings: dict[str, object], says: str
) -> None:
    with pytest.raises(decluster.ConfigError, match=says):
        decluster.config_from(settings)


def test_errors_say_whose_fault_they_are() -> None:
    for mine in (decluster.ConfigError, decluster.Full, decluster.Finished):
        assert issubclass(mine, decluster.CallerError)
    for theirs in (decluster.TooLarge, decluster.BodyError):
        assert issubclass(theirs, decluster.ProviderError)
    assert not issubclass(decluster.CallerError, decluster.ProviderError)


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("max_dealy", "did you mean max_delay"),
        ("target_ttfrt_ms", r"config_from\(\) reads"),
        ("events", "no parameter here"),
        ("zzz", "there are: unit pace"),
    ],
)
def test_a_parameter_that_does_not_exist_is_answered_with_one_that_does(
    name: str, says: str
) -> None:
    with pytest.raises(decluster.ConfigError, match=says):
        decluster.Engine(**{name: 1})


def test_what_would_have_no_effect_is_refused() -> None:
    for name in ("rate", "burst"):
        with pytest.raises(decluster.ConfigError, match="for pace='fixed'"):
            decluster.wrap([""], **{name: 50})  # type: ignore[call-overload]
        decluster.wrap([""], pace="fixed", **{name: 50}).close()  # type: ignore[call-overload]
