"""Environments: made once, then only read; their digest follows what is in them."""

from __future__ import annotations

import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from evaluator.sandbox.environments import prepare_environment
from evaluator.sandbox.packages import REQUIREMENTS, install, lock_file, run_step
from evaluator.sandbox.runtime import Interpreter, tree_digest
from evaluator.sandbox.types import SandboxError


def test_a_finished_environment_is_found_quickly(state_dir: Path) -> None:
    first = prepare_environment("numpy", state_dir)
    begun = time.perf_counter()
    second = prepare_environment("numpy", state_dir)
    assert time.perf_counter() - begun < 0.05
    assert second == first


def test_it_holds_python_its_libraries_and_compiled_packages(state_dir: Path) -> None:
    root = prepare_environment("numpy", state_dir).root
    assert (root / "usr/bin/python3").is_file()
    assert list(root.glob("usr/lib/lmr-board/libc.so*"))
    assert list(root.rglob("numpy/__pycache__/__init__.*.pyc"))
    assert not list(root.rglob("ensurepip"))
    assert not [
        path for path in root.rglob("*") if not path.is_symlink() and path.is_file() and path.stat().st_mode & 0o222
    ]
    assert not [path for path in root.rglob("*") if path.is_symlink()]


def test_it_starts_without_any_file_of_the_host(state_dir: Path) -> None:
    root = prepare_environment("numpy", state_dir).root
    listing = subprocess.run(["find", str(root), "-name", "*.so*"], capture_output=True, text=True, check=True).stdout
    assert "ld-linux" in listing


def test_another_lock_makes_another_environment_beside_it(state_dir: Path, tmp_path: Path) -> None:
    lock = tmp_path / "box-bare.txt"
    lock.write_text("")
    first = prepare_environment("bare", state_dir, requirements=tmp_path)
    lock.write_text("# another remark\n")
    second = prepare_environment("bare", state_dir, requirements=tmp_path)
    assert second.root != first.root
    assert second.digest != first.digest
    assert first.root.is_dir()
    shutil.rmtree(second.root.parent)


def test_an_unfinished_one_is_removed_and_made_anew(state_dir: Path, tmp_path: Path) -> None:
    (tmp_path / "box-remade.txt").write_text("")
    (state_dir / "environments" / "remade" / ".unfinished-1234" / "root").mkdir(parents=True)
    environment = prepare_environment("remade", state_dir, requirements=tmp_path)
    assert list((state_dir / "environments" / "remade").glob(".unfinished*")) == []
    assert environment.digest.startswith("sha256:")


def test_a_wrong_hash_is_refused_and_leaves_nothing(state_dir: Path, tmp_path: Path) -> None:
    (tmp_path / "box-wrong.txt").write_text(f"numpy==2.4.6 --hash=sha256:{'0' * 64}\n")
    with pytest.raises(SandboxError, match=r"installing .*box-wrong\.txt failed with exit code"):
        prepare_environment("wrong", state_dir, requirements=tmp_path)
    home = state_dir / "environments" / "wrong"
    assert [path for path in home.iterdir() if path.is_dir() and not path.name.startswith(".unfinished")] == []


def test_a_requirement_without_a_hash_is_refused(tmp_path: Path) -> None:
    lock = tmp_path / "box-loose.txt"
    lock.write_text("numpy==2.4.6\n")
    with pytest.raises(SandboxError, match=r"(?i)hash"):
        install(lock, target=tmp_path / "packages", python=Path(sys.executable))
    assert not list(tmp_path.glob("packages/numpy"))


def test_an_unknown_environment_names_the_known_ones() -> None:
    with pytest.raises(SandboxError, match=r"environment 'fortran': .*box-fortran\.txt does not exist; .*'numpy'"):
        lock_file("fortran", requirements=REQUIREMENTS)


def test_a_step_that_fails_shows_the_end_of_its_output() -> None:
    with pytest.raises(SandboxError, match=r"trying failed with exit code 3: why not"):
        run_step(["sh", "-c", "echo why not >&2; exit 3"], "trying")


def test_the_digest_covers_names_and_contents_but_not_bytecode(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("1")
    first = tree_digest(tmp_path)
    (tmp_path / "a.pyc").write_text("x")
    assert tree_digest(tmp_path) == first
    (tmp_path / "a.py").write_text("2")
    second = tree_digest(tmp_path)
    (tmp_path / "a.py").rename(tmp_path / "b.py")
    assert len({first, second, tree_digest(tmp_path)}) == 3


def test_an_interpreter_answers_for_itself() -> None:
    interpreter = Interpreter.of(Path(sys.executable))
    assert interpreter.version == sys.version
    assert interpreter.prefix == Path(sys.base_prefix)
    assert (interpreter.stdlib / "os.py").is_file()
