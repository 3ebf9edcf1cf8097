"""What would change on a board with another judge, and choosing it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from django.urls import reverse
from django.utils import timezone

from benchmark_tasks.enums import AuditState
from benchmark_tasks.models import TaskRevision
from evaluator.models import JudgeHealth, ShownJudge
from leaderboard.board.entries import recompute_submission
from leaderboard.board.judge_differences import compare
from submissions.enums import Kind, Visibility
from submissions.models import Submission
from tests.benchmark_tasks.factories import SuiteFactory, SuiteVersionFactory
from tests.leaderboard.judging import JudgeFactory, judged, show
from tests.leaderboard.showing import counted
from tests.submissions.factories import SystemFactory, UserFactory

if TYPE_CHECKING:
    from django.test import Client

    from benchmark_tasks.models import SuiteVersion
    from evaluator.models import JudgeConfig

    Judges = tuple[JudgeConfig, JudgeConfig]

pytestmark = pytest.mark.django_db


@pytest.fixture
def version() -> SuiteVersion:
    made: SuiteVersion = SuiteVersionFactory(suite=SuiteFactory(slug="lmr-mini", position=1), tasks=2)
    return made


@pytest.fixture
def judges(version: SuiteVersion) -> Judges:
    """The shown one and the new one."""
    old, new = JudgeFactory(name="Old Judge"), JudgeFactory(name="New Judge")
    show(version.suite, old)
    return old, new


def labelled(version: SuiteVersion, judges: Judges, name: str, before: str, after: str, **facts: Any) -> Submission:
    """A published, scored submission; ``before`` and ``after`` like ``CC LI``, ``-`` abstained, ``?`` not judged."""
    submission = counted(version, **{"system": SystemFactory(name=name), "published": True, **facts})
    answers = list(submission.implementations.order_by("revision_id", "trial"))
    for config, labels in zip(judges, (before, after), strict=True):
        for answer, label in zip(answers, labels.split(), strict=True):
            if label != "?":
                judged(answer, config, label.strip("-"))
    recompute_submission(submission.pk)
    return submission


def address(config: JudgeConfig) -> str:
    return f"{reverse('judge_differences', args=[config.slug])}?suite=lmr-mini"


def test_moved_labels_matrix_and_what_waits(version: SuiteVersion, judges: Judges) -> None:
    first = labelled(version, judges, "Alpha", "CC LI", "LC LI")
    labelled(version, judges, "Beta", "- CC", "CC ?")
    found = compare(version=version, old=judges[0], new=judges[1])
    assert (found.answers, found.both, found.waiting) == (4, 3, 1)
    assert [(each.submission.system.name, old, new) for each, old, new in found.moved] == [
        ("Alpha", "CC", "LC"),
        ("Beta", "abstained", "CC"),
    ]
    assert found.moved[0][0] == first.implementations.order_by("revision_id")[0]
    assert found.matrix == [
        ("CC", [0, 1, 0, 0]),
        ("LC", [0, 0, 0, 0]),
        ("LI", [0, 0, 1, 0]),
        ("abstained", [1, 0, 0, 0]),
    ]


def test_places_by_cc_with_ties_over_the_tasks_that_count(version: SuiteVersion, judges: Judges) -> None:
    labelled(version, judges, "Alpha", "CC CC", "CC LI")
    labelled(version, judges, "Beta", "CC LI", "CC CC")
    labelled(version, judges, "Gamma", "LI CC", "LI CC")
    labelled(version, judges, "Sample", "CC CC", "CC CC", kind=Kind.CALIBRATION)
    rows = compare(version=version, old=judges[0], new=judges[1]).ranks
    assert [(row.entry.system.name, row.before, row.before_rank, row.after, row.after_rank) for row in rows] == [
        ("Beta", 1, 2, 2, 1),
        ("Alpha", 2, 1, 1, 2),
        ("Gamma", 1, 2, 1, 2),
    ]
    assert {row.tasks for row in rows} == {2}
    weak = version.revisions.order_by("pk")[0]
    TaskRevision.objects.filter(pk=weak.pk).update(audit_state=AuditState.WEAK)
    for submission in Submission.objects.all():
        recompute_submission(submission.pk)
    rows = compare(version=version, old=judges[0], new=judges[1]).ranks
    assert {row.entry.system.name: (row.before, row.after, row.tasks) for row in rows} == {
        "Alpha": (1, 0, 1),
        "Beta": (0, 1, 1),
        "Gamma": (1, 1, 1),
    }


@pytest.mark.parametrize("visibility", [Visibility.PRIVATE, Visibility.HIDDEN, Visibility.WITHDRAWN])
def test_what_is_not_published_is_in_no_number_even_for_maintainers(
    client: Client, version: SuiteVersion, judges: Judges, visibility: str
) -> None:
    labelled(version, judges, "Secret Weapon", "CC CC", "LI LI")
    Submission.objects.update(visibility=visibility)
    found = compare(version=version, old=judges[0], new=judges[1])
    assert (found.answers, found.moved, found.ranks) == (0, [], [])
    client.force_login(UserFactory(is_staff=True))
    assert "Secret Weapon" not in client.get(address(judges[1])).content.decode()


def test_everybody_reads_it_and_maintainers_are_offered_the_judge(
    client: Client, version: SuiteVersion, judges: Judges
) -> None:
    labelled(version, judges, "Alpha", "CC LI", "LI ?")
    page = client.get(address(judges[1])).content.decode()
    assert "1 of 2 answers judged by both; 1 label would move, 0 places would change." in page
    assert ("Show New Judge on the board" in page, "Alpha" in page) == (False, True)
    client.force_login(UserFactory(is_staff=True))
    assert "Show New Judge on the board" in client.get(address(judges[1])).content.decode()
    assert "Show Old Judge on the board" not in client.get(address(judges[0])).content.decode()


def test_showing_it_changes_the_board(client: Client, version: SuiteVersion, judges: Judges) -> None:
    labelled(version, judges, "Alpha", "CC LI", "LC LI")
    client.force_login(UserFactory(is_staff=True, username="carol@mail.example"))
    action = reverse("judge_show", args=[judges[1].slug])
    typed = {"suite": "lmr-mini", "instead_of": judges[0].slug, "reason": "Healthier."}
    for changes, text in (
        ({"reason": ""}, "This field is required."),
        ({"instead_of": "none"}, "The board shows another judge by now."),
    ):
        refused = client.post(action, {**typed, **changes})
        assert (refused.status_code, text in refused.content.decode()) == (422, True)
        assert ("Healthier." in refused.content.decode()) is ("reason" not in changes)
        assert ShownJudge.objects.get().config == judges[0]
    response = client.post(action, typed, follow=True)
    assert response.redirect_chain == [("/board/lmr-mini/", 302)]
    assert "shows New Judge now, in 1 row." in response.content.decode()
    assert ShownJudge.objects.get().config == judges[1]
    page = client.get(judges[0].get_absolute_url()).content.decode()
    assert f"<code>{judges[0].slug}</code> to <code>{judges[1].slug}</code>, by carol: Healthier." in page
    assert "Healthier." not in client.get(JudgeFactory().get_absolute_url()).content.decode()


def test_a_judge_that_cannot_be_trusted_is_not_shown_unawares(client: Client, judges: Judges) -> None:
    new = judges[1]
    assert "was never checked with canaries" in client.get(address(new)).content.decode()
    rate = {"value": 0.0, "low": 0.0, "high": 0.4, "count": 0, "n": 5}
    summary = {"injection_resistance": rate, "missed": ["injection_resistance"]}
    now = timezone.now()
    health = JudgeHealth.objects.create(config=new, summary=summary, started=now, finished=now)
    assert "failed its newest health check" in client.get(address(new)).content.decode()
    health.summary = {"injection_resistance": {**rate, "value": 1.0}, "missed": []}
    health.save()
    assert "health check" not in client.get(address(new)).content.decode()
