"""Importing the whole data set over the facts that every instance has: identities stay, nothing stops the rest."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from benchmark_tasks.domain.catalogue import load_catalogue
from benchmark_tasks.domain.content import tree_files
from benchmark_tasks.domain.facts_suite import CODE_NOT_SHIPPED, FACTS_SUITE, IMPORTED_DESCRIPTION
from benchmark_tasks.domain.importing import ImportReport, import_suite
from benchmark_tasks.domain.kit import build_kit
from benchmark_tasks.domain.queries import current_version, revisions_of, runnable_revisions_of
from benchmark_tasks.facts.lmr_bench import lmr_bench
from benchmark_tasks.models import Suite, SuiteVersion, Task
from tests.benchmark_tasks.upstream_layout import LFS_POINTER, json_info, put, write_dataset

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.django_db

FACTS = {task.slug for task in lmr_bench().tasks}


def load(folder: Path) -> ImportReport:
    return import_suite(folder=folder, slug=FACTS_SUITE)


def newest() -> SuiteVersion:
    version = current_version(Suite.objects.get(slug=FACTS_SUITE))
    assert version is not None
    return version


@pytest.mark.upstream
class TestUpstreamsOwnInfo:
    """All 29 of upstream's info.json files, each with made-up code beside it."""

    @pytest.fixture
    def dataset(self, tmp_path: Path, shared: Path) -> Path:
        files = sorted((shared / "info").glob("*.json"))
        return write_dataset(tmp_path / "benchmark", {file.stem: file.read_bytes() for file in files})

    def test_over_the_facts(self, dataset: Path) -> None:
        load_catalogue()
        before = dict(Task.objects.filter(suite__slug=FACTS_SUITE).values_list("slug", "pk"))
        report = load(dataset)
        after = dict(Task.objects.filter(suite__slug=FACTS_SUITE).values_list("slug", "pk"))
        assert {slug: after[slug] for slug in before} == before
        assert (len(before), len(after), report.removed) == (28, 35, ())
        assert set(report.changed) == FACTS
        assert [slug for slug in report.created if slug in FACTS] == []
        assert set(report.not_runnable) == {"devient/1"}
        assert "info.json names no goal_function" in report.not_runnable["devient/1"]
        assert report.suite.description == IMPORTED_DESCRIPTION
        assert {r.protocol for r in revisions_of(newest())} == {"upstream"}
        assert load(dataset).version is None

    def test_references_hold_the_solution_and_kits_do_not(self, dataset: Path) -> None:
        load(dataset)
        for revision in runnable_revisions_of(newest()):
            solved = f"solved-{revision.goal_function}".encode()
            reference = tree_files(revision.grading_hash)[f"reference/{revision.goal_file}"]
            assert solved in reference.read_bytes()
            assert [n for n, p in tree_files(revision.repository_hash).items() if b"solved-" in p.read_bytes()] == []
        assert build_kit(newest()).stat().st_size > 0

    def test_every_trap_at_once(self, dataset: Path) -> None:
        """Papers lose files, break, or come as pointers: every task is there or its paper is named."""
        load_catalogue()
        (dataset / "01-DPO/golden_files/trainers_golden.py").unlink()
        put(dataset / "05-SimPO/SimPO/unit_test/tensors/losses.pt", LFS_POINTER)
        test = dataset / "13-DecBound/DecBound-main/unit_test"
        (test / "unit_test.py").rename(test / "unit_test_1.py")
        test = dataset / "27-Lion/Lion/unit_test"
        (test / "unit_test_1.py").rename(test / "test_lion_step.py")
        put(dataset / "28-SPIN/info.json", b"\xef\xbb\xbf{\r\n  'folder_name': '28-SPIN',\r\n}")
        put(dataset / "30-ERGO/info.json", LFS_POINTER)
        report = load(dataset)
        pointer = (
            "unit_test/tensors/losses.pt is a Git LFS pointer; fetch the file with 'git lfs pull' and import again"
        )
        assert report.not_runnable == {
            "dpo/1": ("golden_file golden_files/trainers_golden.py is missing",),
            "simpo/1": (pointer,),
            "lion/1": ("unit_test_file unit_test/unit_test_1.py is missing",),
            "devient/1": report.not_runnable["devient/1"],
            "spin/1": (CODE_NOT_SHIPPED,),
            "ergo/1": (CODE_NOT_SHIPPED,),
        }
        assert report.left_out == ("28-SPIN", "30-ERGO")
        assert len(report.tasks) == 35
        assert len(runnable_revisions_of(newest())) == 29


class TestPartsOfTheBenchmark:
    def test_papers_that_the_folder_does_not_have_stay_as_facts(self, tmp_path: Path) -> None:
        load_catalogue()
        report = load(write_dataset(tmp_path, {"05-SimPO": json_info()}))
        assert set(report.tasks) == FACTS
        assert set(report.not_runnable) == FACTS - {"simpo/1"}
        assert (report.changed, report.removed) == (("simpo/1",), ())

    def test_without_the_catalogue_before(self, tmp_path: Path) -> None:
        """Published results need a version of exactly the benchmark's tasks, whoever comes first."""
        folder = write_dataset(tmp_path, {"05-SimPO": json_info(), "40-Other": json_info()})
        put(folder / "28-SPIN/info.json", b"{")
        report = load(folder)
        assert (set(report.changed), report.created, report.left_out) == ({"simpo/1"}, ("other/1",), ("28-SPIN",))
        assert [version.revisions.count() for version in SuiteVersion.objects.order_by("number")] == [28, 29]
        assert (report.suite.title, report.suite.position) == (lmr_bench().title, 1)

    def test_a_paper_taken_out_of_the_folder_is_facts_again(self, tmp_path: Path) -> None:
        folder = write_dataset(tmp_path, {"05-SimPO": json_info(), "01-DPO": json_info()})
        load(folder)
        (folder / "01-DPO/info.json").unlink()
        assert load(folder).changed == ("dpo/1",)
        assert [r.not_runnable_reasons for r in revisions_of(newest()) if r.task.slug == "dpo/1"] == [
            [CODE_NOT_SHIPPED]
        ]

    def test_other_suites_get_no_facts(self, tmp_path: Path) -> None:
        report = import_suite(folder=write_dataset(tmp_path, {"05-SimPO": json_info()}), slug="own")
        assert report.tasks == ("simpo/1",)

    def test_info_of_the_layout_is_upstreams_shape(self) -> None:
        assert json.loads(json_info())["repo_folder_name"] == "SimPO"
