"""Every client and SDK, whatever happens to its stream: wrapped, a loop finds what it finds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import anyio
import pytest
from matrix_clients import ASYNC, PATH, SYNC, Client
from matrix_scenes import PARAMETERS, SCENES, Scene, clustered, held, more, take
from matrix_streams import CALL_TEXT, OUTPUT, REASONING, Reading
from matrix_watch import LOOPS, Census, run
from readers import soon, until

import decluster
from decluster._demo_server import Server

# What a heavy client warns of in its own code is not our matter.
NOT_OURS = [
    pytest.mark.filterwarnings(f"ignore::{kind}") for kind in ("UserWarning", "DeprecationWarning")
]


def cells(clients: Sequence[Client]) -> list[Any]:
    made = []
    for client in clients:
        for scene in SCENES:
            marks = [pytest.mark.slow, *NOT_OURS] if client.needs else []
            made.append(pytest.param(client, scene, marks=marks, id=f"{client}: {scene}"))
    return made


def read(client: Client, scene: Scene, server: Server, wrapped: bool) -> Reading:
    """Reads one stream in a loop, as far as the scene wants it."""
    reading, items, census = Reading(), list[Any](), Census()
    events = client.reader()
    with client.open(server.url.removesuffix(PATH)) as opened:
        stream = decluster.wrap(opened.given, **PARAMETERS) if wrapped else opened.loop
        try:
            for item in stream:
                items.append(item)
                if not take(reading, client.dialect, item, events(item)):
                    continue
                if scene.take is not None and reading.texts >= scene.take:
                    break
                if scene.slow:
                    if wrapped:
                        reading.queued = max(reading.queued, stream.stats()["queued_bytes"])
                    assert until(more(server))
        except Exception as error:
            if scene.ends in ("complete", "closed"):
                raise
            reading.error = type(error)
        if wrapped:
            if scene.take is not None:
                stream.close()
            assert until(lambda: not census.of_wrap()), census.of_wrap()
            assert server.wait_open_connections(0)
            assert until(lambda: not census.new_sockets()), census.new_sockets()
            check_stream(stream, scene, reading)
    if client.tell is not None:
        reading.told = client.tell(items, None)
    return reading


async def aread(client: Client, scene: Scene, server: Server, wrapped: bool) -> Reading:
    """The same in `async for`."""
    reading, items, census = Reading(), list[Any](), Census()
    events = client.reader()
    async with client.open(server.url.removesuffix(PATH)) as opened:
        stream = decluster.wrap(opened.given, **PARAMETERS) if wrapped else opened.loop
        try:
            async for item in stream:
                items.append(item)
                if not take(reading, client.dialect, item, events(item)):
                    continue
                if scene.take is not None and reading.texts >= scene.take:
                    break
                if scene.slow:
                    if wrapped:
                        reading.queued = max(reading.queued, stream.stats()["queued_bytes"])
                    assert await soon(more(server))
        except Exception as error:
            if scene.ends in ("complete", "closed"):
                raise
            reading.error = type(error)
        if wrapped:
            if scene.take is not None:
                await stream.aclose()
            assert await soon(lambda: not census.of_wrap()), census.of_wrap()
            if client.closable or scene.ends != "closed":
                assert await soon(lambda: server.open_connections == 0)
                assert await soon(lambda: not census.new_sockets()), census.new_sockets()
            check_stream(stream, scene, reading)
    if client.tell is not None:
        reading.told = client.tell(items, None)
    return reading


def check_stream(stream: Any, scene: Scene, reading: Reading) -> None:
    """What the wrapped stream itself says of how it ended."""
    if scene.ends == "complete":
        assert (stream.verdict, stream.usage is not None) == ("complete", True)
    if scene.ends == "failed" and reading.error is None:
        assert stream.verdict == "failed"
    assert stream.stats()["paced"]


def check(client: Client, scene: Scene, direct: Reading, wrapped: Reading) -> None:
    """That both found the same, and that this is what the script said."""
    if scene.ends == "closed":
        for reading in (direct, wrapped):
            assert reading.texts >= scene.take
            assert scene.reasoning.startswith(reading.reasoning)
            assert reading.reasoning
        assert wrapped.kinds == direct.kinds
        return
    assert wrapped == direct
    if scene.ends == "complete":
        assert (direct.reasoning, direct.output) == (scene.reasoning, scene.output)
        assert [name for name, _ in direct.tools.values()] == ["renew"]
        assert [given for _, given in direct.tools.values()] == [CALL_TEXT]
        assert (direct.usage is not None, direct.finish is not None) == (True, True)
        kinds = [kind for kind in direct.order if kind in ("reasoning", "output", "tool")]
        assert kinds == ["reasoning", "output", "tool"]
        assert direct.error is None
    else:
        assert direct.reasoning == scene.reasoning
        assert scene.output.startswith(direct.output)
        assert direct.output
        assert direct.error is not None or direct.wire_error
    if scene.recut:
        assert wrapped.texts > direct.texts
    if scene.slow:
        # The engine was full, so reading had to pause, and it held no more than it may.
        most = PARAMETERS["max_queue_bytes"]
        assert most / 2 <= wrapped.queued <= most


@pytest.mark.parametrize(("client", "scene"), cells(SYNC))
def test_a_wrapped_stream_is_read_as_it_would_be_without(client: Client, scene: Scene) -> None:
    client.ready()
    with Server(scene.script(client.dialect)) as server:
        direct = read(client, scene, server, wrapped=False)
        assert server.wait_open_connections(0)
        census = Census()
        wrapped = read(client, scene, server, wrapped=True)
        check(client, scene, direct, wrapped)
        assert server.wait_open_connections(0)
        left = left_by(census, client)
        assert until(lambda: not left()), left()
        if scene.ends == "closed":
            assert [c.outcome for c in server.connections] == ["client closed"] * 2


@pytest.mark.parametrize("loop", LOOPS)
@pytest.mark.parametrize(("client", "scene"), cells(ASYNC))
def test_a_wrapped_async_stream_is_read_as_it_would_be_without(
    client: Client, scene: Scene, loop: str
) -> None:
    async def main() -> None:
        direct = await aread(client, scene, server, wrapped=False)
        assert await soon(lambda: server.open_connections == 0)
        census = Census()
        wrapped = await aread(client, scene, server, wrapped=True)
        check(client, scene, direct, wrapped)
        assert await soon(lambda: server.open_connections == 0)
        left = left_by(census, client)
        assert await soon(lambda: not left()), left()
        if scene.ends == "closed":
            assert [c.outcome for c in server.connections] == ["client closed"] * 2

    client.ready()
    with Server(scene.script(client.dialect)) as server:
        run(loop, main)


SOME_ASYNC = [
    client
    for client in ASYNC
    if client.name in ("httpx aiter_lines", "aiohttp response", "openai async chat")
]
IN_SOME = pytest.mark.parametrize("client", SOME_ASYNC, ids=str)


@pytest.mark.parametrize("loop", LOOPS)
@pytest.mark.parametrize("closed", [True, False], ids=["async with", "dropped"])
@IN_SOME
def test_a_cancelled_scope_leaves_no_task_and_no_socket(
    client: Client, closed: bool, loop: str
) -> None:
    async def main() -> None:
        census, reading, events = Census(), Reading(), client.reader()
        begun = anyio.Event()

        async def loop_over(stream: Any) -> None:
            async for item in stream:
                if take(reading, client.dialect, item, events(item)):
                    begun.set()

        async def work() -> None:
            async with client.open(server.url.removesuffix(PATH)) as opened:
                stream = decluster.wrap(opened.given, **PARAMETERS)
                if not closed:
                    await loop_over(stream)
                async with stream:
                    await loop_over(stream)

        async with anyio.create_task_group() as group:
            group.start_soon(work)
            await begun.wait()
            group.cancel_scope.cancel()
        assert await soon(lambda: server.open_connections == 0)
        left = left_by(census, client)
        assert await soon(lambda: not left()), left()
        assert [connection.outcome for connection in server.connections] == ["client closed"]

    with Server(held(client.dialect)) as server:
        run(loop, main)


@pytest.mark.parametrize("loop", LOOPS)
@IN_SOME
def test_waits_that_are_cancelled_lose_nothing(client: Client, loop: str) -> None:
    async def main() -> None:
        reading, events, waits = Reading(), client.reader(), 0
        async with client.open(server.url.removesuffix(PATH)) as opened:
            stream = decluster.wrap(opened.given, **PARAMETERS)
            while stream.verdict is None or reading.usage is None:
                with anyio.move_on_after(0.001) as scope:
                    item = await anext(stream)
                    take(reading, client.dialect, item, events(item))
                waits += scope.cancelled_caught
            await stream.aclose()
        assert (reading.reasoning, reading.output) == (REASONING, OUTPUT)
        assert waits > 0

    with Server(clustered(client.dialect)) as server:
        run(loop, main)


def left_by(census: Census, client: Client) -> Callable[[], list[str]]:
    """What is left that was not there before and is not the client's own."""
    return lambda: [name for name in census.all() if not name.startswith(client.own_threads)]
