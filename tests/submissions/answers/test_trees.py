from __future__ import annotations

import os
from typing import TYPE_CHECKING

from submissions.answers.trees import scratch_folder

if TYPE_CHECKING:
    from pathlib import Path

    import pytest


def test_a_scratch_folder_is_removed_whatever_lies_in_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "kept.txt").write_text("kept")
    with scratch_folder(tmp_path) as folder:
        monkeypatch.chdir(folder)
        # Deeper than a path can be written, and than shutil.rmtree recurses.
        for _ in range(1500):
            os.mkdir("nested")  # noqa: PTH102 - relative, step by step
            os.chdir("nested")
        os.close(os.open("file", os.O_CREAT | os.O_WRONLY))
        os.chdir(tmp_path)
        closed = folder / "closed" / "inner"
        closed.mkdir(parents=True)
        (closed / "link").symlink_to(outside)
        closed.chmod(0)
        closed.parent.chmod(0o500)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["outside"]
    assert (outside / "kept.txt").read_text() == "kept"
