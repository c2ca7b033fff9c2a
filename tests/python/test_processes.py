"""What only a process of its own shows: interrupts, forks, patched threads, how it ends."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

SETUP = """
import asyncio, os, signal, sys, threading, time, warnings
import decluster
from decluster._demo_server import Hold, Send, Server
warnings.simplefilter("ignore", DeprecationWarning)  # Python 3.12 warns of forks beside threads.
event = b'data: {"choices":[{"index":0,"delta":{"content":"One sentence is here. "}}]}\\n\\n'
done = b"data: [DONE]\\n\\n"

def readers():
    return [t for t in threading.enumerate() if t.name == "decluster-reader"]

def until(happened):
    deadline = time.monotonic() + 10
    while not happened() and time.monotonic() < deadline:
        time.sleep(0.005)
    return happened()

def endless():
    try:
        while True:
            yield event.decode().rstrip()
            yield ""
            time.sleep(0.01)
    finally:
        print("closed", flush=True)
"""

needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")


def told(code: str) -> list[str]:
    """What a program says; it must say nothing of errors."""
    ran = subprocess.run(
        [sys.executable, "-W", "error", "-c", SETUP + code],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (ran.returncode, ran.stderr) == (0, ""), ran.stderr
    return ran.stdout.splitlines()


def test_ctrl_c_ends_the_loop_and_its_thread() -> None:
    code = """
def interrupt():
    until(lambda: seen)
    os.kill(os.getpid(), signal.SIGINT)

seen = []
threading.Thread(target=interrupt).start()
try:
    for line in decluster.wrap(endless()):
        seen.append(line)
except KeyboardInterrupt:
    print("interrupted", flush=True)
assert until(lambda: not readers())
"""
    assert sorted(told(code)) == ["closed", "interrupted"]


def test_ctrl_c_ends_a_read_in_the_callers_thread_at_once() -> None:
    code = """
def silent():
    yield event.decode().rstrip()
    threading.Thread(target=os.kill, args=(os.getpid(), signal.SIGINT)).start()
    time.sleep(20)

start = time.monotonic()
try:
    for _ in decluster.wrap(silent(), background=False):
        pass
except KeyboardInterrupt:
    print("interrupted", time.monotonic() - start < 5)
"""
    assert told(code) == ["interrupted True"]


def test_ctrl_c_ends_reads_that_are_no_python_code() -> None:
    code = """
import itertools
threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGINT)).start()
try:
    next(decluster.wrap(itertools.repeat(b""), background=False, framing="bytes"))
except KeyboardInterrupt:
    print("interrupted")
"""
    assert told(code) == ["interrupted"]


def test_ctrl_c_ends_an_event_loop_without_a_task_left() -> None:
    code = """
async def silent():
    try:
        yield event.decode().rstrip()
        yield ""
        threading.Thread(target=os.kill, args=(os.getpid(), signal.SIGINT)).start()
        await asyncio.Event().wait()
    finally:
        print("closed", flush=True)

async def main():
    async for _ in decluster.wrap(silent()):
        pass

try:
    asyncio.run(main())
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""
    assert sorted(told(code)) == ["closed", "interrupted"]


@pytest.mark.parametrize(
    "end",
    [
        "list(decluster.wrap(response, max_reasoning_tokens=10))",
        "next(decluster.wrap(response))",
        "s = decluster.wrap(response); next(s); s._abandon()",
        "s = decluster.wrap(event.decode() for _ in iter(int, 1)); next(s)",
        "s = [decluster.wrap(endless()) for _ in range(20)]; [next(one) for one in s]; del s",
    ],
)
def test_the_interpreter_ends_while_a_reader_does(end: str) -> None:
    """A reader that the end finds inside the compiled module would crash the process."""
    code = f"""
import urllib.request
endless = lambda: (event.decode() for _ in iter(int, 1))
thought = event.replace(b"content", b"reasoning_content")
script = [Send(thought * 20), Send(thought * 20, after=0.01), *[Send(event, after=0.005)] * 40]
with Server(script) as server:
    response = urllib.request.urlopen(server.url)
    try:
        {end}
    except decluster.ReasoningBudgetExceeded:
        print("exceeded")
"""
    told(code)


def test_the_interpreter_ends_while_the_reader_of_an_sdk_does() -> None:
    code = """
import json, openai
from itertools import repeat
chunk = {"id": "x", "object": "chat.completion.chunk", "created": 1, "model": "m"}
delta = {"choices": [{"index": 0, "delta": {"reasoning_content": " word"}}]}
thought = b"data: " + json.dumps(chunk | delta).encode() + b"\\n\\n"
server = Server([Send(thought * 80), *repeat(Send(thought * 80, after=0.3), 9)])
server._http.daemon_threads = True
url = server.url.removesuffix("/chat/completions")
client = openai.OpenAI(base_url=url, api_key="none", max_retries=0)
try:
    stream = client.chat.completions.create(model="m", messages=[], stream=True)
    list(decluster.pieces(stream, max_reasoning_tokens=100))
except decluster.ReasoningBudgetExceeded:
    print("exceeded")
"""
    for _ in range(4):
        assert told(code) == ["exceeded"]


