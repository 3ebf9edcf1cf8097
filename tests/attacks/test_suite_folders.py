"""Suite folders that try to reach beyond themselves or to fill the host: what an operator imports may be anybody's."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest
from django.conf import settings

from benchmark_tasks.domain.folders import MAXIMUM_TREE_FILES
from benchmark_tasks.domain.importing import import_suite
from benchmark_tasks.domain.problems import ImportRefusedError
from benchmark_tasks.models import Suite, TaskRevision
from tests.benchmark_tasks.factories import CHECK, info, write_suite
from tests.submissions.conftest import data_dir

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

__all__ = ["data_dir"]

pytestmark = pytest.mark.django_db

SECRET = "host-secret-content"


def replace(name: str, make: Callable[[Path, Path], None]) -> Callable[[Path, Path], None]:
    """Put something else in a file's place; ``make`` gets the place and a secret file outside the suite."""

    def change(paper: Path, secret: Path) -> None:
        place = paper / name
        place.unlink(missing_ok=True)
        make(place, secret)

    return change


def sparse(place: Path, _: Path) -> None:
    with place.open("wb") as file:
        file.truncate(50 * 1024**3)


def many(place: Path, _: Path) -> None:
    place.mkdir()
    for number in range(MAXIMUM_TREE_FILES + 1):
        (place / str(number)).touch()


def link(place: Path, secret: Path) -> None:
    place.symlink_to(secret)


def pipe(place: Path, _: Path) -> None:
    os.mkfifo(place)


HARMLESS = {
    "a repository file is a link": replace("scoring-repo/scoring/tables.py", link),
    "the repository holds a pipe": replace("scoring-repo/pipe", pipe),
    "the paper is a pipe": replace("paper.pdf", pipe),
    "the paper is huge": replace("paper.pdf", sparse),
}
NOT_RUNNABLE = {
    "the golden file is a pipe": replace("golden_files/core_golden_1.py", pipe),
    "the golden file is huge": replace("golden_files/core_golden_1.py", sparse),
    "a repository file is huge": replace("scoring-repo/huge.bin", sparse),
    "the repository has too many files": replace("scoring-repo/many", many),
}
REFUSED = {
    "the golden file is a link": replace("golden_files/core_golden_1.py", link),
    "the cases are a link": replace("unit_test/cases.py", link),
    "the paper is a link": replace("paper.pdf", link),
}


def imported(tmp_path: Path, change: Callable[[Path, Path], None]) -> dict[str, bool]:
    """Which tasks can be run after importing a changed suite."""
    secret = tmp_path / "secret.py"
    secret.write_text(SECRET)
    change(write_suite(tmp_path / "suite") / "01-Alpha", secret)
    import_suite(folder=tmp_path / "suite", slug="small")
    return {revision.task.slug: not revision.not_runnable_reasons for revision in TaskRevision.objects.all()}


def stored() -> tuple[int, bool]:
    """How many bytes the content store holds, and whether the secret is among them."""
    content = settings.DATA_DIR / "content"
    files = [path.read_bytes() for path in content.rglob("*") if path.is_file()]
    return sum(map(len, files)), any(SECRET.encode() in data for data in files)


@pytest.mark.parametrize("name", HARMLESS)
def test_what_is_not_needed_is_left_out(name: str, tmp_path: Path) -> None:
    assert imported(tmp_path, HARMLESS[name]) == {"alpha/1": True, "alpha/2": True}
    size, leaked = stored()
    assert size < 100_000
    assert not leaked


@pytest.mark.parametrize("name", NOT_RUNNABLE)
def test_a_task_without_its_files_cannot_be_run(name: str, tmp_path: Path) -> None:
    assert imported(tmp_path, NOT_RUNNABLE[name])["alpha/1"] is False
    assert stored()[0] < 100_000


@pytest.mark.parametrize("name", REFUSED)
def test_a_link_in_a_named_file_s_place_is_not_followed(name: str, tmp_path: Path) -> None:
    with pytest.raises(ImportRefusedError):
        imported(tmp_path, REFUSED[name])
    assert not Suite.objects.exists()
    assert stored()[1] is False


@pytest.mark.parametrize(
    "task",
    [
        {"golden_file": "../../secret.py"},
        {"golden_file": "/etc/passwd"},
        {"goal_file": "../../../secret.py"},
        {"unit_test_file": "unit_test/../../../secret.py"},
        {"check": {**CHECK, "cases_file": "..\\..\\secret.py"}},
        {"retrieval_context": ["../golden_files/core_golden_1.py"]},
    ],
    ids=lambda task: next(iter(task)),
)
def test_a_path_that_leaves_the_folder_refuses_the_import(task: dict[str, object], tmp_path: Path) -> None:
    (tmp_path / "secret.py").write_text(SECRET)
    write_suite(tmp_path / "suite", info=info(task=task))
    with pytest.raises(ImportRefusedError):
        import_suite(folder=tmp_path / "suite", slug="small")
    assert not Suite.objects.exists()
    assert stored() == (0, False)
