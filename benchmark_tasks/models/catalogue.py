"""Store suites, their versions, and their tasks (masked functions) in the database."""

from __future__ import annotations

import re
import secrets
from typing import ClassVar, Final

from django.db import models
from django.urls import reverse

from benchmark_tasks.enums import AuditState, CategorySource, Protocol

_ARXIV: Final = re.compile(r"https?://arxiv\.org/(?:abs|pdf)/([0-9]{2})(0[1-9]|1[0-2])\.[0-9]{4,5}", re.ASCII)
_UNKNOWN: Final = {
    AuditState.UNAUDITED: "it is not known yet whether its test distinguishes right from wrong answers",
    AuditState.FAILED: "its test does not distinguish right from wrong answers",
}


def new_epoch_key() -> str:
    """Return thirty-two secret bytes as hexadecimal digits, from which an epoch's private seeds are derived."""
    return secrets.token_hex(32)


class Category(models.Model):
    """One of the paper's nine categories (Table 4), in one spelling."""

    slug = models.SlugField(unique=True)
    title = models.CharField(max_length=80, unique=True)
    definition = models.TextField()
    position = models.PositiveSmallIntegerField()

    class Meta:
        ordering = ["position"]
        verbose_name_plural = "categories"

    def __str__(self) -> str:
        return self.title


class Suite(models.Model):
    """A benchmark: ``lmr-bench`` (upstream's), ``lmr-mini`` (shipped), or an operator's own.

    ``source`` is its origin: an address, or a sentence.
    """

    slug = models.SlugField(unique=True)
    title = models.CharField(max_length=120)
    description = models.TextField(blank=True)
    licence = models.CharField(max_length=120, blank=True)
    source = models.CharField(max_length=300, blank=True)
    position = models.PositiveSmallIntegerField(default=100)

    class Meta:
        ordering = ["position", "slug"]

    def __str__(self) -> str:
        return self.title

    def get_absolute_url(self) -> str:
        return reverse("suite", args=[self.slug])


class SeedEpoch(models.Model):
    """The secret from which a suite's private seeds are derived, until the next epoch replaces it."""

    suite = models.ForeignKey(Suite, on_delete=models.CASCADE, related_name="seed_epochs")
    number = models.PositiveIntegerField()
    key = models.CharField(max_length=64, default=new_epoch_key)
    created = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["suite", "number"], name="one_epoch_per_number")]

    def __str__(self) -> str:
        return f"{self.suite.slug} seeds {self.number}"


class Paper(models.Model):
    """The publication (and its repository) that tasks are taken from."""

    suite = models.ForeignKey(Suite, on_delete=models.CASCADE, related_name="papers")
    slug = models.SlugField(max_length=80)
    instance_id = models.CharField(max_length=40)
    folder_name = models.CharField(max_length=120)
    title = models.CharField(max_length=300)
    address = models.URLField(max_length=500, blank=True)
    year = models.PositiveSmallIntegerField(null=True, blank=True)
    repository_address = models.URLField(max_length=500, blank=True)
    repository_folder = models.CharField(max_length=200, blank=True)

    class Meta:
        ordering = ["suite", "folder_name"]
        constraints = [models.UniqueConstraint(fields=["suite", "slug"], name="one_paper_per_slug")]

    def __str__(self) -> str:
        return self.title

    @property
    def first_public(self) -> str:
        """The earliest known publication date: ``2024-05`` by its arXiv number, else its year, or empty."""
        arxiv = _ARXIV.match(self.address)
        return f"20{arxiv[1]}-{arxiv[2]}" if arxiv else str(self.year or "")


class Task(models.Model):
    """One masked function of one paper's repository, slug ``dpo/1``."""

    suite = models.ForeignKey(Suite, on_delete=models.CASCADE, related_name="tasks")
    paper = models.ForeignKey(Paper, on_delete=models.CASCADE, related_name="tasks")
    index = models.PositiveSmallIntegerField()
    slug = models.CharField(max_length=100)

    class Meta:
        ordering = ["paper__folder_name", "index"]
        constraints = [models.UniqueConstraint(fields=["suite", "slug"], name="one_task_per_slug")]

    def __str__(self) -> str:
        return self.slug

    def get_absolute_url(self) -> str:
        return reverse("task", args=[self.suite.slug, self.paper.slug, self.index])


