"""What the tests of the C library share: the library, installed, and the compilers."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
HERE = Path(__file__).parent
SANITIZE = ("-fsanitize=address,undefined", "-fno-sanitize-recover=all")
STRICT = ("-pedantic", "-Wall", "-Wextra", "-Werror", "-g", "-O1")


def run(*command: str | Path, **more: object) -> str:
    """Runs a command, and gives what it printed; fails with all of that if the command does."""
    words = [str(part) for part in command]
    done = subprocess.run(words, check=False, capture_output=True, timeout=600, **more)  # type: ignore[call-overload]
    text = (done.stdout + done.stderr).decode(errors="replace")
    assert done.returncode == 0, f"{' '.join(map(str, command))}: {done.returncode}\n{text}"
    return text


@dataclass(frozen=True)
class Installed:
    """The library under a prefix, as a packager would put it there."""

    prefix: Path

    @property
    def library(self) -> Path:
        return self.prefix / "lib"

    def compile(
        self,
        to: Path,
        *sources: str | Path,
        compiler: str = "gcc",
        standard: str = "c11",
        flags: Sequence[str] = (),
    ) -> Path:
        """Compiles a program that finds the library where it was linked from."""
        run(
            compiler,
            f"-std={standard}",
            *STRICT,
            *flags,
            *sources,
            "-o",
            to,
            f"-I{self.prefix / 'include'}",
            f"-I{HERE}",
            f"-L{self.library}",
            "-ldecluster",
            f"-Wl,-rpath,{self.library}",
        )
        return to


@pytest.fixture(scope="session")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Installed:
    """The library as `make install` installs it."""
    prefix = tmp_path_factory.mktemp("prefix")
    run("make", "--silent", "install", f"PREFIX={prefix}", cwd=ROOT)
    return Installed(prefix)


@pytest.fixture(scope="session")
def hooked(installed: Installed, tmp_path_factory: pytest.TempPathFactory) -> Installed:
    """The same library with `decluster_test_panic()`, which makes the next call panic."""
    prefix = tmp_path_factory.mktemp("hooked")
    target = ROOT / os.environ.get("CARGO_TARGET_DIR", "target")
    cargo = os.environ.get("CARGO", "cargo")
    run(cargo, "build", "--locked", "-p", "decluster-c", "--features", "test-hook", cwd=ROOT)
    (prefix / "include").symlink_to(installed.prefix / "include")
    (prefix / "lib").mkdir()
    # A copy: the next build of the tests puts the library without the hook there.
    for name in installed.library.glob("libdecluster.so*"):
        shutil.copy(target / "debug" / "libdecluster.so", prefix / "lib" / name.name)
    return Installed(prefix)
