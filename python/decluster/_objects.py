"""Parsed events: to JSON for the engine, and what it changed back into copies.

An event is a dict, or a pydantic model as SDKs have them. Of a model the wire's own members are
dumped; a copy is the model with other values on the changed path alone, so what the SDK keeps
besides (fields it does not know, private attributes, which fields were set) stays.
"""

# What JSON holds is of any type, at any depth.
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUnknownMemberType=false

from __future__ import annotations

import copy
import enum
import functools
import json
import math
import operator
from collections.abc import Callable
from typing import Any, NamedTuple

from ._sdk import SNAPSHOTS, is_model, keeps_snapshots


def dump(event: Any) -> str:
    """The event as JSON. What JSON cannot hold stands as null there.

    Raises only `TypeError`, for an event of an SDK's helper that keeps a snapshot of the text.
    """
    if not isinstance(event, dict):
        return _dump_model(event)
    try:
        return _dumps(event if type(event) is dict else _shown(event))
    except (TypeError, ValueError, RecursionError):
        pass
    return _dump_plain(event)


def text_event(text: str) -> str:
    """A bare text as an event, in the form that most providers have."""
    return _dumps({"choices": [{"index": 0, "delta": {"content": text}}]})


def change(event: Any, data: str) -> Any:
    """A copy of the event that says what `data` says: the event's own JSON with other values in it.

    What JSON cannot hold is the event's own, by reference; of a model everything that stays is.
    """
    said = json.loads(data)
    if isinstance(event, dict):
        return _merge(event, said)
    within = _within(event)
    if within is None:
        return _merge_model(event, said)
    changed = event.model_copy()
    vars(changed)["data"] = _merge_model(within, said)
    return changed


def _dump_model(model: Any) -> str:
    options = _options(type(model))  # type: ignore[arg-type]
    within = _within(model)
    model = model if within is None else within
    try:
        text: str = model.model_dump_json(**options)
        return text
    except Exception:
        # It holds what JSON cannot say: bytes that are no text, half a character, any object.
        pass
    try:
        return _dump_plain(model.model_dump(**options), _in_a_model)
    except Exception:
        return "null"


def _nothing(_value: object) -> None:
    return None


def _in_a_model(value: object) -> object:
    """Something that is not null for what JSON could say, so that null tells what was taken out."""
    return value.value if isinstance(value, enum.Enum) else "" if isinstance(value, bytes) else None


def _shown(value: Any) -> Any:
    """What a dict that has its members as attributes, too, shows there: its items may say less."""
    if isinstance(value, dict):
        attributes = getattr(value, "__dict__", {})
        return {key: _shown(attributes.get(key, member)) for key, member in value.items()}
    return list(map(_shown, value)) if isinstance(value, list) else value


def _dumps(event: Any, default: Callable[[Any], Any] = _nothing) -> str:
    text = json.dumps(event, ensure_ascii=False, allow_nan=False, default=default)
    if _is_unicode(text):
        return text
    # Half a character, which only escapes can say.
    return json.dumps(event, allow_nan=False, default=default)


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _dump_plain(event: Any, default: Callable[[Any], Any] = _nothing) -> str:
    try:
        return _dumps(_plain(event), default)
    except (TypeError, ValueError, RecursionError):
        # It holds itself, or is nested too deep: it passes as an event that says nothing.
        return "null"


@functools.lru_cache(maxsize=256)  # An SDK has a few dozen kinds of events.
def _options(kind: type) -> dict[str, Any]:
    """How a model is dumped."""
    if keeps_snapshots(kind):
        raise TypeError(SNAPSHOTS.format(kind.__name__))
    options: dict[str, Any] = {"by_alias": True, "warnings": False}
    if any(str(base.__module__).startswith(AS_SENT) for base in kind.__mro__):
        # Their models are made from what came; of others a default may be what tells the kind.
        options["exclude_unset"] = True
    if aside := ASIDE & _fields(kind).keys():
        options["exclude"] = aside
    return options


class _Names(NamedTuple):
    """The names of a model's fields here and on the wire."""

    wire: dict[str, str]
    here: dict[str, str]
    computed: frozenset[str]


@functools.lru_cache(maxsize=256)
def _names(kind: type) -> _Names:
    wire = {
        name: field.serialization_alias or field.alias or name
        for name, field in _fields(kind).items()
    }
    computed = getattr(kind, "model_computed_fields", None) or {}
    return _Names(wire, {key: name for name, key in wire.items()}, frozenset(computed))


def _fields(kind: Any) -> dict[str, Any]:
    """The fields of a pydantic model; of what only looks like one there are none."""
    return getattr(kind, "model_fields", None) or {}


def _within(model: Any) -> Any:
    """The chunk in an event that is nothing but `data`, as Mistral's SDK gives it."""
    if not _only_holds(type(model)):  # type: ignore[arg-type]
        return None
    data = vars(model).get("data")
    return data if is_model(type(data)) else None


