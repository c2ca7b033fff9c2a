"""SDKs that take long to install and to import: their own objects, wrapped."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import warnings
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
from readers import no_reader_left
from sdk_readers import ASKED, Bodies, Told
from sdk_streams import (
    BEGIN,
    CALL,
    HOW,
    USAGE,
    USED,
    WHY,
    chat,
    chunk,
    messages,
    named,
    text_block,
    thinking,
)

import decluster

pytestmark = [
    pytest.mark.slow,
    # What these packages and theirs warn of is not for us to mend.
    pytest.mark.filterwarnings("ignore"),
]

CAPTURES = Path(__file__).parents[2] / "../shared/captures"


@pytest.fixture(scope="module")
def bodies() -> Iterator[Bodies]:
    bodies = Bodies()
    yield bodies
    bodies.close()


@pytest.fixture(scope="module")
def genai() -> Any:
    return imported("google.genai")


@pytest.fixture(scope="module")
def litellm() -> Any:
    # Else it asks a server for the newest prices.
    os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"
    found = imported("litellm")
    found.suppress_debug_info = True
    return found


def imported(name: str) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return pytest.importorskip(name, reason=f"{name} is not installed (group `clients`)")


def kept(stream: Iterable[Any], given: list[Any]) -> Iterator[Any]:
    for event in stream:
        given.append(event)
        yield event


def wrapped(
    stream: Iterable[Any], ends: str | None = None, **parameters: Any
) -> tuple[list[Any], list[Any]]:
    """What the SDK gave, and what comes out: cut as far as it can be, and at once.

    `ends` is what the SDK raises at its end, if it does.
    """
    given: list[Any] = []
    out: list[Any] = []
    raised = pytest.raises(Exception, match=ends) if ends else contextlib.nullcontext()
    with raised:
        for event in decluster.wrap(
            kept(stream, given), background=False, pace="off", **parameters
        ):
            out.append(event)
    assert {type(event) for event in out} == {type(event) for event in given}
    return given, out


def gemini(genai: Any, bodies: Bodies, body: bytes) -> Iterator[Any]:
    url = f"{bodies.url}/body/{bodies.add(body)}"
    client = genai.Client(api_key="none", http_options=genai.types.HttpOptions(base_url=url))
    yield from client.models.generate_content_stream(model="m", contents="?")


def told_of_gemini(chunks: list[Any]) -> Told:
    """What a program that reads the chunks tells."""
    told = Told(events=len(chunks))
    for event in chunks:
        said = False
        for candidate in event.candidates or ():
            place = candidate.index or 0
            for part in (candidate.content and candidate.content.parts) or ():
                said |= told.text(place, bool(part.thought), text=part.text)
                if part.function_call:
                    told.more(place, "calls", of=part.function_call.model_dump())
                if part.thought_signature:
                    told.more(place, "signatures", of=part.thought_signature)
            if candidate.finish_reason:
                told.ends[place, "finish"] = candidate.finish_reason
        if event.usage_metadata:
            told.ends["usage"] = event.usage_metadata.model_dump()
        assert event.sdk_http_response.headers
        if not said:
            told.others.append(event.model_dump())
    return told


def gemini_event(*parts: dict[str, Any], **more: Any) -> dict[str, Any]:
    usage = {"promptTokenCount": 9, "candidatesTokenCount": 26, "thoughtsTokenCount": 31}
    content = {"parts": list(parts), "role": "model"}
    first = {"content": content, "index": 0, **more}
    return {"candidates": [first], "modelVersion": "m", "usageMetadata": usage}


GEMINI = chat(
    gemini_event({"text": WHY, "thought": True}),
    gemini_event({"text": HOW, "thoughtSignature": "_-8="}),
    gemini_event(
        {"text": HOW},
        {"functionCall": {"name": "renew", "args": {"seconds": 30}}, "thoughtSignature": "c2ln"},
        finishReason="STOP",
    ),
).removesuffix(b"data: [DONE]\n\n")


def recordings(dialect: str) -> list[Any]:
    paths = sorted((CAPTURES / dialect).glob("*.sse"))
    absent = pytest.mark.skip(reason=f"{CAPTURES} is absent")
    return [pytest.param(path, id=path.stem) for path in paths] or [
        pytest.param(Path(), marks=absent)
    ]


@pytest.mark.parametrize("unit", ["block", "word"])
def test_a_program_tells_the_same_of_wrapped_gemini_chunks(
    genai: Any, bodies: Bodies, unit: str
) -> None:
    given, out = wrapped(gemini(genai, bodies, GEMINI), unit=unit)
    told = told_of_gemini(given)
    assert told.texts == {(0, True): WHY, (0, False): HOW + HOW}
    assert told.ends[0, "signatures"] == [b"\xff\xef", b"sig"]
    again = told_of_gemini(out)
    assert again == told
    assert again.events > told.events, "nothing was cut"


@pytest.mark.parametrize("path", recordings("gemini"))
def test_a_program_tells_the_same_of_recorded_gemini_streams(
    genai: Any, bodies: Bodies, path: Path
) -> None:
    body = path.read_bytes()
    for unit in ("block", "word"):
        given, out = wrapped(gemini(genai, bodies, body), unit=unit)
        assert told_of_gemini(out) == told_of_gemini(given), unit


def test_gemini_chunks_come_out_as_they_are_without_pace_and_cuts(
    genai: Any, bodies: Bodies
) -> None:
    given, out = wrapped(gemini(genai, bodies, GEMINI), segment="off")
    assert len(out) == len(given) == 3
    assert all(map(lambda after, before: after is before, out, given))


def test_gemini_chunks_have_their_dialect_and_usage(genai: Any, bodies: Bodies) -> None:
    stream = decluster.wrap(gemini(genai, bodies, GEMINI), pace="off")
    chunks = list(stream)
    assert (stream.dialect, stream.verdict) == ("gemini", "complete")
    assert (stream.tokens.input, stream.tokens.output, stream.tokens.reasoning) == (9, 57, 31)
    # A text is in one chunk only; what belongs to all of them is there still.
    assert "".join(chunk.text or "" for chunk in chunks) == HOW + HOW
    assert {chunk.model_version for chunk in chunks} == {"m"}
    answer = decluster.collect(gemini(genai, bodies, GEMINI))
    assert (answer.reasoning, answer.output) == (WHY, HOW + HOW)
    assert no_reader_left()


def test_async_gemini_chunks_tell_the_same(genai: Any, bodies: Bodies) -> None:
    async def asked() -> None:
        options = genai.types.HttpOptions(base_url=f"{bodies.url}/body/{bodies.add(GEMINI)}")
        client = genai.Client(api_key="none", http_options=options)
        source = await client.aio.models.generate_content_stream(model="m", contents="?")
        out = [chunk async for chunk in decluster.wrap(source, pace="off")]
        assert told_of_gemini(out) == told_of_gemini(list(gemini(genai, bodies, GEMINI)))
        assert len(out) > 3

    asyncio.run(asked())


def test_what_is_no_stream_of_geminis_is_refused(genai: Any, bodies: Bodies) -> None:
    (answer,) = list(gemini(genai, bodies, GEMINI))[:1]
    says = r"a GenerateContentResponse is one object, .* generate_content_stream\(\)"
    with pytest.raises(TypeError, match=says):
        decluster.wrap(answer)

    async def asked() -> None:
        options = genai.types.HttpOptions(base_url=f"{bodies.url}/body/{bodies.add(GEMINI)}")
        client = genai.Client(api_key="none", http_options=options)
        call = client.aio.models.generate_content_stream(model="m", contents="?")
        with pytest.raises(TypeError, match="await it, and give what it returns"):
            decluster.wrap(call)

    asyncio.run(asked())


CHAT = chat(
    BEGIN,
    chunk({"reasoning_content": WHY, "content": None}),
    chunk({"content": HOW}),
    chunk({"content": HOW, "tool_calls": [CALL], "finish_reason": "tool_calls"}),
    USED,
)
CLAUDE = messages(*thinking(0, WHY, "c2ln"), *text_block(1, HOW))
LITE = {
    "openai/m": CHAT,
    "deepseek/m": CHAT,
    "anthropic/m": CLAUDE,
    # It asks only when the first chunk is wanted.
    "gemini/gemini-2.5-flash": GEMINI,
}


def asked(bodies: Bodies, model: str, body: bytes) -> dict[str, Any]:
    return {
        **ASKED,
        "model": model,
        "stream": True,
        "stream_options": {"include_usage": True},
        "api_base": f"{bodies.url}/body/{bodies.add(body)}",
        "api_key": "none",
        "max_retries": 0,
    }


def told_of_lite(litellm: Any, chunks: list[Any]) -> Told:
    told = Told(events=len(chunks))
    for event in chunks:
        said = False
        for choice in event.choices:
            index, delta = choice.index, choice.delta
            said |= told.text(index, "content", text=delta.content)
            for name in ("reasoning_content", "refusal"):
                said |= told.text(index, name, text=getattr(delta, name, None))
            if choice.finish_reason:
                told.ends[index, "finish"] = choice.finish_reason
            if delta.role:
                told.ends[index, "role"] = delta.role
            for call in delta.tool_calls or ():
                told.more(index, "calls", of=call.model_dump())
            # It has these only where there are some.
            if hasattr(delta, "thinking_blocks"):
                told.more(index, "blocks", of=list(delta.thinking_blocks))
        if hasattr(event, "usage"):
            told.ends["usage"] = event.usage.model_dump()
        assert event._hidden_params["custom_llm_provider"]
        if not said:
            told.others.append(event.model_dump())
    if chunks:
        built = litellm.stream_chunk_builder(chunks).model_dump()
        told.final = {key: built[key] for key in ("choices", "usage", "model", "id")}
    return told


@pytest.mark.parametrize("unit", ["block", "word"])
@pytest.mark.parametrize("model", LITE)
def test_a_program_tells_the_same_of_wrapped_litellm_chunks(
    litellm: Any, bodies: Bodies, model: str, unit: str
) -> None:
    stream = litellm.completion(**asked(bodies, model, LITE[model]))
    given, out = wrapped(stream, unit=unit)
    told = told_of_lite(litellm, given)
    output = HOW if model == "anthropic/m" else HOW + HOW
    assert told.texts == {(0, "reasoning_content"): WHY, (0, "content"): output}
    again = told_of_lite(litellm, out)
    assert again == told
    assert again.events > told.events, "nothing was cut"


LITE_ENDS = {"legacy-completion-crlf": "ended before a finish_reason"}
"""Recordings that LiteLLM cannot read to their end."""


@pytest.mark.parametrize("path", recordings("anthropic"))
def test_a_program_tells_the_same_of_recorded_streams_that_litellm_translates(
    litellm: Any, bodies: Bodies, path: Path
) -> None:
    body = path.read_bytes()
    for unit in ("block", "word"):
        stream = litellm.completion(**asked(bodies, "anthropic/m", body))
        given, out = wrapped(stream, unit=unit, ends=LITE_ENDS.get(path.stem))
        assert told_of_lite(litellm, out) == told_of_lite(litellm, given), unit


def test_litellm_chunks_come_out_as_they_are_without_pace_and_cuts(
    litellm: Any, bodies: Bodies
) -> None:
    given, out = wrapped(litellm.completion(**asked(bodies, "openai/m", CHAT)), segment="off")
    assert len(out) == len(given) > 4
    assert all(map(lambda after, before: after is before, out, given))


@pytest.mark.parametrize("model", LITE)
def test_litellms_own_stream_is_read_in_the_way_it_was_asked_for(
    litellm: Any, bodies: Bodies, model: str
) -> None:
    """It has `__iter__` and `__aiter__`, and only one of them works."""
    ask = asked(bodies, model, LITE[model])
    plain = told_of_lite(litellm, list(litellm.completion(**ask))).texts

    def opened() -> None:
        stream: Any = decluster.wrap(litellm.completion(**ask), pace="off")
        assert isinstance(stream, decluster.Stream)
        assert "additional_headers" in stream._hidden_params
        assert told_of_lite(litellm, list(stream)).texts == plain
        assert (stream.dialect, stream.verdict) == ("openai-chat", "complete")
        assert (stream.tokens.input, stream.tokens.output) == (9, 57)

    async def both() -> None:
        # Also in a loop the sync stream is sync.
        opened()
        stream: Any = decluster.wrap(await litellm.acompletion(**ask), pace="off")
        assert isinstance(stream, decluster.AsyncStream)
        assert "additional_headers" in stream._hidden_params
        assert told_of_lite(litellm, [event async for event in stream]).texts == plain
        assert (stream.tokens.input, stream.tokens.output) == (9, 57)

    opened()
    asyncio.run(both())
    assert no_reader_left()


def test_a_finished_answer_of_litellms_is_no_stream(litellm: Any) -> None:
    whole = litellm.ModelResponse(choices=[], usage=None)
    with pytest.raises(TypeError, match="a ModelResponse is one object, not a stream"):
        decluster.wrap(whole)


def mistral(url: str) -> Iterator[Any]:
    kind = imported("mistralai.client").Mistral
    client = kind(api_key="none", server_url=url)
    yield from client.chat.stream(**ASKED)


def told_by_mistral(event: Any) -> list[str]:
    (choice,) = event.data.choices
    content = choice.delta.content
    parts = content if isinstance(content, list) else [content] if content else []
    return [
        text if isinstance(text, str) else text.text
        for part in parts
        for text in (part.thinking if getattr(part, "type", "") == "thinking" else [part])
    ]


def cohere(url: str) -> Iterator[Any]:
    client = imported("cohere").ClientV2(api_key="none", base_url=url)
    yield from client.chat_stream(**ASKED)


def told_by_cohere(event: Any) -> list[str]:
    if event.type != "content-delta":
        return []
    content = event.delta.message.content
    return [text for text in (content.thinking, content.text) if text]


def ollama(url: str) -> Iterator[Any]:
    yield from imported("ollama").Client(host=url).chat(**ASKED, stream=True)


def told_by_ollama(event: Any) -> list[str]:
    return [text for text in (event.message.thinking, event["message"]["content"]) if text]


def hugging_face(url: str) -> Iterator[Any]:
    client = imported("huggingface_hub").InferenceClient(base_url=url, api_key="none")
    yield from client.chat_completion(ASKED["messages"], stream=True)


def told_by_hugging_face(event: Any) -> list[str]:
    deltas = [choice.delta for choice in event.choices]
    assert [delta.content for delta in deltas] == [
        choice["delta"]["content"] for choice in event["choices"]
    ]
    texts = [getattr(delta, "reasoning_content", None) or delta.content for delta in deltas]
    return [text for text in texts if text]


def lines(*events: dict[str, Any]) -> bytes:
    return "".join(json.dumps(event) + "\n" for event in events).encode()


def ollama_event(**message: str) -> dict[str, Any]:
    return {"model": "m", "message": {"role": "assistant", "content": "", **message}, "done": False}


def mistral_event(content: Any) -> dict[str, Any]:
    return chunk({"content": content})


def cohere_event(**content: str) -> dict[str, Any]:
    return {"type": "content-delta", "index": 0, "delta": {"message": {"content": content}}}


OTHERS: dict[str, tuple[Any, Any, bytes]] = {
    "mistral": (
        mistral,
        told_by_mistral,
        chat(
            mistral_event([{"type": "thinking", "thinking": [{"type": "text", "text": WHY}]}]),
            mistral_event(HOW),
            chunk({"content": "", "finish_reason": "stop"}, usage=USAGE),
        ),
    ),
    "cohere": (
        cohere,
        told_by_cohere,
        named(
            cohere_event(thinking=WHY),
            cohere_event(text=HOW),
            {"type": "message-end", "delta": {"finish_reason": "COMPLETE"}},
        ),
    ),
    "ollama": (
        ollama,
        told_by_ollama,
        lines(
            ollama_event(thinking=WHY),
            ollama_event(content=HOW),
            {**ollama_event(), "done": True, "prompt_eval_count": 9, "eval_count": 57},
        ),
    ),
    "huggingface_hub": (
        hugging_face,
        told_by_hugging_face,
        chat(BEGIN, chunk({"reasoning_content": WHY}), chunk({"content": HOW}), USED),
    ),
}


@pytest.mark.parametrize("name", OTHERS)
def test_objects_of_other_sdks_come_out_as_they_are_or_cut(bodies: Bodies, name: str) -> None:
    read, told, body = OTHERS[name]
    given, out = wrapped(read(f"{bodies.url}/body/{bodies.add(body)}"))
    assert [text for event in given for text in told(event)] == [WHY, HOW]
    texts = [text for event in out for text in told(event)]
    assert "".join(texts) == WHY + HOW
    assert len(texts) > 4
    assert out[-1] is given[-1]
