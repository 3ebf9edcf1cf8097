"""The evaluator's closed vocabularies."""

from __future__ import annotations

from django.db.models import TextChoices

from evaluator.grading.types import Outcome

OUTCOME_CHOICES = [(outcome.value, outcome.value.replace("_", " ")) for outcome in Outcome]


class RunState(TextChoices):
    """A test run's life. Changed by conditional update only."""

    QUEUED = "queued", "queued"
    RUNNING = "running", "running"
    DONE = "done", "done"
    HELD = "held", "held"
    CANCELLED = "cancelled", "cancelled"


class AttemptState(TextChoices):
    """One try at a test run. At most one attempt of a run is ever accepted."""

    RUNNING = "running", "running"
    ACCEPTED = "accepted", "accepted"
    INFRA = "infra", "failed by a fault of ours"
    LOST = "lost", "its lease ran out"
    CANCELLED = "cancelled", "cancelled"


class ReevaluationState(TextChoices):
    """A re-evaluation's life. ``held``: a fault of ours came too often, an operator has to look."""

    RUNNING = "running", "under way"
    HELD = "held", "held"
    APPLIED = "applied", "applied"
    CANCELLED = "cancelled", "cancelled"


class BuildState(TextChoices):
    """How an environment's build ended."""

    BUILT = "built", "built"
    FAILED = "failed", "failed"


class SelfCheckKind(TextChoices):
    """How thorough a round of attacks was: before the first job, now and then, or by hand with everything."""

    CANARY = "canary", "canary"
    SHORT = "short", "short"
    FULL = "full", "full"
