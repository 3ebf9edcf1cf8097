"""The board's columns: the one table that the page, its sorting, and the exports go by."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from django.db.models import Case, F, Func, Value, When
from django.db.models.functions import Coalesce, Lower, NullIf

from leaderboard.board.query_strings import sort_columns

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from django.db.models import QuerySet
    from django.http import QueryDict

    from leaderboard.board.rows import BoardRow
    from leaderboard.models import EntryMetric

LABELS: Final = ("CC", "LC", "LI")
DEFAULT_SORT: Final = "-tests"


@dataclass(frozen=True, slots=True)
class Column:
    """A column by its ``key`` in addresses; a rater's has the ``labels`` that it can be sorted by as well."""

    key: str
    title: str
    hint: str = ""
    labels: tuple[str, ...] = ()
    usual: bool = True

    @property
    def sort_keys(self) -> tuple[str, ...]:
        """What ``?sort=`` may name to sort by it: ``judge``, ``judge-lc``, ``judge-li``."""
        return (self.key, *(f"{self.key}-{label.lower()}" for label in self.labels[1:]))


COLUMNS: Final = (
    Column("rank", "Rank", "The ranks that resampling the papers cannot exclude"),
    Column("system", "System"),
    Column("agent", "Agent", usual=False),
    Column("backbone", "Backbone", usual=False),
    Column("organisation", "Organisation", usual=False),
    Column("weights", "Weights", "Whether anybody may have the weights of the model", usual=False),
    Column("cutoff", "Knowledge cutoff", "The month up to which the model knows texts, by its vendor", usual=False),
    Column("inputs", "Inputs", "What the system was given"),
    Column("tests", "Unit tests", "Per cent of the counted tasks, with the 95 % Wilson interval"),
    Column("trials", "Trials", "pass@k of k answers to each task; the fewest and the most tasks that one trial passes"),
    Column("judge", "LLM judge", "Per cent CC, LC and LI", LABELS),
    Column("human", "Annotators", "Per cent CC, LC and LI", LABELS),
    Column("final", "Final", "Per cent CC, LC and LI", LABELS),
    Column("marks", "Task by task", "Tests, judge and annotators on each task"),
    Column("cost", "Cost", "US $ for all tasks once"),
    Column("tokens", "Tokens", "Tokens in and out for all tasks once", usual=False),
    Column("date", "Published"),
    Column("source", "Source", "Who measured it"),
)
BY_KEY: Final = {column.key: column for column in COLUMNS}
SORT_KEYS: Final = tuple(key for column in COLUMNS if column.key != "marks" for key in column.sort_keys)
_ASCENDING: Final = {
    "rank",
    "system",
    "agent",
    "backbone",
    "organisation",
    "weights",
    "cutoff",
    "inputs",
    "cost",
    "tokens",
    "source",
}
"""What starts at A, or at the least; everything else starts at the largest."""
_NO_NUMBERS: Final = {
    *("system", "agent", "backbone", "organisation", "weights", "cutoff", "inputs", "trials", "date", "source")
}
"""Columns that say nothing about how a row did."""


def sorted_metrics(metrics: QuerySet[EntryMetric], sort: str, *, hidden: Collection[int] = ()) -> QuerySet[EntryMetric]:
    """Rows by one of :data:`SORT_KEYS`, descending after "-"; without a value last either way, ties by name.

    The numbers of the submissions ``hidden`` from the viewer decide no place; ranks, which depend on them, none at all.
    """
    descends = sort.startswith("-")
    if sort == DEFAULT_SORT and not hidden:
        return metrics.order_by("-tests_order", "name", "entry_id")
    key = sort.removeprefix("-")
    values = [] if hidden and key == "rank" else _values(key)
    if hidden and key not in _NO_NUMBERS:
        values = [Case(When(entry__submission__in=hidden, then=None), default=value) for value in values]
    order = [value.desc(nulls_last=True) if descends else value.asc(nulls_last=True) for value in values]
    return metrics.order_by(*order, "name", "entry_id")


def _values(key: str) -> list[F | Func | Case]:
    rater, _, label = key.partition("-")
    if rater in {"judge", "human", "final"}:
        return [_percent(rater, each) for each in ([label.upper()] if label else LABELS[:2])]
    fields: dict[str, list[F | Func | Case]] = {
        "rank": [F("rank_from"), F("rank_to")],
        "system": [F("name")],
        "agent": [Lower("entry__system__scaffold")],
        "backbone": [Lower("entry__system__backbone")],
        "organisation": [Lower("entry__system__organisation")],
        "weights": [NullIf(F("entry__system__weights"), Value(""))],
        "cutoff": [NullIf(F("entry__system__knowledge_cutoff"), Value(""))],
        "inputs": [F("entry__inputs")],
        "tests": [F("tests_rate")],
        "trials": [F("entry__submission__trials")],
        "cost": [F("entry__cost")],
        "tokens": [F("entry__tokens")],
        "date": [F("entry__date")],
        "source": [F("entry__reported_run"), F("entry__submission__source")],
    }
    return fields[key]


def _percent(rater: str, label: str) -> F | Case:
    said = F(f"labels__{rater}__percent__{label}")
    if rater != "final":
        return said
    # The judge's labels are final where annotators decided nothing, of rows that were measured here.
    return Case(When(entry__submission__isnull=False, then=Coalesce(said, F(f"labels__judge__percent__{label}"))))


