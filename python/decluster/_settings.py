"""Parameters on the command line."""

from __future__ import annotations

import argparse
from contextlib import suppress
from typing import Any

from ._core import PARAMETERS, Engine
from ._errors import DeclusterError


def setting(text: str) -> tuple[str, Any]:
    """`NAME=VALUE`, with the value as the parameter takes it."""
    name, equals, value = text.partition("=")
    parameter = next((row for row in PARAMETERS if row.name == name), None)
    if not equals:
        raise argparse.ArgumentTypeError(f"{text!r} is not NAME=VALUE")
    if parameter is None:
        names = " ".join(row.name for row in PARAMETERS)
        raise argparse.ArgumentTypeError(f"no parameter {name!r}; there are: {names}")
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


SWITCHES = {"true": True, "on": True, "1": True, "false": False, "off": False, "0": False}
