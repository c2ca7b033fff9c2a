"""`decluster simulate`: figures by hand, what goes in and out, clear errors, exit codes."""

from __future__ import annotations

import _thread
import io
import json
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from decluster import _core
from decluster._cli import main

CLUSTERED = {"t_ms": [0, 1200, 2450, 3600, 4900], "tokens": [80, 64, 90, 71, 60]}
SHARED = Path(__file__).parents[2] / ".." / "shared"


@pytest.fixture
def traces(tmp_path: Path) -> Path:
    """Two clustered streams."""
    file = tmp_path / "traces.jsonl"
    slower = {"t_ms": [30, 2030.5, 4030.25], "tokens": [40, 45, 30], "model": "any"}
    file.write_text(f"{json.dumps(CLUSTERED)}\n\n{json.dumps(slower)}\n")
    return file


def run(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str, str]:
    code = main(["simulate", *map(str, arguments)])
    out, err = capsys.readouterr()
    return code, out, err


def rows(capsys: pytest.CaptureFixture[str], *arguments: object) -> dict[str, dict[str, Any]]:
    code, out, err = run(capsys, "--json", *arguments)
    assert (code, err) == (0, "")
    return {row["policy"]: row for row in json.loads(out)["rows"]}


def ours(capsys: pytest.CaptureFixture[str], *arguments: object) -> dict[str, Any]:
    return next(row for name, row in rows(capsys, *arguments).items() if "decluster" in name)


def lines(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text().splitlines()]


