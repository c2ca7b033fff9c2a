"""The command line: `decluster`, or `python -m decluster`.

Exits 0 on success, 1 when the answer is no or the input is bad, 2 on wrong usage.
"""

from __future__ import annotations

import argparse
import codecs
import dataclasses
import hashlib
import json
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any, BinaryIO, Literal, get_args

from . import _demo, _diagnose, _simulate
from ._core import Block, Segmenter, __version__
from ._errors import DeclusterError
from ._files import fail, open_named
from ._settings import setting
from ._types import Dialect
from ._verbs import Answer, collect


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one verb and gives the exit code."""
    options = _parser().parse_args(arguments)
    reconfigure = getattr(sys.stdout, "reconfigure", None)
    if reconfigure is not None:
        # A terminal that cannot show a character gets its escape, which JSON understands, too.
        reconfigure(errors="backslashreplace")
    try:
        code: int = options.run(options)
        sys.stdout.flush()
    except KeyboardInterrupt:
        return 130  # as a shell counts it; whoever pressed the keys knows why
    except BrokenPipeError:
        # `decluster decode … | head`: nobody reads on, which is no error.
        _close_stdout()
        return 0
    except OSError as error:
        _close_stdout()
        return fail("standard output", error)
    return code


def _close_stdout() -> None:
    """Nothing more can be written; without this Python would say so again at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="decluster",
        description="The clustered stream of a reasoning model, as a steady flow.",
    )
    parser.add_argument("--version", action="version", version=f"decluster {__version__}")
    verbs = parser.add_subparsers(title="verbs", required=True, metavar="VERB")

    demo = verbs.add_parser("demo", help="read a clustered stream as it comes and wrapped, compare")
    _demo.add_arguments(demo)
    demo.set_defaults(run=_demo.run)

    decode = verbs.add_parser(
        "decode",
        help="what a recorded stream holds, one JSON object a file",
        description="Says what recorded streams hold, one JSON object a file. Texts are given as "
        "SHA-256 and number of characters; --text gives them in full.",
    )
    decode.add_argument("files", nargs="+", metavar="FILE", help="a stream; - is standard input")
    decode.add_argument(
        "--dialect",
        choices=get_args(Dialect),
        help="do not tell the dialect from the data",
    )
    decode.add_argument(
        "--set",
        action="append",
        default=[],
        type=setting,
        metavar="NAME=VALUE",
        help="how to read tags: starts_inside=true, think_tags=all; may be repeated",
    )
    decode.add_argument("--text", action="store_true", help="texts in full, not as hashes")
    decode.add_argument("--json", action="store_true", help="as JSON (there is no other form yet)")
    decode.set_defaults(run=_decode)

    segment = verbs.add_parser(
        "segment",
        help="the blocks of a text, one JSON object a line",
        description="Cuts texts into blocks, one JSON object a line, each as soon as it is known: "
        "`tail -f FILE | decluster segment -` works.",
    )
    segment.add_argument(
        "files", nargs="+", metavar="FILE", help="a UTF-8 text; - is standard input"
    )
    how = segment.add_mutually_exclusive_group()
    how.add_argument(
        "--target",
        type=_target,
        default=12.4,
        metavar="N",
        help="tokens per block, 4 to 64 (default: 12.4)",
    )
    how.add_argument(
        "--sentences", action="store_true", help="every sentence a block, however short or long"
    )
    segment.add_argument("--json", action="store_true", help="as JSON (there is no other form yet)")
    segment.set_defaults(run=_segment)

    simulate = verbs.add_parser("simulate", help="how well recorded traces are paced, as a table")
    _simulate.add_arguments(simulate)
    simulate.set_defaults(run=_simulate.run)

    diagnose = verbs.add_parser(
        "diagnose", help="whether recorded streams are clustered, before and after pacing"
    )
    _diagnose.add_arguments(diagnose)
    diagnose.set_defaults(run=_diagnose.run)
    return parser


