"""The command line: one JSON object a file, clear errors, exit codes."""

from __future__ import annotations

import hashlib
import io
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from decluster._cli import main

STREAM = (
    'data: {"choices":[{"index":0,"delta":{"reasoning_content":"Hm."}}]}\n\n'
    ": ping\n\n"
    'data: {"choices":[{"index":0,"delta":{"content":"Naïve."},"finish_reason":"stop"}],'
    '"usage":{"completion_tokens":4,"completion_tokens_details":{"reasoning_tokens":2}}}\n\n'
    "data: [DONE]\n\n"
)
SHARED = Path(__file__).parents[2] / ".." / "shared"


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, list[str], str]:
    code = main(list(arguments))
    out, err = capsys.readouterr()
    return code, out.splitlines(), err


def test_decode(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "stream.sse"
    file.write_text(STREAM)
    code, lines, err = run(capsys, "decode", str(file))
    assert (code, err) == (0, "")
    found = json.loads(lines[0])
    assert found["dialect"] == "openai-chat"
    assert found["output"]["chars"] == 6
    assert found["reasoning"]["sha256"] == hashlib.sha256(b"Hm.").hexdigest()
    assert found["reasoning_tokens"] == 2
    assert (found["finish"], found["verdict"]) == ("stop", "complete")
    assert (found["events"], found["comments"], found["repairs"]) == (3, 1, 0)
    assert found["error"] is None


def test_standard_input(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(STREAM.encode())))
    code, lines, _ = run(capsys, "decode", "-")
    assert code == 0
    assert json.loads(lines[0])["verdict"] == "complete"


