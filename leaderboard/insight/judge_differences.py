"""Compute how a board would change with another judge: labels that differ, and ranks that would change."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from django.db.models import Count, Q
from django.shortcuts import get_object_or_404

from benchmark_tasks.models import Suite
from evaluator.enums import WorkState
from evaluator.labels import Label
from evaluator.models import Judgement
from leaderboard.board.labels import ABSTAINED, COUNTED
from leaderboard.board.rows import visible_entries
from submissions.enums import Kind
from submissions.models import Implementation

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from django.http import HttpRequest

    from benchmark_tasks.models import SuiteVersion
    from evaluator.models import JudgeConfig
    from leaderboard.models import Entry

LABELLED_CC: Final = Label.CC.value


@dataclass(frozen=True, slots=True)
class RankedRow:
    """A ranked row: the tasks, out of ``tasks``, that each judge labels CC, and the rank. Equal rates share a rank."""

    entry: Entry
    tasks: int
    before: float
    after: float
    before_rank: int = 0
    after_rank: int = 0


@dataclass(frozen=True, slots=True)
class JudgesCompared:
    """Two judges on the published answers of a suite version.

    ``moved`` are the answers that they label differently, with both labels. ``matrix`` has a row for each label of the
    old judge and a column for each of the new one, both in the order of ``COUNTED``, over answers that both have
    decided (``both``). ``waiting`` counts the answers that the new one has not decided yet, out of ``answers`` with
    code.
    """

    answers: int
    both: int
    waiting: int
    moved: list[tuple[Implementation, str, str]]
    matrix: list[tuple[str, list[int]]]
    ranks: list[RankedRow]

    @property
    def ranks_that_move(self) -> int:
        """How many rows would have another rank."""
        return sum(row.before_rank != row.after_rank for row in self.ranks)


def compare(*, version: SuiteVersion, old: JudgeConfig | None, new: JudgeConfig) -> JudgesCompared:
    """Compare two judges' labels of all answers on the board of ``version``. At most four queries.

    Only published answers are used: the page is public, and the board shows no others.
    """
    entries = list(
        visible_entries()
        .filter(suite_version=version, submission__isnull=False)
        .select_related("system", "submission")
        .prefetch_related("metrics")
    )
    answers = list(
        Implementation.objects.filter(
            submission__in=[entry.submission_id for entry in entries], attempted=True, files__isnull=False
        )
        .select_related("submission__system", "revision__task__paper")
        .order_by(
            *("submission__system__name", "submission_id"),
            *("revision__task__paper__folder_name", "revision__task__index", "trial"),
        )
        .defer("files", "diff", "goal_source", "raw_answer", "set_aside", "revision__masked_source")
    )
    labels = _labels_by_judge(answers, [config for config in (old, new) if config])
    before = labels.get(old.pk, {}) if old else {}
    after = labels.get(new.pk, {})
    both = [answer for answer in answers if answer.pk in before and answer.pk in after]
    pairs = Counter((before[answer.pk], after[answer.pk]) for answer in both)
    return JudgesCompared(
        answers=len(answers),
        both=len(both),
        waiting=sum(answer.pk not in after for answer in answers),
        moved=[(each, before[each.pk], after[each.pk]) for each in both if before[each.pk] != after[each.pk]],
        matrix=[(row, [pairs[row, column] for column in COUNTED]) for row in COUNTED],
        ranks=_ranks(entries, answers, before, after),
    )


def _labels_by_judge(answers: Iterable[Implementation], configs: Iterable[JudgeConfig]) -> dict[int, dict[int, str]]:
    """Map judge's id -> answer's id -> label or ``abstained``."""
    labels: dict[int, dict[int, str]] = defaultdict(dict)
    rows = Judgement.objects.filter(
        implementation__in=[answer.pk for answer in answers],
        config__in=[config.pk for config in configs],
        state=WorkState.DONE,
    ).values_list("config_id", "implementation_id", "label", "abstained")
    for config, answer, label, abstained in rows:
        labels[config][answer] = ABSTAINED if abstained or not label else label
    return labels


def _ranks(
    entries: Iterable[Entry],
    answers: Iterable[Implementation],
    before: Mapping[int, str],
    after: Mapping[int, str],
) -> list[RankedRow]:
    """Return the ranked rows in their new order; calibration samples are never ranked."""
    by_submission: dict[int, list[Implementation]] = defaultdict(list)
    for answer in answers:
        by_submission[answer.submission_id].append(answer)
    rows = []
    for entry in entries:
        tasks = next((metric.tasks for metric in entry.metrics.all() if metric.category_id is None), 0)
        if entry.kind == Kind.CALIBRATION or entry.submission is None or not tasks:
            continue
        left_out = {each["task"] for each in entry.left_out}
        counted = [each for each in by_submission[entry.submission.pk] if each.revision.task.slug not in left_out]
        old, new = (
            sum(labels.get(each.pk) == LABELLED_CC for each in counted) / entry.submission.trials
            for labels in (before, after)
        )
        rows.append(RankedRow(entry, tasks, old, new))
    old_ranks = _places([row.before / row.tasks for row in rows])
    new_ranks = _places([row.after / row.tasks for row in rows])
    placed = (
        replace(row, before_rank=old, after_rank=new) for row, old, new in zip(rows, old_ranks, new_ranks, strict=True)
    )
    return sorted(placed, key=lambda row: (row.after_rank, row.entry.system.name.casefold(), row.entry.pk))


def _places(rates: list[float]) -> list[int]:
    """Return the rank of each rate, 1 for the highest; rates that are equal up to rounding errors share a rank."""
    rounded = [round(rate, 9) for rate in rates]
    return [1 + sum(other > rate for other in rounded) for rate in rounded]


def requested_suite(request: HttpRequest, config: JudgeConfig) -> Suite | None:
    """Return the suite that the address names, else the one with most of the judge's verdicts. Raises Http404."""
    named = request.GET.get("suite", "")
    if named:
        return get_object_or_404(Suite, slug=named)
    judged = Count(
        "versions__submissions__implementations__judgements",
        filter=Q(versions__submissions__implementations__judgements__config=config),
    )
    return Suite.objects.annotate(judged=judged).order_by("-judged", "position", "slug").first()
