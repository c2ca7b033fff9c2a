"""The programs under valgrind, and with a library whose own code is instrumented.

Threads are watched by ThreadSanitizer, which knows an atomic operation when it sees one. Valgrind's
helgrind does not: to it the loads and stores that atomics become are plain ones, so it reports the
state of every handle, and to silence that would be to silence all of the library.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from conftest import HERE, ROOT, SANITIZE, STRICT, Installed, run
from test_programs import HOOKED, PROGRAMS, SANITIZERS, source

pytestmark = pytest.mark.slow
RUSTC = os.environ.get("RUSTC", "rustc")


def instrumented(sanitizer: str, prefix: Path) -> Installed:
    """The library with the hook, built with a sanitizer that the compiler keeps for nightly."""
    target = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / f"{sanitizer}-sanitizer"
    host = re.search(r"host: (.*)", run(RUSTC, "-vV"))
    assert host is not None
    flags = f"-Zsanitizer={sanitizer} -Cunsafe-allow-abi-mismatch=sanitizer"
    build = ("build", "--locked", "-p", "decluster-c", "--features", "test-hook")
    run(
        os.environ.get("CARGO", "cargo"),
        *(*build, "--target", host[1], "--target-dir", target),
        cwd=ROOT,
        env={**os.environ, "RUSTC_BOOTSTRAP": "1", "RUSTFLAGS": flags},
    )
    (prefix / "lib").mkdir()
    (prefix / "include").symlink_to(ROOT / "include")
    for name in ("libdecluster.so", "libdecluster.so.0"):
        shutil.copy(target / host[1] / "debug/libdecluster.so", prefix / "lib" / name)
    return Installed(prefix)


@pytest.fixture(scope="session")
def address(tmp_path_factory: pytest.TempPathFactory) -> Installed:
    return instrumented("address", tmp_path_factory.mktemp("address"))


@pytest.fixture(scope="session")
def thread(tmp_path_factory: pytest.TempPathFactory) -> Installed:
    return instrumented("thread", tmp_path_factory.mktemp("thread"))


def memcheck(program: Path, *words: str | Path) -> tuple[str, ...]:
    assert shutil.which("valgrind"), "valgrind is not here: tests/c/tools.sh valgrind"
    leaks = ("--leak-check=full", "--errors-for-leak-kinds=definite,indirect,possible")
    # Without it a thread that waits for another one spins for minutes.
    fair = "--fair-sched=yes"
    options = ("--quiet", "--error-exitcode=9", "--keep-debuginfo=yes", fair, *leaks)
    return ("valgrind", *options, str(program), *map(str, words))


@pytest.mark.parametrize("name", [*PROGRAMS, HOOKED])
def test_a_program_is_clean_under_memcheck(
    installed: Installed, hooked: Installed, tmp_path: Path, name: str
) -> None:
    library = hooked if name == HOOKED else installed
    program = library.compile(tmp_path / name, source(name), flags=["-pthread"])
    run(*memcheck(program))


SONAME = "libdecluster.so.0"


def loading(library: Installed, directory: Path, module: Path) -> tuple[str, ...]:
    """Loads a module with the library, uses and unloads it, again and again, under memcheck."""
    program = directory / "loads"
    posix = ("-std=c99", "-D_POSIX_C_SOURCE=200809L", *STRICT)
    run("gcc", *posix, HERE / "loads.c", "-o", program, "-ldl", "-pthread")
    flags = ("-shared", "-fPIC", "-Dmain=use_library", "-pthread")
    built = library.compile(directory / f"{module.stem}.so", module, flags=flags)
    return memcheck(program, SONAME, built)


@pytest.mark.parametrize("name", [*PROGRAMS, HOOKED])
def test_a_library_that_is_unloaded_leaves_nothing_behind(
    installed: Installed, hooked: Installed, tmp_path: Path, name: str
) -> None:
    library = hooked if name == HOOKED else installed
    run(*loading(library, tmp_path, source(name)))


def test_what_a_library_would_leave_behind_would_be_seen(
    installed: Installed, tmp_path: Path
) -> None:
    keeping = tmp_path / "keeping.c"
    keeping.write_text(
        "#include <decluster.h>\n"
        "static decluster_config *kept;\n"
        "int main(void) { return decluster_config_new(&kept); }\n"
    )
    done = subprocess.run(
        loading(installed, tmp_path, keeping), check=False, capture_output=True, timeout=600
    )
    assert done.returncode == 9
    told = done.stderr.decode()
    lost = re.findall(r"in (\d+) blocks are definitely lost", told)
    assert sum(map(int, lost)) == 3
    assert "decluster_config_new" in told


@pytest.mark.parametrize("name", [*PROGRAMS, HOOKED])
def test_a_program_is_clean_with_a_library_that_checks_its_own_memory(
    address: Installed, tmp_path: Path, name: str
) -> None:
    flags = (*SANITIZE, "-pthread")
    program = address.compile(tmp_path / name, source(name), compiler="clang", flags=flags)
    run(program, env=SANITIZERS)


def test_what_the_library_does_to_freed_memory_would_be_seen(
    address: Installed, tmp_path: Path
) -> None:
    wrong = tmp_path / "wrong.c"
    wrong.write_text(
        "#include <decluster.h>\n"
        "int main(void) {\n"
        "    decluster_sse *sse;\n"
        "    if (decluster_sse_new(0, &sse)) return 0;\n"
        "    decluster_sse_free(sse);\n"
        "    return decluster_sse_finish(sse);\n"
        "}\n"
    )
    program = address.compile(tmp_path / "wrong", wrong, compiler="clang", flags=SANITIZE)
    done = subprocess.run([program], check=False, capture_output=True, env=SANITIZERS)
    assert done.returncode != 0
    assert "heap-use-after-free" in done.stderr.decode()


def watched(thread: Installed, directory: Path, program: Path) -> Path:
    """A program with the sanitizer's runtime of the Rust compiler, which fits what that made."""
    sysroot = Path(run(RUSTC, "--print", "target-libdir").strip())
    includes = (f"-I{thread.prefix / 'include'}", f"-I{HERE}")
    compile = ("clang", "-std=c99", *STRICT, "-fsanitize=thread", *includes)
    run(*compile, "-fPIE", "-c", program, "-o", directory / "program.o")
    runtime = ("-Wl,--whole-archive", *sysroot.glob("*_rt.tsan.a"), "-Wl,--no-whole-archive")
    assert len(runtime) == 3
    system = ("-lpthread", "-ldl", "-lm", "-lrt", "-lresolv", "-lstdc++", "-lgcc_s")
    library = (f"-L{thread.library}", "-ldecluster", f"-Wl,-rpath,{thread.library}")
    link = ("clang", "-pie", "-rdynamic", directory / "program.o", "-o", directory / "program")
    run(*link, *runtime, *library, *system)
    return directory / "program"


