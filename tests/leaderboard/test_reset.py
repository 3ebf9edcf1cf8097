"""``manage.py reset``: asks, and deletes the data folder of this instance and nothing else."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from leaderboard.supervision.data_folder import mark_as_data_folder
from tests.conftest import PROJECT_ROOT


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "var"
    mark_as_data_folder(folder)
    (folder / "media").mkdir()
    (folder / "media" / "upload.zip").write_bytes(b"data")
    return folder


def reset(folder: Path, *arguments: str, answer: str = "") -> subprocess.CompletedProcess[str]:
    environment = {"PATH": os.environ["PATH"], "ENV_FILE": os.devnull, "DATA_DIR": str(folder)}
    return subprocess.run(
        [sys.executable, "manage.py", "reset", *arguments],
        cwd=PROJECT_ROOT,
        env=environment,
        input=answer,
        capture_output=True,
        text=True,
        check=False,
    )


def test_yes_deletes_everything(folder: Path) -> None:
    result = reset(folder, answer="yes\n")
    assert (result.returncode, result.stderr) == (0, "")
    assert f"This deletes {folder} and all in it: .lmr-board, media, run, secret_key." in result.stdout
    assert result.stdout.endswith(f"{folder} is deleted. make run starts over.\n")
    assert not folder.exists()


def test_anything_else_deletes_nothing(folder: Path) -> None:
    result = reset(folder, answer="y\n")
    assert (result.returncode, result.stderr) == (1, "CommandError: Nothing was deleted.\n")
    assert (folder / "media" / "upload.zip").read_bytes() == b"data"


def test_force_does_not_ask(folder: Path) -> None:
    result = reset(folder, "--force")
    assert (result.returncode, result.stdout) == (0, f"{folder} is deleted. make run starts over.\n")
    assert not folder.exists()


def test_a_folder_that_is_not_ours_is_kept(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("years of work", encoding="ascii")
    result = reset(tmp_path, "--force")
    assert (result.returncode, "is not the data folder of an instance" in result.stderr) == (1, True)
    assert (tmp_path / "thesis.tex").exists()
