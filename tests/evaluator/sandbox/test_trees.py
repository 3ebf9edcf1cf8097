"""Folders on the host: what is linked, what is copied so that the boxes' user can read it, and what is refused."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from evaluator.sandbox.trees import link_tree, reachable_state_dir, readable_mounts, tree_digest
from evaluator.sandbox.types import BoxSpec, Mount, SandboxError


@pytest.fixture
def open_folder(state_dir: Path, request: pytest.FixtureRequest) -> Path:
    """A folder that everybody may pass through."""
    folder = state_dir / f"trees-{request.node.name}"
    folder.mkdir()
    folder.chmod(0o755)
    return folder


def readable(source: Path, copies: Path) -> Path:
    spec = BoxSpec(label="test", argv=("python",), mounts=(Mount(source, "/box/a"),))
    (mount,) = readable_mounts(spec, copies).mounts
    assert mount.target == "/box/a"
    return mount.source


@pytest.mark.parametrize("hidden", ["file", "folder", "parent"])
def test_what_not_everybody_can_read_is_copied(open_folder: Path, hidden: str) -> None:
    task = open_folder / "home" / "task"
    (task / "inner").mkdir(parents=True)
    (task / "inner" / "a.py").write_text("a")
    (task / "link").symlink_to("inner/a.py")
    {"file": task / "inner" / "a.py", "folder": task / "inner", "parent": task.parent}[hidden].chmod(0o700)
    copy = readable(task, open_folder / "copies")
    assert copy == open_folder / "copies" / "0"
    assert (copy / "inner" / "a.py").read_text() == "a"
    assert oct((copy / "inner" / "a.py").stat().st_mode & 0o777) == "0o644"
    assert oct((copy / "inner").stat().st_mode & 0o777) == "0o755"
    assert (copy / "link").readlink() == Path("inner/a.py")


def test_special_files_are_refused(open_folder: Path) -> None:
    os.mkfifo(open_folder / "pipe")
    with pytest.raises(SandboxError, match=r"pipe is a 'p' file; only plain files may be mounted"):
        readable(open_folder, open_folder / "copies")


def test_a_state_folder_that_others_cannot_reach_is_replaced_by_a_shared_one(open_folder: Path) -> None:
    assert reachable_state_dir(open_folder / "var") == open_folder / "var"
    (open_folder / "home").mkdir(mode=0o700)
    chosen = reachable_state_dir(open_folder / "home" / "var", shared=open_folder / "shared")
    assert chosen == open_folder / "shared"
    assert oct(chosen.stat().st_mode & 0o777) == "0o711"
    if os.geteuid() == 0:
        os.chown(chosen, 12345, 12345)
        with pytest.raises(SandboxError, match="belongs to somebody else"):
            reachable_state_dir(open_folder / "home" / "var", shared=open_folder / "shared")


@pytest.mark.usefixtures("usual_umask")
def test_a_tree_is_linked_where_it_can_be(tmp_path: Path) -> None:
    source, target = tmp_path / "source", tmp_path / "target"
    (source / "folder").mkdir(parents=True, mode=0o700)
    (source / "folder" / "open").touch(mode=0o644)
    (source / "folder" / "compiled.pyc").touch(mode=0o644)
    (source / "folder" / "private").touch(mode=0o600)
    (source / "link").symlink_to("/etc/passwd")
    (source / "su").touch()
    (source / "su").chmod(0o4755)
    link_tree(source, target, bytecode=False)
    assert sorted(path.name for path in (target / "folder").iterdir()) == ["open", "private"]
    assert (target / "folder" / "open").stat().st_ino == (source / "folder" / "open").stat().st_ino
    modes = {name: oct((target / name).stat().st_mode & 0o7777) for name in ("folder", "folder/private", "su")}
    assert modes == {"folder": "0o755", "folder/private": "0o444", "su": "0o555"}
    assert (target / "link").readlink() == Path("/etc/passwd")


def test_the_digest_covers_names_and_contents_but_not_bytecode(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("1")
    first = tree_digest(tmp_path)
    (tmp_path / "a.pyc").write_text("x")
    assert tree_digest(tmp_path) == first
    (tmp_path / "a.py").write_text("2")
    second = tree_digest(tmp_path)
    (tmp_path / "a.py").rename(tmp_path / "b.py")
    assert len({first, second, tree_digest(tmp_path)}) == 3


def test_what_everybody_can_read_is_mounted_itself(open_folder: Path) -> None:
    task = open_folder / "task"
    task.mkdir()
    (task / "a.py").write_text("a")
    task.chmod(0o755)
    (task / "a.py").chmod(0o644)
    assert readable(task, open_folder / "copies") == task
    assert not (open_folder / "copies").exists()
