"""What this room does on news from the lower ones."""

from __future__ import annotations

from functools import partial
from typing import Any

from django.db import transaction
from django.db.models.signals import post_delete, post_save
from django.dispatch import receiver

from benchmark_tasks.models import Suite, SuiteVersion, TaskRevision
from benchmark_tasks.signals import suite_imported
from evaluator.models import JudgeConfig
from evaluator.signals import (
    implementation_rated,
    reconciled,
    revision_audited,
    submission_reevaluated,
    submission_scored,
    trajectory_read_again,
)
from leaderboard.board.entries import catch_up, recompute_audited, recompute_submission, refresh_visibility, rename
from leaderboard.board.labels import recount_labels
from leaderboard.board.states import every_board_changed, note_change
from leaderboard.insight.analysis.report import push_stale
from leaderboard.notices import making as notices
from leaderboard.sharing.answer_files import archive
from reviews.models import Case
from reviews.signals import case_closed, task_flagged
from submissions.models import Implementation, Submission, System
from submissions.signals import submission_changed


@receiver(submission_scored)
def compute_entry(submission: Submission, **_: Any) -> None:
    """Compute the row of a newly scored submission (in the worker that scored it)."""
    recompute_submission(submission.pk)


@receiver(submission_reevaluated)
def compute_entry_again(submission: Submission, **_: Any) -> None:
    """Compute the row of a submission that was measured again, in the same transaction."""
    recompute_submission(submission.pk)


@receiver(trajectory_read_again)
def compute_entry_with_usage(submission_id: int, **_: Any) -> None:
    """Compute the row of a submission whose tokens, cost or actions may have changed, in the same transaction."""
    recompute_submission(submission_id)


@receiver(revision_audited)
def count_or_leave_out(revision: TaskRevision, **_: Any) -> None:
    """Compute the rows anew in which the task counts, or does not any more."""
    recompute_audited(revision.pk)


@receiver(implementation_rated)
def count_labels(implementation: Implementation, **_: Any) -> None:
    """Count the labels of the row in which the answer stands; nothing else of it is computed."""
    transaction.on_commit(partial(recount_labels, implementation.submission_id))


@receiver(case_closed)
def count_final_labels(case: Case, **_: Any) -> None:
    """Count the labels of the row in which the reviewed answer stands."""
    transaction.on_commit(partial(recount_labels, case.implementation.submission_id))


@receiver(submission_changed)
def show_or_hide(submission: Submission, **_: Any) -> None:
    """Follow a change of visibility, or of how a system is described."""
    # Now as well: what was hidden must not stay in a cache should this process end before what follows.
    every_board_changed()
    transaction.on_commit(partial(refresh_visibility, submission.pk))


@receiver(reconciled)
def compute_what_was_lost(**_: Any) -> None:
    """Compute rows whose news was lost in a crash."""
    # Ranks need numpy, which web processes do without.
    from leaderboard.board.ranks import rank_outdated

    catch_up()
    rank_outdated()


@receiver(reconciled)
def analyse_what_changed(**_: Any) -> None:
    """Have a worker compute the analyses whose data changed since."""
    push_stale()


@receiver(reconciled)
def write_what_changed(**_: Any) -> None:
    """Have a worker write the files of answers whose data changed since."""
    archive.push_stale()


@receiver(submission_scored)
def tell_scored(submission: Submission, **_: Any) -> None:
    """Tell the owner. Here and below a fault, which Django logs, stops nothing else: the sweep catches up."""
    transaction.on_commit(partial(notices.note_scored, submission), robust=True)


@receiver(implementation_rated)
def tell_judged(implementation: Implementation, **_: Any) -> None:
    """Tell the owner once the last verdict is there."""
    transaction.on_commit(partial(notices.note_judged, implementation.submission_id), robust=True)


@receiver(case_closed)
def tell_decided(case: Case, **_: Any) -> None:
    """Tell whoever appealed."""
    transaction.on_commit(partial(notices.note_appeal, case), robust=True)


@receiver(reconciled)
def tell_what_was_missed(**_: Any) -> None:
    """Make the notices whose news was lost in a crash, and those that no signal announces."""
    notices.catch_up()


@receiver(post_save, sender=SuiteVersion)
def begin_board(instance: SuiteVersion, **_: Any) -> None:
    """Give a new suite version's board its state."""
    transaction.on_commit(partial(note_change, instance.pk))


@receiver(suite_imported)
def show_reported_on_newest(suite_version: SuiteVersion, **_: Any) -> None:
    """Show what others reported on the new version of a suite, if that has all their tasks."""
    # The readers of upstream's files are nothing that web processes need.
    from leaderboard.board.reported import follow_suite

    follow_suite(suite_version.suite)


@receiver(post_save, sender=System)
def sort_by_new_name(instance: System, **_: Any) -> None:
    """Sort the rows of a system that may have another name now."""
    transaction.on_commit(partial(rename, instance))


@receiver([post_save, post_delete], sender=Suite)
@receiver([post_save, post_delete], sender=System)
@receiver(task_flagged)
@receiver([post_save, post_delete], sender=TaskRevision)
@receiver([post_save, post_delete], sender=JudgeConfig)
def show_what_changed(**_: Any) -> None:
    """What any board may name has changed, which is rare: every board is rendered anew."""
    transaction.on_commit(every_board_changed)
