"""Reads the demo stream the way an application does: `requests`, `iter_lines()`, plain JSON.

Two readings, one direct and one through `wrap`, and what each of them saw. The wrapped one notes
what goes into `wrap` as well, so that the delay is measured from outside.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from ._demo_metrics import Seen
from ._demo_stream import DELTA_KEYS, Kind

if TYPE_CHECKING:
    import requests


class WrappedLines(Protocol):
    """What `wrap` gives back for lines, as far as the demo needs it."""

    def __iter__(self) -> Iterator[bytes]: ...
    def close(self) -> None: ...
    def stats(self) -> Mapping[str, Any]: ...


Wrap: TypeAlias = Callable[[Iterator[bytes]], WrappedLines]


class Reading:
    """One reading of one stream, in a thread of its own. `seen` grows while it runs."""

    def __init__(self, name: str, read: Callable[[Reading], None]) -> None:
        self.name = name
        self.seen: list[Seen] = []
        self.arrived: list[Seen] = []
        """What came from the server; for a direct reading the same as `seen`."""
        self.stats: Mapping[str, Any] = {}
        self.error: BaseException | None = None
        self._read = read
        # A daemon: Ctrl-C must not wait for a thread that sits in a read.
        self._thread = threading.Thread(target=self._run, name=f"decluster-{name}", daemon=True)

    def start(self) -> None:
        self._thread.start()

    @property
    def running(self) -> bool:
        return self._thread.is_alive()

    def wait(self, timeout: float | None = None) -> None:
        """Waits until the reading is over, at most `timeout` seconds."""
        self._thread.join(timeout)

    def _run(self) -> None:
        try:
            self._read(self)
        except BaseException as error:  # It belongs to whoever waits for this reading.
            self.error = error


def direct(url: str) -> Reading:
    """A reading of the stream as it comes."""

    def read(reading: Reading) -> None:
        reading.arrived = reading.seen
        with _session() as session, _get(session, url) as response:
            for _ in _noting(response.iter_lines(), reading.seen):
                pass

    return Reading("direct", read)


def wrapped(url: str, wrap: Wrap) -> Reading:
    """A reading of the stream through `wrap`."""

    def read(reading: Reading) -> None:
        with _session() as session, _get(session, url) as response:
            lines = wrap(_noting(response.iter_lines(), reading.arrived))
            try:
                for _ in _noting(lines, reading.seen):
                    pass
                reading.stats = lines.stats()
            finally:
                lines.close()

    return Reading("wrapped", read)


def deltas(line: bytes) -> list[tuple[Kind, str]]:
    """The texts in one line of a chat completions stream."""
    if not line.startswith(b"data: ") or line == b"data: [DONE]":
        return []
    choices = json.loads(line[len(b"data: ") :])["choices"]
    return [
        (kind, text)
        for choice in choices
        for key, kind in DELTA_KEYS
        if (text := choice["delta"].get(key))
    ]


def _noting(lines: Iterable[bytes], notes: list[Seen]) -> Iterator[bytes]:
    """Passes lines on and notes when each text came by."""
    for line in lines:
        at_ns = time.monotonic_ns()
        notes.extend(Seen(at_ns, kind, text) for kind, text in deltas(line))
        yield line


def _session() -> requests.Session:
    import requests

    session = requests.Session()
    # A proxy from the environment has no business with a server on loopback.
    session.trust_env = False
    return session


def _get(session: requests.Session, url: str) -> requests.Response:
    response = session.get(url, stream=True, timeout=SILENCE_S)
    response.raise_for_status()
    return response


# The script never pauses longer than 1.5 s; a silence of this length is a fault of the demo.
SILENCE_S = 10
