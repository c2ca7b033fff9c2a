"""A server on loopback that plays scripts as event streams; for the demo and for tests.

Real HTTP/1.1 with chunked transfer encoding, from the standard library. It knows bytes and times
only: what the bytes mean is the script's matter. Each step goes out as one chunk in one write, on
a socket without Nagle's delay, so that a burst reaches the client as a burst.
"""

from __future__ import annotations

import select
import socket
import struct
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from socketserver import TCPServer
from types import TracebackType
from typing import Any, Literal, TypeAlias, cast


@dataclass(frozen=True, slots=True)
class Send:
    """Write `data`, `after` seconds after the step before it was due."""

    data: bytes
    after: float = 0.0


@dataclass(frozen=True, slots=True)
class Cut:
    """End the connection now, without the final chunk; with `reset`, by a TCP reset."""

    after: float = 0.0
    reset: bool = False


@dataclass(frozen=True, slots=True)
class Hold:
    """Send nothing more and keep the connection open until the client closes it."""

    after: float = 0.0


Step: TypeAlias = Send | Cut | Hold
Script: TypeAlias = Sequence[Step]
Outcome: TypeAlias = Literal["playing", "played", "cut", "client closed", "server closed"]


@dataclass(slots=True)
class Connection:
    """What happened on one connection. Read it at any time; it grows while the script plays."""

    method: str
    path: str
    body: bytes
    headers: dict[str, str]
    """Names in lower case."""
    written_ns: list[int] = field(default_factory=list[int])
    """`time.monotonic_ns()` just before each write, one for each `Send` that was played."""
    outcome: Outcome = "playing"


class Server:
    """Plays a script to every client that asks, by GET or POST, on any path.

    With several scripts the first request gets the first, the second the second, and all later ones
    the last: so a retry can be answered differently. One request per connection. It listens from
    the moment it is built; `close`, or leaving the `with`, ends all connections and waits for their
    threads.
    """

    def __init__(self, *scripts: Script) -> None:
        if not scripts:
            raise ValueError("a server needs a script to play")
        self._scripts = scripts
        self._http = _Http(self)
        self._changed = threading.Condition()
        self._connections: list[Connection] = []
        self._sockets: set[socket.socket] = set()
        self._closed = False
        self._thread = threading.Thread(
            target=self._http.serve_forever,
            kwargs={"poll_interval": SHUTDOWN_POLL_S},
            name="decluster-demo-server",
            daemon=True,
        )
        self._thread.start()

    @property
    def url(self) -> str:
        """Where the first script begins."""
        return f"http://127.0.0.1:{self._http.server_port}/v1/chat/completions"

    @property
    def connections(self) -> list[Connection]:
        """Every request so far, in the order they came."""
        with self._changed:
            return list(self._connections)

    @property
    def open_connections(self) -> int:
        """How many sockets are open now."""
        with self._changed:
            return len(self._sockets)

    def wait_open_connections(self, count: int, timeout: float = 5.0) -> bool:
        """Wait until `count` connections are open; false when that did not happen in time."""
        with self._changed:
            return self._changed.wait_for(lambda: len(self._sockets) == count, timeout)

    def close(self) -> None:
        """End everything. Harmless when repeated."""
        with self._changed:
            if self._closed:
                return
            self._closed = True
            for connected in self._sockets:
                _shut(connected)
        self._http.shutdown()
        self._thread.join()
        self._http.server_close()

    def __enter__(self) -> Server:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def _opened(self, connected: socket.socket) -> None:
        with self._changed:
            self._sockets.add(connected)
            if self._closed:
                _shut(connected)
            self._changed.notify_all()

    def _gone(self, connected: socket.socket) -> None:
        with self._changed:
            self._sockets.discard(connected)
            self._changed.notify_all()

    def _begin(self, connection: Connection) -> Script:
        with self._changed:
            turn = min(len(self._connections), len(self._scripts) - 1)
            self._connections.append(connection)
            return self._scripts[turn]

    def _ended_by(self) -> Outcome:
        """Who ended a connection that ended before its script did."""
        with self._changed:
            return "server closed" if self._closed else "client closed"


class _Http(ThreadingHTTPServer):
    # Joined by `server_close`: no thread outlives the `with`.
    daemon_threads = False
    request_queue_size = 64

    def __init__(self, owner: Server) -> None:
        self.owner = owner
        super().__init__(("127.0.0.1", 0), _Handler)

    def server_bind(self) -> None:
        # The inherited method asks for the host's name, which can take seconds without a resolver.
        TCPServer.server_bind(self)
        self.server_name, self.server_port = "127.0.0.1", self.socket.getsockname()[1]

    def process_request(self, request: Any, client_address: Any) -> None:
        self.owner._opened(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        super().shutdown_request(request)
        self.owner._gone(request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that leaves in the middle of a request is no news."""


class _Handler(BaseHTTPRequestHandler):
    connection: socket.socket
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_GET(self) -> None:
        self._play()

    def do_POST(self) -> None:
        self._play()

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing: the terminal belongs to the demo."""

    def _play(self) -> None:
        owner = cast(_Http, self.server).owner
        self.close_connection = True
        played = Connection(
            method=self.command,
            path=self.path,
            body=self.rfile.read(int(self.headers.get("Content-Length", 0))),
            headers={name.lower(): value for name, value in self.headers.items()},
        )
        script = owner._begin(played)
        try:
            played.outcome = self._steps(script, played) or owner._ended_by()
        except OSError:
            played.outcome = owner._ended_by()

    def _steps(self, script: Script, played: Connection) -> Outcome | None:
        """Plays the script to its end; nothing when the other side left before that."""
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream; charset=utf-8")
        self.send_header("Cache-Control", "no-cache")
        self.send_header("Transfer-Encoding", "chunked")
        self.send_header("Connection", "close")
        self.end_headers()
        # Steps are due on one schedule, so that late wake-ups do not add up.
        due = time.monotonic()
        for step in script:
            due += step.after
            if self._left_before(due):
                return None
            match step:
                case Send(data=b""):
                    # An empty chunk would be the final one.
                    played.written_ns.append(time.monotonic_ns())
                case Send(data=data):
                    played.written_ns.append(time.monotonic_ns())
                    self.connection.sendall(b"%x\r\n%b\r\n" % (len(data), data))
                case Cut(reset=reset):
                    if reset:
                        linger = struct.pack("ii", 1, 0)
                        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
                        self.connection.close()
                    return "cut"
                case Hold():
                    self._left_before(None)
                    return None
        self.connection.sendall(b"0\r\n\r\n")
        return "played"

    def _left_before(self, due: float | None) -> bool:
        """Waits until `due`, or without end; true as soon as the connection is closed."""
        while True:
            left = None if due is None else max(0.0, due - time.monotonic())
            readable, _, _ = select.select([self.connection], [], [], left)
            if not readable:
                return False
            # Anything but the end is a second request, which we do not take: read it away.
            if not self.connection.recv(4096):
                return True


def _shut(connected: socket.socket) -> None:
    """Wakes whoever waits on this socket; the thread that serves it closes it."""
    # An error means that the client was faster.
    with suppress(OSError):
        connected.shutdown(socket.SHUT_RDWR)


# How long `close` may have to wait for the accepting thread.
SHUTDOWN_POLL_S = 0.02