@functools.lru_cache(maxsize=256)
def _only_holds(kind: type) -> bool:
    return _fields(kind).keys() == {"data"}


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
        new = {key: member for key, member in said.items() if key not in kept}
        if new and any(not isinstance(key, str) for key in own):
            # JSON has numbers as keys, too, in its own way.
            numbers = {key: 0 for key in own if not isinstance(key, str)}
            said_so = json.loads(json.dumps(numbers, skipkeys=True))
            new = {key: member for key, member in new.items() if key not in said_so}
        merged = kept | new
        return merged if type(own) is dict else _alike(own, merged, said)
    if isinstance(own, (list, tuple)) and isinstance(said, list) and len(own) == len(said):
        members = map(_merge, own, said)
        return list(members) if isinstance(own, list) else tuple(members)
    if isinstance(said, dict) and is_model(type(own)):
        return _merge_model(own, said)
    if not isinstance(own, _HELD) or (isinstance(own, float) and not math.isfinite(own)):
        return own
    return own if own == said else said


def _alike(own: dict[Any, Any], merged: dict[Any, Any], said: dict[str, Any]) -> dict[Any, Any]:
    """A dict of the same class. It may show its members as attributes, as Hugging Face's do."""
    try:
        alike = copy.copy(own)
        attributes = vars(alike)
    except Exception:
        return merged
    dict.clear(alike)
    dict.update(alike, merged)
    for name, value in vars(own).items():
        if name not in own:
            attributes[name] = value
        else:
            attributes[name] = _merge(value, said[name]) if name in said else None
    return alike


def _merge_model(own: Any, said: dict[str, Any]) -> Any:
    names = _names(type(own))  # type: ignore[arg-type]
    was_set, extra = own.model_fields_set, own.model_extra
    # What else stands in the model's dict was never said: cached properties, attributes of an SDK.
    members = {name: value for name, value in vars(own).items() if name in names.wire}
    members |= extra or {}
    changes: dict[str, Any] = {}
    gone = []
    for name, value in members.items():
        key = names.wire.get(name, name)
        if key not in said:
            if name in was_set and name not in ASIDE:
                gone.append(name)
        elif (new := said[key]) is not value and (new := _merge_shared(value, new)) is not value:
            changes[name] = new
    for key in said:
        name = names.here.get(key, key)
        if name in members:
            continue
        if name in names.wire or (extra is not None and name not in names.computed):
            changes[name] = said[key]
    if not changes and not gone:
        return own
    changed = own.model_copy(update=changes)
    for name in vars(own).keys() - members.keys():
        if isinstance(getattr(type(own), name, None), functools.cached_property):
            del vars(changed)[name]
    for name in gone:
        _take_out(changed, name)
    return changed


def _take_out(model: Any, name: str) -> None:
    """As if the member had not been sent."""
    field = _fields(type(model)).get(name)
    lite = type(model).__module__.startswith("litellm.")
    if field is None and lite and name in LITELLM_NULL:
        model.model_extra[name] = None
        return
    model.model_fields_set.discard(name)
    if field is None:
        del model.model_extra[name]
    elif lite and name in LITELLM_ABSENT:
        del vars(model)[name]
    else:
        vars(model)[name] = _default(field)


def _default(field: Any) -> Any:
    try:
        return None if field.is_required() else field.get_default(call_default_factory=True)
    except Exception:  # The factory wants the other members.
        return None


def _merge_shared(own: Any, said: Any) -> Any:
    """As `_merge`, but what has not changed is the model's own, and all of a model was said."""
    if said is None and (isinstance(own, (bytes, enum.Enum)) or is_model(type(own))):
        return None
    if isinstance(own, list) and isinstance(said, list) and len(own) == len(said):
        members = list(map(_merge_shared, own, said))
        return own if all(map(operator.is_, members, own)) else members
    if isinstance(own, dict):
        merged = _merge(own, said)
        return own if merged == own else merged
    return _merge(own, said)


# What JSON holds. Anything else was null there, and nothing was written in its place.
_HELD = (dict, list, tuple, str, int, float, type(None))

AS_SENT = ("openai.", "anthropic.", "google.genai.", "litellm.", "groq.", "together.", "cerebras.")
ASIDE = frozenset(("sdk_http_response", "automatic_function_calling_history"))
"""What google-genai puts into its chunks besides what came: all parts of one have it."""

# LiteLLM's chunks have some members always, though no field is declared; and of declared ones these
# only where they say something.
LITELLM_NULL = frozenset(
    ("content", "role", "function_call", "tool_calls", "audio", "finish_reason", "logprobs")
)
LITELLM_ABSENT = frozenset(("reasoning_content", "thinking_blocks", "reasoning_items"))
