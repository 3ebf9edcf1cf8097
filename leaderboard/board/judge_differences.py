"""What would change on a board if it showed another judge: labels that move, and ranks that would."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from django.urls import reverse

from benchmark_tasks.domain.statistics import wilson
from evaluator.enums import WorkState
from evaluator.judging.labels import Label
from evaluator.models import Judgement
from leaderboard.board.board import visible_entries
from leaderboard.board.judge_labels import ABSTAINED, COUNTED
from submissions.enums import Kind
from submissions.models import Implementation

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from benchmark_tasks.models import SuiteVersion
    from evaluator.models import JudgeConfig
    from leaderboard.models import Entry

LABELLED_CC: Final = Label.CC.value


@dataclass(frozen=True, slots=True)
class MovedLabel:
    """One published answer of which two judges say different things."""

    answer: int
    system: str
    task: str
    trial: int
    address: str
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class RankedRow:
    """One board row: tasks labelled CC by each judge (``percent`` of all tasks that count), and its place by that.

    Bounds are 95 % Wilson intervals. Equal rates share a place.
    """

    system: str
    address: str
    before: float
    before_bounds: tuple[float, float]
    before_rank: int
    after: float
    after_bounds: tuple[float, float]
    after_rank: int

    @property
    def moves(self) -> bool:
        """Whether its place would be another one."""
        return self.before_rank != self.after_rank


@dataclass(frozen=True, slots=True)
class JudgesCompared:
    """Two judges on the published answers of a suite version.

    ``matrix`` has a row for each label of the old judge and a column for each of the new one, both in the order of
    ``COUNTED``, over answers that both have decided (``both``). ``waiting`` counts the answers that the new one has not
    decided yet, out of ``answers`` with code.
    """

    answers: int
    both: int
    waiting: int
    moved: tuple[MovedLabel, ...]
    matrix: tuple[tuple[str, tuple[int, ...]], ...]
    ranks: tuple[RankedRow, ...]

    @property
    def ranks_that_move(self) -> int:
        """How many rows would have another place."""
        return sum(row.moves for row in self.ranks)


def compare(*, version: SuiteVersion, old: JudgeConfig | None, new: JudgeConfig) -> JudgesCompared:
    """Compare what two judges say of everything that the board of ``version`` shows. Four queries at most.

    Only published answers are looked at: the page is public, and the board shows no others.
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
    said = _said(answers, [config for config in (old, new) if config])
    before = said.get(old.pk, {}) if old else {}
    after = said.get(new.pk, {})
    both = [answer for answer in answers if answer.pk in before and answer.pk in after]
    pairs = Counter((before[answer.pk], after[answer.pk]) for answer in both)
    return JudgesCompared(
        answers=len(answers),
        both=len(both),
        waiting=sum(answer.pk not in after for answer in answers),
        moved=tuple(_moved(answer, before, after) for answer in both if before[answer.pk] != after[answer.pk]),
        matrix=tuple((row, tuple(pairs[row, column] for column in COUNTED)) for row in COUNTED),
        ranks=_ranks(entries, answers, before, after),
    )


def _said(answers: Iterable[Implementation], configs: Iterable[JudgeConfig]) -> dict[int, dict[int, str]]:
    """Judge's id -> answer's id -> label or ``abstained``."""
    said: dict[int, dict[int, str]] = defaultdict(dict)
    rows = Judgement.objects.filter(
        implementation__in=[answer.pk for answer in answers],
        config__in=[config.pk for config in configs],
        state=WorkState.DONE,
    ).values_list("config_id", "implementation_id", "label", "abstained")
    for config, answer, label, abstained in rows:
        said[config][answer] = ABSTAINED if abstained or not label else label
    return said


def _moved(answer: Implementation, before: Mapping[int, str], after: Mapping[int, str]) -> MovedLabel:
    return MovedLabel(
        answer=answer.pk,
        system=answer.submission.system.name,
        task=answer.revision.task.slug,
        trial=answer.trial if answer.submission.trials > 1 else 0,
        address=answer.get_absolute_url(),
        before=before[answer.pk],
        after=after[answer.pk],
    )


def _ranks(
    entries: Iterable[Entry],
    answers: Iterable[Implementation],
    before: Mapping[int, str],
    after: Mapping[int, str],
) -> tuple[RankedRow, ...]:
    """The ranked rows with both rates, in the order that they would have; calibration samples are never ranked."""
    by_submission: dict[int, list[Implementation]] = defaultdict(list)
    for answer in answers:
        by_submission[answer.submission_id].append(answer)
    rates: list[tuple[Entry, float, float, int]] = []
    for entry in entries:
        tasks = next((metric.tasks for metric in entry.metrics.all() if metric.category_id is None), 0)
        if entry.kind == Kind.CALIBRATION or entry.submission is None or not tasks:
            continue
        left_out = {each["task"] for each in entry.left_out}
        counted = [each for each in by_submission[entry.submission.pk] if each.revision.task.slug not in left_out]
        trials = entry.submission.trials
        old_cc = sum(before.get(each.pk) == LABELLED_CC for each in counted) / trials
        new_cc = sum(after.get(each.pk) == LABELLED_CC for each in counted) / trials
        rates.append((entry, old_cc, new_cc, tasks))
    old_ranks = _places([old_cc / tasks for _, old_cc, _, tasks in rates])
    new_ranks = _places([new_cc / tasks for _, _, new_cc, tasks in rates])
    rows = [
        RankedRow(
            system=entry.system.name,
            address=reverse("submission", args=[entry.submission_id]),
            before=100 * old_cc / tasks,
            before_bounds=_bounds(old_cc, tasks),
            before_rank=old_rank,
            after=100 * new_cc / tasks,
            after_bounds=_bounds(new_cc, tasks),
            after_rank=new_rank,
        )
        for (entry, old_cc, new_cc, tasks), old_rank, new_rank in zip(rates, old_ranks, new_ranks, strict=True)
    ]
    return tuple(sorted(rows, key=lambda row: (row.after_rank, row.system.casefold(), row.address)))


def _places(rates: list[float]) -> list[int]:
    """The place of each rate, 1 for the highest; equal ones (but for the noise of adding thirds) share one."""
    rounded = [round(rate, 9) for rate in rates]
    return [1 + sum(other > rate for other in rounded) for rate in rounded]


def _bounds(count: float, tasks: int) -> tuple[float, float]:
    """The 95 % Wilson interval as percentages."""
    low, high = wilson(count, tasks)
    return 100 * low, 100 * high
