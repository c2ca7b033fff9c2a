"""Usage in one meaning for all providers, from streams and from finished responses."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

from ._core import read_body
from ._errors import BodyError


@dataclass(frozen=True)
class Tokens:
    """What an answer cost in tokens. `None` is what the provider does not say.

    `input` contains `cached_input` and `cache_write`; `output` contains `reasoning` and `visible`.
    """

    input: int | None = None
    """All of the input, also what was read from a cache or written to one."""
    cached_input: int | None = None
    """Of the input, what was read from a cache."""
    cache_write: int | None = None
    """Of the input, what was written to a cache."""
    output: int | None = None
    """All of the output, reasoning included, whatever the provider's own count holds."""
    reasoning: int | None = None
    """Of the output, the reasoning. May exceed the output by a little: some count in two ways."""
    visible: int | None = None
    """Of the output, what is no reasoning; not below 0."""
    cost_picodollars: int | None = None
    """What it cost, where the provider says so: in 10^-12 dollars."""


@dataclass(frozen=True)
class Usage(Tokens):
    """What a finished response says. The texts are those of choice 0."""

    reasoning_text: str = ""
    output_text: str = ""
    encrypted: tuple[str, ...] = ()
    """Reasoning that only the provider can read, as it must be sent back."""
    raw: dict[str, Any] | None = None
    """The provider's own usage object."""
    model: str | None = None
    """As the provider names it."""
    dialect: str | None = None
    """`None` where only the usage or the error could be told."""
    finish: str | None = None
    """The provider's own word for why it stopped."""
    error: Any = None
    """The error that the response reports."""


def usage(body: Any) -> Usage:
    """What a finished (not streamed) response cost and says, whatever the provider.

    `body` is JSON as `bytes` or `str`, what `json.loads` made of it, the response of an HTTP client
    (its `content` is read), or an SDK's response object (one with `model_dump()` or `to_dict()`). A
    response that reports an error is read: see `error`.

    Raises `BodyError`, a `ValueError`, for what is no response, and `TypeError` for what cannot be
    JSON.

    >>> found = usage('{"type": "message", "content": [], "stop_reason": "end_turn",'
    ...               ' "usage": {"input_tokens": 3, "cache_read_input_tokens": 90,'
    ...               ' "output_tokens": 12}}')
    >>> found.dialect, found.input, found.output
    ('anthropic', 93, 12)
    """
    found = read_body(_json(body))
    tokens: dict[str, Any] = found.pop("tokens") or {}
    try:
        for name in ("raw", "error"):
            found[name] = None if found[name] is None else json.loads(found[name])
    except ValueError as error:  # Python reads no number of more than 4,300 digits.
        raise BodyError(str(error)) from None
    found["encrypted"] = tuple(found["encrypted"])
    return Usage(**tokens, **found)


def tokens_of(found: dict[str, Any] | None) -> Tokens | None:
    """The tokens from what the core gives."""
    return None if found is None else Tokens(**found)


def _json(body: Any) -> bytes:
    if isinstance(body, (bytes, bytearray, memoryview)):
        return bytes(cast("bytes", body))
    content = getattr(body, "content", None)
    if isinstance(content, bytes):
        return content
    if isinstance(body, str):
        # Half a character cannot be UTF-8: the core says where it stands.
        return body.encode("utf-8", "surrogatepass")
    try:
        return json.dumps(body, default=_plain).encode()
    except RecursionError:
        raise BodyError("the body nests too deeply, or contains itself") from None
    except ValueError as error:
        raise BodyError(str(error)) from None


def _plain(value: Any) -> Any:
    """What `json` does not know: objects of SDKs, and what boto3 decodes."""
    for name in ("model_dump", "to_dict"):
        dump = getattr(value, name, None)
        if callable(dump) and not isinstance(value, type):
            try:
                # The names of the wire; bytes and times as strings.
                return dump(mode="json", by_alias=True, warnings=False)
            except TypeError:
                return dump()
    if isinstance(value, Mapping):
        return dict(cast("dict[Any, Any]", value))
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    isoformat = getattr(value, "isoformat", None)
    if isoformat is not None:
        return isoformat()
    raise TypeError(f"a response is JSON, a dict or an SDK's object, not {type(value).__name__}")
