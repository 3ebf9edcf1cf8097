"""Count the labels in board rows by rater, and choose the judge that a suite's board shows."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Final, TypeAlias

import structlog
from django.db import transaction
from django.db.models import F, Q
from django.utils import timezone

from benchmark_tasks.domain.queries import revisions_of
from evaluator.enums import WorkState
from evaluator.judging.judgements import plan_judgements
from evaluator.labels import Label
from evaluator.models import JudgeConfig, Judgement, ShownJudge
from leaderboard.board.states import board_changed, every_board_changed
from leaderboard.models import Entry, EntryMetric
from leaderboard.models.board import Marks
from leaderboard.models.enums import FINAL, RaterAxis
from reviews.cases.final_labels import final_labels
from reviews.enums import CaseKind, CaseState, FinalSource
from reviews.models import CaseEvent, Trigger
from submissions.domain.audit import record
from submissions.enums import SubmissionState, Verb
from submissions.exceptions import NotAllowedError, WrongStateError
from submissions.models import Implementation

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence
    from datetime import datetime

    from benchmark_tasks.models import Suite
    from leaderboard.models.board import RaterLabels
    from submissions.models import Submission, User

log = structlog.get_logger(__name__)

BATCH: Final = 100
"""Rows recounted at once after a change of the judge or of the counting rules; the sweep recounts the rest."""
LABELS: Final = tuple(label.value for label in Label)
ABSTAINED: Final = "abstained"
COUNTED: Final = (*LABELS, ABSTAINED)
MIXED: Final = "M"

# Shares of trials are sums of fractions such as 1/3; more digits would only be noise.
_DIGITS = 6

Shares: TypeAlias = dict[tuple[int | None, int], dict[str, float]]
Counts: TypeAlias = dict[str, dict[str, float]]
"""Rater -> label -> number of tasks; ``final`` also has each source of final labels."""
SOURCES: Final = tuple(source.value for source in FinalSource)

# A case that enters one of these may change the annotators' label of its answer; DISPUTED after AGREED removes it.
_LABEL_CHANGES: Final = (CaseState.AGREED, CaseState.DISPUTED, CaseState.FINAL, CaseState.VOID, CaseState.REOPENED)


def annotators_shares(submission: Submission, judge: JudgeConfig | None) -> dict[str, Shares]:
    """Return ``human`` and ``final`` -> (category id, task revision id) -> label -> share of the trials.

    The final ones also have the share of each source. Empty if annotators have decided no answer: then the judge's
    labels, which the row has as well, are the final ones. Four queries.
    """
    answers = Implementation.objects.filter(submission=submission).order_by("pk")
    places = {
        pk: (category, revision)
        for pk, category, revision in answers.values_list("pk", "revision__category_id", "revision_id")
    }
    finals = final_labels(list(places), judge)
    if all(final.source == FinalSource.JUDGE for final in finals.values()):
        return {}
    human: Shares = defaultdict(lambda: defaultdict(float))
    every: Shares = defaultdict(lambda: defaultdict(float))
    for answer, final in finals.items():
        share = 1 / submission.trials
        every[places[answer]][final.label] += share
        every[places[answer]][final.source.value] += share
        if final.source != FinalSource.JUDGE:
            human[places[answer]][final.label] += share
    return {RaterAxis.HUMAN.value: human, FINAL: every}


def reviewed_since(since: datetime | None) -> set[int]:
    """Return submissions whose cases or annotators' labels changed after their row was counted, and after ``since``.

    Two queries.
    """
    answer = "case__implementation__submission"
    newer = Q(case__kind=CaseKind.REVIEW, created__gt=F(f"{answer}__entry__computed"))
    if since is not None:
        newer &= Q(created__gt=since)
    changes = CaseEvent.objects.filter(newer, after__in=_LABEL_CHANGES), Trigger.objects.filter(newer)
    return {pk for each in changes for pk in each.order_by().values_list(answer, flat=True).distinct()}


def recounted(submission_id: int) -> None:
    """Note that something counted on the answers of a submission has changed (``leaderboard.board.blocks``)."""
    Entry.objects.filter(submission=submission_id).update(recounted=F("recounted") + 1)


def shown_judge(suite_id: int) -> JudgeConfig | None:
    """Return the judge whose labels a suite's board shows; None if none was chosen yet. One query."""
    return JudgeConfig.objects.filter(shown_for__suite=suite_id).first()


