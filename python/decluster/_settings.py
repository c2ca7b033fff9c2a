"""Parameters on the command line."""

from __future__ import annotations

import argparse
from contextlib import suppress
from typing import Any

from ._core import PARAMETERS, PRESETS, PROFILES, Engine
from ._errors import DeclusterError
from ._published import unknown


def setting(text: str) -> tuple[str, Any]:
    """`NAME=VALUE`, with the value as the parameter takes it."""
    name, equals, value = text.partition("=")
    parameter = next((row for row in PARAMETERS if row.name == name), None)
    if not equals:
        raise argparse.ArgumentTypeError(f"{text!r} is not NAME=VALUE")
    if parameter is None:
        raise argparse.ArgumentTypeError(str(unknown(name)))
    taken: Any = value
    if isinstance(parameter.default, bool):
        taken = SWITCHES.get(value.lower(), value)
    else:
        with suppress(ValueError):
            taken = type(parameter.default)(value)
    try:
        Engine(**{name: taken})
    except (TypeError, DeclusterError) as error:
        raise argparse.ArgumentTypeError(str(error)) from None
    return name, taken


def add_settings(parser: argparse.ArgumentParser) -> None:
    """The options by which a verb takes parameters; `settings_of` reads them."""
    begin = parser.add_mutually_exclusive_group()
    begin.add_argument("--preset", choices=[row.name for row in PRESETS], help="named settings")
    begin.add_argument("--profile", choices=[row.name for row in PROFILES], help="published ones")
    parser.add_argument("--unit", choices=UNITS, help="default: block")
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        type=setting,
        metavar="NAME=VALUE",
        help="any parameter, times in seconds: max_delay=0.8; may be repeated",
    )


def settings_of(options: argparse.Namespace) -> dict[str, Any]:
    """What was given, as keyword arguments."""
    settings = dict(options.set)
    for name in ("preset", "profile", "unit"):
        if getattr(options, name) is not None:
            settings[name] = getattr(options, name)
    return settings


def in_force(settings: dict[str, Any], name: str) -> Any:
    """The value of a parameter under these settings."""
    named = {row.name: row.values for row in (*PRESETS, *PROFILES)}
    begin = named.get(settings.get("preset") or settings.get("profile") or "", {})
    default = next(row.default for row in PARAMETERS if row.name == name)
    return settings.get(name, begin.get(name, default))


UNITS = next(row.choices for row in PARAMETERS if row.name == "unit")
SWITCHES = {"true": True, "on": True, "1": True, "false": False, "off": False, "0": False}
