"""What the README says about C compiles, builds and runs as it stands there."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

from conftest import ROOT, Installed, run
from programs import EXAMPLES, POSIX, delta, texts_of

README = (ROOT / "README.md").read_text(encoding="utf-8")
(LOOP,) = re.findall(r"```c\n(.*?)```", README, re.DOTALL)
(CMAKE,) = re.findall(r"```cmake\n(.*?)```", README, re.DOTALL)
(CC,) = re.findall(r"^cc prog\.c .*$", README, re.MULTILINE)
STREAM = delta("The lease is renewed, and held to the end. ") + b"data: [DONE]\n\n"


def program() -> str:
    """The README's loop, with the example's clock around it."""
    example = (EXAMPLES / "pace_stdin.c").read_text()
    clock = example[example.index("#include") : example.index("/* Writes all")]
    return f"""
{clock}
int main(void)
{{
    decluster_rewriter *rewriter;
    decluster_output out;
    struct pollfd in = {{STDIN_FILENO, POLLIN, 0}};
    char bytes[4096];
    ssize_t n;
    if (decluster_rewriter_new(NULL, DECLUSTER_DIALECT_UNKNOWN, DECLUSTER_MODE_STREAM, now(),
                               &rewriter))
        return 1;
{LOOP}
    decluster_rewriter_free(rewriter);
    return out.verdict != DECLUSTER_VERDICT_COMPLETE;
}}
"""


def paces(program: Path, installed: Installed) -> None:
    where = {**os.environ, "LD_LIBRARY_PATH": str(installed.library)}
    done = subprocess.run([program], check=True, input=STREAM, stdout=subprocess.PIPE, env=where)
    assert "".join(texts_of(done.stdout, "content")) == texts_of(STREAM, "content")[0]


def test_the_loop_compiles_and_paces_a_stream(installed: Installed, tmp_path: Path) -> None:
    (tmp_path / "loop.c").write_text(program())
    paces(installed.compile(tmp_path / "loop", tmp_path / "loop.c", standard="gnu99"), installed)


def test_the_line_for_the_compiler_builds_a_program(installed: Installed, tmp_path: Path) -> None:
    (tmp_path / "prog.c").write_text(program())
    where = {**os.environ, "PKG_CONFIG_PATH": str(installed.library / "pkgconfig")}
    run("sh", "-c", CC, cwd=tmp_path, env=where)
    paces(tmp_path / "prog", installed)


def test_the_lines_for_cmake_build_a_program(installed: Installed, tmp_path: Path) -> None:
    (tmp_path / "prog.c").write_text(program())
    find, link = CMAKE.splitlines()
    head = ["cmake_minimum_required(VERSION 3.16)", "project(reads C)", find]
    lines = [*head, "add_executable(prog prog.c)", link]
    (tmp_path / "CMakeLists.txt").write_text("\n".join(lines))
    prefix = f"-DCMAKE_PREFIX_PATH={installed.prefix}"
    run("cmake", "-S", tmp_path, "-B", tmp_path / "build", prefix)
    run("cmake", "--build", tmp_path / "build")
    paces(tmp_path / "build" / "prog", installed)


def test_the_static_library_is_linked_as_it_says(installed: Installed, tmp_path: Path) -> None:
    (command,) = re.findall(r"`(cc prog\.c .*libdecluster\.a.*)`", README)
    (tmp_path / "prog.c").write_text(program())
    (tmp_path / ".local").symlink_to(installed.prefix)
    where = {**os.environ, "HOME": str(tmp_path)}
    prog = tmp_path / "prog"
    run("sh", "-c", f"{command} {' '.join(POSIX)} -o prog", cwd=tmp_path, env=where)
    assert "decluster" not in run("ldd", prog).replace(str(prog), "")
    paces(prog, installed)