@pytest.mark.parametrize("name", ["threads", "guards", HOOKED])
def test_threads_do_not_race(thread: Installed, tmp_path: Path, name: str) -> None:
    run(watched(thread, tmp_path, source(name)))


def test_a_race_would_be_seen(thread: Installed, tmp_path: Path) -> None:
    racing = tmp_path / "racing.c"
    racing.write_text(
        "#include <decluster.h>\n"
        "#include <pthread.h>\n"
        "static decluster_output out;\n"
        "static void *poll(void *engine) {\n"
        "    decluster_engine_poll((decluster_engine *)engine, 0, &out, sizeof out);\n"
        "    return engine;\n"
        "}\n"
        "int main(void) {\n"
        "    decluster_engine *one, *other;\n"
        "    pthread_t thread;\n"
        "    if (decluster_engine_new(0, 0, &one)) return 0;\n"
        "    if (decluster_engine_new(0, 0, &other)) return 0;\n"
        "    if (pthread_create(&thread, 0, poll, one)) return 0;\n"
        "    poll(other);\n"
        "    pthread_join(thread, 0);\n"
        "    decluster_engine_free(one);\n"
        "    decluster_engine_free(other);\n"
        "    return 0;\n"
        "}\n"
    )
    program = watched(thread, tmp_path, racing)
    done = subprocess.run([program], check=False, capture_output=True)
    assert done.returncode != 0
    # The library wrote there, in both threads.
    assert "data race" in done.stderr.decode()
    assert "decluster_output" in done.stderr.decode()
