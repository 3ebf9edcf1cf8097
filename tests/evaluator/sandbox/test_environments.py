"""Environments: made once, then only read; their digest follows what is in them."""

from __future__ import annotations

import hashlib
import shutil
import sys
import zipfile
from pathlib import Path

import pytest

from evaluator.sandbox.environment_list import EnvironmentEntry, EnvironmentList
from evaluator.sandbox.environments import install, prepare_environment
from evaluator.sandbox.types import SandboxError

# All processes that test share one state folder, and some tests here remove environments from it.
pytestmark = pytest.mark.xdist_group("images")


def test_it_holds_python_its_libraries_and_compiled_packages(state_dir: Path) -> None:
    root = prepare_environment("numpy", state_dir).root
    assert (root / "usr/bin/python3").is_file()
    assert list(root.glob("usr/lib/lmr-board/libc.so*"))
    assert list(root.rglob("ld-linux*"))
    assert list(root.rglob("numpy/__pycache__/__init__.*.pyc"))
    assert not list(root.rglob("ensurepip"))
    assert not [
        path for path in root.rglob("*") if not path.is_symlink() and path.is_file() and path.stat().st_mode & 0o222
    ]
    assert not [path for path in root.rglob("*") if path.is_symlink()]


def locked(folder: Path, name: str, text: str) -> EnvironmentList:
    """The environment ``name`` made from requirements with ``text``."""
    (folder / f"{name}.txt").write_text(text)
    return EnvironmentList((EnvironmentEntry(name, requirements=folder / f"{name}.txt"),))


def test_another_lock_makes_another_environment_beside_it(state_dir: Path, tmp_path: Path) -> None:
    first = prepare_environment("bare", state_dir, environments=locked(tmp_path, "bare", ""))
    second = prepare_environment("bare", state_dir, environments=locked(tmp_path, "bare", "# another remark\n"))
    assert second.root != first.root
    assert second.digest != first.digest
    assert first.root.is_dir()
    shutil.rmtree(second.root.parent)


def test_an_unfinished_one_is_removed_and_made_anew(state_dir: Path, tmp_path: Path) -> None:
    (state_dir / "environments" / "remade" / ".unfinished-1234" / "root").mkdir(parents=True)
    environment = prepare_environment("remade", state_dir, environments=locked(tmp_path, "remade", ""))
    assert list((state_dir / "environments" / "remade").glob(".unfinished*")) == []
    assert environment.digest.startswith("sha256:")


def test_a_wrong_hash_is_refused_and_leaves_nothing(state_dir: Path, tmp_path: Path) -> None:
    wrong = locked(tmp_path, "wrong", f"numpy==2.4.6 --hash=sha256:{'0' * 64}\n")
    with pytest.raises(SandboxError, match=r"installing .*wrong\.txt with uv failed with exit code"):
        prepare_environment("wrong", state_dir, environments=wrong)
    home = state_dir / "environments" / "wrong"
    assert [path for path in home.iterdir() if path.is_dir() and not path.name.startswith(".unfinished")] == []


@pytest.fixture
def wheel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A lock of one package, in a folder that only pip's configuration names; uv finds no index at all."""
    content = {
        "tiny_wheel.py": "",
        "tiny_wheel-1.dist-info/METADATA": "Metadata-Version: 2.1\nName: tiny-wheel\nVersion: 1\n",
        "tiny_wheel-1.dist-info/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        "tiny_wheel-1.dist-info/RECORD": "",
    }
    made = tmp_path / "wheels" / "tiny_wheel-1-py3-none-any.whl"
    made.parent.mkdir()
    with zipfile.ZipFile(made, "w") as archive:
        for name, text in content.items():
            archive.writestr(name, text)
    lock = tmp_path / "box-tiny.txt"
    lock.write_text(f"tiny-wheel==1 --hash=sha256:{hashlib.sha256(made.read_bytes()).hexdigest()}\n")
    for name, value in {"UV_DEFAULT_INDEX": "http://127.0.0.1:9/", "UV_NO_CACHE": "1", "UV_HTTP_RETRIES": "0"}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    return lock


def test_pip_is_tried_after_any_failure_of_uv(wheel: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path / "wheels"))
    install(wheel, target=tmp_path / "packages", python=Path(sys.executable))
    assert (tmp_path / "packages" / "tiny_wheel.py").is_file()


def test_where_neither_installs_both_reasons_are_told(wheel: Path, tmp_path: Path) -> None:
    with pytest.raises(SandboxError) as caught:
        install(wheel, target=tmp_path / "packages", python=Path(sys.executable))
    first, *_, last = str(caught.value).splitlines()
    assert first.startswith(f"installing {wheel} with uv failed with exit code")
    assert f"installing {wheel} with pip failed with exit code 1" in str(caught.value)
    assert "No matching distribution found for tiny-wheel==1" in last
    assert caught.value.public == "the packages of the boxes' environment could not be installed"


@pytest.mark.parametrize("name", ["paper-0123456789ab", "imageonly"])
def test_an_image_is_not_for_bubblewrap(state_dir: Path, name: str) -> None:
    environments = EnvironmentList((EnvironmentEntry("imageonly", image="x"),))
    with pytest.raises(SandboxError, match=rf"environment '{name}' is a Docker image, which bubblewrap cannot use"):
        prepare_environment(name, state_dir, environments=environments)
