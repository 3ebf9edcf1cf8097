"""The tasks' pages and papers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from benchmark_tasks.domain.importing import import_suite
from benchmark_tasks.enums import AuditState, CategorySource, Protocol
from benchmark_tasks.models import SuiteVersion
from leaderboard.domain.results import results_of_task
from submissions.enums import Kind, Visibility
from submissions.models import Submission
from tests.benchmark_tasks.factories import (
    PDF,
    PaperFactory,
    SuiteFactory,
    SuiteVersionFactory,
    TaskFactory,
    TaskRevisionFactory,
    write_suite,
)
from tests.leaderboard.factories import ReportedResultFactory, measured, measured_outcome, reported
from tests.submissions.factories import SystemFactory

if TYPE_CHECKING:
    from pathlib import Path

    from django.test import Client
    from pytest_django import Settings

pytestmark = pytest.mark.django_db

ADDRESS = "/suites/small/tasks/dpo/1/"


def one_task(**revision: object) -> SuiteVersion:
    suite = SuiteFactory(slug="small")
    paper = PaperFactory(suite=suite, slug="dpo", title="The Paper", address="https://example.org/p")
    made: SuiteVersion = SuiteVersionFactory(
        suite=suite, revisions=[TaskRevisionFactory(task=TaskFactory(suite=suite, paper=paper), **revision)]
    )
    return made


def test_shows_what_is_asked(client: Client) -> None:
    one_task(instruction="Implement `double` <now>.", category_source=CategorySource.OURS)
    page = client.get(ADDRESS).content.decode()
    assert "Implement <code>double</code> &lt;now&gt;." in page
    assert '<span class="linenos"> 8</span><span class="k">def</span>' in page
    assert "assigned here, upstream is silent" in page
    assert 'href="https://example.org/p"' in page
    assert "cannot read or forge" in page


def test_says_what_each_protocol_does_not_protect_against(client: Client) -> None:
    one_task(protocol=Protocol.UPSTREAM)
    assert "looks into the test that calls it" in client.get(ADDRESS).content.decode()


def test_shows_the_audit_and_why_a_task_takes_no_answers(client: Client) -> None:
    audit = {
        "golden": {"outcome": "passed", "cases": 20},
        "stub": "raised",
        "trivial": [{"answer": "returns None", "outcome": "passed"}],
        "reasons": ["a trivial answer passes: returns None"],
    }
    one_task(audit_state=AuditState.FAILED, audit=audit, not_runnable_reasons=["no golden file"])
    page = client.get(ADDRESS).content.decode()
    for text in (
        "the reference, on 20 cases",
        "returns None",
        "a trivial answer passes",
        "no golden file",
        "not runnable",
    ):
        assert text in page


def test_who_solves_it_measured_then_reported_then_samples(client: Client) -> None:
    version = one_task()
    golden = measured(version, system=SystemFactory(name="Golden"), kind=Kind.CALIBRATION)
    solver = measured(version, system=SystemFactory(name="Solver"))
    upstream = reported(version, system=SystemFactory(name="Agent"))
    measured_outcome(golden, "passed")
    measured_outcome(solver, "passed")
    measured_outcome(solver, "wrong_output", trial=2)
    task = version.revisions.get().task
    ReportedResultFactory(
        run=upstream.reported_run, task=task, tests_passed=False, tests_note="Never ran.", judge_label="LC"
    )
    results = results_of_task(task)
    assert [result.system for result in results] == ["Solver", "Agent", "Golden"]
    assert [(trial, outcome.value) for trial, outcome, _ in results[0].trials] == [(1, "passed"), (2, "wrong_output")]
    assert (results[1].tests_passed, results[1].judge_label, results[1].human_label) == (False, "LC", "")
    page = client.get(ADDRESS).content.decode()
    assert f"/submissions/{solver.submission_id}/answers/dpo/1/2/" in page
    assert "Never ran." in page


def test_a_later_run_of_the_same_answer_replaces_the_earlier() -> None:
    version = one_task()
    entry = measured(version)
    first = measured_outcome(entry, "wrong_output")
    second = first
    second.pk, second.evaluator_version, second.outcome = None, "2", "passed"
    second.save()
    (result,) = results_of_task(version.revisions.get().task)
    assert [outcome.value for _, outcome, _ in result.trials] == ["passed"]


@pytest.mark.parametrize("visibility", [Visibility.PRIVATE, Visibility.HIDDEN, Visibility.WITHDRAWN])
def test_unpublished_results_do_not_show(client: Client, visibility: str) -> None:
    version = one_task()
    entry = measured(version, system=SystemFactory(name="Secret Weapon"))
    measured_outcome(entry, "passed")
    assert "Secret Weapon" in client.get(ADDRESS).content.decode()
    Submission.objects.filter(entry=entry).update(visibility=visibility)
    page = client.get(ADDRESS).content.decode()
    assert "Secret Weapon" not in page
    assert "No published result on this task yet" in page


def test_private_seeds_and_keys_are_not_on_the_page(client: Client) -> None:
    version = one_task(check_settings={"public_seeds": [1], "private_seeds": 3})
    assert version.seed_epoch.key not in client.get(ADDRESS).content.decode()


def test_a_task_outside_the_version_says_so(client: Client) -> None:
    old = one_task()
    SuiteVersionFactory(suite=old.suite, number=2, seed_epoch=old.seed_epoch, tasks=1)
    assert "not part of the shown suite version" in client.get(ADDRESS).content.decode()
    assert "not part of the shown suite version" not in client.get(f"{ADDRESS}?version=1").content.decode()


@pytest.mark.parametrize("address", ["/suites/small/tasks/dpo/2/", "/suites/other/tasks/dpo/1/", f"{ADDRESS}paper/"])
def test_what_does_not_exist_is_not_found(client: Client, address: str) -> None:
    one_task()
    assert client.get(address).status_code == 404


def test_the_paper_opens_in_place(client: Client, tmp_path: Path, settings: Settings) -> None:
    settings.DATA_DIR = tmp_path / "data"
    import_suite(folder=write_suite(tmp_path / "suite"), slug="small")
    assert "/suites/small/tasks/alpha/1/paper/" in client.get("/suites/small/tasks/alpha/1/").content.decode()
    response = client.get("/suites/small/tasks/alpha/1/paper/")
    assert response.getvalue() == PDF
    assert response["Content-Type"] == "application/pdf"
    assert response["Content-Disposition"] == 'inline; filename="alpha.pdf"'
    assert response["X-Content-Type-Options"] == "nosniff"


def test_queries_do_not_grow_with_results(client: Client) -> None:
    version = one_task()
    task = version.revisions.get().task
    counts = []
    for _ in range(2):
        measured_outcome(measured(version), "passed")
        ReportedResultFactory(run=reported(version).reported_run, task=task)
        with CaptureQueriesContext(connection) as queries:
            client.get(ADDRESS)
        counts.append(len(queries))
    assert counts[0] == counts[1] <= 10
