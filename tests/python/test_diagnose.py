"""`decluster diagnose`: what is read, what is said of it, clear errors, exit codes."""

from __future__ import annotations

import base64
import io
import json
import socket
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import urllib3
from diagnose_files import EVEN, INCIDENT, SHARED, counted, said, timed

from decluster._cli import main


def run(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str, str]:
    code = main(["diagnose", *map(str, arguments)])
    out, err = capsys.readouterr()
    return code, out, err


def figures(capsys: pytest.CaptureFixture[str], *arguments: object) -> dict[str, Any]:
    code, out, err = run(capsys, "--json", *arguments)
    assert (code, err) == (0, "")
    found: dict[str, Any] = json.loads(out)
    return found


@pytest.fixture
def incident(tmp_path: Path) -> Path:
    file = tmp_path / "incident.jsonl"
    file.write_text(INCIDENT)
    return file


@pytest.fixture
def even(tmp_path: Path) -> Path:
    file = tmp_path / "even.jsonl"
    file.write_text(EVEN)
    return file


def test_the_incident_clusters_twice_and_paced_not_at_all(
    incident: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = figures(capsys, incident)
    assert (found["cluster_events"], found["cluster_events_after"]) == (2, 0)
    assert (found["tokens"], found["reasoning_tokens"], found["output_tokens"]) == (160, 148, 12)
    assert (found["deltas"], found["large_deltas"]) == (3, 2)
    before, after = found["before"], found["after"]
    assert before["group_tokens"] == {"p50": 67, "p95": 93, "max": 93}
    assert before["gap_ms"] == {"p50": 1400, "p95": 1400, "max": 1400}
    assert before["events_per_hour"] == pytest.approx(2 / (1.404 / 3600))
    assert before["first_token_ms"]["p50"] == 612
    assert after["first_token_ms"]["p50"] - 612 == after["first_token_delay_ms"]["p50"]
    assert after["gap_ms"]["max"] < 1000
    assert 0 < after["delay_ms"]["p50"] <= after["delay_ms"]["max"] <= 1500


def test_an_even_stream_does_not_cluster(even: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = figures(capsys, even)
    assert (found["cluster_events"], found["cluster_events_after"]) == (0, 0)
    assert (found["timed"], found["streams"][0]["dialect"]) == (True, "openai-chat")
    assert found["verdict"][0].startswith("Not clustered: ")
    assert found["reasoning_tokens"] == 0


def test_the_words_come_before_an_aligned_table(
    incident: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, err = run(capsys, incident)
    assert (code, err) == (0, "")
    verdict, table, facts = out.strip().split("\n\n")
    assert verdict.startswith("Clustered: 2 groups of 40 tokens or more came beside a silence")
    assert "Paced, none would be left" in verdict
    lines = table.splitlines()
    assert len({len(line) for line in lines}) == 1
    rows = {tuple(line.split("  ", 1)[0].split()): line.split()[-2:] for line in lines}
    assert rows["clusters",] == ["2", "0"]
    assert rows["silence", "between", "groups,", "ms:", "p50"][0] == "1,400"
    assert "160: 148 of reasoning, 12 of output" in facts


def test_traces_are_streams_a_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "traces.jsonl"
    file.write_text(
        '{"t_ms": [0, 1200, 2400], "tokens": [80, 64, 39]}\n\n'
        '{"t_ms": [300, 1200], "tokens": [4, 4], "model": "any"}\n'
    )
    found = figures(capsys, file)
    assert [stream["cluster_events"] for stream in found["streams"]] == [2, 0]
    assert [stream["name"] for stream in found["streams"]] == [f"{file}:1", f"{file}:3"]
    assert found["reasoning_tokens"] is None
    # Only the second one's times can count from the begin of the recording.
    assert found["before"]["first_token_ms"] == {"p50": 300, "p95": 300, "max": 300}
    assert "in 1 of 2 streams" in found["verdict"][0]


def test_several_files_are_told_apart_by_content(
    incident: Path, even: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    traces, stream = tmp_path / "a", tmp_path / "b"
    traces.write_text('{"t_ms": [0, 2000], "tokens": [80, 64]}')
    stream.write_text(said("Hello there."))
    found = figures(capsys, incident, even, traces, stream)
    assert (found["files"], found["stream_count"], found["timed_streams"]) == (4, 4, 3)
    assert found["cluster_events"] == 4
    assert found["tokens"] == sum(stream["tokens"] for stream in found["streams"])
    assert "1 of 4 streams has no arrival times" in found["verdict"][-1]


def test_bytes_may_be_cut_inside_a_character(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    whole = 'data: {"choices":[{"index":0,"delta":{"content":"Größe"}}]}\n\n'.encode()
    cut = whole.index("ö".encode()) + 1
    parts = [(5, whole[:cut]), (900, whole[cut:])]
    file = tmp_path / "capture"
    file.write_text(
        "\n".join(
            json.dumps({"t_ms": ms, "base64": base64.b64encode(part).decode()})
            for ms, part in parts
        )
    )
    found = figures(capsys, file)
    assert found["streams"][0]["dialect"] == "openai-chat"
    # An event has arrived with its last byte.
    assert found["before"]["first_token_ms"]["p50"] == 900


@pytest.mark.parametrize(
    "stamps",
    [
        ["1700000000.250000", "1700000000.500000", "1700000001.900000"],
        ["0.250", "0.5", "1.9"],
        ["2024-02-29T23:59:59.250", "2024-02-29T23:59:59.5", "2024-03-01T00:00:00.9"],
        ["2024-03-01T00:59:59.25+01:00", "2024-02-29T23:59:59.500Z", "2024-03-01 00:00:00.9"],
    ],
)
def test_lines_may_have_times_before_them(
    stamps: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    begin, one, other = stamps
    events = [counted("reasoning", 67).splitlines(), counted("output", 81).splitlines()]
    lines = [begin + " ", *(f"{one} {line}" for line in events[0])]
    lines += [f"{other} {line}" for line in events[1]]
    file = tmp_path / "capture"
    file.write_text("\n".join(lines) + "\n")
    found = figures(capsys, file)
    assert found["cluster_events"] == 2
    assert found["before"]["gap_ms"]["max"] == pytest.approx(1400)
    # An empty line says when the request was sent, unless times count from there anyhow.
    first = 500 if begin == "0.250" else 250
    assert found["before"]["first_token_ms"]["max"] == pytest.approx(first)


def test_standard_input(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(INCIDENT.encode())))
    found = figures(capsys, "-")
    assert (found["cluster_events"], found["streams"][0]["name"]) == (2, "-")


@pytest.mark.parametrize(
    "stream",
    [
        said("A word. ") + said("And the next of them."),
        '[{"candidates":[{"content":{"parts":[{"text":"Hi."}]},"index":0}]}]',
        '{"message":{"role":"assistant","content":"Hi."},"done":false}\n',
    ],
)
def test_without_times_only_sizes_are_told(
    stream: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "stream"
    file.write_text(stream)
    found = figures(capsys, file)
    assert (found["timed"], found["cluster_events"]) == (False, 0)
    assert found["deltas"] >= 1
    assert found["delta_tokens"]["max"] >= 1
    assert found["before"]["first_token_ms"] is None
    assert found["before"]["gap_ms"] is None
    assert "no arrival times" in found["verdict"][0]
    code, out, err = run(capsys, "--fail-on-cluster", file)
    # A pipeline must not take that for a yes.
    assert code == 1
    assert "before  after" not in out
    assert (
        err
        == "decluster: The stream has no arrival times: whether it is clustered cannot be told\n"
    )


def test_ollama_says_when_it_sent_what(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "stream.ndjson"
    words = " word" * 50
    file.write_text(
        "".join(
            json.dumps(
                {
                    "model": "m",
                    "created_at": f"2025-01-01T00:00:0{second}Z",
                    "message": {"role": "assistant", "content": words},
                    "done": False,
                }
            )
            + "\n"
            for second in ("1.5", "3.125")
        )
    )
    found = figures(capsys, file)
    assert (found["timed"], found["streams"][0]["times"]) == (True, "sent")
    assert found["cluster_events"] == 2
    assert found["before"]["gap_ms"]["max"] == 1625
    assert "at the server" in found["verdict"][-1]


def test_what_comes_again_or_is_void_is_counted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def start(id: str) -> str:
        message = {"type": "message_start", "message": {"id": id}}
        return f"event: message_start\ndata: {json.dumps(message)}\n\n"

    delta = {"type": "text_delta", "text": "One two three four."}
    event = {"type": "content_block_delta", "index": 0, "delta": delta}
    text = f"event: content_block_delta\ndata: {json.dumps(event)}\n\n"
    restarted, replayed = tmp_path / "restarted", tmp_path / "replayed"
    restarted.write_text(start("a") + text + start("b") + text)
    replayed.write_text(3 * f"id: 7\n{counted('output', 9)}")
    found = figures(capsys, restarted)
    assert (found["attempts"], found["retried_share"]) == (2, 0.5)
    assert (
        "50 % of the tokens came again or were made void; an answer began anew once"
        in (found["verdict"][0])
    )
    found = figures(capsys, replayed)
    assert (found["attempts"], found["retried_share"]) == (1, pytest.approx(2 / 3))


def test_options_say_what_a_cluster_is(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "traces.jsonl"
    file.write_text('{"t_ms": [0, 300, 350], "tokens": [20, 10, 10]}')
    assert figures(capsys, file)["cluster_events"] == 0
    found = figures(capsys, "--min-tokens", "20", "--min-gap", "0.3", file)
    assert found["cluster_events"] == 1
    assert found["cluster"] == {"min_tokens": 20, "min_gap": 0.3, "group_gap": 0.03}
    wide = ["--min-tokens", "20", "--min-gap", "0.3", "--group-gap", "0.05"]
    assert figures(capsys, *wide, file)["cluster_events"] == 2


def test_settings_reach_the_pacer(incident: Path, capsys: pytest.CaptureFixture[str]) -> None:
    off = figures(capsys, "--set", "pace=off", incident)
    assert (off["cluster_events_after"], off["after"]["delay_ms"]["max"]) == (2, 0)
    assert off["settings"] == {"pace": "off"}
    short = figures(capsys, "--set", "max_delay=0.4", "--unit", "word", incident)
    assert short["after"]["delay_ms"]["max"] <= 400
    steady = figures(capsys, "--preset", "steady", incident)
    assert steady["after"]["delay_ms"] != figures(capsys, incident)["after"]["delay_ms"]


def test_what_cannot_be_bridged_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "traces.jsonl"
    file.write_text('{"t_ms": [0, 1, 9000, 9001], "tokens": [500, 500, 500, 500]}')
    found = figures(capsys, "--set", "max_delay=0.1", file)
    # Only behind the silence: the last 30 ms before it hold 36 tokens.
    assert found["cluster_events_after"] == found["cluster_events_unavoidable"] == 1
    assert (
        "1 would be left, beside a silence in which nothing came for longer than max_delay"
        in (found["verdict"][1])
    )


def test_a_budget_does_not_end_the_diagnosis(
    incident: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert figures(capsys, "--set", "max_reasoning_tokens=10", incident)["tokens"] == 160


def test_fail_on_cluster_names_the_streams(
    incident: Path, even: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, err = run(capsys, "--fail-on-cluster", even, incident)
    assert (code, err) == (1, f"decluster: clustered: {incident} (2)\n")
    assert out.startswith("Clustered: ")
    assert run(capsys, "--fail-on-cluster", even)[0] == 0
    assert run(capsys, "--fail-on-cluster", "--min-tokens", "200", incident)[0] == 0


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "the file is empty"),
        (b"hello\n", "no capture, trace or known stream: "),
        (b"\x00\x01\xff", "no capture, trace or known stream: "),
        (b'data: {"temperature": 21.5}\n\n', "no capture, trace or known stream: "),
        (b"[" * 100_000, "no capture, trace or known stream: "),
        (b'{"t_ms": ' + b"[" * 100_000, ":1: invalid type: sequence"),
        (b'{"t_ms": 1}', ":1: t_ms without tokens, data or base64"),
        (b'{"t_ms": [NaN], "tokens": [1]}', ":1: expected value at column 11"),
        (b'{"t_ms": [1, 0], "tokens": [1, 1]}', ":1: t_ms[1] = 0e0 is before"),
        (b'{"t_ms": [0, 1e308], "tokens": [1, 1]}', ":1: t_ms[1] = 1e308"),
        (b'{"t_ms": [0], "tokens": [1]}\n[]', ":2: "),
        (b'{"t_ms": -3, "data": ""}', ":1: t_ms = -3e0 is below 0"),
        (b'{"t_ms": 1e308, "data": ""}', ":1: t_ms = 1e308 is below 0 or out of range"),
        (b'{"t_ms": 1e999, "data": ""}', ":1: number out of range"),
        (b'{"t_ms": 5, "data": ""}\n{"t_ms": 4, "data": ""}', ":2: the time is before"),
        (b'{"t_ms": 5, "data": "\xff"}', ":1: byte 21 is not UTF-8"),
        (b'{"t_ms": 5, "base64": "?"}', ":1: base64 is none"),
        (b"1.5 data: a\n1.25 \n", ":2: the time is before"),
        (b"1700000000 data: a\n", ":1: the time has no fraction of a second"),
        (b"1.5 data: a\ndata: b\n", ":2: no time stands before the line"),
        (b'{"t_ms": [0], "tokens": [2000000]}\n' * 6, "more than 10000000 tokens in all"),
    ],
)
def test_a_broken_file_gives_one_clear_line(
    content: bytes, says: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "broken"
    file.write_bytes(content)
    code, out, err = run(capsys, file)
    assert (code, out) == (1, "")
    assert err.startswith(f"decluster: {file}:")
    assert says in err
    assert err.count("\n") == 1


def test_an_event_that_is_too_large_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "large"
    file.write_text(said("word " * 2_000))
    code, _, err = run(capsys, "--set", "max_event_bytes=4096", file)
    assert code == 1
    assert "is larger than 4096 bytes" in err


def test_a_file_that_is_not_there(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = run(capsys, tmp_path / "none")
    assert code == 1
    assert err.endswith("none: No such file or directory\n")
    code, _, err = run(capsys, "--dialect", "anthropic", tmp_path / "none")
    assert code == 1


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["--min-tokens", "0", "x"],
        ["--min-gap", "nan", "x"],
        ["--group-gap", "-1", "x"],
        ["--preset", "x", "x"],
    ],
)
def test_wrong_usage_exits_2(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as raised:
        main(["diagnose", *arguments])
    assert raised.value.code == 2
    assert "usage: decluster diagnose" in capsys.readouterr().err


def test_help_says_how_to_record(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["diagnose", "--help"])
    out = capsys.readouterr().out
    assert "curl -sN https://... | ts -s '%.s' > capture" in out
    assert "time.monotonic()" in out
    assert "256 MiB a file" in out


def test_the_snippet_of_the_help_records_what_is_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        main(["diagnose", "--help"])
    lines = capsys.readouterr().out.splitlines()
    start = next(place for place, line in enumerate(lines) if "import base64" in line)
    end = next(place for place, line in enumerate(lines) if "print(json.dumps(line)" in line)
    snippet = "\n".join(line.removeprefix("      ") for line in lines[start : end + 1])

    class Response:
        def iter_raw(self) -> list[bytes]:
            return [said("One. ").encode(), said("Two.").encode()]

    with (tmp_path / "capture").open("w") as file:
        exec(snippet, {"response": Response(), "file": file})
    found = figures(capsys, tmp_path / "capture")
    assert (found["timed"], found["deltas"]) == (True, 2)
    assert found["before"]["first_token_ms"] is not None


def test_the_snippet_records_arrivals_of_requests_without_chunks(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        main(["diagnose", "--help"])
    _, _, recipe = capsys.readouterr().out.partition("# requests: ")
    here, there = socket.socketpair()
    with here, there, here.makefile("rb") as body:
        response = SimpleNamespace(raw=urllib3.HTTPResponse(body, preload_content=False))
        chunks = eval(recipe.partition("\n")[0], {"response": response})
        for text in ("One. ", "Two."):
            there.sendall(said(text).encode())
            # The next one is not there yet, nor the end.
            assert next(chunks) == said(text).encode()


def test_one_time_for_all_tokens_is_no_record_of_arrivals(
    incident: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "capture"
    file.write_text(timed((900.0, said(text)) for text in ("One. ", "Two.")))
    expected = "The stream has one and the same time for all tokens: that is no record of arrivals"
    assert figures(capsys, file)["verdict"][-1].startswith(expected)
    assert run(capsys, "--fail-on-cluster", file)[0] == 1
    assert not any("no record" in sentence for sentence in figures(capsys, incident)["verdict"])


def test_a_page_over_an_input_is_refused(
    incident: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    link = incident.with_name("link")
    link.symlink_to(incident)
    for page, says in (
        (incident, "this is one of the files to read"),
        (link, "this is one of the files to read"),
        ("-", "give the name of a file; standard output has the report"),
    ):
        assert run(capsys, incident, "--html", page) == (
            2,
            "",
            f"decluster: --html {page}: {says}\n",
        )
    assert incident.read_text() == INCIDENT


def test_standard_input_that_is_closed_is_told(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "stdin", None)
    assert run(capsys, "-") == (1, "", "decluster: -: standard input is closed\n")


def test_a_misspelt_setting_is_answered_with_what_may_be_meant(
    incident: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit, match="2"):
        run(capsys, "--set", "max_dealy=1", incident)
    assert "no parameter 'max_dealy'; did you mean max_delay?" in capsys.readouterr().err


def test_all_recorded_traces_are_diagnosed(capsys: pytest.CaptureFixture[str]) -> None:
    files = sorted((SHARED / "traces").glob("*.jsonl"))
    if not files:
        pytest.skip("no recorded traces beside the project")
    found = figures(capsys, *files)
    assert found["stream_count"] == found["timed_streams"] > 700
    assert found["cluster_events"] > 0
    assert found["cluster_events_after"] <= found["cluster_events_unavoidable"]


def test_every_recorded_stream_has_sizes(capsys: pytest.CaptureFixture[str]) -> None:
    files = sorted((SHARED / "captures").glob("*/*.sse"))
    # That dialect is not read.
    files = [file for file in files if file.parent.name != "gemini-interactions"]
    if not files:
        pytest.skip("no recorded streams beside the project")
    found = figures(capsys, *files)
    assert found["stream_count"] == len(files)
    assert not found["timed"]
    assert found["tokens"] > 40_000


def test_a_capture_and_the_same_stream_alone_have_the_same_sizes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    events = [said("First, the lease ends. "), said("Then it is handed out"), said(" again.")]
    capture, stream = tmp_path / "capture", tmp_path / "stream"
    capture.write_text(timed((10.0 * place, event) for place, event in enumerate(events, 1)))
    stream.write_text("".join(events))
    one, other = figures(capsys, capture), figures(capsys, stream)
    for name in ("tokens", "deltas", "delta_tokens", "output_tokens"):
        assert one[name] == other[name]
