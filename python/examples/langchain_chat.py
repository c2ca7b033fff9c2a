"""LangChain, paced below it: `ChatOpenAI` with `decluster.httpx_hooks`; nothing else changes.

    OPENAI_API_KEY=... OPENAI_MODEL=... python langchain_chat.py "Why is the sky blue?"

OPENAI_BASE_URL names another provider. Needs langchain-openai.
"""

import asyncio
import os
import sys

import openai
from langchain_openai import ChatOpenAI

from decluster.httpx_hooks import async_hooks, hooks

# A client with the SDK's own timeouts: they allow ten minutes of silence. With one of httpx's
# defaults a model that thinks for more than five seconds would be given up.
model = ChatOpenAI(
    model=os.environ.get("OPENAI_MODEL", "gpt-5-mini"),
    # Else LangChain asks other providers than OpenAI for no usage.
    stream_usage=True,
    # The clients have options of their own.
    http_socket_options=(),
    http_client=openai.DefaultHttpxClient(event_hooks=hooks()),
    http_async_client=openai.DefaultAsyncHttpxClient(event_hooks=async_hooks()),
)


async def main(question: str) -> None:
    # `for chunk in model.stream(question)` is paced as well, and so is a chain or a graph.
    async for chunk in model.astream(question):
        print(chunk.text, end="", flush=True)
    print()


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    asyncio.run(main(sys.argv[1]))
