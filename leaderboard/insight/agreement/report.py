"""Report rater agreement on a suite: every two raters, annotators among themselves, judges against final labels."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any, Final

from django.db.models import Case, F, IntegerField, Value, When
from django.db.models.functions import Lower
from django.urls import reverse

from evaluator.labels import Label
from leaderboard.insight.agreement.label_counts import (
    REPORTED,
    answers_of,
    closed_case,
    count_labels,
    results_of,
    with_labels,
    with_reported_labels,
)
from leaderboard.insight.agreement.raters import REST, UnknownChoiceError, check_selection, raters, selected_entries
from leaderboard.statistics.results import LABELS
from submissions.enums import Inputs

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from django.db.models import QuerySet

    from benchmark_tasks.models import Suite
    from leaderboard.insight.agreement.label_counts import Labels
    from leaderboard.insight.agreement.raters import Rater, Selection
    from leaderboard.statistics.results import AnnotatorsAgreement, JudgeTrust, PairAgreement

LISTED: Final = 500
BINARY_LABELS: Final = (Label.CC.value, REST)


@dataclass(frozen=True, slots=True)
class RaterPair:
    """Two raters, and their agreement on the answers that both labelled.

    ``abstained`` counts the answers that one labelled and the other abstained on; no other number counts these.
    """

    first: Rater
    second: Rater
    result: PairAgreement
    abstained: int = 0

    def as_data(self) -> dict[str, Any]:
        """Return the pair as plain data."""
        raters = {
            place: {"slug": rater.slug, "name": rater.name}
            for place, rater in (("first", self.first), ("second", self.second))
        }
        return {**raters, "abstained": self.abstained, **asdict(self.result)}


@dataclass(frozen=True, slots=True)
class Report:
    """The agreement on some answers. ``judges`` are those with at least one verdict on them."""

    pairs: tuple[RaterPair, ...]
    annotators: AnnotatorsAgreement
    judges: tuple[tuple[Rater, JudgeTrust], ...]
    reported_annotators: bool


@dataclass(frozen=True, slots=True)
class Item:
    """An answer in a cell of a table: its page, its case's page (empty without one), and the two raters' labels.

    ``trial`` is 0 if each task was tried once; ``reported`` marks results that others reported.
    """

    address: str
    case_address: str
    task: str
    system: str
    inputs_text: str
    trial: int
    reported: bool
    first: str
    second: str


def read_report(*, suite: Suite, selection: Selection, hidden: Collection[int] = ()) -> Report:
    """Compute the agreement on a suite's public answers. Raises ``UnknownChoiceError``. At most ten queries.

    The submissions ``hidden`` from the viewer are not counted.
    """
    # Imported here because it loads numpy, which other pages do not need.
    from leaderboard.insight.agreement.trust import annotators_agreement, judge_trust

    known = raters()
    check_selection(suite=suite, selection=selection, known=known)
    entries = selected_entries(suite=suite, selection=selection)
    labels = count_labels(entries=entries, category=selection.category, raters=known, hidden=hidden)
    judges = [rater for rater in known if rater.judge and _has_verdict(labels, rater)]
    return Report(
        pairs=tuple(rater_pairs(labels, selection, known)),
        annotators=annotators_agreement(labels),
        judges=tuple((judge, judge_trust(labels, judge)) for judge in judges),
        reported_annotators=any(label is not None for _, label, _ in labels.reported.of("reported_annotators")),
    )


def _has_verdict(labels: Labels, rater: Rater) -> bool:
    return any(label is not None for _, label, _ in labels.answers.of(rater.column))


def rater_pairs(labels: Labels, selection: Selection, known: Sequence[Rater]) -> list[RaterPair]:
    """Compare every two raters that labelled an answer in common, or only pairs with the named raters.

    Raters that only distinguish CC from the rest are included only if the selection is binary. Rows are the rater that
    is first among the ``known``, or the one that is named first.
    """
    able = [rater for rater in known if selection.binary or not rater.binary_only]
    wanted = {slug for slug in (selection.first, selection.second) if slug}
    found = []
    for one, other in combinations(able, 2):
        if wanted <= {one.slug, other.slug}:
            swapped = other.slug == selection.first or one.slug == selection.second
            pair = _rater_pair(labels, *((other, one) if swapped else (one, other)), binary=selection.binary)
            found += [pair] if pair else []
    return found


def _rater_pair(labels: Labels, first: Rater, second: Rater, *, binary: bool) -> RaterPair | None:
    from leaderboard.statistics.estimates import compare

    counted = labels.with_both(first, second)
    if counted is None:
        return None
    both = Counter[tuple[str, str, str]]()
    abstained = 0
    for paper, label, other, number in counted.of(first.column, second.column):
        if label is None or other is None:
            continue
        if label and other:
            both[paper, _binary(label) if binary else label, _binary(other) if binary else other] += number
        else:
            abstained += number if label or other else 0
    if not both:
        return None
    return RaterPair(first, second, compare(both, labels=BINARY_LABELS if binary else LABELS), abstained)


def _binary(label: str) -> str:
    """Reduce a label to CC or the rest, as in the paper's Table 6."""
    return label if label == Label.CC.value else REST


