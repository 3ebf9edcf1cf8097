"""``manage.py submit_samples`` after a suite has a new version: the board shows no sample twice."""

from __future__ import annotations

import io
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from django.core.management import CommandError, call_command

from benchmark_tasks.models import SuiteVersion
from evaluator.reevaluation import reevaluating
from submissions.enums import SubmissionState
from submissions.models import Submission, User

pytestmark = pytest.mark.django_db(transaction=True)

if TYPE_CHECKING:
    from benchmark_tasks.models import TaskRevision


@pytest.fixture(autouse=True)
def without_a_queue(settings: Any) -> None:
    settings.RQ_QUEUES = replace(settings.ENVIRONMENT, redis_url="redis://127.0.0.1:1/0").rq_queues


def submit_samples() -> list[str]:
    out = io.StringIO()
    call_command("submit_samples", stdout=out)
    return [line.partition(", submission ")[0] for line in out.getvalue().splitlines()]


def with_another_statement(version: SuiteVersion) -> SuiteVersion:
    """A next version, in which one task has another statement."""
    first, *others = version.revisions.order_by("pk")
    changed: TaskRevision = first
    changed.pk, changed.number, changed.statement_hash = None, changed.number + 1, "f" * 64
    changed._state.adding = True
    changed.save()
    made = SuiteVersion.objects.create(suite=version.suite, number=version.number + 1, seed_epoch=version.seed_epoch)
    made.revisions.set([changed, *others])
    return made


def test_samples_that_a_reevaluation_can_move_are_not_submitted_again(lmr_mini: SuiteVersion) -> None:
    assert submit_samples() == ["golden: queued", "stub: queued", "mixed: queued"]
    fields = Submission.objects.values_list("publish_when_scored", "kind", "owner__username")
    assert set(fields) == {(True, "calibration", "operator")}
    assert User.objects.get(username="operator").has_usable_password() is False
    version = reevaluating.new_epoch(suite=lmr_mini.suite, actor=None)
    before = [f"{kind}: was submitted before, to version 1" for kind in ("golden", "stub", "mixed")]
    assert submit_samples() == before
    Submission.objects.update(state=SubmissionState.SCORED)
    assert submit_samples() == before
    # As the re-evaluation leaves them: on the newest version, with the bundle that names the first.
    Submission.objects.update(suite_version=version)
    assert submit_samples() == [f"{kind}: was submitted before" for kind in ("golden", "stub", "mixed")]
    Submission.objects.filter(system__name="Sample: stub answers").update(state=SubmissionState.CANCELLED)
    assert submit_samples() == ["golden: was submitted before", "stub: queued", "mixed: was submitted before"]
    assert Submission.objects.count() == 4


def test_samples_that_cannot_move_are_submitted_again(lmr_mini: SuiteVersion) -> None:
    submit_samples()
    with_another_statement(lmr_mini)
    for word in ("queued", "was submitted before"):
        assert submit_samples() == [f"{kind}: {word}" for kind in ("golden", "stub", "mixed")]
    assert sorted(Submission.objects.values_list("suite_version__number", flat=True)) == [1, 1, 1, 2, 2, 2]


def test_without_a_suite_the_error_gives_advice() -> None:
    with pytest.raises(
        CommandError, match=r"There is no suite 'lmr-mini'\. Known: none; run manage\.py load_catalogue first\."
    ):
        submit_samples()