def judged_shares(submission: Submission, judge: JudgeConfig) -> Shares:
    """Return (category id, task revision id) -> label (or ``abstained``) by ``judge`` -> its share of the trials.

    Tasks that are not judged, or were not answered, are missing. One query.
    """
    shares: Shares = defaultdict(lambda: dict.fromkeys(COUNTED, 0.0))
    rows = Judgement.objects.filter(
        config=judge, implementation__submission=submission, state=WorkState.DONE
    ).values_list("implementation__revision__category_id", "implementation__revision_id", "label", "abstained")
    for category, revision, label, abstained in rows:
        shares[category, revision][ABSTAINED if abstained or not label else label] += 1 / submission.trials
    return shares


def raters_shares(submission: Submission, judge: JudgeConfig | None) -> dict[str, Shares]:
    """Return the shares of judge, annotators and final labels; a rater without labels is missing. Five queries."""
    raters = {RaterAxis.JUDGE.value: judged_shares(submission, judge)} if judge else {}
    return raters | annotators_shares(submission, judge)


def label_marks(raters: Mapping[str, Shares], revisions: Sequence[int]) -> Marks:
    """Return ``Marks`` of the raters: for each of ``revisions`` the label of all trials, ``M`` if they differ."""
    marks = Marks()
    for rater, shares in raters.items():
        by_revision = {revision: labels for (_, revision), labels in shares.items()}
        # The keys of Marks are the raters and "tests".
        marks[rater] = [_mark(by_revision.get(revision, {})) for revision in revisions]  # type: ignore[literal-required]
    return marks


def _mark(labels: Mapping[str, float]) -> str:
    given = [label for label in COUNTED if labels.get(label)]
    return MIXED if len(given) > 1 else "".join(given).replace(ABSTAINED, "A")


def count_labels(raters: Mapping[str, Shares], *, without: Collection[int]) -> dict[int | None, Counts]:
    """Return category id (None: overall) -> each rater's counts of labels, ``without`` some task revisions."""
    counted: dict[int | None, Counts] = defaultdict(dict)
    for rater, shares in raters.items():
        for (category, revision), labels in shares.items():
            for key in {None, category} if revision not in without else ():
                counts = counted[key].setdefault(rater, dict.fromkeys(COUNTED, 0.0))
                for label, share in labels.items():
                    counts[label] = counts.get(label, 0.0) + share
    return counted


def distributions(counts: Counts, tasks: int, judge: JudgeConfig | None = None) -> dict[str, RaterLabels]:
    """Return ``EntryMetric.labels`` of a metric with ``tasks`` tasks. They name ``judge``, a judge of this site."""
    found: dict[str, RaterLabels] = {}
    for rater, labels in counts.items():
        found[rater] = {
            "CC": _whole(labels.get("CC", 0)),
            "LC": _whole(labels.get("LC", 0)),
            "LI": _whole(labels.get("LI", 0)),
            "abstained": _whole(labels.get(ABSTAINED, 0)),
            "none": _whole(tasks - sum(labels.get(label, 0) for label in COUNTED)),
            "percent": {label: round(100 * labels.get(label, 0) / tasks, 1) for label in LABELS},
        }
        if judge is not None and rater == RaterAxis.JUDGE.value:
            found[rater]["by"] = {"slug": judge.slug, "name": judge.name, "model": judge.model}
        if labels.keys() & set(SOURCES):
            found[rater]["sources"] = {source: _whole(labels.get(source, 0)) for source in SOURCES}
    return found


