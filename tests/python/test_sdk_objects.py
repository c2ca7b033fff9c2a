"""The vendors' SDKs' own stream objects, wrapped: what comes out are their objects, or copies."""

from __future__ import annotations

import asyncio
import functools
import json
import warnings
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import anthropic
import openai
import pydantic
import pytest
from openai.types.chat import ChatCompletionChunk
from readers import no_reader_left
from sdk_readers import ASKED, WAYS, Bodies, Readers, Told
from sdk_streams import BEGIN, CALL, HOW, STOP, STREAMS, USAGE, USED, WHY, Own, chat, chunk

import decluster

CAPTURES = Path(__file__).parents[2] / "../shared/captures"


@pytest.fixture(scope="module", params=["sync", "async"])
def readers(request: pytest.FixtureRequest) -> Iterator[Readers]:
    with Readers(background=request.param == "async") as readers:
        yield readers


@pytest.fixture(scope="module")
def bodies() -> Iterator[Bodies]:
    bodies = Bodies()
    yield bodies
    bodies.close()


@pytest.fixture(scope="module")
def client(bodies: Bodies) -> Iterator[openai.OpenAI]:
    with openai.OpenAI(api_key="none", base_url=bodies.url, max_retries=0, timeout=20) as client:
        yield client


def through(**parameters: Any) -> Callable[[Any], Any]:
    """Wraps a stream of objects: all that can be cut is cut, and nothing waits."""

    def wrapped(stream: Any) -> Any:
        return decluster.wrap(stream, background=False, pace="off", **parameters)

    return wrapped


def create(client: openai.OpenAI, bodies: Bodies, body: bytes) -> openai.Stream[Any]:
    extra = {"body": bodies.add(body)}
    return client.chat.completions.create(**ASKED, stream=True, extra_query=extra)


def read(readers: Readers, dialect: str, body: bytes, **parameters: Any) -> Told:
    with warnings.catch_warnings():
        # A stream that ends before it says what it is passes as it is, with a warning.
        warnings.simplefilter("ignore", RuntimeWarning)
        return readers.read(WAYS[dialect]["create"], body, through(**parameters))


@pytest.mark.parametrize("unit", ["block", "word"])
@pytest.mark.parametrize("own", STREAMS, ids=lambda own: f"{own.dialect}: {own.name}")
def test_a_program_tells_the_same_of_wrapped_objects(readers: Readers, own: Own, unit: str) -> None:
    told = readers.read(WAYS[own.dialect]["create"], own.body)
    again = read(readers, own.dialect, own.body, unit=unit)
    assert again == told
    assert again.texts == own.texts
    assert again.events > told.events, "nothing was cut"


FEW_EVENTS = 100
RECORDINGS = [
    pytest.param(
        dialect,
        path,
        marks=[pytest.mark.slow] if path.read_bytes().count(b"data:") > FEW_EVENTS else [],
        id=f"{dialect}: {path.stem}",
    )
    for dialect in WAYS
    for path in sorted((CAPTURES / dialect).glob("*.sse"))
]
SYNC_NOW_ASYNC_LATER = ["sync", pytest.param("async", marks=pytest.mark.slow)]
needs_recordings = pytest.mark.skipif(not RECORDINGS, reason=f"{CAPTURES} is absent")


@needs_recordings
@pytest.mark.parametrize("readers", SYNC_NOW_ASYNC_LATER, indirect=True)
@pytest.mark.parametrize(("dialect", "path"), RECORDINGS or [("", Path())])
def test_a_program_tells_the_same_of_recorded_streams(
    readers: Readers, dialect: str, path: Path
) -> None:
    body = path.read_bytes()
    told = readers.read(WAYS[dialect]["create"], body)
    for unit in ("block", "word"):
        assert read(readers, dialect, body, unit=unit) == told, unit


