"""An agent for the terminal: thinks dimly, answers plainly, calls tools until it is done.

    OPENAI_API_KEY=... OPENAI_MODEL=... python cli_agent.py

OPENAI_BASE_URL names another provider, such as http://localhost:8000/v1. Ctrl-C stops the answer,
not the program; at the prompt it ends it, as Ctrl-D does. Needs httpx.
"""

import ast
import json
import operator
import os
import sys
from collections.abc import Iterator
from datetime import datetime
from typing import Any

import httpx

import decluster

DIM, PLAIN = ("\x1b[2m", "\x1b[0m") if sys.stdout.isatty() else ("", "")
OPERATORS: dict[type, Any] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
}


def calculate(expression: str) -> str:
    """What `expression` comes to. Nothing but numbers, + - * / and parentheses."""

    def value(node: ast.expr) -> float:
        match node:
            case ast.Constant(value=int() | float() as number):
                return number
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return -value(operand)
            case ast.BinOp(left, op, right) if type(op) in OPERATORS:
                return OPERATORS[type(op)](value(left), value(right))  # type: ignore[no-any-return]
        raise ValueError(f"{ast.unparse(node)} is no arithmetic")

    return str(value(ast.parse(expression.strip(), mode="eval").body))


def clock() -> str:
    """The local date and time."""
    return datetime.now().astimezone().isoformat(timespec="seconds")


def described(function: Any, **properties: dict[str, str]) -> dict[str, Any]:
    parameters = {"type": "object", "properties": properties, "required": list(properties)}
    about = {"name": function.__name__, "description": function.__doc__, "parameters": parameters}
    return {"type": "function", "function": about}


RUN: dict[str, Any] = {"calculate": calculate, "clock": clock}
TOOLS = [described(calculate, expression={"type": "string"}), described(clock)]


def ask(client: httpx.Client, messages: list[dict[str, Any]]) -> decluster.Answer:
    """Shows one answer as it comes, and gives it whole."""
    model = os.environ.get("OPENAI_MODEL", "gpt-5-mini")
    body = {"model": model, "messages": messages, "tools": TOOLS, "stream": True}
    with client.stream("POST", "chat/completions", json=body) as response:
        if response.is_error:
            raise httpx.HTTPError(f"{response.status_code}: {response.read().decode()}")
        read: list[bytes] = []

        def noted() -> Iterator[bytes]:
            for chunk in response.iter_bytes():
                read.append(chunk)
                yield chunk

        # The closer, since our own generator hides the response: Ctrl-C then ends a read at once.
        with decluster.pieces(noted(), closer=response.close) as pieces:
            kind = ""
            for piece in pieces:
                if piece.kind != kind:
                    kind = piece.kind
                    print("\n" + (DIM if kind == "reasoning" else PLAIN), end="")
                print(piece, end="", flush=True)
        print(PLAIN)
    # The same chunks once more, for the tool calls: put together from their parts.
    return decluster.collect(read)


def run(call: dict[str, Any]) -> str:
    """What the tool says. Its errors are for the model, which may try again."""
    try:
        result = str(RUN[call["name"]](**json.loads(call["arguments"] or "{}")))
    except Exception as error:
        result = f"{type(error).__name__}: {error}"
    print(f"{DIM}{call['name']}({call['arguments']}) -> {result}{PLAIN}")
    return result


def converse(client: httpx.Client, messages: list[dict[str, Any]]) -> None:
    """Goes on until the model asks for no more tools."""
    while True:
        answer = ask(client, messages)
        if answer.verdict != "complete":
            # Half an answer is none, and half a tool call must not run.
            raise httpx.HTTPError(f"{answer.verdict}: {answer.reason or answer.error}")
        said: dict[str, Any] = {"role": "assistant", "content": answer.output}
        if answer.reasoning:
            # Some providers want it back between tool calls; who does not send it never sees it.
            said["reasoning_content"] = answer.reasoning
        messages.append(said)
        if not answer.tool_calls:
            return
        said["tool_calls"] = []
        for call in answer.tool_calls:
            function = {"name": call["name"], "arguments": call["arguments"]}
            said["tool_calls"].append({"id": call["id"], "type": "function", "function": function})
            messages.append({"role": "tool", "tool_call_id": call["id"], "content": run(call)})


def main() -> None:
    messages: list[dict[str, Any]] = []
    client = httpx.Client(
        base_url=os.environ.get("OPENAI_BASE_URL", "https://api.openai.com/v1"),
        headers={"Authorization": f"Bearer {os.environ.get('OPENAI_API_KEY', 'none')}"},
        # httpx gives up after five seconds of silence; a model thinks longer.
        timeout=httpx.Timeout(10, read=300),
    )
    with client:
        while True:
            try:
                prompt = input("> ")
            except (EOFError, KeyboardInterrupt):
                return
            before = len(messages)
            messages.append({"role": "user", "content": prompt})
            try:
                converse(client, messages)
            except (KeyboardInterrupt, httpx.HTTPError, decluster.ProviderError) as stopped:
                # As if it had not been asked: a call without its result would be refused.
                del messages[before:]
                print(f"{PLAIN}\n[{str(stopped) or 'stopped'}]")


if __name__ == "__main__":
    main()
