"""Test runs and every attempt at them."""

from __future__ import annotations

from django.db import models

from benchmark_tasks.models import TaskRevision
from evaluator.enums import OUTCOME_CHOICES, AttemptState, ReevaluationState, RunState
from evaluator.models.leasing import Leased
from submissions.models import Implementation


class TestRunQuerySet(models.QuerySet["TestRun"]):
    """Test runs, with a filter for those that count."""

    def current(self) -> TestRunQuerySet:
        """Return runs that are not superseded, without those of re-evaluations not yet applied."""
        pending = models.Q(reevaluation__isnull=False) & ~models.Q(reevaluation__state=ReevaluationState.APPLIED)
        return self.filter(superseded_by__isnull=True).exclude(pending)


class TestRun(Leased):
    """One answer, measured once under fixed conditions. This row is authoritative; the queue is only a hint.

    ``token`` names the attempt that holds the run until ``lease_until``; results are accepted from it alone.
    ``reason`` is the verdict's once there is one.
    ``cases`` is a list of ``{seed, index, public, outcome, difference, error, name}``; private ones have no seed.
    ``revision`` is the task revision whose tests decide, if newer than the one that was answered. A run of a
    re-evaluation counts from the moment when the whole re-evaluation is applied; until then the old one does.
    ``environment`` is the name of the environment it ran in, ``environment_digest`` that of its contents.
    ``upstream_outcome`` is the outcome of the suite authors' own unit test where an overlay replaced it by a sealed
    test; it counts nowhere. ``upstream`` holds that verdict's ``{reason, log, seconds}``, or the reason why there is
    none; empty where that test does not exist.
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
            # An environment may change and change back, so a re-evaluation may repeat earlier conditions.
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
        """Whether upstream's test ran in a separate box from the answer, as some did before evaluator version 5."""
        return self.graded_revision.audit.get("mode") == "remote" and self.evaluator_version in {"1", "2", "3", "4"}


class Attempt(models.Model):
    """One worker's attempt at a test run; ``token`` lets it decide the run. ``sandbox`` is empty if none was used."""

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
        # The status page asks for the newest of millions.
        indexes = [models.Index(fields=["started", "id"], name="attempts_by_start")]

    def __str__(self) -> str:
        return f"attempt {self.number} at run {self.run_id}"

    @property
    def label(self) -> str:
        """The name of this attempt's boxes on the machine."""
        return f"run-{self.run_id}-{self.number}"