@dataclass(frozen=True, slots=True)
class Heading:
    """A shown column, with the links that sort by it: address, ``aria-sort`` state and label of each."""

    column: Column
    links: tuple[tuple[str, str, str], ...]

    @property
    def state(self) -> str:
        """Whether the rows are sorted by it: ``ascending``, ``descending`` or ``none``."""
        return next((state for _, state, _ in self.links if state != "none"), "none")


def asked_columns(params: QueryDict, *, without: Collection[str] = ()) -> list[Column]:
    """The columns that ``?columns=`` names (the system's always), else the usual ones but ``without`` some.

    Whoever asks for later papers sees the models' knowledge cutoffs, too.
    """
    asked = set(params.getlist("columns")) & BY_KEY.keys()
    if asked:
        return [column for column in COLUMNS if column.key in asked | {"system"}]
    usual = {column.key for column in COLUMNS if column.usual} | ({"cutoff"} if params.get("papers") else set())
    return [column for column in COLUMNS if column.key in usual - set(without)]


def headings(params: QueryDict, columns: Iterable[Column]) -> list[Heading]:
    """The headings of some columns."""
    links = sort_columns(params, SORT_KEYS, DEFAULT_SORT, ascending=_ASCENDING)
    return [
        Heading(
            column,
            tuple(
                (links[key]["query"], links[key]["state"], label)
                for key, label in zip(column.sort_keys, column.labels or (column.title,), strict=True)
                if key in links
            ),
        )
        for column in columns
    ]


FILE_COLUMNS: Final = (
    *("rank_from", "rank_to", "system", "backbone", "agent", "organisation", "weights", "knowledge_cutoff"),
    *("inputs", "trials", "trial_passed_least", "trial_passed_most", "pass_at_trials_percent"),
    *("tests_passed", "tasks", "tests_percent", "tests_low", "tests_high"),
    *(f"{rater}_{label}_percent" for rater in ("judge", "annotators", "final") for label in ("cc", "lc", "li")),
    *("cost_usd", "tokens", "date", "source", "address"),
)
"""The board as a file. Percentages have one decimal, as on the page; what nobody said is empty (null in JSON)."""
_RATERS: Final = {"judge": "the LLM judge calls", "annotators": "annotators call", "final": "are, in the end,"}
_CALLED: Final = {"cc": "completely correct", "lc": "logically correct", "li": "logically incorrect"}
FILE_MEANINGS: Final = {
    "rank_from": ("integer", "First rank that resampling the papers cannot exclude; empty without a rank band."),
    "rank_to": ("integer", "Last rank that resampling the papers cannot exclude."),
    "system": ("text", "The system's name."),
    "backbone": ("text", "The language model."),
    "agent": ("text", "The agent around it; “none” without one."),
    "organisation": ("text", "Who built the system, by their own account."),
    "weights": ("text", "open or closed: whether anybody may have the model's weights; empty where not said."),
    "knowledge_cutoff": ("text", "The month up to which the model knows texts, by its vendor; empty where not said."),
    "inputs": ("text", "What it was given: full, paper_only or paper_goal_file."),
    "trials": ("integer", "How many times each task was attempted."),
    "trial_passed_least": ("integer", "The fewest counted tasks that one trial passes; empty without several trials."),
    "trial_passed_most": ("integer", "The most counted tasks that one trial passes."),
    "pass_at_trials_percent": ("number", "pass@k for k trials: per cent of counted tasks that one of them passes."),
    "tests_passed": ("number", "Counted tasks whose unit test passes; the mean over trials."),
    "tasks": ("integer", "Counted tasks: the denominator of all percentages."),
    "tests_percent": ("number", "tests_passed in per cent of tasks."),
    "tests_low": ("number", "Lower bound of its 95 % Wilson interval, in per cent."),
    "tests_high": ("number", "Upper bound of its 95 % Wilson interval, in per cent."),
    **{
        f"{rater}_{label}_percent": ("number", f"Per cent of the tasks whose answers {says} {word}.")
        for rater, says in _RATERS.items()
        for label, word in _CALLED.items()
    },
    "cost_usd": ("number", "US $ for all tasks once, as declared or measured; empty where not known of each answer."),
    "tokens": ("integer", "Tokens in and out for all tasks once."),
    "date": ("date and time", "When it was published (ISO 8601); empty for what others reported."),
    "source": ("text", "Who measured it."),
    "address": ("text", "The run's page."),
}
"""Type and meaning of each of :data:`FILE_COLUMNS`, for whoever takes the file away."""


def file_row(row: BoardRow, site: str) -> list[Any]:
    """A row's values for :data:`FILE_COLUMNS`; ``site`` is what stands before its address."""
    tests = row.tests
    labels = [
        None if cell is None else round(percent, 1)
        for cell in (row.judge, row.human, row.final)
        for percent in ((cell.cc, cell.lc, cell.li) if cell else (0, 0, 0))
    ]
    bounds = (tests.percent, tests.low, tests.high) if tests else (None, None, None)
    return [
        *(row.rank or (None, None)),
        *(row.system, row.backbone, row.scaffold or "none", row.organisation, row.weights or None),
        *(row.knowledge_cutoff or None, row.inputs, row.trials),
        *(row.spread or (None, None)),
        None if row.pass_at_trials is None else round(row.pass_at_trials, 1),
        *((round(tests.passed, 6), tests.tasks) if tests else (None, None)),
        *(None if value is None else round(value, 1) for value in bounds),
        *labels,
        *(row.cost, row.tokens, row.date.isoformat(timespec="seconds") if row.date else None),
        *(row.provenance, f"{site}{row.address}"),
    ]
