"""The programs beside this file, compiled in every way that is promised, and run."""

from __future__ import annotations

import os
import re
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from conftest import HERE, ROOT, SANITIZE, STRICT, Installed, run

PROGRAMS = (
    *("abi", "misuse", "engine", "rewriter", "segmenter", "sse", "threads"),
    *("guards", "ledger"),
)
# Needs `decluster_test_panic()`.
HOOKED = "panic"
SANITIZERS = {
    **os.environ,
    "ASAN_OPTIONS": "detect_leaks=1:abort_on_error=0",
    "UBSAN_OPTIONS": "print_stacktrace=1",
}
C = [(compiler, standard) for compiler in ("gcc", "clang") for standard in ("c99", "c11", "c2x")]
CXX = [(compiler, standard) for compiler in ("g++", "clang++") for standard in ("c++11", "c++17")]


def source(name: str) -> Path:
    return HERE / f"{name}.c"


@pytest.fixture(scope="session")
def sanitized(
    installed: Installed, hooked: Installed, tmp_path_factory: pytest.TempPathFactory
) -> dict[tuple[str, str], Path]:
    """Every program with ASan and UBSan, by name and compiler."""
    directory = tmp_path_factory.mktemp("sanitized")

    def compiled(name: str, compiler: str) -> Path:
        library = hooked if name == HOOKED else installed
        to, flags = directory / f"{name}-{compiler}", (*SANITIZE, "-pthread")
        return library.compile(to, source(name), compiler=compiler, standard="c99", flags=flags)

    wanted = [(name, compiler) for name in (*PROGRAMS, HOOKED) for compiler in ("gcc", "clang")]
    with ThreadPoolExecutor(os.cpu_count()) as workers:
        return dict(zip(wanted, workers.map(compiled, *zip(*wanted, strict=True)), strict=True))


@pytest.mark.parametrize(("compiler", "standard"), C + CXX)
def test_header_and_programs_compile_without_a_warning(
    installed: Installed, compiler: str, standard: str
) -> None:
    language = ("-x", "c++") if "++" in compiler else ()
    include = f"-I{installed.prefix / 'include'}"
    sources = [source(name) for name in (*PROGRAMS, HOOKED)]
    run(compiler, f"-std={standard}", *STRICT, "-fsyntax-only", include, *language, *sources)


@pytest.mark.parametrize(("compiler", "standard"), C + CXX)
def test_the_header_alone_is_clean_under_stricter_warnings(
    installed: Installed, tmp_path: Path, compiler: str, standard: str
) -> None:
    alone = tmp_path / ("alone.cpp" if "++" in compiler else "alone.c")
    alone.write_text("#include <decluster.h>\n#include <decluster.h>\n")
    include = f"-I{installed.prefix / 'include'}"
    stricter = ["-Wconversion", "-Wshadow", "-Wundef", "-Wcast-qual", "-Wredundant-decls"]
    stricter += ["-Wold-style-cast"] if "++" in compiler else ["-Wstrict-prototypes"]
    run(compiler, f"-std={standard}", *STRICT, *stricter, "-fsyntax-only", include, alone)


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
@pytest.mark.parametrize("name", [*PROGRAMS, HOOKED])
def test_a_program_finds_what_it_expects_and_is_clean(
    sanitized: dict[tuple[str, str], Path], name: str, compiler: str
) -> None:
    done = subprocess.run(
        [sanitized[name, compiler]], check=False, capture_output=True, env=SANITIZERS, timeout=300
    )
    told = done.stderr.decode(errors="replace")
    assert done.returncode == 0, told
    # The library prints nothing, not even when it panics.
    assert told == ""


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
@pytest.mark.parametrize(
    ("fault", "message"),
    [
        ("decluster_engine_new(0, 0, &engine); engine = 0;", "LeakSanitizer"),
        (
            "decluster_engine_new(0, 0, &engine); decluster_engine_free(engine); "
            "return ((volatile char *)engine)[0];",
            "heap-use-after-free",
        ),
    ],
)
def test_a_leak_or_a_use_of_what_was_freed_would_be_seen(
    installed: Installed, tmp_path: Path, compiler: str, fault: str, message: str
) -> None:
    wrong = tmp_path / "wrong.c"
    wrong.write_text(
        "#include <decluster.h>\nstatic decluster_engine *volatile engine;\n"
        f"static int faulty(void) {{ decluster_engine *engine; {fault} return 0; }}\n"
        "int main(void) { return engine != 0 || faulty(); }\n"
    )
    program = installed.compile(tmp_path / "wrong", wrong, compiler=compiler, flags=SANITIZE)
    done = subprocess.run([program], check=False, capture_output=True, env=SANITIZERS)
    assert done.returncode != 0
    assert message in done.stderr.decode()


