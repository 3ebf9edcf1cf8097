"""Reading and importing folders of upstream's layout, with all its known irregularities."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmark_tasks.domain.catalogue import load_catalogue
from benchmark_tasks.domain.content import file_path, tree_files, tree_path
from benchmark_tasks.domain.facts_suite import FACTS_SUITE, IMPORTED_DESCRIPTION
from benchmark_tasks.domain.folders import LFS_ADVICE
from benchmark_tasks.domain.importing import ImportReport, import_suite
from benchmark_tasks.domain.kit import build_kit
from benchmark_tasks.domain.paper_folder import TaskFolder, UpstreamFiles
from benchmark_tasks.domain.queries import current_version, revisions_of, runnable_revisions_of
from benchmark_tasks.domain.suite_folder import read_suite
from benchmark_tasks.facts.lmr_bench import lmr_bench
from benchmark_tasks.models import Suite, SuiteVersion, Task, TaskRevision
from tests.benchmark_tasks.reading import fatal, remarks
from tests.benchmark_tasks.upstream_layout import (
    LFS_POINTER,
    json_info,
    put,
    write_dataset,
    write_upstream_paper,
)
from tests.conftest import examples

NOT_PYTHON = "unit_test_file unit_test/unit_test_1.py is not valid Python:"
REPOSITORY = "05-SimPO/SimPO"


@pytest.fixture
def dataset(tmp_path: Path) -> Path:
    """A data set of one paper, ``simpo/1``."""
    return write_dataset(tmp_path / "benchmark", {"05-SimPO": json_info()})


def task_of(folder: Path) -> TaskFolder:
    suite = read_suite(folder)
    assert fatal(suite) == []
    return suite.papers[0].tasks[0]


class TestReading:
    def test_a_folder_as_it_is(self, dataset: Path) -> None:
        suite = read_suite(dataset)
        assert suite.problems == []
        (paper,) = suite.papers
        assert (paper.info.slug, paper.info.instance_id) == ("simpo", "5")
        assert paper.paper_file == dataset / REPOSITORY / "paper.pdf"
        assert paper.dockerfile == dataset / "05-SimPO/Dockerfile"
        assert paper.repository_files == (
            "README.md",
            "paper.json",
            "paper.pdf",
            "data/archive.tar.gz",
            "data/archive.zip",
            "src/trainers.py",
            "unit_test/unit_test_1.py",
        )
        (task,) = paper.tasks
        assert (task.info.protocol, task.info.environment, task.unit_test_file) == (
            "upstream",
            "",
            "unit_test/unit_test_1.py",
        )
        assert (task.reasons, task.masked_line) == ((), 4)
        golden = (dataset / "05-SimPO/golden_files/trainers_golden.py").read_bytes()
        assert task.grading == UpstreamFiles(golden, "unit_test/unit_test_1.py")

    def test_a_test_of_another_name_is_taken_with_a_remark(self, dataset: Path) -> None:
        put(dataset / "05-SimPO/info.json", json_info({"unit_test_file": "unit_test/unit_test.py"}))
        assert task_of(dataset).unit_test_file == "unit_test/unit_test_1.py"
        assert remarks(read_suite(dataset)) == [
            f"{REPOSITORY}/unit_test/unit_test_1.py: is taken as the unit test of simpo/1, whose own does not exist"
        ]

    def test_a_repository_of_another_name_is_taken_with_a_remark(self, dataset: Path) -> None:
        (dataset / REPOSITORY).rename(dataset / "05-SimPO/SimPO-main")
        suite = read_suite(dataset)
        assert suite.papers[0].tasks[0].reasons == ()
        assert suite.papers[0].info.repo_folder_name == "SimPO-main"
        remark = "is taken as the repository, since there is no folder 'SimPO'"
        assert remarks(suite) == [f"05-SimPO/SimPO-main: {remark}"]

    @pytest.mark.parametrize(
        ("name", "content", "reason"),
        [
            (
                f"{REPOSITORY}/unit_test/unit_test_1.py",
                LFS_POINTER,
                f"unit_test_file unit_test/unit_test_1.py {LFS_ADVICE}",
            ),
            (
                f"{REPOSITORY}/unit_test/unit_test_1.py",
                "# 结果\n".encode("gbk"),
                f"{NOT_PYTHON} it cannot be read as text (invalid or missing encoding declaration); save it as UTF-8",
            ),
            (f"{REPOSITORY}/unit_test/tensors/losses.pt", LFS_POINTER, f"unit_test/tensors/losses.pt {LFS_ADVICE}"),
        ],
    )
    def test_not_runnable(self, dataset: Path, name: str, content: bytes, reason: str) -> None:
        put(dataset / name, content)
        read = task_of(dataset)
        assert read.reasons == (reason,)
        assert read.grading is None
        assert any(f"simpo/1 is not runnable: {reason}" in remark for remark in remarks(read_suite(dataset)))


@pytest.mark.django_db
class TestImporting:
    def load(self, folder: Path, **changes: Any) -> ImportReport:
        return import_suite(folder=folder, slug="up", **changes)

    def test_rows_and_content(self, dataset: Path) -> None:
        report = self.load(dataset)
        assert (report.created, report.not_runnable, report.problems) == (("simpo/1",), {}, ())
        revision = TaskRevision.objects.get()
        assert (revision.protocol, revision.unit_test_file, revision.environment, revision.check_settings) == (
            "upstream",
            "unit_test/unit_test_1.py",
            "",
            {},
        )
        assert file_path(revision.dockerfile_hash).read_bytes().startswith(b"FROM python")
        repository = tree_files(revision.repository_hash)
        grading = tree_files(revision.grading_hash)
        assert {*grading} == {"check.json", *(f"reference/{name}" for name in repository)}
        assert json.loads(grading["check.json"].read_text()) == {
            "protocol": "upstream",
            "unit_test": "unit_test/unit_test_1.py",
        }
        changed = [n for n, path in repository.items() if path.read_bytes() != grading[f"reference/{n}"].read_bytes()]
        assert changed == ["src/trainers.py"]
        golden = (dataset / "05-SimPO/golden_files/trainers_golden.py").read_bytes()
        assert grading["reference/src/trainers.py"].read_bytes() == golden

    def test_where_the_goal_is_the_test_the_golden_file_replaces_it_whole(self, tmp_path: Path) -> None:
        task = {"goal_file": "unit_test/unit_test_1.py", "golden_file": "golden_files/unit_test_1_golden.py"}
        self.load(write_dataset(tmp_path, {"05-SimPO": json_info(task)}))
        reference = tree_path(TaskRevision.objects.get().grading_hash) / "reference/unit_test/unit_test_1.py"
        assert reference.read_bytes() == (tmp_path / "05-SimPO/golden_files/unit_test_1_golden.py").read_bytes()

    def test_a_missing_file_that_comes_makes_the_task_runnable(self, dataset: Path) -> None:
        pointer = dataset / REPOSITORY / "unit_test/tensors/losses.pt"
        put(pointer, LFS_POINTER)
        reason = "unit_test/tensors/losses.pt is a Git LFS pointer; fetch the file with 'git lfs pull' and import again"
        assert self.load(dataset).not_runnable == {"simpo/1": (reason,)}
        assert self.load(dataset).version is None
        pointer.write_bytes(b"the real data")
        report = self.load(dataset)
        assert (report.changed, report.not_runnable) == (("simpo/1",), {})
        assert report.version is not None
        assert report.version.number == 2
        assert self.load(dataset).version is None

    def test_declared_equivalent_mutants_make_no_revision(self, dataset: Path) -> None:
        self.load(dataset)
        mutant = {"mutant": "line 5: `a < b` -> `a <= b`", "reason": "a and b are never equal"}
        put(dataset / "05-SimPO/info.json", json_info({"equivalent_mutants": [mutant]}))
        report = self.load(dataset)
        assert (report.version, report.unchanged) == (None, ("simpo/1",))
        assert TaskRevision.objects.get().equivalent_mutants == [mutant]


fuzzed = settings(max_examples=examples(40))


class TestFuzz:
    """Any content of a folder in upstream's layout yields problems and reasons, never an exception."""

    @fuzzed
    @given(st.binary(max_size=200), st.sampled_from(["unit_test/unit_test_1.py", "src/trainers.py", "paper.pdf"]))
    def test_any_file(self, tmp_path: Path, data: bytes, name: str) -> None:
        folder = tmp_path / "any"
        write_upstream_paper(folder, "05-SimPO", json_info())
        put(folder / REPOSITORY / name, data)
        assert read_suite(folder).papers