def recount_labels(submission_id: int) -> bool:
    """Recount judge's and annotators' labels in the row of a submission; return whether it has a row.

    Cheap, since only labels are recounted: called after every verdict and every closed case. Concurrent calls run one
    after the other. The row's time is when this began to read, so that later changes make the row stale.
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
        raters = raters_shares(entry.submission, judge)
        revisions = list(revisions_of(entry.suite_version))
        # Tasks that the row's numbers left out when they were computed.
        left_out = {each["task"] for each in entry.left_out}
        counted = count_labels(raters, without={each.pk for each in revisions if each.task.slug in left_out})
        for metric in entry.metrics.all():
            metric.labels = distributions(counted.get(metric.category_id, {}), metric.tasks, judge)
        EntryMetric.objects.bulk_update(entry.metrics.all(), ["labels"])
        marks = {"tests": entry.marks.get("tests", []), **label_marks(raters, [each.pk for each in revisions])}
        Entry.objects.filter(pk=entry.pk).update(computed=begun, marks=marks, recounted=entry.recounted + 1)
        board_changed(entry.suite_version_id)
    return True


def show_judge(*, suite: Suite, config: JudgeConfig, actor: User, reason: str) -> int:
    """Make ``config`` the judge of a suite's board; return how many rows are to be recounted.

    Until it is recounted, a row shows the previous judge's labels and name. Raises ``NotAllowedError`` unless the actor
    is a maintainer, ``WrongStateError`` if the judge is shown already or has judged nothing on the suite.
    """
    if not actor.is_staff:
        msg = "Only maintainers may choose the judge that a board shows."
        raise NotAllowedError(msg)
    with transaction.atomic():
        before = shown_judge(suite.pk)
        if before == config:
            msg = f"This board already shows the judge {config.name}."
            raise WrongStateError(msg)
        judged = Judgement.objects.filter(
            config=config, implementation__submission__suite_version__suite=suite, state=WorkState.DONE
        )
        if not judged.exists():
            msg = f"{config.name} has judged nothing on {suite.title} yet. Have it judge the suite first."
            raise WrongStateError(msg)
        ShownJudge.objects.update_or_create(suite=suite, defaults={"config": config})
        record(
            verb=Verb.JUDGE_SHOWN,
            subject=suite,
            actor=actor,
            reason=reason,
            data={"changed": {"judge": [before.slug if before else "", config.slug]}},
        )
        transaction.on_commit(every_board_changed)
        transaction.on_commit(recount_batch)
    return Entry.objects.filter(suite_version__suite=suite, submission__isnull=False).count()


def recount_batch() -> int:
    """Recount some rows whose suite's judge was changed after they were counted; return how many."""
    return sum(recount_labels(pk) for pk in _of_another_judge())


def _of_another_judge() -> list[int]:
    """List some submissions whose row was counted before their suite's judge was chosen."""
    found: list[int] = []
    # A time in the future (of a clock that is ahead) is skipped: rows counted now would stay stale and be recounted.
    for shown in ShownJudge.objects.filter(changed__lte=timezone.now()):
        older = Entry.objects.filter(suite_version__suite=shown.suite_id, computed__lt=shown.changed)
        scored = older.filter(submission__state=SubmissionState.SCORED).order_by("computed")
        found += scored.values_list("submission__pk", flat=True)[: BATCH - len(found)]
    return found


def judge_suite(*, suite: Suite, config: JudgeConfig, actor: User) -> int:
    """Queue a judgement by ``config`` for every answer of a suite; return how many were added.

    Raises ``NotAllowedError`` unless the actor is a maintainer, ``WrongStateError`` for a retired judge.
    """
    if not actor.is_staff:
        msg = "Only maintainers may have a suite judged: judging is charged to a maintainer's key."
        raise NotAllowedError(msg)
    if not config.active:
        msg = f"{config.name} is retired and cannot judge any more."
        raise WrongStateError(msg)
    with transaction.atomic():
        number = plan_judgements(suite=suite, config=config)
        record(verb=Verb.JUDGED_AGAIN, subject=suite, actor=actor, data={"judge": config.slug, "answers": number})
    return number


def _whole(number: float) -> float | int:
    """Round away the error of adding thirds; return an integer if the number is whole."""
    rounded = round(number, _DIGITS)
    return int(rounded) if rounded == int(rounded) else rounded