def test_a_tiny_trace_by_hand(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "tiny.jsonl"
    # Silences of 100, 400 and 1,200 ms; from the first arrival, wherever that is.
    file.write_text('{"t_ms": [50, 150, 550, 1750], "tokens": [1, 2, 1, 4]}')
    row = rows(capsys, file)["pass-through"]
    assert (row["traces"], row["delay_mean"], row["delay_p95"], row["delay_max"]) == (1, 0, 0, 0)
    assert (row["first"], row["tail"], row["backlog"], row["cluster"]) == (0, 0, 1, [4, 4])
    assert row["stalls"] == [2, 2, 2, 1, 1]
    assert row["stall"] == pytest.approx([0.25 + 1.05, 0.2 + 1.0, 0.15 + 0.95, 0.7, 0.2])
    assert row["dead"] == pytest.approx(1.2 / 1.7)
    # Seven windows of 250 ms hold 3, 0, 1, 0, 0, 0 and 4 tokens: their mean is 8/7, that of their
    # squares 26/7.
    mean = 8 / 7
    assert row["variation"] == pytest.approx((26 / 7 - mean**2) ** 0.5 / mean)
    # No time is left in which nobody stalls twice: what the clairvoyant cannot avoid is not ours.
    assert all(ours <= stall for ours, stall in zip(row["avoidable"], row["stall"], strict=True))


def test_the_table_reads_well_and_is_markdown(
    traces: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, err = run(capsys, traces)
    assert (code, err) == (0, "")
    table = out.splitlines()
    assert len({len(line) for line in table}) == 1
    assert max(map(len, table)) <= 110
    assert [cell.strip() for cell in table[0].strip("|").split("|")] == [
        "policy",
        "decluster balanced, block",
        "pass-through",
        "clairvoyant, least variation",
    ]
    assert set(table[1]) == set("| -:")
    delays = next(line for line in table if line.startswith("| delay mean"))
    assert [cell.strip() for cell in delays.split("|")][3] == "0 / 0 / 0"


def test_compare_adds_presets_the_other_unit_references_and_peers(
    traces: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = rows(capsys, "--compare", "--unit", "word", "--set", "max_delay=1.2", traces)
    for name in (
        "decluster balanced, word, max_delay=1.2",
        "decluster steady, word, max_delay=1.2",
        "decluster balanced, block, max_delay=1.2",
        "clairvoyant, just in time",
        "offline frontier, pull 0.5",
        "Vercel smoothStream",
    ):
        assert found[name]["traces"] == 2
        assert ("blocks" in found[name]) == name.startswith("decluster")
    assert found["clairvoyant, least variation"]["delay_max"] <= 1.2 + 1e-9
    code, out, _ = run(capsys, "--compare", traces)
    names = [line.split("|")[1].strip() for line in out.splitlines()]
    assert code == 0
    assert len(names) == len(set(names)) > 20


def test_settings_reach_the_engine(traces: Path, capsys: pytest.CaptureFixture[str]) -> None:
    base = ours(capsys, traces)
    assert 0.5 < base["delay_max"] <= 1.5
    assert 0 <= base["hurried"] < base["pieces"]
    short = ours(capsys, "--set", "max_delay=0.4", traces)
    assert short["policy"] == "decluster balanced, block, max_delay=0.4"
    assert short["delay_max"] <= 0.4
    assert ours(capsys, "--set", "pace=off", traces)["delay_max"] == 0
    word = ours(capsys, "--unit", "word", traces)
    assert word["blocks"] != base["blocks"]
    assert ours(capsys, "--preset", "balanced", traces) == base
    assert ours(capsys, "--profile", "codex-low-latency", traces)["first"] <= 0.045
    whole = ours(capsys, "--unit", "whole", "--set", "max_delay=0.4", traces)
    assert whole["policy"] == "decluster balanced, whole, max_delay=0.4"


def test_text_under_the_traces_runs_the_segmenter(
    traces: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = tmp_path / "text.txt"
    text.write_text("The lease ends first. Then, as nobody holds it, the job goes out again. " * 3)
    out = tmp_path / "out.jsonl"
    with_text = ours(capsys, "--text", text, "--text", text, "--out", out, traces)
    without = ours(capsys, traces)
    all_blocks = [sum(b["all"] for b in row["blocks"]) for row in (with_text, without)]
    assert all_blocks[0] != all_blocks[1]
    assert [sum(line["tokens"]) for line in lines(out)] == [365, 115]


def test_blocks_by_rate(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "rates.jsonl"
    file.write_text(
        "".join(
            json.dumps({"t_ms": [0, 1000], "tokens": [rate - 1, 1]}) + "\n"
            for rate in (29, 30, 59, 60, 100)
        )
    )
    blocks = ours(capsys, file)["blocks"]
    assert [row["least"] for row in blocks] == [0, 30, 60, 100]
    assert all(row["all"] >= row["cut"] >= row["cut_first"] for row in blocks)
    assert all(row["all"] > 0 for row in blocks)


def test_what_comes_out_is_a_trace_again(
    traces: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    paced, again = tmp_path / "paced.jsonl", tmp_path / "again.jsonl"
    row = ours(capsys, "--out", paced, traces)
    streams = lines(paced)
    assert [stream["name"] for stream in streams] == [f"{traces}:1", f"{traces}:3"]
    assert [sum(stream["tokens"]) for stream in streams] == [365, 115]
    last = CLUSTERED["t_ms"][-1] / 1e3 + row["delay_max"]
    assert streams[0]["t_ms"][-1] <= last * 1e3 + 1e-6
    written = paced.read_text()
    decimals = written.split('"t_ms": [')[1].split("]")[0].split(", ")
    assert {len(time.split(".")[1]) for time in decimals} == {6}

    unpaced = ours(capsys, "--set", "pace=off", "--out", again, paced)
    assert (unpaced["delay_max"], unpaced["tail"]) == (0, 0)
    before, after = ([(s["t_ms"], s["tokens"]) for s in lines(file)] for file in (paced, again))
    assert joined(before) == joined(after)


def joined(streams: list[tuple[list[float], list[int]]]) -> list[dict[float, int]]:
    """Tokens by time: what leaves at one time may do so in several entries."""
    sums: list[dict[float, int]] = []
    for times, tokens in streams:
        sums.append({})
        for time, count in zip(times, tokens, strict=True):
            sums[-1][time] = sums[-1].get(time, 0) + count
    return sums


def test_a_trace_can_be_cut(
    traces: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out.jsonl"
    rows(capsys, "--until", "2", "--out", out, traces)
    # Of the second stream, 2,000.5 ms after its first arrival is beyond 2 s.
    assert [sum(line["tokens"]) for line in lines(out)] == [144, 40]


def test_standard_input(
    traces: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from_file = rows(capsys, traces)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(traces.read_bytes())))
    assert rows(capsys, "-") == from_file


def test_json_says_what_was_run(traces: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = run(capsys, "--json", "--preset", "steady", "--set", "cluster_rate=3", traces)
    found = json.loads(out)
    assert (found["traces"], found["tokens"]) == (2, 480)
    assert found["settings"] == {"preset": "steady", "cluster_rate": 3.0}
    assert found["stall_limits_ms"] == [150, 200, 250, 500, 1000]
    assert [row["policy"] for row in found["rows"]][1:] == [
        "pass-through",
        "clairvoyant, least variation",
    ]
    assert all(len(row["avoidable"]) == 5 for row in found["rows"])


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("{}", "missing field `t_ms` at column 2"),
        ("[1, 2]", "at column"),
        ("nonsense", "at column"),
        ('{"t_ms": [0, 1], "tokens": [1]}', "2 times in t_ms, but 1 tokens"),
        ('{"t_ms": [5, 4], "tokens": [1, 1]}', "t_ms[1] = 4e0 is before the one before it"),
        ('{"t_ms": [0], "tokens": [-3]}', "invalid value: integer `-3`"),
        ('{"t_ms": [0], "tokens": [0]}', "no token arrives"),
        ('{"t_ms": [0], "tokens": [4000000000]}', "4000000000 tokens are more than 2000000"),
        ('{"t_ms": [0, 1e12], "tokens": [1, 1]}', "out of range"),
        (b'{"t_ms": [0], "tokens": [1], "x": "\xff"}', "can't decode byte 0xff"),
    ],
)
def test_a_bad_line_is_named_with_its_reason(
    line: str | bytes, says: str, traces: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with traces.open("ab") as file:
        file.write(line if isinstance(line, bytes) else line.encode())
    code, out, err = run(capsys, traces)
    assert (code, out) == (1, "")
    assert err.startswith(f"decluster: {traces}:4: ")
    assert says in err
    assert err.count("\n") == 1


def test_files_that_cannot_be_used_are_named(
    traces: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    empty, latin = tmp_path / "empty", tmp_path / "latin"
    empty.write_text("\n \n")
    latin.write_bytes(b"na\xefve")
    nothing = tmp_path / "nothing"
    nothing.touch()
    for arguments, says in [
        (["absent.jsonl"], "absent.jsonl: No such file or directory"),
        ([tmp_path], f"{tmp_path}: Is a directory"),
        ([traces, empty], f"{empty}: no trace"),
        (["--text", "absent.txt", traces], "absent.txt: No such file or directory"),
        (["--text", latin, traces], f"{latin}: 'utf-8' codec can't decode byte 0xef"),
        (["--text", nothing, traces], f"{nothing}: the text is empty"),
        (["--out", tmp_path / "no" / "out", traces], f"{tmp_path}/no/out: No such file"),
    ]:
        code, out, err = run(capsys, *arguments)
        assert (code, out) == (1, "")
        assert err.startswith(f"decluster: {says}")
        assert err.count("\n") == 1


def test_a_trace_larger_than_the_queue_waits_outside(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text, file, out = (tmp_path / name for name in ("text", "traces", "out"))
    text.write_text("A word follows another, and so on. " * 10)
    file.write_text(json.dumps({"t_ms": [0] * 50, "tokens": [1_000] * 50}))
    small = ("--set", "max_queue_bytes=65536", "--set", "max_delay=0.3")
    row = ours(capsys, *small, "--text", text, "--out", out, file)
    assert sum(lines(out)[0]["tokens"]) == 50_000
    assert row["delay_max"] > 0.3, "what waits outside is delayed, too"
    code, printed, err = run(capsys, "--set", "max_event_bytes=1024", "--text", text, file)
    assert (code, printed) == (1, "")
    assert err.startswith(f"decluster: {file}:1: a delta of ")
    assert err.endswith(" bytes exceeds max_event_bytes = 1024\n")


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ([], "the following arguments are required: TRACES"),
        (["--set", "max_delay", "x"], "'max_delay' is not NAME=VALUE"),
        (["--set", "max_delay=soon", "x"], "max_delay takes a number of seconds"),
        (["--set", "max_delay=0.01", "x"], "0.01 is out of bounds: 0.1 to 60.0 seconds"),
        (["--set", "max_dealy=1", "x"], "no parameter 'max_dealy'; did you mean max_delay?"),
        (["--set", "foo=1", "x"], "no parameter 'foo'; there are: unit pace"),
        (["--set", "rate=1.5", "x"], "rate takes a whole number"),
        (["--set", "pace=quick", "x"], 'pace = "quick" is none of'),
        (["--unit", "sentence", "x"], "invalid choice: 'sentence'"),
        (["--preset", "quick", "x"], "invalid choice: 'quick'"),
        (["--preset", "steady", "--profile", "codex-low-latency", "x"], "not allowed with"),
        (["--until", "0", "x"], "takes seconds, 86400 at most, not '0'"),
        (["--until", "nan", "x"], "86400 at most, not 'nan'"),
        (["--until", "later", "x"], "86400 at most, not 'later'"),
    ],
)
def test_wrong_usage_exits_2(
    arguments: list[str], says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as stop:
        main(["simulate", *arguments])
    assert stop.value.code == 2
    assert says in capsys.readouterr().err


def test_help_explains_every_column(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        main(["simulate", "-h"])
    assert stop.value.code == 0
    text = capsys.readouterr().out
    for column in _core.table_header().split("\n")[0].strip("| ").split(" | ")[1:]:
        name = column.split(" > ")[0].removesuffix(" ms").removesuffix(" mean / p95 / max")
        assert name in text, column


def test_other_threads_run_and_a_signal_ends_it() -> None:
    study = _core.Study([])
    line = json.dumps({"t_ms": list(range(0, 30_000, 20)), "tokens": [1] * 1_500})
    for number in range(800):
        study.add(str(number), line)
    begins = threading.Event()

    def interrupt() -> None:
        begins.wait()
        _thread.interrupt_main()

    thread = threading.Thread(target=interrupt)
    thread.start()
    with pytest.raises(KeyboardInterrupt):
        begins.set()
        # On a busy machine the thread may come late.
        for _ in range(100):
            study.engine()
    thread.join()


def test_ctrl_c_is_no_traceback(
    traces: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("decluster._simulate.Study", interrupted)
    assert run(capsys, traces) == (130, "", "")


def test_recorded_traces_are_read(capsys: pytest.CaptureFixture[str]) -> None:
    files = sorted((SHARED / "traces").glob("*.jsonl"))
    if not files:
        pytest.skip(f"no recorded traces: {SHARED / 'traces'} is absent")
    found = rows(capsys, "--until", "40", *files)
    assert {row["traces"] for row in found.values()} == {802}