@pytest.mark.parametrize("own", STREAMS, ids=lambda own: f"{own.dialect}: {own.name}")
def test_without_pace_and_cuts_every_object_is_the_sdks_own(readers: Readers, own: Own) -> None:
    given: list[Any] = []
    out: list[Any] = []

    def compared(stream: Any) -> Any:
        return kept(through(segment="off")(kept(stream, given)), out)

    readers.read(WAYS[own.dialect]["create"], own.body, compared)
    assert len(out) == len(given) > 0
    assert all(map(lambda after, before: after is before, out, given))


def kept(stream: Any, items: list[Any]) -> Any:
    """The stream, whose items are kept here, too."""

    def each() -> Iterator[Any]:
        for item in stream:
            items.append(item)
            yield item

    async def aeach() -> AsyncIterator[Any]:
        async for item in stream:
            items.append(item)
            yield item

    return aeach() if hasattr(stream, "__aiter__") else each()


@pytest.mark.parametrize("own", STREAMS, ids=lambda own: f"{own.dialect}: {own.name}")
def test_a_reader_of_its_own_tells_the_same(readers: Readers, own: Own) -> None:
    """A thread reads, or a task; and an error of the SDK comes after all text before it."""
    way = WAYS[own.dialect]["create"]
    told = readers.read(way, own.body)
    assert readers.read(way, own.body, lambda stream: decluster.wrap(stream, pace="off")) == told
    assert no_reader_left()


def test_a_copy_keeps_what_the_sdk_has_besides(client: openai.OpenAI, bodies: Bodies) -> None:
    delta = {"reasoning_content": WHY, "reasoning_id": "r1", "content": None}
    body = chat(BEGIN, chunk(delta, provider="p", tags=["a", {"b": 1}], usage=USAGE), STOP, USED)
    given: list[Any] = []

    def kept() -> Iterator[Any]:
        for event in create(client, bodies, body):
            event._request_id = "req"
            given.append(event)
            yield event

    stream = decluster.wrap(kept(), background=False, pace="off")
    begin, *parts, last, stop, used = list(stream)
    assert [begin, stop, used] == [given[0], given[2], given[3]]
    assert begin is given[0]
    assert stop is given[2]
    assert used is given[3]
    assert len(parts) >= 2
    assert {type(part) for part in [*parts, last]} == {ChatCompletionChunk}
    deltas = [part.choices[0].delta for part in [*parts, last]]
    assert "".join(delta.reasoning_content for delta in deltas) == WHY
    assert {part._request_id for part in [*parts, last]} == {"req"}
    # What is said once stands on one part; on others it reads as where nothing was said.
    assert [part.usage for part in parts] == [None] * len(parts)
    assert last.usage is given[1].usage
    assert [delta.content for delta in deltas] == [None] * len(deltas)
    assert {delta.reasoning_id for delta in deltas} == {"r1"}
    assert {part.provider for part in [*parts, last]} == {"p"}
    assert last.tags is given[1].tags
    assert last.model_fields_set == given[1].model_fields_set
    # The SDK's own object is as it was.
    assert given[1].choices[0].delta.reasoning_content == WHY
    assert (stream.dialect, stream.usage, stream.verdict) == ("openai-chat", USAGE, "complete")
    assert (stream.tokens.input, stream.tokens.output) == (9, 57)


def test_a_delta_with_log_probabilities_passes_whole(client: Any, bodies: Bodies) -> None:
    token = {"token": "a", "logprob": -0.5, "bytes": [97], "top_logprobs": []}
    told = {"content": HOW, "logprobs": {"content": [token], "refusal": None}}
    body = chat(BEGIN, chunk(told), chunk({"content": WHY}), STOP)
    out = list(through()(create(client, bodies, body)))
    whole = [event for event in out if event.choices[0].logprobs]
    assert [event.choices[0].delta.content for event in whole] == [HOW]
    assert whole[0].choices[0].logprobs.content[0].logprob == -0.5