def test_segment(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "text.txt"
    text = "The lease ends first. Then the job is handed out again, and that is it.\n\nSo be it.\n"
    file.write_text(text)
    code, lines, _ = run(capsys, "segment", str(file))
    blocks = [json.loads(line) for line in lines]
    assert code == 0
    assert "".join(block["text"] for block in blocks) == text
    assert [block["block"] for block in blocks] == list(range(len(blocks)))
    assert blocks[0]["boundary"] == "sentence"
    assert all(block["tokens"] > 0 for block in blocks)
    assert len(run(capsys, "segment", "--target", "40", str(file))[1]) <= len(blocks)


def test_segment_sentences(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "text.txt"
    file.write_text("Yes. Then the job is handed out, and handed out again, and that is it. No.\n")
    for arguments in (["--sentences"], ["--sentences", "--json"]):
        code, lines, _ = run(capsys, "segment", *arguments, str(file), str(file))
        texts = [json.loads(line)["text"] for line in lines]
        assert code == 0
        assert texts[0] == "Yes."
        assert texts[1].endswith("that is it.")
        assert texts[2] == " No.\n"
        assert texts[3:] == texts[:3]
        assert [json.loads(line)["block"] for line in lines] == [0, 1, 2] * 2, "of each file"


def test_segment_shows_blocks_as_soon_as_they_are_known() -> None:
    command = [sys.executable, "-m", "decluster", "segment", "-"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as segment:
        assert segment.stdin is not None
        assert segment.stdout is not None
        segment.stdin.write("The first sentence is naïve. And t".encode())
        segment.stdin.flush()
        first = json.loads(segment.stdout.readline())  # with the pipe still open
        assert first["text"] == "The first sentence is naïve."
        segment.stdin.write(b"he second ends with \xf0\x9f")
        segment.stdin.flush()
        rest, _ = segment.communicate(b"\xa6\x80")
        assert json.loads(rest)["text"] == " And the second ends with 🦀"


def test_segment_names_the_byte_that_is_no_text_after_the_blocks_before_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "text.txt"
    # Beyond the first read, too.
    for good in ("The first sentence is naïve. Then it", "ä" + "So it goes on, and on. " * 9000):
        for bad, reason in [
            (b"\xff and more.", "invalid start byte"),
            (b"\xc3 and more.", "invalid continuation byte"),
            (b"\xf0\x9f\xa6", "unexpected end of data"),
        ]:
            file.write_bytes(good.encode() + bad)
            code, lines, err = run(capsys, "segment", str(file))
            assert code == 1
            assert "".join(json.loads(line)["text"] for line in lines) == good
            at = len(good.encode())
            assert err == f"decluster: {file}: byte {at} is not UTF-8: {reason}\n"


def test_bad_files_are_named_and_the_others_still_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "stream.sse"
    file.write_text(STREAM)
    code, lines, err = run(capsys, "decode", "absent.sse", str(file))
    assert code == 1
    assert err == "decluster: absent.sse: No such file or directory\n"
    assert len(lines) == 1
    latin = tmp_path / "latin.txt"
    latin.write_bytes("naïve".encode("latin-1"))
    code, _, err = run(capsys, "segment", str(latin))
    assert code == 1
    assert "byte 2 is not UTF-8" in err
    assert err.count("\n") == 1


def test_what_is_no_stream_is_told_and_exits_1(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for body, says in [
        ("<html><body>502</body></html>", "a page of markup, not an event stream"),
        ('{"choices":[{"message":{"content":"Hi"}}]}', "JSON, not an event stream"),
        ("", "no event came"),
    ]:
        file = tmp_path / "body"
        file.write_text(body)
        code, lines, err = run(capsys, "decode", str(file))
        assert code == 1
        assert says in err
        assert err.count("\n") == 1
        assert json.loads(lines[0])["verdict"] in ("failed", "truncated")


def test_texts_in_full(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "stream.sse"
    file.write_text(STREAM)
    found = json.loads(run(capsys, "decode", "--text", str(file))[1][0])
    assert (found["reasoning"], found["output"]) == ("Hm.", "Naïve.")


def test_standard_input_twice_and_a_full_disk_are_no_tracebacks(tmp_path: Path) -> None:
    file = tmp_path / "stream.sse"
    file.write_text(STREAM)
    decode = [sys.executable, "-m", "decluster", "decode"]
    with file.open("rb") as stdin:
        twice = subprocess.run(
            [*decode, "-", "-"], stdin=stdin, capture_output=True, text=True, check=False
        )
    assert twice.returncode == 1
    assert twice.stderr == "decluster: -: no event came\n"
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [*decode, file], stdout=full, stderr=subprocess.PIPE, text=True, check=False
        )
    assert done.returncode == 1
    assert done.stderr == "decluster: standard output: No space left on device\n"


def test_a_terminal_that_knows_ascii_only_gets_escapes(tmp_path: Path) -> None:
    file = tmp_path / "text.txt"
    file.write_text("Naïve.")
    done = subprocess.run(
        [sys.executable, "-m", "decluster", "segment", file],
        env={"PYTHONIOENCODING": "ascii"},
        capture_output=True,
        check=True,
    )
    assert b"Na\\xefve." in done.stdout


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["decode"],
        ["nonsense"],
        ["segment", "--target", "400", "x"],
        ["segment", "--target", "much", "x"],
        ["segment", "--sentences", "--target", "12.4", "x"],
    ],
)
def test_wrong_usage_exits_2(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        main(arguments)
    assert stop.value.code == 2
    assert "usage: decluster" in capsys.readouterr().err


def test_a_reader_that_goes_away_is_no_error(tmp_path: Path) -> None:
    file = tmp_path / "text.txt"
    file.write_text("One sentence of several words follows another. " * 20_000)
    command = f"{sys.executable} -m decluster segment {file} | head -1"
    done = subprocess.run(command, shell=True, capture_output=True, text=True, check=True)
    assert json.loads(done.stdout)["block"] == 0
    assert done.stderr == ""


def test_it_runs_as_a_module() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "decluster", "--version"], capture_output=True, text=True, check=True
    )
    assert done.stdout.startswith("decluster 0.")


STREAMS = (".sse", ".ndjson", ".json")
DIALECTS = {
    "openai-chat": 89,
    "openai-responses": 49,
    "anthropic": 32,
    "gemini": 23,
    "mistral": 6,
    "ollama": 7,
    "cohere": 5,
    "bedrock-converse": 7,
}


def recordings(dialect: str) -> list[Path]:
    folder = SHARED / "captures" / dialect
    files = [f for f in sorted(folder.glob("*")) if f.suffix in STREAMS and "." not in f.stem]
    if not files:
        pytest.skip(f"no recorded streams: {folder} is absent")
    return files


def agrees(found: dict[str, Any], expect: dict[str, Any]) -> list[str]:
    """What a decoded stream differs in from its expectation."""
    expect["error"] = expect["error"] or expect.get("error_field_line")
    end = "complete" if expect["terminated"] else "truncated"
    # A stream that reports an error has failed, whether it ended or not.
    expect["verdict"] = "failed" if expect["error"] else end
    fields = (
        *("reasoning", "output", "reasoning_tokens", "usage", "finish", "tool_calls", "tools"),
        *("error", "verdict", "events", "comments"),
    )
    return [field for field in fields if found[field] != expect[field]]


@pytest.mark.parametrize("named", [False, True], ids=["told", "named"])
@pytest.mark.parametrize("dialect", DIALECTS)
def test_recorded_streams_agree_with_their_expectations(
    dialect: str, named: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    files = recordings(dialect)
    assert len(files) == DIALECTS[dialect]
    arguments = ["--dialect", dialect] if named else []
    code, lines, _ = run(capsys, "decode", *arguments, *map(str, files))
    assert code == 0
    for file, line in zip(files, lines, strict=True):
        expect = json.loads(file.with_suffix(".expect.json").read_text())
        assert agrees(json.loads(line), expect) == [], file