class TaskRevision(models.Model):
    """Immutable content of a task. Three hashes show which kind of change made a new revision.

    ``statement_hash`` covers what a system is given, ``repository_hash`` the masked repository, ``grading_hash``
    golden file, test cases, runner and check. The files themselves are in the content store under these hashes.
    ``unit_test_file`` is the path in the repository of the unit test that the suite's authors wrote, empty if the
    authors sealed the task themselves; only tasks with such a test have a Dockerfile. ``overlay`` describes our
    overlay's changes of the task (:meth:`benchmark_tasks.domain.overlays.Overlay.as_data`), empty without one.
    ``equivalent_mutants`` lists ``{mutant, reason}``: changes of the golden function that do not change its behaviour.
    ``repository_metrics`` is the repository's :class:`~benchmark_tasks.domain.repository_metrics.RepositoryMetrics`,
    empty without a repository.
    """

    content_fields: ClassVar = {
        "repository_hash": "trees",
        "grading_hash": "trees",
        "paper_hash": "files",
        "dockerfile_hash": "files",
    }
    """Fields with hashes of the content store, and what each is there."""

    task = models.ForeignKey(Task, on_delete=models.CASCADE, related_name="revisions")
    number = models.PositiveIntegerField()
    instruction = models.TextField(blank=True)
    category = models.ForeignKey(Category, null=True, blank=True, on_delete=models.PROTECT, related_name="revisions")
    category_source = models.CharField(max_length=10, choices=CategorySource, default=CategorySource.NONE)
    goal_file = models.CharField(max_length=300)
    goal_function = models.CharField(max_length=120)
    class_name = models.CharField(max_length=120, blank=True)
    retrieval_context = models.JSONField(default=list, blank=True)
    protocol = models.CharField(max_length=10, choices=Protocol, default=Protocol.NONE)
    environment = models.CharField(max_length=80, blank=True)
    check_settings = models.JSONField(default=dict, blank=True)
    unit_test_file = models.CharField(max_length=300, blank=True)
    equivalent_mutants = models.JSONField(default=list, blank=True)
    overlay = models.JSONField(default=dict, blank=True)
    repository_metrics = models.JSONField(default=dict, blank=True)
    masked_source = models.TextField(blank=True)
    masked_line = models.PositiveIntegerField(default=0)
    statement_hash = models.CharField(max_length=64)
    repository_hash = models.CharField(max_length=64, blank=True)
    grading_hash = models.CharField(max_length=64, blank=True)
    paper_hash = models.CharField(max_length=64, blank=True)
    dockerfile_hash = models.CharField(max_length=64, blank=True)
    not_runnable_reasons = models.JSONField(default=list, blank=True)
    audit_state = models.CharField(max_length=10, choices=AuditState, default=AuditState.UNAUDITED)
    audit = models.JSONField(default=dict, blank=True)
    created = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["task", "number"]
        constraints = [models.UniqueConstraint(fields=["task", "number"], name="one_revision_per_number")]

    def __str__(self) -> str:
        return f"{self.task.slug} r{self.number}"

    @property
    def runnable(self) -> bool:
        """Whether answers are accepted: all files are usable, and the audit did not fail or stop."""
        return not self.not_runnable_reasons and self.audit_state not in {AuditState.FAILED, AuditState.INCOMPLETE}

    @property
    def why_left_out(self) -> str:
        """Why no percentage counts the task; empty if it counts: it accepts answers, and its audit passed.

        This is the only such rule; board, submission pages, pass@k and commands use it. The text before the colon is
        the kind of reason.
        """
        if self.not_runnable_reasons:
            first, *others = self.not_runnable_reasons
            return f"not runnable: {first}" + (f" (and {len(others)} more)" if others else "")
        if self.audit_state == AuditState.PASSED:
            return ""
        reasons = [*self.audit.get("reasons", ()), self.audit.get("weakness"), self.audit.get("obstacle")]
        found = next(filter(None, reasons), "")
        kind = AuditState(self.audit_state).label
        detail = found.removeprefix(f"{kind}: ") or _UNKNOWN.get(AuditState(self.audit_state), "")
        return f"{kind}: {detail}" if detail else kind

    @property
    def goal(self) -> str:
        """The name of the masked definition: ``Class.method`` or ``function``."""
        if self.class_name and self.class_name != self.goal_function:
            return f"{self.class_name}.{self.goal_function}"
        return self.goal_function


class SuiteVersion(models.Model):
    """A fixed set of task revisions and a seed epoch; every score belongs to one."""

    suite = models.ForeignKey(Suite, on_delete=models.CASCADE, related_name="versions")
    number = models.PositiveIntegerField()
    seed_epoch = models.ForeignKey(SeedEpoch, on_delete=models.PROTECT, related_name="versions")
    revisions: models.ManyToManyField[TaskRevision, models.Model] = models.ManyToManyField(
        TaskRevision, related_name="suite_versions"
    )
    changes = models.TextField(blank=True)
    created = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["suite", "-number"]
        constraints = [models.UniqueConstraint(fields=["suite", "number"], name="one_version_per_number")]

    def __str__(self) -> str:
        return f"{self.suite.slug} v{self.number}"
