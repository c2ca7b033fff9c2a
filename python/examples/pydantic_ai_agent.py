"""Pydantic-AI, paced below it: an agent on a provider with `decluster.httpx_hooks`.

    OPENAI_API_KEY=... OPENAI_MODEL=... python pydantic_ai_agent.py "What time is it?"

OPENAI_BASE_URL names another provider. Needs pydantic-ai-slim[openai].
"""

import asyncio
import os
import sys
from datetime import datetime

import openai
from pydantic_ai import Agent
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider

from decluster.httpx_hooks import async_hooks


def clock() -> str:
    """The local date and time."""
    return datetime.now().astimezone().isoformat(timespec="seconds")


provider = OpenAIProvider(
    base_url=os.environ.get("OPENAI_BASE_URL"),
    api_key=os.environ.get("OPENAI_API_KEY"),
    # With the SDK's own timeouts: they allow ten minutes of silence.
    http_client=openai.DefaultAsyncHttpxClient(event_hooks=async_hooks()),
)
model = OpenAIChatModel(os.environ.get("OPENAI_MODEL", "gpt-5-mini"), provider=provider)
agent = Agent(model, tools=[clock])


async def main(question: str) -> None:
    async with agent.run_stream(question) as result:
        # Else Pydantic-AI holds text for 0.1 s and joins what was apart.
        async for text in result.stream_text(delta=True, debounce_by=None):
            print(text, end="", flush=True)
    print()


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    asyncio.run(main(sys.argv[1]))
