"""Labels in board rows: how they are counted, whose they are, and choosing another judge for a suite."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Final, TypeAlias

import structlog
from django.db import transaction
from django.db.models import F
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
from reviews.models import CaseEvent
from submissions.domain.audit import record
from submissions.enums import SubmissionState, Verb
from submissions.exceptions import NotAllowedError, WrongStateError
from submissions.models import Implementation

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence
    from datetime import datetime

    from benchmark_tasks.models import Suite, TaskRevision
    from leaderboard.models.board import RaterLabels
    from submissions.models import Submission, User

log = structlog.get_logger(__name__)

BATCH: Final = 100
"""So many rows of another judge, or of an older way of counting, are counted at once; the sweep counts the rest."""
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

# The states in which annotators may say something else of an answer than before. From AGREED to DISPUTED takes it back.
_TELLING: Final = (CaseState.AGREED, CaseState.DISPUTED, CaseState.FINAL, CaseState.VOID, CaseState.REOPENED)


def annotators_shares(submission: Submission, judge: JudgeConfig | None) -> dict[str, Shares]:
    """``human`` and ``final`` -> (category id, task revision id) -> label -> share of the trials.

    The final ones also say how much comes from each source. Empty where annotators have decided no answer: then the
    judge's labels, which stand beside it, are the final ones. Four queries.
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


def reviewed_since(since: datetime | None) -> list[int]:
    """Submissions of whose answers annotators said something newer than their row; from ``since`` on, where given."""
    answer = "case__implementation__submission"
    events = CaseEvent.objects.filter(
        case__kind=CaseKind.REVIEW, after__in=_TELLING, created__gt=F(f"{answer}__entry__computed")
    )
    if since is not None:
        events = events.filter(created__gt=since)
    return list(events.order_by().values_list(answer, flat=True).distinct())


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


def raters_shares(submission: Submission, judge: JudgeConfig | None) -> dict[str, Shares]:
    """What judge, annotators and the final labels say of each answer; who said nothing is missing. Five queries."""
    raters = {RaterAxis.JUDGE.value: judged_shares(submission, judge)} if judge else {}
    return raters | annotators_shares(submission, judge)


def label_marks(raters: Mapping[str, Shares], revisions: Sequence[int]) -> Marks:
    """``Marks`` of the raters: for each of ``revisions`` what all trials are labelled, ``M`` where they differ."""
    marks = Marks()
    for rater, shares in raters.items():
        said = {revision: labels for (_, revision), labels in shares.items()}
        # Raters are the keys of Marks but for the tests.
        marks[rater] = [_mark(said.get(revision, {})) for revision in revisions]  # type: ignore[literal-required]
    return marks


def _mark(labels: Mapping[str, float]) -> str:
    given = [label for label in COUNTED if labels.get(label)]
    return MIXED if len(given) > 1 else "".join(given).replace(ABSTAINED, "A")


def count_labels(raters: Mapping[str, Shares], *, without: Collection[int]) -> dict[int | None, Counts]:
    """Category id (None: overall) -> what each rater says, ``without`` some task revisions."""
    counted: dict[int | None, Counts] = defaultdict(dict)
    for rater, shares in raters.items():
        for (category, revision), labels in shares.items():
            for key in {None, category} if revision not in without else ():
                counts = counted[key].setdefault(rater, dict.fromkeys(COUNTED, 0.0))
                for label, share in labels.items():
                    counts[label] = counts.get(label, 0.0) + share
    return counted


def distributions(counts: Counts, tasks: int, judge: JudgeConfig | None = None) -> dict[str, RaterLabels]:
    """``EntryMetric.labels`` of a metric of so many ``tasks``. ``judge`` is named where this site asked it."""
    return {
        rater: distribution(said, tasks, judge if rater == RaterAxis.JUDGE.value else None)
        for rater, said in counts.items()
    }


def distribution(counts: Mapping[str, float], tasks: int, judge: JudgeConfig | None = None) -> RaterLabels:
    """One rater's labels of so many ``tasks``."""
    made: RaterLabels = {
        "CC": _whole(counts.get("CC", 0)),
        "LC": _whole(counts.get("LC", 0)),
        "LI": _whole(counts.get("LI", 0)),
        "abstained": _whole(counts.get(ABSTAINED, 0)),
        "none": _whole(tasks - sum(counts.get(label, 0) for label in COUNTED)),
        "percent": {label: round(100 * counts.get(label, 0) / tasks, 1) for label in LABELS},
    }
    if judge is not None:
        made["by"] = {"slug": judge.slug, "name": judge.name, "model": judge.model}
    if counts.keys() & set(SOURCES):
        made["sources"] = {source: _whole(counts.get(source, 0)) for source in SOURCES}
    return made


def recount_labels(submission_id: int) -> bool:
    """Count what judge and annotators say in the row of a submission anew; say whether it has a row.

    Cheap, since nothing but labels is touched: this happens after every verdict and every closed case. Two at once
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
        raters = raters_shares(entry.submission, judge)
        revisions = list(revisions_of(entry.suite_version))
        counted = count_labels(raters, without=left_out_revisions(entry, revisions))
        for metric in entry.metrics.all():
            metric.labels = distributions(counted.get(metric.category_id, {}), metric.tasks, judge)
        EntryMetric.objects.bulk_update(entry.metrics.all(), ["labels"])
        marks = {"tests": entry.marks.get("tests", []), **label_marks(raters, [each.pk for each in revisions])}
        Entry.objects.filter(pk=entry.pk).update(computed=begun, marks=marks)
        board_changed(entry.suite_version_id)
    return True


def show_judge(*, suite: Suite, config: JudgeConfig, actor: User, reason: str) -> int:
    """Make ``config`` the judge of a suite's board; return how many rows are to be counted anew.

    Until it has, a row shows the labels of the judge before, with that judge's name. Raises ``NotAllowedError`` for
    whoever is no maintainer, ``WrongStateError`` when it is the shown one already or has judged nothing on the suite.
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
        transaction.on_commit(every_board_changed)
        transaction.on_commit(recount_batch)
    return Entry.objects.filter(suite_version__suite=suite, submission__isnull=False).count()


def recount_batch() -> int:
    """Count the labels of some rows whose suite shows another judge since they were counted; return how many."""
    return sum(recount_labels(pk) for pk in _of_another_judge())


def _of_another_judge() -> list[int]:
    """Some submissions whose row was counted before their suite's board showed its judge."""
    found: list[int] = []
    # Were a clock ahead, a row that is counted now would be outdated still, and counted for ever.
    for shown in ShownJudge.objects.filter(changed__lte=timezone.now()):
        older = Entry.objects.filter(suite_version__suite=shown.suite_id, computed__lt=shown.changed)
        scored = older.filter(submission__state=SubmissionState.SCORED).order_by("computed")
        found += scored.values_list("submission__pk", flat=True)[: BATCH - len(found)]
    return found


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


def left_out_revisions(entry: Entry, revisions: Iterable[TaskRevision]) -> set[int]:
    """Those of ``revisions`` that the row's numbers do not count, as they were when it was computed."""
    slugs = {each["task"] for each in entry.left_out}
    return {each.pk for each in revisions if each.task.slug in slugs}


def _whole(number: float) -> float | int:
    """``number`` without the noise of adding thirds; whole where it is whole."""
    rounded = round(number, _DIGITS)
    return int(rounded) if rounded == int(rounded) else rounded
