"""Importing suite folders into the catalogue."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from benchmark_tasks.domain.content import file_path, tree_files, tree_path
from benchmark_tasks.domain.importing import ImportReport, import_suite
from benchmark_tasks.domain.problems import ImportRefusedError
from benchmark_tasks.domain.queries import has_code, revisions_of, runnable_revisions_of
from benchmark_tasks.enums import AuditState
from benchmark_tasks.models import Paper, SuiteVersion, Task, TaskRevision
from benchmark_tasks.signals import suite_imported
from tests.benchmark_tasks.factories import (
    CASES,
    CHECK,
    FILES,
    GOLDEN_1,
    GOLDEN_2,
    INFO,
    PDF,
    RUN_1,
    SuiteVersionFactory,
    info,
    write_paper,
)

if TYPE_CHECKING:
    from pathlib import Path

    from pytest_django import DjangoAssertNumQueries, DjangoCaptureOnCommitCallbacks

LFS_POINTER = b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 9\n"

pytestmark = pytest.mark.django_db


def load(folder: Path, **changes: Any) -> ImportReport:
    return import_suite(folder=folder, slug="small", **changes)


def revision(slug: str, number: int = 1) -> TaskRevision:
    return TaskRevision.objects.get(task__slug=slug, number=number)


def content(tree: str) -> dict[str, str]:
    return {name: path.read_text() for name, path in tree_files(tree).items()}


@pytest.mark.both_databases
class TestFirstImport:
    def test_report(self, suite_folder: Path) -> None:
        report = load(suite_folder)
        assert (report.created, report.changed, report.unchanged, report.removed) == (
            ("alpha/1", "alpha/2"),
            (),
            (),
            (),
        )
        assert (report.not_runnable, report.problems) == ({}, ())
        assert report.version is not None
        assert (report.version.number, report.version.changes) == (1, "First.\nAdded alpha/1, alpha/2.")

    def test_a_revision_has_all_its_fields(self, suite_folder: Path) -> None:
        load(suite_folder)
        found = revision("alpha/2")
        assert found.category is not None
        assert (found.category.slug, found.category_source) == ("training-objectives-optimization", "upstream")
        assert (found.goal_file, found.goal, found.protocol, found.environment) == (
            "scoring/core.py",
            "Scorer.score",
            "sealed",
            "numpy",
        )
        assert found.masked_line == 20
        assert found.masked_source.splitlines()[0] == "    def score(self, x):"
        assert found.check_settings["comparison"]["outputs"]["value"]["exact"] is True
        assert found.runnable

    def test_stored_content(self, suite_folder: Path) -> None:
        load(suite_folder)
        found = revision("alpha/1")
        repository = {
            name.removeprefix("scoring-repo/"): text for name, text in FILES.items() if name.startswith("scoring-repo/")
        }
        assert content(found.repository_hash) == repository
        grading = content(found.grading_hash)
        assert json.loads(grading.pop("check.json")) == found.check_settings
        assert grading == {
            **{f"reference/{name}": text for name, text in repository.items()},
            "reference/scoring/core.py": GOLDEN_1,
            "cases.py": CASES,
            "run.py": RUN_1,
        }
        assert (tree_path(revision("alpha/2").grading_hash) / "reference/scoring/core.py").read_text() == GOLDEN_2
        assert file_path(found.paper_hash).read_bytes() == PDF


class TestRepeatedImport:
    def test_same_content_changes_nothing(self, suite_folder: Path) -> None:
        load(suite_folder)
        report = load(suite_folder)
        assert (report.version, report.unchanged, report.created, report.changed) == (
            None,
            ("alpha/1", "alpha/2"),
            (),
            (),
        )
        assert (SuiteVersion.objects.count(), TaskRevision.objects.count()) == (1, 2)

    @pytest.mark.parametrize(
        ("task", "fields"),
        [
            ({"golden_file": "samples/wrong_1.py"}, ["grading_hash"]),
            ({"instruction": "Do it."}, ["statement_hash"]),
            ({"retrieval_context": []}, ["statement_hash"]),
            ({"category": ""}, []),
            ({"environment": "torch"}, []),
            ({"check": {**CHECK, "wall_seconds": 21}}, ["grading_hash"]),
        ],
    )
    def test_which_hash_changes(self, suite_folder: Path, task: dict[str, Any], fields: list[str]) -> None:
        load(suite_folder)
        write_paper(suite_folder, info=info(task))
        report = load(suite_folder)
        assert (report.changed, report.unchanged) == (("alpha/1",), ("alpha/2",))
        assert report.version is not None
        assert (report.version.number, report.version.changes) == (2, "Changed alpha/1.")
        assert [str(r) for r in revisions_of(report.version)] == ["alpha/1 r2", "alpha/2 r1"]
        hashes = ("statement_hash", "repository_hash", "grading_hash")
        before, after = revision("alpha/1"), revision("alpha/1", 2)
        assert [name for name in hashes if getattr(before, name) != getattr(after, name)] == fields

    def test_samples_and_paper_data_make_no_revision(self, suite_folder: Path) -> None:
        load(suite_folder)
        write_paper(suite_folder, info=info(paper_name="Better"), files={"samples/wrong_1.py": "x = 2\n"})
        assert load(suite_folder).version is None
        assert Paper.objects.get().title == "Better"

    def test_a_removed_task_leaves_the_new_version_and_may_return(self, suite_folder: Path) -> None:
        load(suite_folder)
        write_paper(suite_folder, info=info(implementations=INFO["implementations"][:1]))
        report = load(suite_folder)
        assert (report.removed, report.unchanged) == (("alpha/2",), ("alpha/1",))
        assert report.version is not None
        assert [str(r) for r in revisions_of(report.version)] == ["alpha/1 r1"]
        assert Task.objects.count() == 2
        write_paper(suite_folder)
        report = load(suite_folder)
        assert (report.changed, report.created) == (("alpha/2",), ())
        assert report.version is not None
        assert [str(r) for r in revisions_of(report.version)] == ["alpha/1 r1", "alpha/2 r1"]

    @pytest.mark.both_databases
    def test_content_that_returns_is_the_old_revision(self, suite_folder: Path) -> None:
        load(suite_folder)
        TaskRevision.objects.update(audit_state=AuditState.PASSED)
        write_paper(suite_folder, info=info({"instruction": "Do it."}))
        load(suite_folder)
        write_paper(suite_folder)
        report = load(suite_folder)
        assert report.version is not None
        assert report.version.number == 3
        assert [(str(r), r.audit_state) for r in revisions_of(report.version)] == [
            ("alpha/1 r1", "passed"),
            ("alpha/2 r1", "passed"),
        ]

    def test_versions_share_the_seed_epoch(self, suite_folder: Path) -> None:
        load(suite_folder)
        write_paper(suite_folder, "02-Beta")
        report = load(suite_folder)
        assert report.created == ("beta/1", "beta/2")
        assert len(set(SuiteVersion.objects.values_list("seed_epoch__key", flat=True))) == 1


class TestNotRunnable:
    def test_stored_with_reasons_and_takes_no_answers(self, suite_folder: Path) -> None:
        (suite_folder / "01-Alpha/golden_files/core_golden_1.py").unlink()
        report = load(suite_folder)
        reason = "golden_file golden_files/core_golden_1.py is missing"
        assert report.not_runnable == {"alpha/1": (reason,)}
        found = revision("alpha/1")
        assert (found.not_runnable_reasons, found.grading_hash, found.runnable) == ([reason], "", False)
        assert report.version is not None
        assert [r.task.slug for r in runnable_revisions_of(report.version)] == ["alpha/2"]


class TestErrorsOfForm:
    @pytest.mark.parametrize(
        "broken",
        [b"{", LFS_POINTER],
    )
    def test_a_broken_paper_leaves_the_others_alone(self, suite_folder: Path, broken: bytes) -> None:
        write_paper(suite_folder, "02-Beta", info=broken)
        report = load(suite_folder)
        assert (report.created, report.left_out) == (("alpha/1", "alpha/2"), ("02-Beta",))
        assert [(p.file, p.fatal, p.whole) for p in report.problems] == [("02-Beta/info.json", True, False)]

    @pytest.mark.both_databases
    def test_a_paper_that_becomes_invalid_keeps_its_tasks(self, suite_folder: Path) -> None:
        write_paper(suite_folder, "02-Beta")
        load(suite_folder)
        write_paper(suite_folder, "02-Beta", info=b"{")
        report = load(suite_folder)
        assert (report.version, report.removed, report.tasks) == (None, (), ("alpha/1", "alpha/2", "beta/1", "beta/2"))
        write_paper(suite_folder, info=info({"instruction": "Do it."}))
        report = load(suite_folder)
        assert report.version is not None
        assert [str(r) for r in revisions_of(report.version)] == ["alpha/1 r2", "alpha/2 r1", "beta/1 r1", "beta/2 r1"]

    @pytest.mark.parametrize("slug", ["", "a/b", "a" * 51])
    def test_slug(self, suite_folder: Path, slug: str) -> None:
        with pytest.raises(ImportRefusedError, match="is not a slug"):
            import_suite(folder=suite_folder, slug=slug)


class TestSignal:
    def test_sent_after_commit_for_a_new_version_only(
        self, suite_folder: Path, django_capture_on_commit_callbacks: DjangoCaptureOnCommitCallbacks
    ) -> None:
        received: list[tuple[str, object]] = []

        def receive(sender: object, suite_version: SuiteVersion, actor: object, **_: object) -> None:
            received.append((str(suite_version), actor))

        suite_imported.connect(receive)
        try:
            with django_capture_on_commit_callbacks(execute=True):
                load(suite_folder, actor="operator")
                assert received == []
            with django_capture_on_commit_callbacks(execute=True):
                load(suite_folder)
        finally:
            suite_imported.disconnect(receive)
        assert received == [("small v1", "operator")]


@pytest.mark.both_databases
class TestQueries:
    @pytest.mark.parametrize("tasks", [1, 3])
    def test_one_query_for_any_number_of_tasks(
        self, tasks: int, django_assert_num_queries: DjangoAssertNumQueries
    ) -> None:
        version = SuiteVersionFactory(tasks=tasks)
        with django_assert_num_queries(1):
            shown = [(r.task.paper.title, r.category and r.category.title) for r in revisions_of(version)]
        assert len(shown) == tasks

    def test_has_code(self) -> None:
        version = SuiteVersionFactory(tasks=1)
        assert has_code(version)
        TaskRevision.objects.update(audit_state=AuditState.FAILED)
        assert not has_code(version)
