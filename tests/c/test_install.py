"""`make install`, and what finds the library afterwards: pkg-config, CMake, linkers, loaders."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest
from conftest import ROOT, Installed, run
from programs import EXAMPLES, POSIX, delta, texts_of

SOURCE = EXAMPLES / "pace_stdin.c"
VERSION = re.search(r'^version = "(.+)"', (ROOT / "Cargo.toml").read_text(), re.MULTILINE)[1]  # type: ignore[index]
SONAME = "libdecluster.so.0"
WHOLE = f"libdecluster.so.{VERSION}"


@pytest.fixture(autouse=True)
def built(installed: Installed) -> None:
    """Cargo has built the library; that it need not do so again is part of what is tested."""


def make(target: str, *variables: str) -> None:
    """As somebody who has built it before, and has no cargo."""
    run("make", "--silent", target, *variables, "CARGO=false", cwd=ROOT)


def listed(top: Path) -> set[str]:
    return {str(path.relative_to(top)) for path in top.rglob("*")}


def installed_files(library: str = "lib") -> set[str]:
    return {
        "include/decluster.h",
        f"{library}/libdecluster.a",
        f"{library}/libdecluster.so",
        f"{library}/{SONAME}",
        f"{library}/{WHOLE}",
        f"{library}/pkgconfig/decluster.pc",
        f"{library}/cmake/decluster/declusterConfig.cmake",
        f"{library}/cmake/decluster/declusterConfigVersion.cmake",
    }


def files(top: Path) -> set[str]:
    return {name for name in listed(top) if not (top / name).is_dir()}


def pkg_config(library: Path, *asked: str) -> list[str]:
    """What pkg-config says, as a shell takes it."""
    where = {**os.environ, "PKG_CONFIG_PATH": str(library / "pkgconfig")}
    return shlex.split(run("pkg-config", *asked, "decluster", env=where))


def works(program: Path, library: Path | None = None) -> None:
    """It runs, and paces a stream."""
    environment = dict(os.environ)
    if library:
        environment["LD_LIBRARY_PATH"] = str(library)
    stream = delta("The lease is renewed. ") + b"data: [DONE]\n\n"
    done = subprocess.run(
        [program], check=True, input=stream, stdout=subprocess.PIPE, env=environment
    )
    assert "".join(texts_of(done.stdout, "content")) == "The lease is renewed. "


def needed(program: Path) -> list[str]:
    """The libraries that it loads."""
    return re.findall(r"\(NEEDED\).*\[(.+)\]", run("readelf", "--dynamic", program))


def cmake(project: Path, build: Path, prefix: Path, *arguments: str) -> Path:
    """Configures and builds a project that finds the library under a prefix."""
    run("cmake", "-S", project, "-B", build, f"-DCMAKE_PREFIX_PATH={prefix}", *arguments)
    run("cmake", "--build", build)
    return build


# What can be built and run


def test_pkg_config_builds_the_example(installed: Installed, tmp_path: Path) -> None:
    told = pkg_config(installed.library, "--cflags", "--libs")
    run("gcc", *POSIX, SOURCE, "-o", tmp_path / "pace", *told)
    works(tmp_path / "pace", installed.library)
    # Not the name with the version in it: a new version takes the place of the old.
    assert SONAME in needed(tmp_path / "pace")


def test_pkg_config_builds_it_where_the_prefix_has_a_blank_in_it(tmp_path: Path) -> None:
    prefix = tmp_path / "of my own"
    make("install", f"PREFIX={prefix}")
    told = pkg_config(prefix / "lib", "--cflags", "--libs")
    run("gcc", *POSIX, SOURCE, "-o", tmp_path / "pace", *told)
    works(tmp_path / "pace", prefix / "lib")


def test_the_static_library_needs_no_shared_one(installed: Installed, tmp_path: Path) -> None:
    told = pkg_config(installed.library, "--cflags", "--libs-only-l", "--static")
    rest = [word for word in told if word != "-ldecluster"]
    archive = installed.library / "libdecluster.a"
    run("gcc", *POSIX, SOURCE, archive, "-o", tmp_path / "pace", *rest)
    works(tmp_path / "pace")
    assert not any("decluster" in name for name in needed(tmp_path / "pace"))


def test_a_program_can_be_static_altogether(installed: Installed, tmp_path: Path) -> None:
    told = pkg_config(installed.library, "--cflags", "--libs", "--static")
    run("gcc", "-static", *POSIX, SOURCE, "-o", tmp_path / "pace", *told)
    works(tmp_path / "pace")
    assert needed(tmp_path / "pace") == []


def test_pkg_config_names_what_the_static_library_needs(
    installed: Installed, tmp_path: Path
) -> None:
    """Of the system: what any static library of Rust needs, but for what compilers add."""
    (tmp_path / "empty.rs").write_text("")
    asked = ("--crate-type=staticlib", "--print=native-static-libs", "empty.rs")
    said = run("rustc", *asked, cwd=tmp_path)
    (line,) = re.findall(r"native-static-libs: (.*)", said)
    wants = set(line.split()) - {"-lc", "-lgcc_s"}
    assert wants <= set(pkg_config(installed.library, "--libs", "--static"))


def test_cmake_builds_the_example_with_either_library_and_from_cpp(
    installed: Installed, tmp_path: Path
) -> None:
    build = cmake(ROOT / "tests" / "c" / "cmake", tmp_path / "build", installed.prefix)
    for name in ("shared", "static", "cpp"):
        works(build / name)
    assert SONAME in needed(build / "shared")
    assert not any("decluster" in name for name in needed(build / "static"))


def test_cmake_finds_a_prefix_that_was_moved(tmp_path: Path) -> None:
    make("install", f"PREFIX={tmp_path / 'before'}", "LIBDIR=lib/x86_64-linux-gnu")
    (tmp_path / "before").rename(tmp_path / "and after")
    library = tmp_path / "and after" / "lib" / "x86_64-linux-gnu"
    # A prefix path looks below lib/<architecture> only where that is this machine's.
    here = f"-Ddecluster_DIR={library / 'cmake' / 'decluster'}"
    build = cmake(ROOT / "tests" / "c" / "cmake", tmp_path / "build", tmp_path / "none", here)
    works(build / "shared")


@pytest.mark.parametrize("gone", ["libdecluster.a", "libdecluster.so", "both"])
def test_cmake_gives_the_targets_that_there_are(
    gone: str, installed: Installed, tmp_path: Path
) -> None:
    shutil.copytree(installed.prefix, tmp_path / "prefix", symlinks=True)
    for name in ["libdecluster.a", "libdecluster.so"] if gone == "both" else [gone]:
        (tmp_path / "prefix" / "lib" / name).unlink()
    found = cmake_says(
        tmp_path,
        f"set(CMAKE_PREFIX_PATH {tmp_path / 'prefix'})",
        "find_package(decluster QUIET)",
        "foreach(target decluster decluster_static)",
        "    if(TARGET decluster::${target})",
        '        message("there is ${target}")',
        "    endif()",
        "endforeach()",
        'message("found: ${decluster_FOUND}")',
    )
    assert ("there is decluster\n" in found) == (gone == "libdecluster.a")
    assert ("there is decluster_static\n" in found) == (gone == "libdecluster.so")
    assert ("found: 1" in found) == (gone != "both")


def test_cmake_takes_a_version_that_does_not_break(installed: Installed, tmp_path: Path) -> None:
    major, minor, patch = map(int, VERSION.split("."))
    fits = [
        "",
        f"{major}.{minor}",
        VERSION,
        f"{VERSION} EXACT",
        f"{major}.{minor}...{major}.{minor + 1}",
        f"{major}.{minor}...<{major + 1}",
    ]
    does_not = [
        f"{major}.{minor}.{patch + 1}",
        f"{major}.{minor + 1}",
        f"{major + 1}",
        f"{major}.{minor}.{patch + 1} EXACT",
        f"{major}.{minor + 1}...{major + 1}",
        f"0.0...<{VERSION}",
    ]
    if major == 0:
        # A minor version may break.
        does_not += ["0", f"0.{minor - 1}"]
    said = cmake_says(
        tmp_path,
        f"set(CMAKE_PREFIX_PATH {installed.prefix})",
        *(
            f"unset(decluster_DIR CACHE)\nfind_package(decluster {asked} QUIET)\n"
            f'message("<{asked}> ${{decluster_FOUND}}")'
            for asked in fits + does_not
        ),
    )
    found = dict(re.findall(r"<(.*)> (\d)", said))
    assert found == {**dict.fromkeys(fits, "1"), **dict.fromkeys(does_not, "0")}


def cmake_says(where: Path, *lines: str) -> str:
    """What a project prints while it is configured."""
    project = where / "asks"
    project.mkdir()
    head = ("cmake_minimum_required(VERSION 3.19)", "project(asks C)")
    (project / "CMakeLists.txt").write_text("\n".join([*head, *lines]))
    return run("cmake", "-S", project, "-B", where / "asked")


def test_a_program_can_open_it_at_run_time(installed: Installed, tmp_path: Path) -> None:
    program = tmp_path / "opens"
    flags = (*POSIX, f"-I{installed.prefix / 'include'}")
    run("gcc", *flags, ROOT / "tests" / "c" / "opens.c", "-o", program, "-ldl")
    assert run(program, installed.library / SONAME) == f"{VERSION}\n"
    assert not any("decluster" in name for name in needed(program))


def test_the_version_is_the_same_everywhere(installed: Installed, tmp_path: Path) -> None:
    (tmp_path / "version.c").write_text(
        "#include <decluster.h>\n#include <stdio.h>\n"
        'int main(void) { printf("%s %u %u\\n", decluster_version(), decluster_abi_version(),\n'
        "                        (unsigned)DECLUSTER_ABI_VERSION); }\n"
    )
    program = installed.compile(tmp_path / "version", tmp_path / "version.c")
    version, *abi = run(program).split()
    assert version == VERSION
    assert [f"libdecluster.so.{number}" for number in abi] == [SONAME, SONAME]
    assert pkg_config(installed.library, "--modversion") == [VERSION]
    package = installed.library / "cmake" / "decluster" / "declusterConfigVersion.cmake"
    assert f'set(PACKAGE_VERSION "{VERSION}")' in package.read_text()
    assert f"[{SONAME}]" in run("readelf", "--dynamic", installed.library / WHOLE)


# What is put where, and taken away


def test_it_installs_what_it_should_and_nothing_else(installed: Installed) -> None:
    assert files(installed.prefix) == installed_files()
    assert (installed.library / "libdecluster.so").readlink() == Path(SONAME)
    assert (installed.library / SONAME).readlink() == Path(WHOLE)


def test_what_it_installs_can_be_read_by_all(tmp_path: Path) -> None:
    run("sh", "-c", f"umask 077 && make -s install PREFIX={tmp_path}/p CARGO=false", cwd=ROOT)
    for path in (tmp_path / "p").rglob("*"):
        assert path.stat().st_mode & 0o444 == 0o444
        assert not path.is_dir() or path.stat().st_mode & 0o111 == 0o111


def test_a_packager_stages_it_below_destdir(tmp_path: Path) -> None:
    stage = f"DESTDIR={tmp_path}"
    make("install", stage, "PREFIX=/usr", "LIBDIR=/usr/lib/x86_64-linux-gnu")
    assert files(tmp_path / "usr") == installed_files("lib/x86_64-linux-gnu")
    library = tmp_path / "usr" / "lib" / "x86_64-linux-gnu"
    for path in [*library.rglob("*.pc"), *library.rglob("*.cmake")]:
        assert str(tmp_path) not in path.read_text()
    assert pkg_config(library, "--variable=libdir") == ["/usr/lib/x86_64-linux-gnu"]
    # Where compilers look by themselves nothing is said.
    assert pkg_config(library, "--cflags", "--libs") == ["-ldecluster"]
    make("uninstall", stage, "PREFIX=/usr", "LIBDIR=/usr/lib/x86_64-linux-gnu")
    assert listed(tmp_path) == set()


@pytest.mark.parametrize("library", ["lib64", "lib/x86_64-linux-gnu", "{prefix}/lib/of/it", "/lib"])
def test_the_library_may_lie_elsewhere(library: str, tmp_path: Path) -> None:
    prefix, stage = tmp_path / "prefix", tmp_path / "stage"
    place = library.format(prefix=prefix)
    variables = (f"PREFIX={prefix}", f"LIBDIR={place}", f"DESTDIR={stage}", "INCLUDEDIR=inc/de")
    make("install", *variables)
    lies = str(prefix / place)
    there = Path(f"{stage}{lies}")
    assert (there / "libdecluster.so").exists()
    assert pkg_config(there, "--variable=libdir") == [lies]
    assert pkg_config(there, "--variable=includedir") == [f"{prefix}/inc/de"]
    config = (there / "cmake" / "decluster" / "declusterConfig.cmake").read_text()
    (header,) = re.findall(r'_decluster_include "(.+?)" ABSOLUTE', config)
    # Outside of the prefix it cannot be told from the library's place.
    assert header.startswith("..") != (place == "/lib")
    found = os.path.normpath(Path(lies, "cmake", "decluster", header))
    assert found == f"{prefix}/inc/de"
    make("uninstall", *variables)
    assert listed(stage) == set()


def test_uninstall_leaves_what_was_there(tmp_path: Path) -> None:
    for name in ("lib/libother.so", "lib/libdecluster.so.7", "include/other.h"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("not ours")
    before = listed(tmp_path)
    make("install", f"PREFIX={tmp_path}")
    assert files(tmp_path) - before == installed_files()
    make("uninstall", f"PREFIX={tmp_path}")
    assert listed(tmp_path) == before
    make("uninstall", f"PREFIX={tmp_path}")
    assert listed(tmp_path) == before


def test_uninstall_leaves_what_a_newer_abi_has_taken_over(tmp_path: Path) -> None:
    make("install", f"PREFIX={tmp_path}")
    newer = tmp_path / "lib" / "libdecluster.so.9"
    newer.write_bytes(b"of another ABI")
    link = tmp_path / "lib" / "libdecluster.so"
    link.unlink()
    link.symlink_to(newer.name)
    before = files(tmp_path)
    make("uninstall", f"PREFIX={tmp_path}")
    assert before - files(tmp_path) == {f"lib/{SONAME}", f"lib/{WHOLE}"}


def test_a_prefix_may_have_a_quote_in_it(tmp_path: Path) -> None:
    prefix = tmp_path / "it's mine"
    make("install", f"PREFIX={prefix}")
    assert files(prefix) == installed_files()
    make("uninstall", f"PREFIX={prefix}")
    assert not prefix.exists() or not listed(prefix)


def test_installing_twice_is_installing_once(tmp_path: Path) -> None:
    make("install", f"PREFIX={tmp_path}")
    first = {name: (tmp_path / name).read_bytes() for name in files(tmp_path)}
    make("install", f"PREFIX={tmp_path}")
    assert {name: (tmp_path / name).read_bytes() for name in files(tmp_path)} == first


def test_a_newer_version_takes_the_place_of_an_older_one(tmp_path: Path) -> None:
    make("install", f"PREFIX={tmp_path}", "VERSION=0.0.9")
    assert (tmp_path / "lib" / SONAME).readlink() == Path("libdecluster.so.0.0.9")
    make("install", f"PREFIX={tmp_path}")
    assert files(tmp_path) == installed_files()
    assert (tmp_path / "lib" / SONAME).readlink() == Path(WHOLE)


def test_a_relative_prefix_is_meant_from_here(tmp_path: Path) -> None:
    make("install", f"PREFIX={os.path.relpath(tmp_path, ROOT)}")
    (said,) = pkg_config(tmp_path / "lib", "--variable=prefix")
    assert Path(said).resolve() == tmp_path.resolve()


def test_a_library_with_the_hook_of_the_tests_is_not_installed(
    hooked: Installed, installed: Installed, tmp_path: Path
) -> None:
    built = tmp_path / "target" / "release"
    built.mkdir(parents=True)
    shutil.copy(hooked.library / "libdecluster.so", built)
    shutil.copy(installed.library / "libdecluster.a", built)
    prefix = tmp_path / "prefix"
    refused = refusal(f"PREFIX={prefix}", f"CARGO_TARGET_DIR={tmp_path / 'target'}")
    assert "with the hook of its tests" in refused
    assert not prefix.exists()


def test_an_empty_prefix_is_refused(tmp_path: Path) -> None:
    assert "PREFIX" in refusal("PREFIX=", f"DESTDIR={tmp_path / 'stage'}")
    assert not (tmp_path / "stage").exists()


def refusal(*variables: str) -> str:
    """What an installation says that is refused."""
    command = ["make", "--silent", "install", *variables, "CARGO=false"]
    done = subprocess.run(command, check=False, capture_output=True, cwd=ROOT, text=True)
    assert done.returncode != 0
    return done.stderr