def test_pieces_blocks_and_collect_take_objects(client: openai.OpenAI, bodies: Bodies) -> None:
    body = chat(
        BEGIN,
        chunk({"reasoning_content": WHY}),
        chunk({"content": HOW}),
        chunk({"tool_calls": [CALL]}),
        chunk({"finish_reason": "tool_calls"}),
        USED,
    )
    pieces = list(decluster.pieces(create(client, bodies, body), pace="off"))
    assert "".join(piece.text for piece in pieces if piece.kind == "reasoning") == WHY
    assert "".join(piece.text for piece in pieces if piece.kind == "output") == HOW
    blocks = list(decluster.blocks(create(client, bodies, body), pace="off", events=True))
    events = [event for event in blocks if isinstance(event, decluster.Event)]
    assert json.loads(events[-1].data)["usage"] == USAGE
    answer = decluster.collect(create(client, bodies, body))
    assert (answer.reasoning, answer.output, answer.usage) == (WHY, HOW, USAGE)
    assert answer.tool_calls[0]["name"] == "renew"
    assert (answer.verdict, answer.dialect) == ("complete", "openai-chat")
    assert no_reader_left()


def test_an_error_that_the_sdk_raises_comes_after_the_text(client: Any, bodies: Bodies) -> None:
    body = chat(BEGIN, chunk({"content": HOW}), {"error": {"message": "too busy"}})
    text = ""
    with pytest.raises(openai.APIError, match="too busy"):
        for event in decluster.wrap(create(client, bodies, body)):
            text += event.choices[0].delta.content or ""
    assert text == HOW
    assert no_reader_left()


def test_closing_early_closes_the_sdks_stream(client: openai.OpenAI, bodies: Bodies) -> None:
    source = create(client, bodies, chat(BEGIN, *[chunk({"content": HOW})] * 200, STOP))
    with decluster.wrap(source) as stream:
        next(stream)
    assert no_reader_left()
    assert source.response.is_closed


def test_the_sdks_stream_is_reached_through_the_wrapped_one(client: Any, bodies: Bodies) -> None:
    source = create(client, bodies, STREAMS[0].body)
    with decluster.wrap(source, pace="off") as stream:
        assert stream.response is source.response
        assert stream.response.headers["content-type"] == "text/event-stream"
        with pytest.raises(AttributeError, match="no attribute 'request_idea'"):
            _ = stream.request_idea
        # What both have is the wrapped stream's own.
        assert stream.usage is None
        list(stream)
        assert stream.usage == USAGE


def test_async_streams_are_reached_and_closed_too(bodies: Bodies) -> None:
    async def asked() -> None:
        body = bodies.add(chat(BEGIN, *[chunk({"content": HOW})] * 200, STOP))
        async with openai.AsyncOpenAI(api_key="none", base_url=bodies.url) as client:
            source = await client.chat.completions.create(
                **ASKED, stream=True, extra_query={"body": body}
            )
            stream: Any = decluster.wrap(source)
            assert stream.response is source.response
            async with stream:
                assert type(await anext(stream)) is ChatCompletionChunk
            assert source.response.is_closed
            assert not [task for task in asyncio.all_tasks() if "decluster" in task.get_name()]

    asyncio.run(asked())


def test_an_async_stream_is_collected(bodies: Bodies) -> None:
    async def asked() -> None:
        async with anthropic.AsyncAnthropic(api_key="none", base_url=bodies.url) as client:
            own = next(own for own in STREAMS if own.dialect == "anthropic")
            source = await client.messages.create(
                **ASKED, max_tokens=9, stream=True, extra_query={"body": bodies.add(own.body)}
            )
            answer = await decluster.collect(source)
            text = "".join(t for place, t in own.texts.items() if place[-1] == "text")
            assert (answer.output, answer.verdict) == (text, "complete")

    asyncio.run(asked())


