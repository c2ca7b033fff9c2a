"""Parsed events: to JSON for the engine, and what it changed back into copies."""

# What JSON holds is of any type, at any depth.
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

import json
import math
from typing import Any


def dump(event: dict[Any, Any]) -> str:
    """The event as JSON. What JSON cannot hold stands as null there; nothing raises."""
    try:
        return _dumps(event)
    except (TypeError, ValueError, RecursionError):
        pass
    try:
        return _dumps(_plain(event))
    except (TypeError, ValueError, RecursionError):
        # It holds itself, or is nested too deep: it passes as an event that says nothing.
        return "null"


def change(event: dict[Any, Any], data: str) -> dict[Any, Any]:
    """A copy of the event that says what `data` says: the event's own JSON with other values in it.

    What JSON cannot hold is the event's own, by reference.
    """
    changed: dict[Any, Any] = _merge(event, json.loads(data))
    return changed


def _dumps(event: Any) -> str:
    text = json.dumps(event, ensure_ascii=False, allow_nan=False, default=_nothing)
    if _is_unicode(text):
        return text
    # Half a character, which only escapes can say.
    return json.dumps(event, allow_nan=False, default=_nothing)


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _nothing(_value: object) -> None:
    return None


def _plain(value: Any) -> Any:
    """The value without keys that are no strings and numbers that are none."""
    if isinstance(value, dict):
        return {key: _plain(member) for key, member in value.items() if isinstance(key, str)}
    if isinstance(value, (list, tuple)):
        return [_plain(member) for member in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def _merge(own: Any, said: Any) -> Any:
    if isinstance(own, dict) and isinstance(said, dict):
        # A key that is no string was never said; one that was and is not any more is gone.
        kept = {
            key: _merge(member, said[key]) if isinstance(key, str) else member
            for key, member in own.items()
            if not isinstance(key, str) or key in said
        }
        return kept | {key: member for key, member in said.items() if key not in kept}
    if isinstance(own, (list, tuple)) and isinstance(said, list) and len(own) == len(said):
        members = map(_merge, own, said)
        return list(members) if isinstance(own, list) else tuple(members)
    if not isinstance(own, _HELD) or (isinstance(own, float) and not math.isfinite(own)):
        return own
    return own if own == said else said


# What JSON holds. Anything else was null there, and nothing was written in its place.
_HELD = (dict, list, tuple, str, int, float, type(None))
