"""Labels in board rows: how they are counted, whose judge's they are, and choosing another judge for a suite."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from django.db import transaction
from django.db.models import Exists, F, OuterRef, Q
from django.utils import timezone

from evaluator.domain.judging import plan_judgements
from evaluator.enums import WorkState
from evaluator.judging.labels import Label
from evaluator.models import JudgeConfig, Judgement, ShownJudge
from leaderboard.domain.human_labels import SOURCES, people_shares, reviewed_since
from leaderboard.models import Entry, EntryMetric
from leaderboard.published.labels import RaterAxis
from submissions.domain.audit import record
from submissions.enums import SubmissionState, Verb
from submissions.exceptions import NotAllowedError, WrongStateError

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from benchmark_tasks.models import Suite
    from submissions.models import Submission, User

LABELS: Final = tuple(label.value for label in (Label.CC, Label.LC, Label.LI))
ABSTAINED: Final = "abstained"
COUNTED: Final = (*LABELS, ABSTAINED)

# Shares of trials are sums of fractions such as 1/3; more digits would only be noise.
_DIGITS = 6

Shares: TypeAlias = dict[tuple[int | None, int], dict[str, float]]
Counts: TypeAlias = dict[str, dict[str, float]]
"""Rater -> label -> number of tasks; ``final`` also has each source of final labels."""


def shown_judge(suite_id: int) -> JudgeConfig | None:
    """The judge whose labels a suite's board shows; None where none was chosen yet. One query."""
    return JudgeConfig.objects.filter(shown_for__suite=suite_id).first()


def judged_shares(submission: Submission, judge: JudgeConfig) -> Shares:
    """(category id, task revision id) -> label (or ``abstained``) -> share of the trials that ``judge`` gave it to.

    What is not judged, or was not answered, is missing. One query.
    """
    shares: Shares = defaultdict(lambda: dict.fromkeys(COUNTED, 0.0))
    rows = Judgement.objects.filter(
        config=judge, implementation__submission=submission, state=WorkState.DONE
    ).values_list("implementation__revision__category_id", "implementation__revision_id", "label", "abstained")
    for category, revision, label, abstained in rows:
        shares[category, revision][ABSTAINED if abstained or not label else label] += 1 / submission.trials
    return shares


def count_labels(
    submission: Submission, judge: JudgeConfig | None, *, without: Collection[int]
) -> dict[int | None, Counts]:
    """Category id (None: overall) -> what judge, humans and the final labels say, ``without`` some task revisions.

    A rater that said nothing is missing. Five queries.
    """
    raters = {RaterAxis.JUDGE.value: judged_shares(submission, judge)} if judge else {}
    counted: dict[int | None, Counts] = defaultdict(dict)
    for rater, shares in (raters | people_shares(submission, judge)).items():
        for (category, revision), labels in shares.items():
            for key in {None, category} if revision not in without else ():
                counts = counted[key].setdefault(rater, dict.fromkeys(COUNTED, 0.0))
                for label, share in labels.items():
                    counts[label] = counts.get(label, 0.0) + share
    return counted


def distributions(counts: Counts, tasks: int, judge: JudgeConfig | None = None) -> dict[str, Any]:
    """``EntryMetric.labels`` of a metric of so many ``tasks``. ``judge`` is named where this site asked it."""
    return {
        rater: distribution(said, tasks, judge if rater == RaterAxis.JUDGE.value else None)
        for rater, said in counts.items()
    }


def distribution(counts: Mapping[str, float], tasks: int, judge: JudgeConfig | None = None) -> dict[str, Any]:
    """One rater's part of ``EntryMetric.labels``; ``sources`` only where the counts name any."""
    exact = {label: _whole(counts.get(label, 0)) for label in COUNTED}
    made: dict[str, Any] = {
        **exact,
        "none": _whole(tasks - sum(counts.get(label, 0) for label in COUNTED)),
        "percent": {label: round(100 * counts.get(label, 0) / tasks, 1) for label in LABELS},
    }
    if judge is not None:
        made["by"] = {"slug": judge.slug, "name": judge.name, "model": judge.model}
    if counts.keys() & set(SOURCES):
        made["sources"] = {source: _whole(counts.get(source, 0)) for source in SOURCES}
    return made


