"""Enumerations of the catalogue."""

from __future__ import annotations

from django.db.models import TextChoices


class Protocol(TextChoices):
    """How a task's unit tests run (docs/design/verdicts.md)."""

    SEALED = "sealed", "sealed"
    UPSTREAM = "upstream", "upstream"
    NONE = "none", "not shipped"


class CategorySource(TextChoices):
    """Where a task's category comes from."""

    UPSTREAM = "upstream", "as published"
    OURS = "ours", "assigned here, upstream is silent"
    NONE = "none", "outside the nine"


class AuditState(TextChoices):
    """Result of a revision's test audit; only tasks that passed it count in percentages.

    With an incomplete environment nothing is known about the test: it stopped at a missing module or library.
    """

    UNAUDITED = "unaudited", "not audited"
    PASSED = "passed", "audited"
    WEAK = "weak", "weak test"
    FAILED = "failed", "failed its audit"
    INCOMPLETE = "incomplete", "environment incomplete"
