"""``manage.py load_catalogue`` on the shipped catalogue itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from django.core.management import call_command

from benchmark_tasks.domain.catalogue import load_catalogue
from benchmark_tasks.domain.facts_suite import CODE_NOT_SHIPPED
from benchmark_tasks.domain.importing import import_suite
from benchmark_tasks.domain.queries import current_version, has_code, revisions_of
from benchmark_tasks.models import Suite, SuiteVersion, TaskRevision
from tests.benchmark_tasks.factories import write_suite

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.django_db


def version_of(slug: str) -> SuiteVersion:
    version = current_version(Suite.objects.get(slug=slug))
    assert version is not None
    return version


def test_first_and_second_time(capsys: pytest.CaptureFixture[str]) -> None:
    call_command("load_catalogue")
    assert capsys.readouterr().out == "lmr-bench: version 1 loaded\nlmr-mini: version 1 loaded\n"
    call_command("load_catalogue")
    assert capsys.readouterr().out == "lmr-bench: unchanged\nlmr-mini: unchanged\n"
    assert SuiteVersion.objects.count() == 2


def test_upstreams_suite_is_facts_only() -> None:
    load_catalogue()
    version = version_of("lmr-bench")
    revisions = list(revisions_of(version))
    assert (len(revisions), len({r.task.paper_id for r in revisions})) == (28, 23)
    assert {(r.protocol, *r.not_runnable_reasons) for r in revisions} == {("none", CODE_NOT_SHIPPED)}
    assert {r.repository_hash + r.grading_hash + r.instruction + r.masked_source for r in revisions} == {""}
    assert not has_code(version)
    first = revisions[0]
    assert (str(first), first.goal_file, first.goal) == ("dpo/1 r1", "trainers.py", "preference_loss")
    assert (first.category and first.category.slug, first.task.paper.year) == ("training-objectives-optimization", 2023)


def test_the_shipped_suite_runs_and_has_one_task_in_each_category() -> None:
    report = load_catalogue()
    assert report.shipped.problems == ()
    revisions = list(revisions_of(version_of("lmr-mini")))
    assert all(revision.runnable for revision in revisions)
    assert sorted(r.category.position for r in revisions if r.category) == list(range(1, 10))
    assert {revision.protocol for revision in revisions} == {"sealed"}
    assert all(revision.paper_hash and revision.masked_source for revision in revisions)


def test_an_operators_import_is_left_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    load_catalogue()
    import_suite(folder=write_suite(tmp_path / "own", folder="01-DPO"), slug="lmr-bench")
    call_command("load_catalogue")
    assert capsys.readouterr().out == "lmr-bench: an operator's import, left alone\nlmr-mini: unchanged\n"
    version = version_of("lmr-bench")
    assert version.number == 2
    assert [str(r) for r in revisions_of(version) if r.task.paper.slug == "dpo"] == ["dpo/1 r2", "dpo/2 r1"]
    assert Suite.objects.get(slug="lmr-bench").title == "LMR-BENCH"
    assert TaskRevision.objects.filter(task__suite__slug="lmr-bench", number=1).count() == 29


def test_an_operators_changes_to_suites_stay() -> None:
    load_catalogue()
    Suite.objects.filter(slug="lmr-mini").update(position=7)
    load_catalogue()
    assert Suite.objects.get(slug="lmr-mini").position == 7
