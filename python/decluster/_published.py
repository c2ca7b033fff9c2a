"""Names of settings: those of a published relay, and those that do not exist."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from difflib import get_close_matches
from typing import Any, cast

from ._core import PARAMETERS, Engine
from ._errors import ConfigError
from ._types import Parameters


def config_from(settings: Mapping[str, Any]) -> Parameters:
    """The keyword arguments that published settings of a relay amount to.

    Known are `relay_mode` (`"decluster_v3"`), `target_ttfrt_ms` (milliseconds until the first text
    must show: `first_hold`), `budget_tokens` (the most reasoning: `max_reasoning_tokens`) and
    `profile` (one of `PROFILES`), and every name of `PARAMETERS`. Nothing is ignored.

    Raises `ConfigError` for another name, and for a value that is out of bounds.

    >>> config_from({"relay_mode": "decluster_v3", "target_ttfrt_ms": 45, "budget_tokens": 8192})
    {'first_hold': 0.045, 'max_reasoning_tokens': 8192}
    """
    parameters: dict[str, Any] = {}
    for name, value in settings.items():
        said = _said(name, value)
        twice = parameters.keys() & said.keys()
        if twice:
            raise ConfigError(f"{name} says {', '.join(twice)}, which was said already")
        parameters.update(said)
        try:
            Engine(**parameters)
        except (TypeError, ConfigError) as error:
            raise ConfigError(f"{name} = {value!r}: {error}") from None
    return cast(Parameters, parameters)


def unknown(name: str) -> ConfigError:
    """The error for a parameter that does not exist, with the name that may be meant."""
    if name in PUBLISHED:
        return ConfigError(f"no parameter {name!r}; config_from() reads published settings")
    if name in OF_VERBS:
        return ConfigError(f"{name} is no parameter here, but one of {OF_VERBS[name]}")
    own = [parameter.name for parameter in PARAMETERS]
    close = get_close_matches(name, [*own, *OF_VERBS, "preset", "profile"], n=1)
    hint = f"did you mean {close[0]}?" if close else f"there are: {' '.join(own)}"
    return ConfigError(f"no parameter {name!r}; {hint}")


def _said(name: str, value: Any) -> dict[str, Any]:
    if name in PUBLISHED:
        return PUBLISHED[name](value)
    own = [parameter.name for parameter in PARAMETERS] + ["preset"]
    if name in own:
        return {name: value}
    close = get_close_matches(str(name), [*PUBLISHED, *own], n=1)
    hint = f"did you mean {close[0]}?" if close else f"known are {', '.join(PUBLISHED)} and {OWN}"
    raise ConfigError(f"no setting {name!r}; {hint}")


def _relay_mode(value: Any) -> dict[str, Any]:
    if value != "decluster_v3":
        raise ConfigError(f"relay_mode = {value!r}: the only mode there is, is 'decluster_v3'")
    # Pacing and segmenting, as they are by default.
    return {}


def _target(value: Any) -> dict[str, Any]:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise ConfigError(f"target_ttfrt_ms = {value!r}: it takes a number of milliseconds")
    return {"first_hold": value / 1e3}


PUBLISHED: dict[str, Callable[[Any], dict[str, Any]]] = {
    "relay_mode": _relay_mode,
    "target_ttfrt_ms": _target,
    "budget_tokens": lambda value: {"max_reasoning_tokens": value},
    "profile": lambda value: {"profile": value},
}
OF_VERBS = {
    "events": "pieces() and blocks()",
    "background": "wrap(), pieces() and blocks()",
    "framing": "the verbs",
    "dialect": "the verbs",
    "closer": "the verbs",
    "budget": "the verbs",
    "ledger": "the verbs",
}
OWN = "the names of decluster.PARAMETERS"