FACTS = {task.slug for task in lmr_bench().tasks}


def load(folder: Path) -> ImportReport:
    return import_suite(folder=folder, slug=FACTS_SUITE)


def newest() -> SuiteVersion:
    version = current_version(Suite.objects.get(slug=FACTS_SUITE))
    assert version is not None
    return version


@pytest.mark.django_db
@pytest.mark.upstream
class TestUpstreamsOwnInfo:
    """All 29 of upstream's info.json files, each with made-up code beside it."""

    @pytest.fixture
    def dataset(self, tmp_path: Path, shared: Path) -> Path:
        files = sorted((shared / "info").glob("*.json"))
        return write_dataset(tmp_path / "benchmark", {file.stem: file.read_bytes() for file in files})

    def test_an_import_keeps_the_tasks_of_the_facts(self, dataset: Path) -> None:
        load_catalogue()
        before = dict(Task.objects.filter(suite__slug=FACTS_SUITE).values_list("slug", "pk"))
        report = import_suite(folder=dataset, slug=FACTS_SUITE, with_overlays=False)
        after = dict(Task.objects.filter(suite__slug=FACTS_SUITE).values_list("slug", "pk"))
        assert {slug: after[slug] for slug in before} == before
        assert (len(before), len(after), report.removed) == (28, 35, ())
        assert set(report.changed) == FACTS
        assert [slug for slug in report.created if slug in FACTS] == []
        assert set(report.not_runnable) == {"devient/1"}
        assert "info.json names no goal_function" in report.not_runnable["devient/1"]
        assert report.suite.description == IMPORTED_DESCRIPTION
        assert {r.protocol for r in revisions_of(newest())} == {"upstream"}
        assert import_suite(folder=dataset, slug=FACTS_SUITE, with_overlays=False).version is None

    def test_every_shipped_overlay_fits(self, dataset: Path) -> None:
        report = load(dataset)
        # The made-up file does not have the lines that the overlay cuts out of upstream's.
        assert [str(problem) for problem in report.problems if "overlay" in problem.message] == [
            "14-EmojiCrypt/EmojiCrypt-main/Tabular.py: has other lines than the overlay leaves out; they stay"
        ]
        revisions = list(revisions_of(newest()))
        assert [(each.task.slug, each.protocol) for each in revisions if each.protocol != "sealed"] == []
        assert [each.task.slug for each in revisions if not each.overlay] == []
        # Only the project's correction names its goal, so there is no made-up code for it.
        assert set(report.not_runnable) == {"devient/1"}
        assert load(dataset).version is None

    def test_references_hold_the_solution_and_kits_do_not(self, dataset: Path) -> None:
        load(dataset)
        for revision in runnable_revisions_of(newest()):
            solved = f"solved-{revision.goal_function}".encode()
            reference = tree_files(revision.grading_hash)[f"reference/{revision.goal_file}"]
            assert solved in reference.read_bytes()
            assert [n for n, p in tree_files(revision.repository_hash).items() if b"solved-" in p.read_bytes()] == []
        assert build_kit(newest()).stat().st_size > 0


@pytest.mark.django_db
class TestPartsOfTheBenchmark:
    def test_an_import_before_the_catalogue_creates_the_facts_version_first(self, tmp_path: Path) -> None:
        """Published results need a version with exactly the benchmark's tasks, even if an import comes first."""
        folder = write_dataset(tmp_path, {"05-SimPO": json_info(), "40-Other": json_info()})
        put(folder / "28-SPIN/info.json", b"{")
        report = load(folder)
        assert (set(report.changed), report.created, report.left_out) == ({"simpo/1"}, ("other/1",), ("28-SPIN",))
        assert [version.revisions.count() for version in SuiteVersion.objects.order_by("number")] == [28, 29]
        assert (report.suite.title, report.suite.position) == (lmr_bench().title, 1)
