"""Read what a board shows besides its rows; cached for each version of the board's data."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from django.db.models import Count

from benchmark_tasks.domain.queries import categories_of
from benchmark_tasks.models import Suite, SuiteVersion
from leaderboard.board.actions import has_trajectories
from leaderboard.board.blocks import counted_with_reported
from leaderboard.board.caching import keep
from leaderboard.board.labels import shown_judge
from leaderboard.board.later_papers import month_choices
from leaderboard.board.matrix import tasks_of
from leaderboard.board.row import NONE
from leaderboard.board.rows import visible_entries, with_rows
from leaderboard.board.suites import OPEN, summarised
from leaderboard.models import AnswersFile
from submissions.enums import Kind

if TYPE_CHECKING:
    from django.db.models import QuerySet

    from benchmark_tasks.models import Category
    from evaluator.models import JudgeConfig
    from leaderboard.board.blocks import Rows
    from leaderboard.board.matrix import MatrixTask
    from leaderboard.board.suites import SuiteSummary
    from leaderboard.models import BoardState, Entry

_FACETS: Final = {"agent": "scaffold", "backbone": "backbone", "organisation": "organisation"}


@dataclass(frozen=True, slots=True)
class BoardContext:
    """The data that change with suites and judges.

    ``submit_to`` is a suite that takes answers, this one if it does; ``quick`` is the one with the fewest tasks.
    """

    categories: list[Category]
    tasks: list[MatrixTask]
    judge: JudgeConfig | None
    submit_to: Suite | None
    quick: Suite | None
    suites: list[SuiteSummary]


@dataclass(frozen=True, slots=True)
class Published:
    """The data that change with publications: choices of the filters, and numbers of other versions with rows.

    ``has_actions`` is whether any row has trajectories, ``has_samples`` whether any is a calibration sample, and
    ``has_answers`` whether the file of all answers was written.
    """

    facets: dict[str, list[tuple[str, str]]]
    other_versions: list[int]
    has_actions: bool
    has_samples: bool
    has_answers: bool


def board_context(version: SuiteVersion, state: BoardState) -> BoardContext:
    """Read suites, tasks and judge of a board."""

    def read() -> BoardContext:
        suites = summarised(Suite.objects.all())
        takers = sorted((each for each in suites if each.state == OPEN), key=lambda each: each.tasks)
        own = next((each.suite for each in takers if each.suite.pk == version.suite_id), None)
        quick = takers[0].suite if takers else None
        return BoardContext(
            categories=categories_of(version),
            tasks=tasks_of(version),
            judge=shown_judge(version.suite_id),
            submit_to=own or quick,
            quick=quick,
            suites=suites,
        )

    return keep(read, "context", version.pk, state.surroundings)


def published_on(version: SuiteVersion, state: BoardState) -> Published:
    """Read what is published on a suite version, and which other versions, not comparable with it, have rows."""

    def read() -> Published:
        others = with_rows(SuiteVersion.objects.filter(suite=version.suite_id).exclude(pk=version.pk))
        numbers = list(others.values_list("number", flat=True))
        samples = visible_entries().filter(suite_version=version, kind=Kind.CALIBRATION)
        file = AnswersFile.objects.filter(suite=version.suite_id)
        return Published(_facets_of(version), numbers, has_trajectories(version), samples.exists(), file.exists())

    return keep(read, "published", version.pk, state.surroundings, state.results)


def filter_choices(around: BoardContext, published: Published) -> dict[str, list[tuple[str, str]]]:
    """Return the choices of ``BoardFilter`` on a board: facets of its rows, its categories, and its papers' months."""
    return {
        **published.facets,
        "category": [(each.slug, each.title) for each in around.categories],
        "papers": month_choices(around.tasks),
    }


def _facets_of(version: SuiteVersion) -> dict[str, list[tuple[str, str]]]:
    """Count the agents, backbones and organisations of a board's ranked rows, and return them as choices.

    Two queries; another for each block of submissions whose counts are not kept (``board.blocks``).
    """
    rows = visible_entries().filter(suite_version=version, kind=Kind.RANKED)
    counted = counted_with_reported(rows, _count_facets, "facets")
    found: dict[str, Counter[str]] = {facet: Counter() for facet in _FACETS}
    for *values, number in counted:
        for facet, value in zip(_FACETS, values, strict=True):
            found[facet][value] += number
    return {
        facet: [
            (value, f"{'no agent' if facet == 'agent' and value == NONE else value} ({number})")
            for value, number in sorted(numbers.items(), key=lambda each: each[0].casefold())
            if value
        ]
        for facet, numbers in found.items()
    }


def _count_facets(entries: QuerySet[Entry]) -> Rows:
    columns = (f"system__{field}" for field in _FACETS.values())
    return tuple(entries.order_by().values_list(*columns).annotate(Count("pk")))
