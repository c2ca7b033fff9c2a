"""Relays a provider's stream to browsers, paced, and keeps the key on the server.

    OPENAI_API_KEY=... uvicorn relay_fastapi:app --timeout-graceful-shutdown 30

    curl -N localhost:8000/v1/chat/completions -H 'Content-Type: application/json' \\
        -d '{"model": "...", "stream": true, "messages": [{"role": "user", "content": "Hello"}]}'

This is Starlette, on which FastAPI stands: with `app = FastAPI(lifespan=lifespan)` and `@app.post`
above `relay` it is the same. OPENAI_BASE_URL names another provider. Without the graceful timeout a
restart waits for every open stream. Whoever can reach it uses your key: ask who they are. Needs
starlette, httpx and uvicorn.
"""

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

import decluster

BASE_URL = os.environ.get("OPENAI_BASE_URL", "https://api.openai.com/v1")
UNBUFFERED = {
    # Nothing between here and the browser may keep it, compress it, or (nginx) collect it. Of the
    # provider's headers none is copied: length and encoding are no longer true.
    "Cache-Control": "no-cache, no-transform",
    "X-Accel-Buffering": "no",
}


class PacedResponse(StreamingResponse):
    """Closes its stream, and so the provider's connection, however the browser's one ends."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        stream: Any = self.body_iterator
        async with stream:
            await super().__call__(scope, receive, send)


async def relay(request: Request) -> Response:
    client: httpx.AsyncClient = request.app.state.client
    asked = client.build_request("POST", "chat/completions", content=await request.body())
    try:
        upstream = await client.send(asked, stream=True)
    except httpx.TransportError as error:
        return JSONResponse({"error": {"message": f"no provider: {error!r}"}}, 502)
    kind = upstream.headers.get("content-type", "")
    if not kind.startswith("text/event-stream"):
        # An error, or an answer that was not to be streamed: as the provider says it.
        try:
            body = await upstream.aread()
        finally:
            await upstream.aclose()
        passed = {name: upstream.headers[name] for name in PASSED if name in upstream.headers}
        return Response(body, upstream.status_code, {**passed, "Content-Type": kind})
    paced = decluster.wrap(upstream.aiter_bytes(), framing="bytes", closer=upstream.aclose)
    return PacedResponse(paced, upstream.status_code, UNBUFFERED, "text/event-stream")


PASSED = ("retry-after", "x-request-id")


@asynccontextmanager
async def lifespan(app: Starlette) -> AsyncIterator[None]:
    async with httpx.AsyncClient(
        base_url=BASE_URL,
        headers={
            "Authorization": f"Bearer {os.environ.get('OPENAI_API_KEY', 'none')}",
            "Content-Type": "application/json",
            # A compressed stream comes in lumps.
            "Accept-Encoding": "identity",
        },
        # httpx gives up after five seconds of silence; a model thinks longer.
        timeout=httpx.Timeout(10, read=300),
        # Else the hundred-and-first reader waits until another one is done.
        limits=httpx.Limits(max_connections=None),
    ) as app.state.client:
        yield


app = Starlette(routes=[Route("/v1/chat/completions", relay, methods=["POST"])], lifespan=lifespan)
