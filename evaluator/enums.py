"""The evaluator's closed vocabularies."""

from __future__ import annotations

from enum import StrEnum

from django.db.models import TextChoices

from evaluator.labels import Label
from evaluator.outcomes import Outcome

OUTCOME_CHOICES = [(outcome.value, outcome.words) for outcome in Outcome]
LABEL_CHOICES = [(label.value, label.meaning) for label in Label]


class WorkState(TextChoices):
    """The life of work that workers hold by a lease. Changed by conditional update only."""

    QUEUED = "queued", "queued"
    RUNNING = "running", "running"
    DONE = "done", "done"
    HELD = "held", "held"
    CANCELLED = "cancelled", "cancelled"


RunState = WorkState
"""A test run's life is that of all leased work."""


class AttemptState(TextChoices):
    """One try at a test run. At most one attempt of a run is ever accepted.

    ``infra`` is also an attempt whose lease ran out; ``lost`` one that its worker gave back when it was asked to stop.
    """

    RUNNING = "running", "running"
    ACCEPTED = "accepted", "accepted"
    INFRA = "infra", "infrastructure error"
    LOST = "lost", "given up"
    CANCELLED = "cancelled", "cancelled"


class ReevaluationState(TextChoices):
    """A re-evaluation's life. ``held``: infrastructure errors came too often, an operator has to look."""

    RUNNING = "running", "under way"
    HELD = "held", "held"
    APPLIED = "applied", "applied"
    CANCELLED = "cancelled", "cancelled"


class BuildState(TextChoices):
    """How an environment's build ended."""

    BUILT = "built", "built"
    FAILED = "failed", "failed"


class AttackGroup(StrEnum):
    """What an attack is after. ``CONTROL`` is none: what must be so for the others to mean anything."""

    CONTROL = "control"
    RESOURCES = "resources"
    ESCAPE = "escape"
    TAMPERING = "tampering"


class SelfCheckKind(TextChoices):
    """How thorough a round of attacks was: before the first job, now and then, or by hand with all of them."""

    CANARY = "canary", "canary"
    SHORT = "short", "short"
    FULL = "full", "full"


class GenerationState(TextChoices):
    """A generation's life. ``paused``: its owner, or one of its limits, stopped it, and it can go on. ``held``: a
    provider's errors came too often.
    """

    RUNNING = "running", "under way"
    PAUSED = "paused", "paused"
    HELD = "held", "held"
    DONE = "done", "done"
    CANCELLED = "cancelled", "cancelled"


class AnswerTaken(TextChoices):
    """What the model's answer was. All but the first are the model's result, and count as no code."""

    CODE = "code", "code"
    REFUSED = "refused", "refused"
    EMPTY = "empty", "empty"
    UNPARSABLE = "unparsable", "no code in it"
    TRUNCATED = "truncated", "cut off by the token limit"
    LIMIT = "limit", "out of steps, time or tokens"
    TOO_LONG = "too_long", "the prompt does not fit the model"


class CallPurpose(TextChoices):
    """What a model was asked for."""

    ANSWER = "answer", "answer"
    JUDGE = "judge", "verdict"
    HEALTH = "health", "judge's health"


class CallState(TextChoices):
    """A call's life. ``in_doubt``: it may have reached the provider, and its answer was lost."""

    SENDING = "sending", "sent"
    ANSWERED = "answered", "answered"
    FAILED = "failed", "failed"
    IN_DOUBT = "in_doubt", "in doubt"


class TrajectorySource(TextChoices):
    """Which agent a trajectory is of, by the form that its file was recognised as."""

    AGENT = "agent", "this site's agent"
    OPENHANDS = "openhands", "OpenHands"
    OPENHANDS_V1 = "openhands_v1", "OpenHands V1"
    SWE_AGENT = "swe_agent", "SWE-agent"
    ATIF = "atif", "an agent that writes ATIF"
    CLAUDE_CODE = "claude_code", "Claude Code"
    GENERIC = "generic", "an agent of another kind"


class Variant(TextChoices):
    """Which form of the code a judge saw."""

    RAW = "raw", "as it was sent"
    STRIPPED = "stripped", "without comments and docstrings"


class Abstention(TextChoices):
    """Why a vote has no label. It is never counted as one."""

    TRUNCATED = "truncated", "its answer was cut off"
    REFUSED = "refused", "it refused"
    INVALID = "invalid", "its answer was not in the agreed form"
    TOO_LONG = "too_long", "the code does not fit its context"
