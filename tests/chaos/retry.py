"""``python -m tests.chaos.retry``: retry what is held, as an operator does on the maintainers' page.

Faults may kill the worker of one and the same run three times, which holds it.
"""

from __future__ import annotations

import django


def retry() -> None:
    """Queue every held run of an instance again."""
    from evaluator.queue.results import retry_held
    from submissions.domain.operators import local_operator
    from submissions.enums import SubmissionState
    from submissions.models import Submission

    for submission in Submission.objects.filter(state=SubmissionState.HELD):
        retry_held(submission=submission, actor=local_operator())


if __name__ == "__main__":
    django.setup()
    retry()