def _decode(options: argparse.Namespace) -> int:
    code = 0
    for name in options.files:
        try:
            with open_named(name) as file:
                answer = collect(
                    _chunks(file), framing="bytes", dialect=options.dialect, **dict(options.set)
                )
        except (OSError, DeclusterError) as error:
            code = fail(name, error)
            continue
        print(json.dumps({"file": name, **_decoded(answer, options.text)}, ensure_ascii=False))
        if answer.events == 0:
            code = fail(name, ValueError(answer.reason or "no event came"))
    return code


def _decoded(answer: Answer, in_full: bool) -> dict[str, object]:
    text = str if in_full else _digest
    calls = [
        {"name": call["name"], "arguments": text(_arguments(call))}
        for call in answer.tool_calls
        if call["index"] == 0
    ]
    decoded: dict[str, object] = {
        "dialect": answer.dialect,
        "reasoning": text(answer.reasoning),
        "output": text(answer.output),
        "reasoning_tokens": answer.reasoning_tokens,
        "usage": answer.usage,
        "tokens": answer.tokens and dataclasses.asdict(answer.tokens),
        "finish": _finish(answer.finish),
        "verdict": answer.verdict,
        "reason": answer.reason,
        "tool_calls": len(calls),
        "tools": calls,
        "error": answer.error,
        "events": answer.events,
        "comments": answer.comments,
        "repairs": answer.repairs,
        "malformed": answer.malformed,
    }
    if len(answer.choices) > 1:
        decoded["by_choice"] = {
            str(choice["index"]): {
                "reasoning": text(choice["reasoning"]),
                "output": text(choice["output"]),
                "finish": choice["finish"],
            }
            for choice in answer.choices
        }
    return decoded


def _arguments(call: dict[str, Any]) -> str:
    """An object is written anew, with its keys sorted, so that two recordings can be compared."""
    arguments: str = call["arguments"]
    if not call["is_object"]:
        return arguments
    return json.dumps(json.loads(arguments), sort_keys=True)


def _finish(word: str | None) -> str | int | None:
    """Where a server sends the number of the word, it stays a number."""
    return int(word) if word is not None and word.isdecimal() else word


def _segment(options: argparse.Namespace) -> int:
    code = 0
    for name in options.files:
        mode: Literal["semantic", "sentences"] = "sentences" if options.sentences else "semantic"
        segmenter = Segmenter(target=options.target, mode=mode)
        for blocks, wrong in _blocks(name, segmenter):
            for block in blocks:
                print(json.dumps(_described(block), ensure_ascii=False))
            sys.stdout.flush()  # whoever reads a pipe waits for it
            if wrong is not None:
                code = fail(name, wrong)
    return code


def _described(block: Block) -> dict[str, object]:
    return {
        "block": block.number,
        "text": block.text,
        "tokens": block.tokens,
        "boundary": block.boundary,
    }


def _blocks(name: str, segmenter: Segmenter) -> Iterator[tuple[list[Block], Exception | None]]:
    """The blocks of a file as they become known; with the last, what is wrong with the file."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    read = 0
    wrong: Exception | None = None
    try:
        with open_named(name) as file:
            while chunk := _read_some(file):
                read += len(chunk)
                yield segmenter.push(decoder.decode(chunk)), None
        decoder.decode(b"", final=True)
    except UnicodeDecodeError as error:
        # Its `object` is what was read last, with what the decoder had kept of the reads before.
        at = read - len(error.object) + error.start
        wrong = ValueError(f"byte {at} is not UTF-8: {error.reason}")
        yield segmenter.push(error.object[: error.start].decode()), None
    except OSError as error:
        wrong = error
    yield segmenter.finish(), wrong


def _read_some(file: BinaryIO) -> bytes:
    """Of a pipe what has come by now, at least a byte; none at the end."""
    read: Callable[[int], bytes] = getattr(file, "read1", file.read)
    return read(CHUNK)


def _chunks(file: BinaryIO) -> Iterator[bytes]:
    while chunk := file.read(CHUNK):
        yield chunk


def _digest(text: str) -> dict[str, object]:
    return {"sha256": hashlib.sha256(text.encode()).hexdigest(), "chars": len(text)}


def _target(text: str) -> float:
    try:
        target = float(text)
        Segmenter(target=target)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
    return target


CHUNK = 1 << 16
