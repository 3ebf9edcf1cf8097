"""Suite folders that refer to files outside or fill the host: an operator may import untrusted ones."""

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
GOLDEN = "golden_files/core_golden_1.py"


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


def stored() -> tuple[bool, bool]:
    """Whether the content store holds more than 100 kB, and whether the secret is in it."""
    files = [path.read_bytes() for path in (settings.DATA_DIR / "content").rglob("*") if path.is_file()]
    return sum(map(len, files)) > 100_000, any(SECRET.encode() in data for data in files)


@pytest.mark.parametrize(
    ("name", "make", "runnable"),
    [
        ("scoring-repo/scoring/tables.py", link, True),
        ("scoring-repo/pipe", pipe, True),
        ("paper.pdf", pipe, True),
        ("paper.pdf", sparse, True),
        (GOLDEN, pipe, False),
        (GOLDEN, sparse, False),
        ("scoring-repo/huge.bin", sparse, False),
        ("scoring-repo/many", many, False),
        (GOLDEN, link, None),
        ("unit_test/cases.py", link, None),
        ("paper.pdf", link, None),
    ],
)
def test_only_small_regular_files_are_stored(
    name: str, make: Callable[[Path, Path], None], runnable: bool | None, tmp_path: Path
) -> None:
    """The rest is imported, its first task ``runnable`` or not; with None, the import is refused."""
    (tmp_path / "secret.py").write_text(SECRET)
    place = write_suite(tmp_path / "suite") / "01-Alpha" / name
    place.unlink(missing_ok=True)
    make(place, tmp_path / "secret.py")
    if runnable is None:
        with pytest.raises(ImportRefusedError):
            import_suite(folder=tmp_path / "suite", slug="small")
        assert not Suite.objects.exists()
    else:
        import_suite(folder=tmp_path / "suite", slug="small")
        assert (not TaskRevision.objects.get(task__index=1).not_runnable_reasons) is runnable
    assert stored() == (False, False)


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
    assert stored() == (False, False)
