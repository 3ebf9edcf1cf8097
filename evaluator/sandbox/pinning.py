"""All runs of one submission (or of one re-evaluation of it) are measured in the same state of each environment."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.db.models import Q

from evaluator.models import TestRun
from evaluator.sandbox.types import SandboxError

if TYPE_CHECKING:
    from evaluator.models.runs import TestRunQuerySet

SHOWN_CHARACTERS = 12


def require_same(run: TestRun, *, environment: str, digest: str) -> None:
    """Raise ``SandboxError`` if what ``run`` counts together with was measured in another state of ``environment``."""
    pinned = _peers(run, environment).exclude(environment_digest=digest).values_list("environment_digest", flat=True)
    other = pinned.first()
    if other is None:
        return
    offered = short(digest)
    if run.reevaluation_id is None:
        msg = (
            f"This submission is pinned to the environment {short(other)}, and this worker offers {offered}: the "
            "interpreter, a package or the image changed since its first run. Bring the old environment back, or "
            "cancel the submission and submit again."
        )
    else:
        msg = (
            f"This re-evaluation is pinned to the environment {short(other)}, and this worker offers {offered}: the "
            "interpreter, a package or the image changed since it was planned. Cancel it and plan it again."
        )
    raise SandboxError(msg, public="the environment changed between two runs of this submission")


def short(digest: str) -> str:
    """As much of an environment's digest as tells environments apart."""
    return digest.removeprefix("sha256:")[:SHOWN_CHARACTERS]


def _peers(run: TestRun, environment: str) -> TestRunQuerySet:
    """The decided runs that ``run`` shares a score with. What was decided without a box has no digest."""
    decided = TestRun.objects.filter(
        implementation__submission=run.implementation.submission_id, environment=environment
    ).exclude(environment_digest="")
    if run.reevaluation_id is None:
        return decided.filter(reevaluation__isnull=True)
    repeated = TestRun.objects.filter(reevaluation=run.reevaluation_id).values("implementation")
    kept = TestRun.objects.current().exclude(implementation__in=repeated).values("pk")
    return decided.filter(Q(reevaluation=run.reevaluation_id) | Q(pk__in=kept))
