"""Freeze a board: store everything that its public page shows in one document and one archive."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Final

from django.db import transaction
from django.utils import timezone

from benchmark_tasks.domain.content import put_file
from benchmark_tasks.domain.queries import current_version, digest_of
from benchmark_tasks.models import Suite
from leaderboard.board.columns import DEFAULT_SORT, FILE_COLUMNS, sorted_metrics
from leaderboard.board.entries import COUNTING
from leaderboard.board.labels import shown_judge
from leaderboard.board.matrix import tasks_of
from leaderboard.board.rows import board_metrics, board_rows, flagged_tasks
from leaderboard.board.states import board_changed, changes_of, state_of
from leaderboard.insight.agreement.raters import Selection, selected_entries
from leaderboard.insight.agreement.report import read_report
from leaderboard.insight.agreement.texts import statistic_lines
from leaderboard.models import Snapshot
from leaderboard.sharing.snapshots.archive import archive_of
from leaderboard.sharing.snapshots.document import as_json
from reviews.models import GuidelineRevision
from submissions.domain.audit import record
from submissions.enums import Verb
from submissions.exceptions import NotAllowedError, WrongStateError

if TYPE_CHECKING:
    from benchmark_tasks.models import SuiteVersion
    from evaluator.models import JudgeConfig
    from leaderboard.models.snapshots import Document, FrozenGuidelines, FrozenJudge, FrozenSuite
    from submissions.models import User

MOST_ROWS: Final = 10_000
_TRIES: Final = 3


def freeze(
    *,
    suite: Suite,
    actor: User | None,
    title: str,
    note: str,
    supersedes: int | None = None,
    seen: int | None = None,
) -> Snapshot:
    """Store the board of a suite's newest version as it is public now. ``actor`` is None for the command line.

    Raises :class:`NotAllowedError` unless the actor is a maintainer and gives title and note. Raises
    :class:`WrongStateError` if there is nothing to freeze, if ranks are not computed yet, if the snapshot to supersede
    does not exist or is superseded already, or if the board changed after its version ``seen``.
    """
    if actor is not None and not actor.is_staff:
        msg = "Only maintainers may freeze boards."
        raise NotAllowedError(msg)
    if not title.strip() or not note.strip():
        msg = "Give a title and the reason for the snapshot: its page shows both."
        raise NotAllowedError(msg)
    if seen is not None and changes_of(suite.slug) != seen:
        msg = "The board has changed since you opened this page. Check what would be frozen, then freeze it."
        raise WrongStateError(msg)
    version, frozen = _collected(suite)
    with transaction.atomic():
        # The lock makes concurrent calls wait, so that snapshots are numbered without gaps.
        suite = Suite.objects.select_for_update().get(pk=suite.pk)
        snapshot = Snapshot(
            suite=suite,
            number=next_number(suite),
            suite_version=version,
            title=title.strip(),
            note=note.strip(),
            document=frozen,
            supersedes=_superseded(suite, supersedes),
            created=frozen["frozen"],
            created_by=actor,
        )
        snapshot.archive = put_file(archive_of(snapshot))
        snapshot.save()
        record(
            verb=Verb.FROZEN,
            subject=snapshot,
            actor=actor,
            reason=snapshot.note,
            data={"archive": snapshot.archive, "supersedes": supersedes},
        )
        board_changed(version.pk)
    return Snapshot.objects.select_related("suite").get(pk=snapshot.pk)


def next_number(suite: Suite) -> int:
    """Return the number of the suite's next snapshot."""
    newest = suite.snapshots.defer("document").first()
    return newest.number + 1 if newest else 1


def _superseded(suite: Suite, number: int | None) -> Snapshot | None:
    if number is None:
        return None
    found = suite.snapshots.filter(number=number).first()
    if found is None:
        msg = f"There is no snapshot {number} of {suite.title} to supersede."
        raise WrongStateError(msg)
    if found.replacement:
        msg = f"Snapshot {number} is superseded by snapshot {found.replacement.number} already: supersede that one."
        raise WrongStateError(msg)
    return found


def _collected(suite: Suite) -> tuple[SuiteVersion, Document]:
    """Return the newest version and its board; both are read again if something changed meanwhile."""
    for _ in range(_TRIES):
        before = changes_of(suite.slug)
        version = current_version(suite)
        if version is None:
            break
        _require_ranks(version)
        found = collect(version)
        if changes_of(suite.slug) == before:
            return version, found
    else:
        msg = f"The board changed during each of {_TRIES} readings. Try again when less is evaluated and reviewed."
        raise WrongStateError(msg)
    msg = f"{suite.title} has no version yet, so there is no board to freeze."
    raise WrongStateError(msg)


def _require_ranks(version: SuiteVersion) -> None:
    state = state_of(version)
    rows = board_metrics(version)
    if not rows.exists():
        msg = "Nothing is published on this board yet, so there is nothing to freeze."
        raise WrongStateError(msg)
    if state.ranked < state.results:
        msg = "Rank bands are still being computed from new results. Freeze the board in a minute."
        raise WrongStateError(msg)


def collect(version: SuiteVersion) -> Document:
    """Collect everything that is public of a version's board now."""
    rows = board_rows(sorted_metrics(board_metrics(version), DEFAULT_SORT)[:MOST_ROWS], version, None)
    pairs = read_report(suite=version.suite, selection=(selection := Selection())).pairs
    counted = selected_entries(suite=version.suite, selection=selection).filter(submission__isnull=False)
    return {
        "frozen": timezone.now().isoformat(timespec="seconds"),
        "counting": COUNTING,
        "suite": suite_facts(version),
        "judge": _judge(shown_judge(version.suite_id)),
        "guidelines": _guidelines(GuidelineRevision.objects.first()),
        "columns": list(FILE_COLUMNS),
        "tasks": as_json(tasks_of(version)),
        "flagged": sorted(flagged_tasks(version.pk, None)),
        "rows": as_json(sorted(rows, key=lambda row: row.calibration)),
        "agreement_of": sorted(counted.values_list("submission", flat=True)),
        "agreement": [
            {
                "data": pair.as_data(),
                "lines": [[line.name, line.value, line.note] for line in statistic_lines(pair.result)],
            }
            for pair in pairs
        ],
    }


def suite_facts(version: SuiteVersion) -> FrozenSuite:
    """Return what a snapshot stores of the suite's version. One query."""
    return {
        "slug": version.suite.slug,
        "title": version.suite.title,
        "version": version.number,
        "seed_epoch": version.seed_epoch.number,
        "digest": digest_of(version),
        "licence": version.suite.licence,
    }


def _judge(judge: JudgeConfig | None) -> FrozenJudge | None:
    if judge is None:
        return None
    return {"slug": judge.slug, "name": judge.name, "model": judge.model, "digest": judge.digest}


def _guidelines(revision: GuidelineRevision | None) -> FrozenGuidelines | None:
    if revision is None:
        return None
    return {"number": revision.number, "digest": hashlib.sha256(revision.text.encode()).hexdigest()}
