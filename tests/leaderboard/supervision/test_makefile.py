"""The Makefile, the scripts and the locks."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import PROJECT_ROOT

REQUIREMENTS = PROJECT_ROOT / "requirements"


def make(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["make", *arguments],
        cwd=PROJECT_ROOT,
        env={"PATH": os.environ["PATH"], "HOME": os.environ.get("HOME", "/"), **environment},
        capture_output=True,
        text=True,
        check=False,
    )


def locked(name: str) -> dict[str, str]:
    """Package → version and markers."""
    text = (REQUIREMENTS / f"{name}.txt").read_text(encoding="utf-8")
    return {
        match[1]: match[2].strip() for match in re.finditer(r"^([a-z0-9.\-\[\],]+)==([^\\\n]+)", text, re.MULTILINE)
    }


def test_help_is_the_default_and_lists_every_target() -> None:
    result = make()
    assert (result.returncode, result.stderr) == (0, "")
    text = (PROJECT_ROOT / "Makefile").read_text(encoding="utf-8")
    phony = re.search(r"^\.PHONY: (.+)$", text, re.MULTILINE)
    assert phony
    assert sorted(line.split()[1] for line in result.stdout.splitlines()) == sorted(phony[1].split())


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["password"], 'password --generate -- "maintainer"'),
        (["password", "USER=ada"], 'password --generate -- "ada"'),
        (["reset"], "manage.py reset "),
        (["reset", "FORCE=1"], "manage.py reset --force"),
    ],
)
def test_what_targets_run(arguments: list[str], expected: str) -> None:
    """The login name in the environment's own USER must not become an account's name."""
    result = make("--dry-run", *arguments, USER="root")
    assert expected in result.stdout


@pytest.mark.parametrize("name", ["base", "dev", "uv", "box-numpy", "box-torch", "box-transformers"])
def test_every_locked_package_has_hashes_and_no_registry(name: str) -> None:
    text = (REQUIREMENTS / f"{name}.txt").read_text(encoding="utf-8")
    entries = re.split(r"\n(?=[a-z0-9])", text)
    assert [entry.split("\n")[0] for entry in entries if "--hash=sha256:" not in entry] == []
    assert re.findall(r"https?://|--index|--find-links", text) == []


def test_the_development_lock_holds_the_base_lock() -> None:
    """``make setup`` counts on it after ``make test`` has installed the development lock, on every kind of machine."""
    base, dev = locked("base"), locked("dev")
    assert len(base) > 30
    everywhere = {name: where.partition(" ;")[0] for name, where in base.items()}
    assert {name: dev.get(name) for name in base if dev.get(name) not in {base[name], everywhere[name]}} == {}
    assert dev["uv"] == locked("uv")["uv"]


@pytest.fixture
def bare_checkout(tmp_path: Path) -> Path:
    """The scripts and locks, and a PATH on which almost nothing is installed."""
    shutil.copytree(PROJECT_ROOT / "scripts", tmp_path / "project" / "scripts")
    shutil.copytree(REQUIREMENTS, tmp_path / "project" / "requirements")
    (tmp_path / "bin").mkdir()
    for program in ("bash", "sh", "dirname", "id", "env", "cat", "cut", "sha256sum", "grep", "ls", "sort", "tail"):
        found = shutil.which(program)
        assert found
        (tmp_path / "bin" / program).symlink_to(found)
    return tmp_path


def environment_script(checkout: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["bash", "scripts/environment.sh", "base"],
        cwd=checkout / "project",
        env={"PATH": str(checkout / "bin"), **environment},
        capture_output=True,
        text=True,
        check=False,
    )


def test_missing_packages_are_named_where_they_cannot_be_installed(bare_checkout: Path) -> None:
    # No apt-get on this PATH: no user can install packages here.
    result = environment_script(bare_checkout, PYTHON=sys.executable)
    assert (result.returncode, result.stdout) == (1, "")
    assert result.stderr.splitlines()[0].split()[:3] == ["Missing:", "bubblewrap", "git"]
    assert "on Debian these are the packages bubblewrap git" in result.stderr


def test_a_python_that_is_missing_or_old_is_a_clear_error(bare_checkout: Path) -> None:
    for program in ("bwrap", "git", "ldconfig"):
        (bare_checkout / "bin" / program).write_text("#!/bin/sh\necho libseccomp.so.2\n", encoding="ascii")
        (bare_checkout / "bin" / program).chmod(0o755)
    (bare_checkout / "bin" / "rm").symlink_to(str(shutil.which("rm")))
    result = environment_script(bare_checkout, PYTHON="python2.7")
    assert result.returncode == 1
    assert result.stderr.startswith("Python 3.11 or newer is needed, and 'python2.7' is not one.")


def test_a_library_among_very_many_is_found(bare_checkout: Path) -> None:
    """Lines after the match must not break the search: a reader that stops early ends ldconfig by SIGPIPE."""
    ldconfig = bare_checkout / "bin" / "ldconfig"
    ldconfig.write_text("#!/bin/bash\necho libseccomp.so.2\nfor ((n = 0; n < 20000; n++)); do echo libx.so.$n; done\n")
    ldconfig.chmod(0o755)
    command = ["bash", "-c", "set -euo pipefail; . scripts/lib.sh; missing libseccomp2"]
    environment = {"PATH": str(bare_checkout / "bin")}
    assert subprocess.check_output(command, cwd=bare_checkout / "project", env=environment, text=True) == ""


VENDOR = PROJECT_ROOT / "static" / "vendor"


def test_every_vendored_file_has_its_version_licence_and_checksum() -> None:
    lines = (VENDOR / "VERSIONS").read_text().splitlines()
    columns = [line.split("  ") for line in lines if not line.startswith("#")]
    listed = {file: checksum for _name, _version, _licence, _source, file, checksum in columns}
    files = [path for path in VENDOR.rglob("*") if path.is_file() and path.suffix in {".css", ".js", ".mjs", ".woff2"}]
    assert listed == {
        path.relative_to(VENDOR).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest() for path in files
    }
    assert [path.parent.name for path in files if not list(path.parent.glob("LICENSE*"))] == []
