"""Usage in one meaning for all providers: of finished responses and of streams."""

from __future__ import annotations

import dataclasses
import datetime
import json
from pathlib import Path
from typing import Any

import pytest

import decluster
from decluster._cli import main

BODY: dict[str, Any] = {
    "id": "c",
    "object": "chat.completion",
    "choices": [
        {
            "index": 0,
            "message": {"role": "assistant", "reasoning_content": "Hm, naïve.", "content": "Yes."},
            "finish_reason": "stop",
        }
    ],
    "usage": {
        "prompt_tokens": 40,
        "prompt_tokens_details": {"cached_tokens": 32},
        "completion_tokens": 30,
        "completion_tokens_details": {"reasoning_tokens": 20},
        "total_tokens": 90,
        "cost": 0.0012,
    },
}
EXPECTED = decluster.Usage(
    input=40,
    cached_input=32,
    output=50,
    reasoning=20,
    visible=30,
    cost_picodollars=1_200_000_000,
    reasoning_text="Hm, naïve.",
    output_text="Yes.",
    raw=BODY["usage"],
    dialect="openai-chat",
    finish="stop",
)
STREAM = [
    'data: {"choices":[{"index":0,"delta":{"reasoning_content":"Hm."}}]}',
    'data: {"choices":[{"index":0,"delta":{"content":"Yes."},"finish_reason":"stop"}]}',
    'data: {"choices":[],"usage":{"prompt_tokens":4,"completion_tokens":9,"reasoning_tokens":0}}',
    "data: [DONE]",
]


class Dumped:
    """An object of an SDK that knows how it looks on the wire."""

    def __init__(self, body: object) -> None:
        self.body = body

    def model_dump(self, *, mode: str = "python", by_alias: bool = False, **_: Any) -> object:
        assert (mode, by_alias) == ("json", True)
        return self.body


class Plain:
    """One of an SDK whose method takes no options."""

    def to_dict(self) -> object:
        return BODY


@pytest.mark.parametrize(
    "body",
    [
        json.dumps(BODY),
        json.dumps(BODY, indent=2, ensure_ascii=False),
        json.dumps(BODY).encode(),
        bytearray(json.dumps(BODY, ensure_ascii=False).encode()),
        memoryview(json.dumps(BODY).encode()),
        BODY,
        Dumped(BODY),
        Plain(),
        {**BODY, "choices": (Dumped(BODY["choices"][0]),)},
    ],
)
def test_a_body_of_every_type_says_the_same(body: object) -> None:
    assert decluster.usage(body) == EXPECTED


def test_what_boto3_decodes_is_written_as_it_was() -> None:
    body = {
        "ResponseMetadata": {"date": datetime.datetime(2026, 1, 2)},
        "output": {"message": {"content": [{"reasoningContent": {"redactedContent": b"A"}}]}},
        "stopReason": "end_turn",
        "usage": {"inputTokens": 1, "outputTokens": 2, "totalTokens": 3},
    }
    found = decluster.usage(body)
    assert (found.dialect, found.encrypted, found.output) == ("bedrock-converse", ("QQ==",), 2)


def test_an_array_of_geminis_is_one_response() -> None:
    def element(text: str) -> dict[str, Any]:
        return {"candidates": [{"content": {"parts": [{"text": text}]}}]}

    assert decluster.usage([element("Ye"), element("s.")]).output_text == "Yes."


def test_an_error_of_the_provider_is_no_exception() -> None:
    found = decluster.usage(b'{"error": {"code": 429}}')
    assert found == decluster.Usage(error={"code": 429})


def test_the_result_cannot_be_changed() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        decluster.usage(BODY).input = 7  # type: ignore[misc]


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ('{"usage":\n{"prompt_tokens":}}', "not JSON: expected value at line 2 column 18"),
        ("", "not JSON: EOF while parsing a value at line 1 column 0"),
        (b'{"a":"\xff"}', "byte 6 of the body is not UTF-8"),
        ('{"a":"\ud83d"}', "byte 6 of the body is not UTF-8"),
        ("\n".join(STREAM), "a stream of events"),
        ({"usage": float("nan")}, "not JSON"),
        ({"a": 1}, "no known dialect; there are: mistral, openai-chat, "),
        ("[" * 200 + "]" * 200, "deeper than 127 levels"),
        ('{"usage":{"prompt_tokens":' + "9" * 5000 + "}}", r"limit \(4300"),
        (7, "this is a number"),
        (None, "this is null"),
    ],
)
def test_what_is_no_response_is_refused_with_the_reason(body: object, message: str) -> None:
    with pytest.raises(decluster.BodyError, match=message) as caught:
        decluster.usage(body)
    assert isinstance(caught.value, ValueError)
    assert isinstance(caught.value, decluster.DeclusterError)


def test_a_body_without_end_is_refused() -> None:
    body: dict[str, Any] = {}
    body["usage"] = body
    with pytest.raises(decluster.BodyError):
        decluster.usage(body)
    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]
    with pytest.raises(decluster.BodyError):
        decluster.usage({"usage": {}, "x": deep})


@pytest.mark.parametrize("body", [object(), {"usage": {1, 2}}, Dumped])
def test_what_cannot_be_json_is_a_type_error(body: object) -> None:
    with pytest.raises(TypeError, match="a response is JSON, a dict or an SDK's object, not"):
        decluster.usage(body)


TOKENS = decluster.Tokens(input=4, output=9)  # the 0 beside reasoning text is no count


def test_collect_gives_tokens() -> None:
    answer = decluster.collect(STREAM)
    assert answer.tokens == TOKENS
    assert answer.reasoning_tokens == 0
    assert answer.usage == {"prompt_tokens": 4, "completion_tokens": 9, "reasoning_tokens": 0}
    assert decluster.collect(STREAM[:1]).tokens is None


def test_every_stream_knows_its_tokens() -> None:
    for verb in (decluster.wrap, decluster.pieces, decluster.blocks):
        with verb(STREAM) as stream:
            assert stream.tokens is None
            for _ in stream:
                pass
            assert stream.tokens == TOKENS


def test_decode_shows_tokens(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "stream.sse"
    for lines, expected in [(STREAM, dataclasses.asdict(TOKENS)), (STREAM[:1], None)]:
        file.write_text("\n\n".join(lines) + "\n\n")
        assert main(["decode", str(file)]) == 0
        assert json.loads(capsys.readouterr().out)["tokens"] == expected