def recount_labels(submission_id: int) -> bool:
    """Count what judge and humans say in the row of a submission anew; say whether it has a row.

    Cheap, since nothing but labels is touched: this happens after every verdict and every settled case. Two at once
    count one after the other, and the row is as old as what was read for it: what comes later makes it outdated.
    """
    with transaction.atomic():
        begun = timezone.now()
        entry = (
            Entry.objects.select_for_update(of=("self",), no_key=True)
            .select_related("submission", "suite_version")
            .prefetch_related("metrics")
            .filter(submission=submission_id)
            .first()
        )
        if entry is None or entry.submission is None:
            return False
        judge = shown_judge(entry.suite_version.suite_id)
        counted = count_labels(entry.submission, judge, without=_left_out_revisions(entry))
        for metric in entry.metrics.all():
            metric.labels = distributions(counted.get(metric.category_id, {}), metric.tasks, judge)
        EntryMetric.objects.bulk_update(entry.metrics.all(), ["labels"])
        Entry.objects.filter(pk=entry.pk).update(computed=begun)
    return True


def recount_outdated() -> int:
    """Count the labels of every row whose shown judge, or one of whose labels, is newer than the row; say how many.

    News of a verdict or of a human label is lost when a process is killed between storing it and telling.
    """
    decided = Judgement.objects.filter(
        implementation__submission=OuterRef("submission"),
        config=OuterRef("suite_version__suite__shown_judge__config"),
        state=WorkState.DONE,
        finished__gt=OuterRef("computed"),
    )
    chosen = Q(suite_version__suite__shown_judge__changed__gt=F("computed"))
    entries = Entry.objects.filter(submission__state=SubmissionState.SCORED).filter(
        chosen | Exists(decided) | reviewed_since()
    )
    numbers = list(entries.values_list("submission_id", flat=True))
    return sum(recount_labels(number) for number in numbers if number is not None)


def show_judge(*, suite: Suite, config: JudgeConfig, actor: User, reason: str) -> int:
    """Make ``config`` the judge of a suite's board and count its labels in every row; say how many rows.

    Rows and heading change in one moment. Raises ``NotAllowedError`` for whoever is no maintainer, ``WrongStateError``
    when it is the shown one already or has judged nothing on the suite.
    """
    if not actor.is_staff:
        msg = "Only maintainers choose the judge that a board shows."
        raise NotAllowedError(msg)
    with transaction.atomic():
        before = shown_judge(suite.pk)
        if before == config:
            msg = f"{config.name} is the judge that this board shows already."
            raise WrongStateError(msg)
        judged = Judgement.objects.filter(
            config=config, implementation__submission__suite_version__suite=suite, state=WorkState.DONE
        )
        if not judged.exists():
            msg = f"{config.name} has judged nothing on {suite.title} yet. Have the suite judged by it first."
            raise WrongStateError(msg)
        ShownJudge.objects.update_or_create(suite=suite, defaults={"config": config})
        record(
            verb=Verb.JUDGE_SHOWN,
            subject=suite,
            actor=actor,
            reason=reason,
            data={"changed": {"judge": [before.slug if before else "", config.slug]}},
        )
        rows = Entry.objects.filter(suite_version__suite=suite, submission__isnull=False)
        return sum(recount_labels(number) for number in rows.values_list("submission_id", flat=True) if number)


def judge_suite(*, suite: Suite, config: JudgeConfig, actor: User) -> int:
    """Have every answer of a suite judged by ``config`` in the background; say how many wait for it newly.

    Raises ``NotAllowedError`` for whoever is no maintainer, ``WrongStateError`` for a judge that is retired.
    """
    if not actor.is_staff:
        msg = "Only maintainers have a suite judged: it spends a maintainer's key."
        raise NotAllowedError(msg)
    if not config.active:
        msg = f"{config.name} is retired, so it judges nothing more."
        raise WrongStateError(msg)
    with transaction.atomic():
        number = plan_judgements(suite=suite, config=config)
        record(verb=Verb.JUDGED_AGAIN, subject=suite, actor=actor, data={"judge": config.slug, "answers": number})
    return number


def _left_out_revisions(entry: Entry) -> set[int]:
    slugs = [each["task"] for each in entry.left_out]
    return set(entry.suite_version.revisions.filter(task__slug__in=slugs).values_list("pk", flat=True))


def _whole(number: float) -> float | int:
    """``number`` without the noise of adding thirds; whole where it is whole."""
    rounded = round(number, _DIGITS)
    return int(rounded) if rounded == int(rounded) else rounded