def test_the_interpreter_ends_though_a_stream_is_open() -> None:
    code = """
held = decluster.wrap(endless())
next(held)
print("done", flush=True)
"""
    assert told(code)[0] == "done"


@needs_fork
def test_a_forked_child_has_no_part_in_a_stream_that_is_read() -> None:
    code = """
with Server([Send(event, after=0.05)] * 10 + [Send(done)]) as server:
    import urllib.request
    response = urllib.request.urlopen(server.url)
    stream = decluster.wrap(response)
    next(stream)
    child = os.fork()
    if child == 0:
        for ask in (lambda: next(stream), stream.stats, lambda: stream.verdict, stream.flush):
            try:
                ask()
            except RuntimeError as error:
                print("forked" in str(error), flush=True)
        stream.close()
        del stream
        os._exit(0)
    os.waitpid(child, 0)
    lines = list(stream)
    print(stream.verdict, lines.count(b"data: [DONE]\\n"))
"""
    assert told(code) == ["True"] * 4 + ["complete 1"]


@needs_fork
def test_a_stream_that_nobody_reads_yet_can_be_read_in_a_forked_child() -> None:
    code = """
stream = decluster.pieces([event, done], framing="bytes")
child = os.fork()
if child == 0:
    print("".join(map(str, stream)), len(readers()), flush=True)
    os._exit(0)
os.waitpid(child, 0)
print("".join(map(str, stream)), flush=True)
"""
    assert told(code) == ["One sentence is here.  0", "One sentence is here. "]


@pytest.mark.parametrize("background", [True, False])
def test_a_stream_can_be_asked_while_its_unread_error_is_dropped(background: bool) -> None:
    code = """
class Told:
    def __del__(self):
        print("deltas", streams[0].stats()["deltas"], flush=True)

async def failing():
    held = Told()
    yield event + event
    raise ValueError("broken")

async def main():
    streams.append(decluster.wrap(failing(), framing="bytes", background=BACKGROUND))
    await anext(streams[0])
    await anext(streams[0])
    await streams[0].aclose()
    print("closed")

streams = []
asyncio.run(main())
"""
    assert sorted(told(code.replace("BACKGROUND", str(background)))) == ["closed", "deltas 2"]


def test_gevents_threads_are_refused_with_what_to_do() -> None:
    code = """
from gevent import monkey
monkey.patch_all()
lines = [event.decode().rstrip(), "", "data: [DONE]", ""]
try:
    list(decluster.wrap(lines))
except RuntimeError as error:
    print(str(error).partition(",")[0])
    print("background=False" in str(error))
print(len(list(decluster.wrap(lines, background=False))) > len(lines))
"""
    assert told(code) == ["gevent has patched threads", "True", "True"]


def test_gevent_beside_real_threads_is_no_matter() -> None:
    code = """
import gevent
lines = [event.decode().rstrip(), "", "data: [DONE]", ""]
print(len(list(decluster.wrap(lines))) > len(lines))
"""
    assert told(code) == ["True"]


def test_the_interpreter_ends_soon_however_many_streams_are_open() -> None:
    code = """
def blocked():
    yield event.decode().rstrip()
    yield ""
    time.sleep(60)

import atexit
streams = [decluster.wrap(blocked()) for _ in range(60)]
for stream in streams:
    next(stream)
start = time.monotonic()
atexit._run_exitfuncs()
print("soon", time.monotonic() - start < 2, flush=True)
"""
    assert told(code) == ["soon True"]


@needs_fork
def test_a_forked_child_has_no_part_in_a_stream_that_another_thread_reads_itself() -> None:
    code = """
reads, forked = threading.Event(), threading.Event()

def source():
    yield event.decode().rstrip()
    yield ""
    reads.set()
    forked.wait(10)

stream = decluster.wrap(source(), background=False)
thread = threading.Thread(target=list, args=(stream,))
thread.start()
reads.wait(10)
child = os.fork()
if child == 0:
    try:
        next(stream)
    except RuntimeError as error:
        print("in the parent" if "stayed in the parent" in str(error) else error, flush=True)
    os._exit(0)
os.waitpid(child, 0)
forked.set()
thread.join()
"""
    assert told(code) == ["in the parent"]


@needs_fork
def test_a_stream_is_entered_in_the_ledger_of_the_process_that_reads_it() -> None:
    code = """
ledger = decluster.Ledger()
with Server([Send(event, after=0.05)] * 10 + [Send(done)]) as server:
    import urllib.request
    response = urllib.request.urlopen(server.url)
    stream = decluster.wrap(response, ledger=ledger)
    next(stream)
    child = os.fork()
    if child == 0:
        stream.close()
        print("child", ledger.total.streams, flush=True)
        os._exit(0)
    os.waitpid(child, 0)
    list(stream)
    print("parent", ledger.total.streams)
"""
    assert told(code) == ["child 0", "parent 1"]


def test_who_needs_no_event_loop_does_not_wait_for_it_to_be_imported() -> None:
    code = "import decluster, sys; list(decluster.wrap([])); print('asyncio' in sys.modules)"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout == "False\n"
