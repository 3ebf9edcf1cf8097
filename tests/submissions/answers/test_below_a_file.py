"""A new file whose folder is a file or a link: on disk it could not be written, or would be written elsewhere."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmark_tasks.domain.goals import Goal
from submissions.answers.patches import apply_files
from submissions.answers.tree_answers import TreeFolder, answers_of
from submissions.answers.types import ProtectedPathError, TaskFiles

GOAL = Goal("alpha/1", "model.py", "f")
RIGHT = b"def f():\n    return 1\n"


@pytest.fixture
def task(tmp_path: Path) -> TaskFiles:
    folder = tmp_path / "repository"
    folder.mkdir()
    (folder / "model.py").write_text("def f():\n    pass\n")
    (folder / "other.py").write_text("x = 1\n")
    (tmp_path / "elsewhere").mkdir()
    (folder / "link").symlink_to(tmp_path / "elsewhere")
    return TaskFiles(goal=GOAL, repository=folder)


@pytest.mark.parametrize(
    ("hostile", "parent"),
    [
        ({"other.py/x.txt": b"x\n"}, "other.py"),
        ({"link/x.txt": b"x\n"}, "link"),
        ({"new.py": b"x = 1\n", "new.py/x.txt": b"x\n"}, "new.py"),
        ({"new.py/x.txt": b"x\n", "new.py": b"x = 1\n"}, "new.py"),
    ],
)
def test_it_is_refused_in_an_answer_and_set_aside_in_a_tree(
    task: TaskFiles, hostile: dict[str, bytes], parent: str
) -> None:
    changed = {"model.py": RIGHT, **hostile}
    with pytest.raises(ProtectedPathError, match=f"lies below {parent}, which is no folder"):
        apply_files(task, changed)
    folder = TreeFolder(place="01-Alpha/repo", changed=changed, protected={})
    ((answer,), _) = answers_of(folder, {"alpha/1": task})
    assert [aside.file for aside in answer.aside] == [name for name in hostile if "/" in name]
    assert f"lies below {parent}, which is no folder" in answer.aside[0].message
    assert not any("/" in name for name in answer.files)
    assert apply_files(task, answer.files).files["model.py"] == RIGHT.decode()


def test_a_new_folder_is_fine(task: TaskFiles) -> None:
    assert set(apply_files(task, {"model.py": RIGHT, "parts/x.txt": b"x\n"}).files) == {
        "model.py",
        "parts/x.txt",
    }


def test_a_name_that_no_disk_takes_is_refused_and_set_aside(task: TaskFiles) -> None:
    name = "a" * 256 + ".txt"
    changed = {"model.py": RIGHT, name: b"x\n"}
    with pytest.raises(ProtectedPathError, match="has a path of more than 200 characters"):
        apply_files(task, changed)
    folder = TreeFolder(place="01-Alpha/repo", changed=changed, protected={})
    ((answer,), _) = answers_of(folder, {"alpha/1": task})
    assert list(answer.files) == ["model.py"]
