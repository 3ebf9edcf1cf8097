"""The tasks' pages and papers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from benchmark_tasks.domain.importing import import_suite
from benchmark_tasks.enums import AuditState, Protocol
from benchmark_tasks.models import Suite, SuiteVersion, TaskRevision
from evaluator.models import TestRun
from evaluator.sandbox.configuration import EVALUATOR_VERSION
from leaderboard.board.results import results_of_task
from submissions.enums import Kind, Visibility
from submissions.models import Implementation, Submission
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
from tests.leaderboard.judging import JudgeFactory, judged, show
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


@pytest.mark.parametrize(
    ("audit", "text"),
    [
        ({}, "is found out when the test is audited"),
        ({"mode": "remote"}, "an answer that knows the expected values of this public test by heart"),
        (
            {"mode": "in_process", "mode_why": "arguments cannot travel"},
            "inside a box, because arguments cannot travel",
        ),
        ({"mode": "in_process"}, "an answer that reads the expected values from the test’s files"),
    ],
)
def test_says_what_each_protocol_does_not_protect_against(client: Client, audit: dict[str, str], text: str) -> None:
    one_task(protocol=Protocol.UPSTREAM, audit=audit)
    assert text in " ".join(client.get(ADDRESS).content.decode().split())


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


MUTANT = {"id": "line 3: `a - b` -> `a + b`", "diff": "--- golden\n+++ mutant\n-    return a - b\n+    return a + b"}
AUDIT: dict[str, Any] = {
    "golden": {"outcome": "passed", "cases": 20, "outcomes": ["passed", "passed"]},
    "stub": "raised",
    "trivial": [{"answer": "none", "outcome": "wrong_output"}, {"answer": "zero", "outcome": "raised"}],
    "mutants": {
        "made": 90,
        "sampled": True,
        "total": 79,
        "killed": 73,
        "share": 73 / 79,
        "survivors": [MUTANT],
        "equivalents": [{**MUTANT, "id": "line 4: `0:` -> `:`", "reason": "A slice begins at 0."}],
    },
    "guessing": {"outputs": 20, "commonest": 3, "private_cases": 12, "chance": 0.15**2, "missing_cases": 0},
    "margins": {
        "outputs": [{"output": "losses", "margin": 0.57, "variation": "an older processor"}],
        "tried": ["an older processor"],
        "untried": ["4 threads"],
    },
    "image_scan": {"copies": [], "complete": True},
    "reasons": [],
    "remarks": ["there is no mutant `x`"],
    "seconds": 12.5,
    "made": "2026-11-01T10:00:00+00:00",
    "evaluator_version": EVALUATOR_VERSION,
    "environment": "numpy",
    "environment_digest": "sha256:0123456789abcdef",
}


def test_shows_everything_that_the_audit_found(client: Client, django_user_model: Any) -> None:
    one_task(audit_state=AuditState.PASSED, audit=AUDIT)
    client.force_login(django_user_model.objects.create_user("m", password="x", is_staff=True))
    page = client.get(ADDRESS).content.decode()
    for text in (
        "twice, each time on other seeds, on 20 cases",
        "73 of 79 fail (92 %)",
        "trivial answers: none, zero</th><td>fail</td><td>all 2 fail",
        "test audit: caught 73 of 79 seeded bugs",
        "An evenly spread sample of 90 seeded bugs",
        "1 seeded bug that the test misses",
        "line 3: <code>a - b</code> -&gt; <code>a + b</code>",
        '<span class="gd">-    return a - b</span>',
        "1 seeded bug declared equivalent, which does not count",
        "A slice begins at 0.",
        "12 private cases. Of 20 expected outputs 3 are equal",
        "with probability 1 in 44",
        "<code>losses</code> moves by 57 % of its tolerance (an older processor)",
        "not possible here: 4 threads",
        "No copy of the reference is installed",
        "1 remark for the author",
        "in 12.5 seconds",
        "0123456789ab<",
    ):
        assert text in page
    assert "outdated" not in page


def test_what_quotes_the_reference_is_for_maintainers_unless_it_is_shipped(client: Client) -> None:
    one_task(audit_state=AuditState.PASSED, audit=AUDIT)
    page = client.get(ADDRESS).content.decode()
    assert "The test misses 1 seeded bug. They quote the reference, so only maintainers see them." in page
    assert "1 seeded bug declared equivalent by the task’s author does not count." in page
    for secret in ("a - b", "a + b", "A slice begins", "no mutant"):
        assert secret not in page
    Suite.objects.update(slug="lmr-mini")
    assert "return a + b" in client.get(ADDRESS.replace("small", "lmr-mini")).content.decode()


def test_an_audit_by_another_evaluator_or_in_another_environment_is_outdated(client: Client) -> None:
    version = one_task(audit_state=AuditState.PASSED, audit={**AUDIT, "evaluator_version": "1"})
    assert f"evaluator version 1, the current one is {EVALUATOR_VERSION}" in client.get(ADDRESS).content.decode()
    TaskRevision.objects.update(audit=AUDIT)
    run = measured_outcome(measured(version), "passed")
    TestRun.objects.filter(pk=run.pk).update(finished=timezone.now(), environment_digest=AUDIT["environment_digest"])
    assert "outdated" not in client.get(ADDRESS).content.decode()
    TestRun.objects.filter(pk=run.pk).update(environment_digest="sha256:other")
    assert "measured in another environment since" in client.get(ADDRESS).content.decode()


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
    assert [result.entry.system.name for result in results] == ["Solver", "Agent", "Golden"]
    assert [(answer.trial, outcome.value) for answer, outcome in results[0].trials] == [
        (1, "passed"), (2, "wrong_output"),
    ]  # fmt: skip
    assert (results[1].reported, results[1].judge_label) == (upstream.reported_run.results.get(), "LC")
    page = client.get(ADDRESS).content.decode()
    assert f"/submissions/{solver.submission_id}/answers/dpo/1/2/" in page
    assert "Never ran." in page


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


def test_the_shown_judge_labels_what_was_measured_here() -> None:
    version = one_task()
    task, shown, other = version.revisions.get().task, JudgeFactory(), JudgeFactory()
    show(version.suite, shown)
    expected = {}
    for name, labels in (("One", ["LC"]), ("Same", ["CC", "CC"]), ("Mixed", ["CC", "LI"]), ("Part", ["CC", None])):
        entry = measured(version, system=SystemFactory(name=name), trials=len(labels))
        for trial, label in enumerate(labels, start=1):
            answer = measured_outcome(entry, "passed", trial=trial).implementation
            judged(answer, other, "LI")
            if label:
                judged(answer, shown, label)
        expected[name] = {"One": "LC", "Same": "CC"}.get(name, "")
    assert {result.entry.system.name: result.judge_label for result in results_of_task(task)} == expected


def test_private_seeds_and_keys_are_not_on_the_page(client: Client) -> None:
    version = one_task(check_settings={"public_seeds": [1], "private_seeds": 3})
    assert version.seed_epoch.key not in client.get(ADDRESS).content.decode()


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


def test_answers_and_logs_are_not_read(client: Client) -> None:
    version = one_task()
    measured_outcome(measured(version), "passed")
    with CaptureQueriesContext(connection) as queries:
        assert client.get(ADDRESS).status_code == 200
    heavy = {TestRun: ("cases", "log"), Implementation: ("files", "diff", "goal_source", "raw_answer")}
    columns = [f'"{model._meta.db_table}"."{name}"' for model, names in heavy.items() for name in names]
    assert [column for column in columns for query in queries if column in query["sql"]] == []
