"""React to signals of lower rooms: queue work, after commit."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

from django.db import transaction
from django.dispatch import receiver

from benchmark_tasks.signals import paper_found, suite_imported
from evaluator.generation.generating import cancel_generation
from evaluator.generation.papers import PaperError, read_paper_limited
from evaluator.generation.prompt_tasks import stored_paper
from evaluator.judging.judgements import cancel as cancel_judgements
from evaluator.judging.judgements import plan_for_submission
from evaluator.queue.pushing import SITE, top_up
from evaluator.reevaluation.reevaluating import finalise_reevaluation
from evaluator.signals import measured_again, submission_scored
from evaluator.testing.planning import plan
from evaluator.testing.results import cancel_runs
from submissions.domain import checking
from submissions.models import Submission
from submissions.signals import submission_cancelled, submission_created, upload_waiting


@receiver(upload_waiting)
def check_after_commit(**_: Any) -> None:
    """Have a worker check the file. If the job is lost, the sweep queues it again."""
    transaction.on_commit(lambda: top_up(checking.waiting(), SITE))


@receiver(submission_created)
def plan_after_commit(submission: Submission, **_: Any) -> None:
    """Plan the runs of a new submission. If this process dies first, the sweep plans them."""
    transaction.on_commit(partial(plan, submission.pk))


@receiver(submission_cancelled)
def stop_after_commit(submission: Submission, **_: Any) -> None:
    """Cancel the runs of a cancelled submission, and its open questions to models."""
    transaction.on_commit(partial(cancel_runs, submission.pk))
    transaction.on_commit(partial(cancel_generation, submission.pk))
    transaction.on_commit(partial(cancel_judgements, submission_id=submission.pk))


@receiver(submission_scored)
def judge_after_scoring(submission: Submission, **_: Any) -> None:
    """Queue the verdicts of every active judge; `manage.py judge --pending` queues any that were missed."""
    plan_for_submission(submission.pk)


@receiver(submission_scored)
def read_trajectories_after_scoring(submission: Submission, **_: Any) -> None:
    """Read what agents did from the files sent with the answers, in the worker that scored them."""
    # Imported here: it loads the readers of agents' files, which only this worker needs.
    from evaluator.generation.reading_trajectories import read_uploaded

    read_uploaded(submission.pk)


@receiver(measured_again)
def apply_when_measured(reevaluation_id: int, **_: Any) -> None:
    """Apply a re-evaluation whose last test run has ended, in the worker that ran it."""
    finalise_reevaluation(reevaluation_id)


@receiver(paper_found)
def read_imported_paper(*, content_hash: str, file: Path, **_: Any) -> str:
    """Read an imported paper as prompts do, and store it for them. Synchronous: the import reports the result."""
    try:
        if content_hash:
            stored_paper(content_hash, file)
        else:
            read_paper_limited(file)
    except (PaperError, OSError) as error:
        return str(error)
    return ""


@receiver(suite_imported)
def audit_after_import(**_: Any) -> None:
    """Audit a new suite version. If the job is lost, the sweep queues it again."""
    # Imported here: it loads boxes and mutants, which pages do not need.
    from evaluator.auditing.auditing import push_audit

    push_audit()
