"""The status page: what it says when all is well and when it is not, and what it never says."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from django.db import DatabaseError
from django.utils import timezone

from benchmark_tasks.enums import AuditState
from benchmark_tasks.models import TaskRevision
from evaluator.enums import AttemptState, BuildState, RunState, SelfCheckKind
from evaluator.models import Attempt, EnvironmentBuild, SelfCheck, TestRun
from evaluator.sandbox.configuration import EVALUATOR_VERSION
from leaderboard.operation import status as domain
from leaderboard.operation.queue_state import queue_state
from submissions.enums import SubmissionState
from tests.benchmark_tasks.factories import SuiteVersionFactory
from tests.evaluator.factories import TestRunFactory
from tests.leaderboard.showing import words_of
from tests.submissions.factories import SubmissionFactory, UserFactory, with_answers

if TYPE_CHECKING:
    from django.test import Client

pytestmark = pytest.mark.django_db
SECRET = "/srv/instance/secret"


@pytest.fixture(autouse=True)
def _two_workers_listen(monkeypatch: pytest.MonkeyPatch) -> None:
    """Unless a test says otherwise; the queue's server itself is asked in the tests of the queue's state."""
    monkeypatch.setattr(domain, "queue_state", lambda: replace(queue_state(), registered=2, asking=2))


def row(attack: str = "NaN", *, repelled: bool = True, group: str = "tampering", way: str = "sealed") -> dict[str, Any]:
    return {
        "attack": attack, "group": group, "protocol": way, "expected": "wrong_output",
        "outcome": "wrong_output" if repelled else "passed", "repelled": repelled, "reason": SECRET, "seconds": 0.1,
    }  # fmt: skip


def checked(kind: str = SelfCheckKind.FULL, *rows: dict[str, Any], minutes_ago: int = 5, error: str = "") -> SelfCheck:
    moment = timezone.now() - timedelta(minutes=minutes_ago)
    return SelfCheck.objects.create(
        kind=kind, sandbox="bubblewrap", environment_digest="sha256:0123456789abcdef",
        evaluator_version=EVALUATOR_VERSION,
        results=list(rows), error=error, started=moment, finished=moment,
    )  # fmt: skip


def stuck_run(reason: str = "the environment's image is missing") -> None:
    """A held run of a submission that nobody but its owner may know of."""
    submission = SubmissionFactory(
        system__name="Unpublished Solver",
        state=SubmissionState.HELD,
        held_reason=reason,
        owner__username="hidden-owner",
    )
    (answer,) = with_answers(submission, 1)
    run = TestRunFactory(implementation=answer, state=RunState.HELD, infra_count=3, reason=reason)
    Attempt.objects.create(
        run=run, number=1, token="6a1f5a1c-7e0e-4f2e-9c3f-1f6a1c7e0e4f", worker="secret-machine:12", sandbox="docker",
        state=AttemptState.INFRA, reason=f"{SECRET}/image is missing", ended=timezone.now(),
    )  # fmt: skip


def built(name: str = "torch-cpu", *, state: str = BuildState.BUILT) -> None:
    EnvironmentBuild.objects.create(
        name=name, sandbox="docker", source_digest="fedcba9876543210", state=state, image=f"{SECRET}/image", log=SECRET
    )


def text_of(client: Client) -> str:
    return words_of(client.get("/status/"))


def data_of(client: Client) -> Any:
    return client.get("/status.json").json()


def test_all_is_well(client: Client) -> None:
    checked(SelfCheckKind.FULL, row("right answer", group="control"), row(), row(way="upstream remote"), row("RTL"))
    checked(SelfCheckKind.SHORT, row())
    checked(SelfCheckKind.CANARY, row("stub", group="control"))
    page = text_of(client)
    assert ("All is well" in page, "Not all is well" in page) == (True, False)
    assert "4 of 4 ended as they must, in boxes of bubblewrap" in page
    assert "Attacks repelled: sealed 2 of 2, upstream remote 1 of 1" in page
    assert data_of(client) == {
        "ok": True,
        "troubles": [],
        "evaluator": {
            "version": EVALUATOR_VERSION, "sandbox": "bubblewrap", "environment_digest": "0123456789ab",
            "without_resource_limits": False,
        },
        "queue": {
            "reachable": True, "workers": 2, "waiting": 0, "running": 0, "held_runs": 0, "oldest_waiting": None,
            "model_workers": 2, "questions_waiting": 0, "questions_running": 0,
        },
        "held_submissions": 0,
        "audits_waiting": 0,
        "causes": [],
        "environments": [],
        "self_checks": data_of(client)["self_checks"],
    }  # fmt: skip


def test_an_attack_that_was_not_repelled_is_named(client: Client) -> None:
    checked(SelfCheckKind.FULL, row(), row("golden search", repelled=False))
    page = text_of(client)
    assert "Not all is well" in page
    assert "golden search (sealed) ended with passed, must be wrong_output" in page
    check, *_ = data_of(client)["self_checks"]
    assert (data_of(client)["ok"], check["ok"]) == (False, False)
    expected = {"group": "tampering", "protocol": "sealed", "expected": "wrong_output", "outcome": "passed"}
    assert check["unexpected"] == [{"attack": "golden search", **expected}]


def test_where_nothing_can_be_evaluated_the_reason_comes_first(client: Client) -> None:
    check = checked(SelfCheckKind.CANARY, error=f"{SECRET}/index does not answer")
    SelfCheck.objects.filter(pk=check.pk).update(cause="the packages of the boxes' environment could not be installed")
    trouble = "Nothing can be evaluated here: the packages of the boxes' environment could not be installed."
    assert data_of(client)["troubles"] == [trouble]
    assert SECRET not in text_of(client)
    checked(SelfCheckKind.CANARY, row(), minutes_ago=1)
    assert data_of(client)["troubles"] == []


def test_runs_that_wait_while_none_is_under_way_are_trouble(client: Client) -> None:
    run = TestRunFactory()
    assert data_of(client)["troubles"] == []
    TestRun.objects.filter(pk=run.pk).update(created=timezone.now() - timedelta(minutes=4))
    assert data_of(client)["troubles"] == ["Runs have been waiting for minutes, and none is under way."]


@pytest.mark.parametrize(
    ("registered", "trouble"),
    [
        (None, "The server of the queue does not answer: what is submitted waits."),
        (0, "No worker is listening: what is submitted waits."),
    ],
)
def test_what_does_not_work_is_said(
    registered: int | None, trouble: str, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(domain, "queue_state", lambda: replace(queue_state(), registered=registered))
    assert trouble in text_of(client)
    assert data_of(client)["troubles"] == [trouble]


def test_builds_and_audits(client: Client) -> None:
    built(state=BuildState.FAILED)
    built()
    built("paper-0123456789ab", state=BuildState.FAILED)
    version = SuiteVersionFactory(tasks=3)
    TaskRevision.objects.update(audit_state=AuditState.UNAUDITED)
    first, second, _ = version.revisions.order_by("pk")
    TaskRevision.objects.filter(pk=first.pk).update(audit_state=AuditState.PASSED)
    TaskRevision.objects.filter(pk=second.pk).update(not_runnable_reasons=["no unit test"])
    data = data_of(client)
    assert [(build["name"], build["state"], build["source"]) for build in data["environments"]] == [
        ("paper-0123456789ab", "failed", "fedcba987654"),
        ("torch-cpu", "built", "fedcba987654"),
    ]
    assert data["audits_waiting"] == 1


def test_nothing_private_is_shown(client: Client) -> None:
    """Paths, machines, images, reasons of attacks, and what is not published: for maintainers, or for nobody."""
    stuck_run()
    built()
    checked(SelfCheckKind.FULL, row(repelled=False))
    checked(SelfCheckKind.CANARY, error=f"{SECRET}/python is missing")
    client.force_login(UserFactory(username="alice"))
    data = data_of(client)
    assert [(cause["cause"], cause["runs"]) for cause in data["causes"]] == [("the environment's image is missing", 1)]
    assert (data["held_submissions"], data["queue"]["held_runs"]) == (1, 1)
    shown = client.get("/status/").content.decode() + client.get("/status.json").content.decode()
    for secret in (SECRET, "secret-machine", "Unpublished Solver", "hidden-owner"):
        assert secret not in shown
    client.force_login(UserFactory(username="carol", is_staff=True))
    assert f"{SECRET}/image" in client.get("/status/").content.decode()
    assert SECRET not in client.get("/status.json").content.decode()


def test_without_a_database_the_data_say_so(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    def gone() -> None:
        raise DatabaseError(SECRET)

    monkeypatch.setattr(domain, "queue_state", gone)
    response = client.get("/status.json")
    assert (response.status_code, json.loads(response.content)) == (
        503,
        {"ok": False, "troubles": ["The database does not answer."]},
    )
