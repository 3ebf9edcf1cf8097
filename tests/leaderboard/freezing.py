"""A board of two tasks, and its snapshots."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from leaderboard.board.ranks import rank_version
from leaderboard.board.states import note_change
from leaderboard.sharing.snapshots.freezing import freeze
from tests.benchmark_tasks.factories import (
    PaperFactory,
    SuiteFactory,
    SuiteVersionFactory,
    TaskFactory,
    TaskRevisionFactory,
)
from tests.leaderboard.factories import measured
from tests.submissions.factories import SystemFactory

if TYPE_CHECKING:
    from benchmark_tasks.models import SuiteVersion
    from leaderboard.models import Entry, Snapshot
    from submissions.models import Submission

PAGE = "/board/small/snapshots/1/"


def two_tasks() -> SuiteVersion:
    """The suite “small” with the tasks a/1 and b/1."""
    made: SuiteVersion = SuiteVersionFactory(suite=SuiteFactory(slug="small", title="Small", position=1))
    for name in ("a", "b"):
        paper = PaperFactory(suite=made.suite, slug=name, folder_name=name)
        task = TaskFactory(suite=made.suite, paper=paper, index=1, slug=f"{name}/1")
        made.revisions.add(TaskRevisionFactory(task=task))
    return made


def ours(version: SuiteVersion, name: str = "Ours", **facts: Any) -> Entry:
    """A row with marks on both tasks."""
    entry = measured(version, system=SystemFactory(name=name, slug=name.lower()), **facts)
    entry.marks = {"tests": [1.0, 0.0], "judge": ["CC", "LI"]}
    entry.save()
    return entry


def sent(entry: Entry) -> Submission:
    """The row's submission."""
    assert entry.submission is not None
    return entry.submission


def frozen(version: SuiteVersion, *, title: str = "camera-ready", **facts: Any) -> Snapshot:
    """Rank the board and freeze it."""
    note_change(version.pk, results=True)
    rank_version(version.pk)
    return freeze(suite=version.suite, actor=None, title=title, note="For the paper.", **facts)