class Delta(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(arbitrary_types_allowed=True, ser_json_bytes="utf8")

    type: str = "text_delta"
    text: str
    key: bytes = b"\xff"
    held: Any = None


class Block(pydantic.BaseModel):
    """As an event of Anthropic's, in a class of our own: its defaults say what it is."""

    model_config = pydantic.ConfigDict(extra="allow")

    type: str = "content_block_delta"
    place: int = pydantic.Field(0, alias="index")
    delta: Delta
    _seen: list[int] = pydantic.PrivateAttr(default_factory=list)

    @pydantic.computed_field  # type: ignore[prop-decorator]
    @property
    def size(self) -> int:
        return len(self.delta.text)

    @functools.cached_property
    def words(self) -> list[str]:
        return self.delta.text.split()


class Wrapped(pydantic.BaseModel):
    data: Block


def test_any_pydantic_model_is_an_event() -> None:
    lock = object()
    event = Block(delta=Delta(text=HOW, held=lock))
    event._seen.append(7)
    assert len(event.words) == len(HOW.split())
    out = list(decluster.wrap([event], pace="off", background=False))
    assert len(out) > 1
    assert "".join(part.delta.text for part in out) == HOW
    assert {type(part) for part in out} == {Block}
    last = out[-1]
    assert last.delta.held is lock
    assert (last.delta.key, last.place, last._seen) == (b"\xff", 0, [7])
    assert last.size == len(last.delta.text) < event.size == len(HOW)
    assert last.model_extra == {}
    assert [word for part in out for word in part.words] == event.words
    named = list(decluster.wrap([("content_block_delta", event)], pace="off", background=False))
    assert [name for name, _ in named] == ["content_block_delta"] * len(out)


def test_a_model_that_only_holds_an_event_is_seen_through() -> None:
    out = list(decluster.wrap([Wrapped(data=Block(delta=Delta(text=HOW)))], pace="off"))
    assert len(out) > 1
    assert {type(part) for part in out} == {Wrapped}
    assert "".join(part.data.delta.text for part in out) == HOW


def test_half_a_character_in_a_model_is_joined_with_its_other_half() -> None:
    halves = [Block(delta=Delta(text=text)) for text in ("One \ud83e", "\udd80 two.", " Three.")]
    out = list(decluster.wrap(halves))
    assert "".join(part.delta.text for part in out) == "One 🦀 two. Three."


def test_objects_of_another_kind_are_refused_by_name() -> None:
    class Thing:
        pass

    with pytest.raises(TypeError, match=r"gave a Thing; .* pydantic models"):
        list(decluster.wrap([Thing()]))  # type: ignore[call-overload]
    assert no_reader_left()


HELPERS = {
    "openai": [
        lambda client, body: client.chat.completions.stream(**ASKED, extra_query=body),
        lambda client, body: client.responses.stream(model="m", input="?", extra_query=body),
    ],
    "anthropic": [
        lambda client, body: client.messages.stream(**ASKED, max_tokens=9, extra_query=body),
        lambda client, body: client.beta.messages.stream(**ASKED, max_tokens=9, extra_query=body),
    ],
}
REASON = (
    r"a \w*(ChatCompletion|Response|Message)Stream(Manager)? cannot be wrapped: its events carry "
    r"the whole text so far, .* Use create\(stream=True\)"
)


@pytest.mark.parametrize("sdk", [openai, anthropic])
def test_helpers_that_keep_a_snapshot_are_refused_with_the_reason(bodies: Bodies, sdk: Any) -> None:
    kind = getattr(sdk, {"openai": "OpenAI", "anthropic": "Anthropic"}[sdk.__name__])
    body = {"body": bodies.add(b"")}
    with kind(api_key="none", base_url=bodies.url) as client:
        for call in HELPERS[sdk.__name__]:
            with call(client, body) as helper:
                for source in (call(client, body), helper):
                    with pytest.raises(TypeError, match=REASON):
                        decluster.wrap(source)


@pytest.mark.parametrize("sdk", [openai, anthropic])
def test_their_async_twins_are_refused_too(bodies: Bodies, sdk: Any) -> None:
    kind = getattr(sdk, {"openai": "AsyncOpenAI", "anthropic": "AsyncAnthropic"}[sdk.__name__])
    body = {"body": bodies.add(b"")}

    async def asked() -> None:
        async with kind(api_key="none", base_url=bodies.url) as client:
            for call in HELPERS[sdk.__name__]:
                manager = call(client, body)
                with pytest.raises(TypeError, match=REASON):
                    decluster.wrap(manager)
                async with manager as helper:
                    with pytest.raises(TypeError, match=REASON):
                        decluster.wrap(helper)

    asyncio.run(asked())


def test_a_helpers_events_are_refused_behind_any_iterator(client: Any, bodies: Bodies) -> None:
    body = {"body": bodies.add(STREAMS[0].body)}
    with (
        client.chat.completions.stream(**ASKED, extra_query=body) as helper,
        pytest.raises(TypeError, match="a ChunkEvent cannot be wrapped"),
    ):
        list(decluster.wrap(event for event in helper))
    assert no_reader_left()


def test_a_helper_of_a_users_own_class_is_refused_too() -> None:
    class Mine(anthropic.MessageStream):  # type: ignore[type-arg]
        def __init__(self) -> None:
            pass

    for verb in (decluster.wrap, decluster.pieces, decluster.blocks, decluster.collect):
        with pytest.raises(TypeError, match="a Mine cannot be wrapped"):
            verb(Mine())  # type: ignore[operator]


def test_a_finished_answer_is_no_stream(bodies: Bodies) -> None:
    answer = openai.types.chat.ChatCompletion.model_construct(id="c", choices=[])
    with pytest.raises(TypeError, match=r"a ChatCompletion is one .* stream=True.* usage\(\)"):
        decluster.wrap(answer)  # type: ignore[call-overload]
    message = anthropic.types.Message.model_construct(id="m", content=[])
    with pytest.raises(TypeError, match="a Message is one object, not a stream"):
        decluster.collect(message)  # type: ignore[arg-type]


def test_what_can_be_read_both_ways_is_async_within_a_loop() -> None:
    class Both:
        def __iter__(self) -> Iterator[Any]:
            return iter([chunk({"content": "sync"}), STOP])

        async def __aiter__(self) -> AsyncIterator[Any]:
            for event in (chunk({"content": "async"}), STOP):
                yield event

    async def in_a_loop() -> str:
        both: Any = Both()
        return (await decluster.collect(both)).output

    assert decluster.collect(Both()).output == "sync"
    assert asyncio.run(in_a_loop()) == "async"


class Proxy:
    """As tracing puts one around a stream: it has both ways to be read."""

    def __init__(self, wrapped: Any) -> None:
        self.__wrapped__ = wrapped

    @property
    def __class__(self) -> Any:
        return type(self.__wrapped__)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.__wrapped__, name)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.__wrapped__)

    def __aiter__(self) -> AsyncIterator[Any]:
        return self.__wrapped__.__aiter__()  # type: ignore[no-any-return]


