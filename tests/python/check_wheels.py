"""Checks what `make wheels` built: what is in it, and that it installs and runs.

    check_wheels.py DIRECTORY PYTHON...

Names of interpreters that are not there are passed over; the versions that could not be tried are
told at the end.
"""

from __future__ import annotations

import platform
import re
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Iterable, Mapping
from email.message import Message
from email.parser import BytesParser
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SMOKE = Path(__file__).with_name("smoke.py")
VERSIONS = [(3, minor) for minor in range(10, 15)]
LICENCES = ("LICENSE-APACHE", "LICENSE-MIT")


def main() -> None:
    directory, names = Path(sys.argv[1]), sys.argv[2:]
    (wheel,) = directory.glob("*.whl")
    (sdist,) = directory.glob("*.tar.gz")
    version = check_wheel(wheel)
    check_sdist(sdist, version)
    found = interpreters(names)
    try_out(sys.executable, version, sdist)
    for python in found.values():
        try_out(python, version, wheel, "--no-index", "--no-deps")
    for missing in VERSIONS:
        if missing not in found:
            print("not tried, since there is none here: CPython {}.{}".format(*missing))
    if not found:
        sys.exit("no interpreter to install the wheel into")


def check_wheel(wheel: Path) -> str:
    tag = f"cp310-abi3-manylinux2014_{platform.machine()}."
    check(tag in wheel.name, f"{wheel.name} is not tagged {tag}*")
    audit = run("auditwheel", "show", wheel)
    glibc = re.search(r'platform tag:\s"manylinux_2_(\d+)_', audit)
    check(glibc is not None and int(glibc[1]) <= 17, f"not manylinux2014:\n{audit}")

    with zipfile.ZipFile(wheel) as archive:
        held = {name: archive.read(name) for name in archive.namelist()}
    (described,) = {name.split("/")[0] for name in held if ".dist-info/" in name}
    metadata = BytesParser().parsebytes(held[f"{described}/METADATA"])
    check_metadata(metadata)
    package = {name.removeprefix("python/"): tracked(name) for name in tracked_under("python")}
    for needed in ("py.typed", "_core.pyi", "data/demo-stream.jsonl"):
        check(f"decluster/{needed}" in package, f"{needed} is gone from the package")
    licences = {f"{described}/licenses/{name}": tracked(name) for name in LICENCES}
    compare(
        wheel.name,
        held,
        package | licences,
        may_change={
            "decluster/_core.abi3.so",
            f"{described}/METADATA",
            f"{described}/RECORD",
            f"{described}/WHEEL",
            f"{described}/entry_points.txt",
            f"{described}/sboms/decluster-python.cyclonedx.json",
        },
    )
    check(b"Root-Is-Purelib: false" in held[f"{described}/WHEEL"], "a wheel for all platforms")
    print(f"{wheel.name}: {wheel.stat().st_size:,} bytes, {len(held)} files, glibc 2.{glibc[1]}")
    return str(metadata["Version"])


def check_sdist(sdist: Path, version: str) -> None:
    """All of the package and of the crates it is built from, as in the repository, and no more."""
    with tarfile.open(sdist) as archive:
        held = {
            member.name: file.read()
            for member in archive
            if (file := archive.extractfile(member)) is not None
        }
    inside = f"decluster-{version}/"
    check(all(name.startswith(inside) for name in held), f"not all is in {inside}")
    held = {name.removeprefix(inside): data for name, data in held.items()}
    metadata = BytesParser().parsebytes(held["PKG-INFO"])
    check_metadata(metadata)
    check(metadata["Version"] == version, "the wheel's version is another")
    names = [*tracked_under("python", "crates", "bindings/python"), "Cargo.lock", "pyproject.toml"]
    names += ["README.md", *LICENCES]
    # Maturin takes the crates that are not in it out of the workspace, and gives this crate its
    # own copy of the README.
    made = {"PKG-INFO", "Cargo.toml", "crates/decluster/Cargo.toml"}
    expected = {name: tracked(name) for name in names if name not in made}
    expected["crates/decluster/README.md"] = tracked("README.md")
    compare(sdist.name, held, expected, may_change=made)
    print(f"{sdist.name}: {sdist.stat().st_size:,} bytes, {len(held)} files")


def check_metadata(metadata: Message) -> None:
    for name, value in (
        ("Name", "decluster"),
        ("Requires-Python", ">=3.10"),
        ("License-Expression", "MIT OR Apache-2.0"),
    ):
        check(metadata[name] == value, f"{name} is {metadata[name]}")
    licences = sorted(metadata.get_all("License-File", []))
    check(licences == sorted(LICENCES), f"the licences are {licences}")
    needed = [need for need in metadata.get_all("Requires-Dist", []) if "extra ==" not in need]
    check(not needed, f"it needs {needed} at run time")


def compare(
    what: str, held: Mapping[str, bytes], expected: Mapping[str, bytes], may_change: set[str]
) -> None:
    stray = held.keys() - expected.keys() - may_change
    check(not stray, f"{what} holds what it should not: {sorted(stray)}")
    missing = (expected.keys() | may_change) - held.keys()
    check(not missing, f"{what} lacks {sorted(missing)}")
    other = [name for name in expected if held[name] != expected[name]]
    check(not other, f"{what} has other contents than the repository in {other}")


def tracked_under(*places: str) -> list[str]:
    return run("git", "-C", ROOT, "ls-files", "--", *places).splitlines()


def tracked(name: str) -> bytes:
    return (ROOT / name).read_bytes()


def interpreters(names: Iterable[str]) -> dict[tuple[int, int], str]:
    """The first interpreter of each version that abi3 wheels are for."""
    asked = (
        "import sys, sysconfig; print(sys.implementation.name, *sys.version_info[:2],"
        " sysconfig.get_config_var('Py_GIL_DISABLED') or 0)"
    )
    found: dict[tuple[int, int], str] = {}
    for name in names:
        try:
            told = run(name, "-c", asked, stderr=subprocess.DEVNULL).split()
        except (OSError, subprocess.CalledProcessError):
            continue  # not there, or a shim that leads nowhere
        version = (int(told[1]), int(told[2]))
        if told[0] == "cpython" and version >= VERSIONS[0] and told[3] == "0":
            found.setdefault(version, name)
    return dict(sorted(found.items()))


def try_out(python: str, version: str, built: Path, *options: str) -> None:
    """Installs into a fresh environment, away from the repository, and uses it there."""
    with tempfile.TemporaryDirectory() as place:
        run(python, "-m", "venv", f"{place}/venv", cwd=place)
        inside = f"{place}/venv/bin/python"
        run(inside, "-m", "pip", "install", "--quiet", *options, built.resolve(), cwd=place)
        print(f"{built.name}:", run(inside, "-I", SMOKE, version, cwd=place).strip(), flush=True)


def run(*command: str | Path, cwd: str | None = None, stderr: int | None = None) -> str:
    done = subprocess.run(
        command, cwd=cwd, stdout=subprocess.PIPE, stderr=stderr, text=True, check=True
    )
    return done.stdout


def check(holds: object, otherwise: str) -> None:
    if not holds:
        sys.exit(otherwise)


if __name__ == "__main__":
    main()
