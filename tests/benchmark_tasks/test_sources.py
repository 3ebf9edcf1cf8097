"""Where a suite comes from: a folder in any of upstream's layouts, or a git repository's newest commit with papers."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

import pytest

from benchmark_tasks.domain.sources import SourceUnavailableError, suite_source
from tests.benchmark_tasks.upstream_layout import json_info, put, write_dataset

if TYPE_CHECKING:
    from pathlib import Path

PAPER = "05-SimPO"


def git(folder: Path, *arguments: str) -> str:
    identity = ("-c", "user.name=Tests", "-c", "user.email=tests@example.org", "-c", "init.defaultBranch=main")
    done = subprocess.run(["git", *identity, *arguments], cwd=folder, capture_output=True, text=True, check=True)
    return done.stdout.strip()


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A git repository whose data set was added, changed and then removed, as upstream's was."""
    home = tmp_path / "upstream"
    home.mkdir()
    git(home, "init", "--quiet")
    write_dataset(home / "benchmark", {PAPER: json_info()})
    for text in ("first", "second"):
        put(home / "benchmark" / PAPER / "SimPO/README.md", text)
        git(home, "add", "--all", "--force")
        git(home, "commit", "--quiet", "--message", text)
    git(home, "rm", "--quiet", "-r", "benchmark")
    put(home / "README.md", "The data set lies elsewhere.")
    git(home, "add", "README.md")
    git(home, "commit", "--quiet", "--message", "remove the data set")
    put(home / "README.md", "Later.")
    git(home, "commit", "--quiet", "--all", "--message", "later")
    return home


def test_the_folder_with_the_papers_is_found(tmp_path: Path) -> None:
    write_dataset(tmp_path / "copy/benchmark/datasets", {PAPER: json_info()})
    for place in ("copy", "copy/benchmark", "copy/benchmark/datasets"):
        folder = tmp_path / place
        found = suite_source(str(folder), folder=folder, keep=tmp_path / "keep")
        assert found == tmp_path / "copy/benchmark/datasets"
    assert not (tmp_path / "keep").exists()


@pytest.mark.parametrize("as_address", [True, False], ids=["address", "clone"])
def test_a_repository_gives_its_newest_commit_with_papers(repository: Path, tmp_path: Path, as_address: bool) -> None:
    source = f"file://{repository}" if as_address else str(repository)
    folder = tmp_path / "nothing" if as_address else repository
    found = suite_source(source, folder=folder, keep=tmp_path / "keep")
    commit = git(repository, "rev-parse", "HEAD~2")
    assert found == tmp_path / "keep" / commit / "benchmark"
    assert (found / PAPER / "SimPO/README.md").read_text() == "second"
    assert [path.name for path in (tmp_path / "keep").iterdir()] == [commit]
    assert not (found.parent / ".git").exists()
    (found / PAPER / "SimPO/README.md").write_text("kept")
    again = suite_source(source, folder=folder, keep=tmp_path / "keep")
    assert (again / PAPER / "SimPO/README.md").read_text() == "kept"


def test_papers_at_the_newest_commit(repository: Path, tmp_path: Path) -> None:
    git(repository, "reset", "--quiet", "--hard", "HEAD~2")
    found = suite_source(f"file://{repository}", folder=tmp_path / "nothing", keep=tmp_path / "keep")
    assert (found / PAPER / "SimPO/README.md").read_text() == "second"


def test_a_bare_repository(repository: Path, tmp_path: Path) -> None:
    git(tmp_path, "clone", "--quiet", "--bare", str(repository), "bare")
    found = suite_source("bare", folder=tmp_path / "bare", keep=tmp_path / "keep")
    assert (found / PAPER / "info.json").is_file()


def test_invalid_sources_are_refused(tmp_path: Path) -> None:
    def refused(source: str, folder: Path) -> str:
        with pytest.raises(SourceUnavailableError) as error:
            suite_source(source, folder=folder, keep=tmp_path / "keep")
        return str(error.value)

    empty = tmp_path / "empty"
    empty.mkdir()
    git(tmp_path, "init", "--quiet", "fresh")
    put(tmp_path / "fresh/README.md", "no papers")
    git(tmp_path / "fresh", "add", "README.md")
    git(tmp_path / "fresh", "commit", "--quiet", "--message", "one")
    where = f"{empty} has no papers: each must be in its own folder with an info.json"
    assert refused("empty", empty) == where
    assert refused("nowhere", tmp_path / "nowhere") == (
        "nowhere is neither a folder nor a git address such as https://HOST/OWNER/NAME"
    )
    never = f"{tmp_path / 'fresh'} never held a paper with an info.json"
    assert refused("fresh", tmp_path / "fresh") == never
    assert "does not appear to be a git repository" in refused(f"file://{empty}", tmp_path / "nowhere")
    assert refused("--upload-pack=touch@x", tmp_path / "nowhere").startswith("git failed: ")
