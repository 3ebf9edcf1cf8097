"""Describe suites in a few words: how many tasks they have, and whether they take answers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from benchmark_tasks.domain.queries import distinct_titles, newest_versions, why_closed
from benchmark_tasks.models import SuiteVersion
from leaderboard.board.rows import with_rows

if TYPE_CHECKING:
    from collections.abc import Iterable

    from benchmark_tasks.models import Suite

OPEN: Final = "open"


@dataclass(frozen=True, slots=True)
class SuiteSummary:
    """A suite with its distinct title, its newest version's number of tasks, and its ``state``.

    ``open``: it takes answers; ``published``: it only has published results; ``closed``: it has neither.
    """

    suite: Suite
    title: str
    tasks: int
    state: str

    @property
    def facts(self) -> str:
        """Number of tasks and state, as in ``9 tasks · open``."""
        return f"{self.tasks} task{'' if self.tasks == 1 else 's'} · {self.state}"

    @property
    def text(self) -> str:
        """The whole summary, as in ``LMR-Mini · 9 tasks · open``."""
        return f"{self.title} · {self.facts}"


def summarised(suites: Iterable[Suite]) -> list[SuiteSummary]:
    """Summarise ``suites``, in their order. Three queries."""
    listed = list(suites)
    versions = newest_versions(listed)
    published = set(with_rows(SuiteVersion.objects.all()).values_list("suite", flat=True))
    found = []
    for suite, title in distinct_titles(listed):
        version = versions.get(suite.pk)
        tasks = len(version.revisions.all()) if version else 0
        found.append(SuiteSummary(suite, title, tasks, _state(version, published=suite.pk in published)))
    return found


def _state(version: SuiteVersion | None, *, published: bool) -> str:
    if version is not None and not why_closed(version):
        return OPEN
    return "published" if published else "closed"