def symbols(installed: Installed, *options: str) -> list[str]:
    """What the shared library exports."""
    told = run("nm", "--dynamic", *options, installed.library / "libdecluster.so")
    return [line.split()[-1] for line in told.splitlines()]


def test_every_exported_function_is_misused(
    installed: Installed, sanitized: dict[tuple[str, str], Path]
) -> None:
    calls = run(sanitized["misuse", "gcc"], env=SANITIZERS)
    tried = set(re.findall(r"^(decluster_\w+)\(", calls, re.MULTILINE))
    # Nothing can be wrong with no arguments.
    without = set(re.findall(r"\b(decluster_\w+)\(void\)", header()))
    assert without == {
        "decluster_abi_version",
        "decluster_version",
        "decluster_parameter_count",
        "decluster_prices_examples",
    }
    assert tried == set(symbols(installed, "--defined-only")) - without


def header() -> str:
    return (ROOT / "include/decluster.h").read_text()


def test_only_what_the_header_declares_is_exported(installed: Installed) -> None:
    code = re.sub(r"/\*.*?\*/", "", header(), flags=re.DOTALL)
    declared = re.findall(r"\b(decluster_\w+)\(", code)
    assert sorted(symbols(installed, "--defined-only")) == sorted(declared)


def test_the_shared_library_has_a_versioned_name_and_needs_only_the_system(
    installed: Installed,
) -> None:
    abi = re.search(r"#define DECLUSTER_ABI_VERSION (\d+)", header())
    assert abi is not None
    told = run("readelf", "--dynamic", "--wide", installed.library / "libdecluster.so")
    assert re.findall(r"\(SONAME\).*\[(.*)\]", told) == [f"libdecluster.so.{abi[1]}"]
    needed = set(re.findall(r"\(NEEDED\).*\[(.*)\]", told))
    system = r"(libc|libgcc_s|libm|libpthread|libdl|librt)\.so\.\d|ld-linux.*"
    assert needed
    assert [name for name in needed if not re.fullmatch(system, name)] == []


FRAME = """
#include <decluster.h>
#include <poll.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

static uint64_t now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

static int wait_ms(const decluster_output *out) {
    uint64_t time = now();
    if (out->type != DECLUSTER_OUTPUT_WAIT) return -1;
    return out->at_ns > time ? (int)((out->at_ns - time + 999999) / 1000000) : 0;
}

int main(void) {
%s
    return 0;
}
"""


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_the_loop_in_the_header_paces_a_stream(
    installed: Installed, tmp_path: Path, compiler: str
) -> None:
    opening = header().split("*/")[0]
    loop = re.findall(r"^ \* {5}(.*)$", opening, re.MULTILINE)
    assert 14 <= len(loop) <= 20
    program = tmp_path / "loop.c"
    program.write_text(FRAME % "\n".join(loop))
    flags = ("-D_POSIX_C_SOURCE=200809L", *SANITIZE)
    built = installed.compile(
        tmp_path / "loop", program, compiler=compiler, standard="c99", flags=flags
    )
    words = ["The first sentence is short. ", "The next", " one comes in two parts. ", "End."]
    event = 'data: {"choices":[{"index":0,"delta":{"content":"%s"}}]}\n\n'
    stream = "".join(event % word for word in words) + "data: [DONE]\n\n"
    with subprocess.Popen([built], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        out, _ = process.communicate(stream.encode(), timeout=60)
    assert process.returncode == 0
    events = out.decode().split("\n\n")
    assert events[-2:] == ["data: [DONE]", ""]
    pattern = r'data: \{"choices":\[\{"index":0,"delta":\{"content":"(.*)"\}\}\]\}'
    pieces = [re.fullmatch(pattern, event) for event in events[:-2]]
    assert all(pieces)
    assert "".join(piece[1] for piece in pieces if piece) == "".join(words)
    assert [piece[1] for piece in pieces if piece] != words
