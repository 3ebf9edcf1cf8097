"""``python -m tests.load.storing STORED``: wait until the accounts' submissions are scored; write what the site holds.

A process of its own, which has the instance's settings.
"""

from __future__ import annotations

import json
import sys
import time
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Final

import django

from tests.load.plan import PREFIXES, Stored

if TYPE_CHECKING:
    from django.db.models import Q

LONGEST_SECONDS: Final = 600
ENDED: Final = ("scored", "held")


def stored(*, scored_after: float = 0.0) -> Stored:
    """Return what the database holds of the work of :mod:`tests.load.preparing`'s accounts."""
    from django.db.models import Count

    from evaluator.models import Attempt, TestRun
    from reviews.models import Review
    from submissions.models import AuditEvent, Submission

    uploads = (
        AuditEvent.objects.filter(_by("actor"), verb="uploaded").order_by("pk").values_list("subject_id", flat=True)
    )
    states = Submission.objects.filter(_by("owner")).order_by("pk").values_list("pk", "state")
    runs = TestRun.objects.filter(_by("implementation__submission__owner"))
    outcomes: dict[str, dict[str, str]] = {}
    answers = ("implementation__submission", "implementation__revision__task__slug", "outcome")
    for submission, task, outcome in runs.values_list(*answers):
        outcomes.setdefault(str(submission), {})[task] = outcome
    accepted = Attempt.objects.filter(run__in=runs, state="accepted").values("run").annotate(number=Count("pk"))
    labels = Review.objects.filter(_by("reviewer__user")).exclude(case__kind="practice").order_by("pk")
    return Stored(
        uploads=[int(pk) for pk in uploads.values_list("subject_id", flat=True)],
        states={str(pk): state for pk, state in states},
        outcomes=outcomes,
        accepted=[each["number"] for each in accepted.order_by("run")],
        labels=list(labels.values_list("assignment_id", flat=True)),
        scored_after=scored_after,
    )


def _by(field: str) -> Q:
    from django.db.models import Q

    return Q(*((f"{field}__username__startswith", prefix) for prefix in PREFIXES), _connector=Q.OR)


def main() -> None:
    """Wait for the last result, for at most :data:`LONGEST_SECONDS`, and write everything."""
    from submissions.models import Submission

    began = time.monotonic()
    unfinished = Submission.objects.filter(_by("owner")).exclude(state__in=ENDED)
    while unfinished.exists() and time.monotonic() < began + LONGEST_SECONDS:
        time.sleep(0.2)
    found = stored(scored_after=time.monotonic() - began)
    Path(sys.argv[1]).write_text(json.dumps(asdict(found)), encoding="utf-8")


if __name__ == "__main__":
    django.setup()
    main()
