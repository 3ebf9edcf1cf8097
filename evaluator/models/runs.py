"""What must be measured, and every try at measuring it."""

from __future__ import annotations

from django.db import models

from benchmark_tasks.models import TaskRevision
from evaluator.enums import OUTCOME_CHOICES, AttemptState, ReevaluationState, RunState
from evaluator.models.leasing import Leased
from submissions.models import Implementation


class TestRunQuerySet(models.QuerySet["TestRun"]):
    """Test runs, and which of them count."""

    def current(self) -> TestRunQuerySet:
        """Those that no other has superseded, without those of re-evaluations that are still under way."""
        pending = models.Q(reevaluation__isnull=False) & ~models.Q(reevaluation__state=ReevaluationState.APPLIED)
        return self.filter(superseded_by__isnull=True).exclude(pending)


class TestRun(Leased):
    """One answer, measured once under fixed conditions. The database row is the truth, the queue only a hint.

    ``token`` names the attempt that holds the run until ``lease_until``; results are accepted from it alone.
    ``reason`` is the verdict's once there is one.
    ``cases`` is a list of ``{seed, index, public, outcome, difference, error, name}``; private ones have no seed.
    ``revision`` is the task revision whose tests decide where that is a newer one than the answer was given to. A run
    of a re-evaluation counts from the moment when the whole re-evaluation is applied; until then the old one does.
    ``environment`` is the name of what it was measured in, ``environment_digest`` what that was made of.
    ``upstream_outcome`` is what the unit test of the suite's authors says where an overlay put a sealed test in its
    place; it counts nowhere. ``upstream`` holds that verdict's ``{reason, log, seconds}``, or the reason why there is
    none; empty where none was to be had.
    """

    __test__ = False

    implementation = models.ForeignKey(Implementation, on_delete=models.CASCADE, related_name="test_runs")
    grading_hash = models.CharField(max_length=64, blank=True)
    environment = models.CharField(max_length=80, blank=True)
    environment_digest = models.CharField(max_length=80, blank=True)
    seed_epoch = models.PositiveIntegerField(default=0)
    evaluator_version = models.CharField(max_length=20)
    outcome = models.CharField(max_length=15, choices=OUTCOME_CHOICES, blank=True)
    cases = models.JSONField(default=list, blank=True)
    log = models.TextField(blank=True)
    seconds = models.FloatField(null=True, blank=True)
    upstream_outcome = models.CharField(max_length=15, choices=OUTCOME_CHOICES, blank=True)
    upstream = models.JSONField(default=dict, blank=True)
    supersedes = models.ForeignKey(
        "self", null=True, blank=True, on_delete=models.PROTECT, related_name="superseded_by"
    )
    supersedes_reason = models.TextField(blank=True)
    revision = models.ForeignKey(TaskRevision, null=True, blank=True, on_delete=models.PROTECT, related_name="+")
    reevaluation = models.ForeignKey(
        "evaluator.Reevaluation", null=True, blank=True, on_delete=models.PROTECT, related_name="runs"
    )

    objects = TestRunQuerySet.as_manager()

    class Meta:
        ordering = ["implementation", "pk"]
        constraints = [
            models.UniqueConstraint(
                fields=["implementation", "grading_hash", "environment_digest", "seed_epoch", "evaluator_version"],
                condition=models.Q(reevaluation__isnull=True),
                name="measured_once_under_the_same_conditions",
            ),
            # An environment may change and change back: a re-evaluation may come to conditions that were there before.
            models.UniqueConstraint(fields=["reevaluation", "implementation"], name="once_in_each_reevaluation"),
            models.CheckConstraint(
                condition=models.Q(state=RunState.DONE) ^ models.Q(outcome=""), name="an_outcome_exactly_when_done"
            ),
            models.CheckConstraint(
                condition=models.Q(state=RunState.RUNNING, token__isnull=False, lease_until__isnull=False)
                | (~models.Q(state=RunState.RUNNING) & models.Q(token__isnull=True)),
                name="a_token_exactly_while_running",
            ),
        ]
        indexes = [models.Index(fields=["state", "not_before"], name="runs_to_claim")]

    def __str__(self) -> str:
        return f"run {self.pk} of {self.implementation_id}"

    @property
    def graded_revision(self) -> TaskRevision:
        """The task revision whose tests decide this run."""
        return self.revision or self.implementation.revision

    @property
    def ran_remotely(self) -> bool:
        """Whether upstream's test ran in another box than the answer, as some did before evaluator version 5."""
        return self.graded_revision.audit.get("mode") == "remote" and self.evaluator_version in {"1", "2", "3", "4"}


class Attempt(models.Model):
    """One try at a test run, by one worker, who may decide it with ``token``; ``sandbox`` is empty without one."""

    run = models.ForeignKey(TestRun, on_delete=models.CASCADE, related_name="attempts")
    number = models.PositiveSmallIntegerField()
    token = models.UUIDField(unique=True)
    worker = models.CharField(max_length=120)
    sandbox = models.CharField(max_length=20, blank=True)
    state = models.CharField(max_length=10, choices=AttemptState, default=AttemptState.RUNNING)
    reason = models.TextField(blank=True)
    started = models.DateTimeField(auto_now_add=True)
    ended = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["run", "number"]
        constraints = [
            models.UniqueConstraint(fields=["run", "number"], name="one_attempt_per_number"),
            models.UniqueConstraint(
                fields=["run"], condition=models.Q(state=AttemptState.ACCEPTED), name="one_accepted_attempt_per_run"
            ),
        ]

    def __str__(self) -> str:
        return f"attempt {self.number} at run {self.run_id}"

    @property
    def label(self) -> str:
        """What this attempt's boxes are called on the machine."""
        return f"run-{self.run_id}-{self.number}"