def test_a_proxy_is_taken_for_what_it_stands_for(readers: Readers, client: Any) -> None:
    for own in STREAMS[:2]:
        way = WAYS[own.dialect]["create"]
        told = readers.read(way, own.body)
        assert readers.read(way, own.body, lambda it: through()(Proxy(it))) == told
    with pytest.raises(TypeError, match="a ChatCompletionStreamManager cannot be wrapped"):
        decluster.wrap(Proxy(client.chat.completions.stream(**ASKED)))


def test_what_was_not_awaited_is_no_stream_yet(bodies: Bodies) -> None:
    async def asked() -> None:
        async with openai.AsyncOpenAI(api_key="none", base_url=bodies.url) as client:
            call: Any = client.chat.completions.create(**ASKED, stream=True)
            with pytest.raises(TypeError, match="await it, and give what it returns"):
                decluster.wrap(call)
            task: Any = asyncio.ensure_future(asyncio.sleep(0))
            with pytest.raises(TypeError, match="await it, and give what it returns"):
                decluster.wrap(task)
            await task

    asyncio.run(asked())


def test_a_raw_response_has_to_be_parsed(client: openai.OpenAI, bodies: Bodies) -> None:
    raw = client.chat.completions.with_raw_response.create(
        **ASKED, stream=True, extra_query={"body": bodies.add(STREAMS[0].body)}
    )
    with pytest.raises(TypeError, match=r"a LegacyAPIResponse is .* parse\(\)"):
        decluster.wrap(raw)  # type: ignore[call-overload]
    text = "".join(map(str, decluster.pieces(raw.parse())))
    assert text == WHY + HOW
