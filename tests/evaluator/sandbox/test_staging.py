"""What is copied so that the boxes' user can read it, and what is refused."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from evaluator.sandbox.staging import reachable_state_dir, stage_mounts
from evaluator.sandbox.types import BoxSpec, Mount, SandboxError


@pytest.fixture
def open_folder(state_dir: Path, request: pytest.FixtureRequest) -> Path:
    """A folder that everybody may pass through."""
    folder = state_dir / f"staging-{request.node.name}"
    folder.mkdir()
    folder.chmod(0o755)
    return folder


def stage(source: Path, copies: Path) -> Path:
    spec = BoxSpec(label="test", argv=("python",), mounts=(Mount(source, "/box/a"),))
    (mount,) = stage_mounts(spec, copies)
    assert mount.target == "/box/a"
    return mount.source


def test_what_everybody_can_read_is_mounted_itself(open_folder: Path) -> None:
    task = open_folder / "task"
    task.mkdir()
    (task / "a.py").write_text("a")
    task.chmod(0o755)
    (task / "a.py").chmod(0o644)
    assert stage(task, open_folder / "copies") == task
    assert not (open_folder / "copies").exists()


@pytest.mark.parametrize("hidden", ["file", "folder", "parent"])
def test_what_not_everybody_can_read_is_copied(open_folder: Path, hidden: str) -> None:
    task = open_folder / "home" / "task"
    (task / "inner").mkdir(parents=True)
    (task / "inner" / "a.py").write_text("a")
    (task / "link").symlink_to("inner/a.py")
    {"file": task / "inner" / "a.py", "folder": task / "inner", "parent": task.parent}[hidden].chmod(0o700)
    copy = stage(task, open_folder / "copies")
    assert copy == open_folder / "copies" / "0"
    assert (copy / "inner" / "a.py").read_text() == "a"
    assert oct((copy / "inner" / "a.py").stat().st_mode & 0o777) == "0o644"
    assert oct((copy / "inner").stat().st_mode & 0o777) == "0o755"
    assert (copy / "link").readlink() == Path("inner/a.py")


def test_special_files_are_refused(open_folder: Path) -> None:
    os.mkfifo(open_folder / "pipe")
    with pytest.raises(SandboxError, match=r"pipe is a 'p' file; only plain files may be mounted"):
        stage(open_folder, open_folder / "copies")


def test_a_reachable_state_folder_is_used(open_folder: Path) -> None:
    assert reachable_state_dir(open_folder / "var") == open_folder / "var"


def test_a_private_one_is_replaced_by_a_shared_one(open_folder: Path) -> None:
    home = open_folder / "home"
    home.mkdir(mode=0o700)
    chosen = reachable_state_dir(home / "var", shared=open_folder / "shared")
    assert chosen == open_folder / "shared"
    assert oct(chosen.stat().st_mode & 0o777) == "0o711"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder away")
def test_a_shared_one_of_somebody_else_is_refused(open_folder: Path) -> None:
    home = open_folder / "home"
    home.mkdir(mode=0o700)
    chosen = reachable_state_dir(home / "var", shared=open_folder / "shared")
    os.chown(chosen, 12345, 12345)
    with pytest.raises(SandboxError, match="belongs to somebody else"):
        reachable_state_dir(home / "var", shared=open_folder / "shared")
