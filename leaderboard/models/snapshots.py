"""Store frozen boards, for papers to cite."""

from __future__ import annotations

from typing import Any, ClassVar, TypedDict

from django.conf import settings
from django.db import models
from django.urls import reverse

from benchmark_tasks.models import Suite, SuiteVersion
from submissions.models.append_only import AppendOnly, AppendOnlyQuerySet


class FrozenSuite(TypedDict):
    """The suite's version. ``digest`` is over its task revisions' hashes and the number of its seed epoch."""

    slug: str
    title: str
    version: int
    seed_epoch: int
    digest: str
    licence: str


class FrozenJudge(TypedDict):
    """The judge whose labels the board showed."""

    slug: str
    name: str
    model: str
    digest: str


class FrozenGuidelines(TypedDict):
    """The annotators' guidelines; ``digest`` is the SHA-256 of their text."""

    number: int
    digest: str


class FrozenAgreement(TypedDict):
    """Two raters: the numbers as data, and as the lines that the page shows (name, value, note)."""

    data: dict[str, Any]
    lines: list[list[str]]


class Document(TypedDict):
    """All frozen data. ``columns`` are those of the board's file at that time: later columns are not compared.

    ``agreement_of`` are the submissions that the agreement counts, on every version of the suite.
    """

    frozen: str
    counting: int
    suite: FrozenSuite
    judge: FrozenJudge | None
    guidelines: FrozenGuidelines | None
    columns: list[str]
    tasks: list[dict[str, Any]]
    flagged: list[str]
    rows: list[dict[str, Any]]
    agreement_of: list[int]
    agreement: list[FrozenAgreement]


class Snapshot(AppendOnly):
    """A public board as of ``created``. It is never changed or deleted; a newer snapshot may supersede it.

    ``document`` is all frozen data, ``archive`` the SHA-256 of its archive in the content store. The ``note`` of a
    snapshot that ``supersedes`` another gives the reason.
    """

    content_fields: ClassVar = {"archive": "files"}

    suite = models.ForeignKey(Suite, on_delete=models.PROTECT, related_name="snapshots")
    number = models.PositiveIntegerField()
    suite_version = models.ForeignKey(SuiteVersion, on_delete=models.PROTECT, related_name="snapshots")
    title = models.CharField(max_length=120)
    note = models.TextField()
    document: models.JSONField[Document, Document] = models.JSONField()
    archive = models.CharField(max_length=64)
    supersedes = models.OneToOneField(
        "self", null=True, blank=True, on_delete=models.PROTECT, related_name="superseded_by"
    )
    created = models.DateTimeField()
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.PROTECT, related_name="+")

    objects = AppendOnlyQuerySet["Snapshot"].as_manager()

    class Meta:
        ordering = ["suite", "-number"]
        constraints = [models.UniqueConstraint(fields=["suite", "number"], name="one_snapshot_per_number")]

    def __str__(self) -> str:
        return f"{self.suite.slug} snapshot {self.number}: {self.title}"

    def get_absolute_url(self) -> str:
        """Return the address of its page, which papers print."""
        return reverse("snapshot", args=[self.suite.slug, self.number])

    @property
    def replacement(self) -> Snapshot | None:
        """The snapshot that supersedes this one."""
        found: Any = getattr(self, "superseded_by", None)
        return found if isinstance(found, Snapshot) else None