def items_of_cell(
    *,
    suite: Suite,
    selection: Selection,
    pair: RaterPair,
    cell: tuple[str, str],
    most: int,
    hidden: Collection[int] = (),
) -> list[Item]:
    """List the first answers in a cell of a pair's table, by task, system and trial. Two queries."""
    entries, both = selected_entries(suite=suite, selection=selection, hidden=hidden), (pair.first, pair.second)
    rows: QuerySet[Any]
    if pair.first in REPORTED:
        task, entry, no_case = "task", "run__entry", Value(None, output_field=IntegerField())
        rows = with_reported_labels(results_of(entries, selection.category))
        rows = rows.annotate(owner=F("run__slug"), shown_trial=Value(0), closed_case=no_case)
    else:
        task, entry = "revision__task", "submission__entry"
        rows = with_labels(answers_of(entries, selection.category), both, entries)
        several = Case(When(submission__trials__gt=1, then="trial"), default=0)
        rows = rows.annotate(owner=F("submission_id"), shown_trial=several, closed_case=closed_case())
    inside = {f"{rater.column}__in": _labels_in(label) for rater, label in zip(both, cell, strict=True)}
    system, inputs = f"{entry}__system__name", f"{entry}__inputs"
    found = (
        rows.filter(**inside)
        .order_by(f"{task}__slug", Lower(system), inputs, "shown_trial", "pk")
        .values_list(
            *("owner", f"{task}__paper__slug", f"{task}__index", "shown_trial", "closed_case"),
            *(f"{task}__slug", system, inputs, *(rater.column for rater in both)),
        )
    )
    return [_item(*row) for row in found[:most]]


def all_raters(
    report: Report, *, selection: Selection
) -> tuple[AnnotatorsAgreement | None, tuple[tuple[Rater, JudgeTrust], ...]]:
    """Return the annotators together (None without any) and each judge against them; neither for a narrower selection.

    A narrower one names a rater or is binary.
    """
    if selection.binary or selection.first or selection.second:
        return None, ()
    return (report.annotators if report.annotators.number else None), report.judges


@dataclass(frozen=True, slots=True)
class Cell:
    """One cell of a pair's table: ``count`` answers, the first :data:`LISTED` of them as ``items``."""

    row: str
    column: str
    first: Rater
    second: Rater
    items: list[Item]
    count: int


def cell_of(
    pairs: Sequence[RaterPair], named: str, *, suite: Suite, selection: Selection, hidden: Collection[int] = ()
) -> Cell:
    """Return the cell ``named`` (as ``CC,LI``) of the one pair that is shown. Raises ``UnknownChoiceError``."""
    row, _, column = named.partition(",")
    pair = pairs[0] if len(pairs) == 1 else None
    if pair is None or not {row, column} <= set(pair.result.labels):
        msg = f"“{named[:20]}” is not a cell of a table shown here. Open one from its table."
        raise UnknownChoiceError(msg)
    labels = pair.result.labels
    items = items_of_cell(suite=suite, selection=selection, pair=pair, cell=(row, column), most=LISTED, hidden=hidden)
    count = pair.result.matrix[labels.index(row)][labels.index(column)]
    return Cell(row, column, pair.first, pair.second, items, count)


def _labels_in(label: str) -> tuple[str, ...]:
    """Return the labels that a row or column of this name counts."""
    return (REST, Label.LI.value, Label.LC.value) if label == REST else (label,)


def _item(owner: str | int, paper: str, index: int, trial: int, case: int | None, *shown: str) -> Item:
    """Build an item; ``owner`` is the slug of a reported run or the number of a submission."""
    task, system, inputs, first, second = shown
    if isinstance(owner, str):
        address = reverse("reported_case", args=[owner, paper, index])
    else:
        address = reverse("implementation", args=[owner, paper, index, trial or 1])
    return Item(
        address=address,
        case_address=reverse("case", args=[case]) if case else "",
        task=task,
        system=system,
        inputs_text=Inputs(inputs).label,
        trial=trial,
        reported=isinstance(owner, str),
        first=first,
        second=second,
    )
