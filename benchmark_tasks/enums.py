"""The catalogue's closed vocabularies."""

from __future__ import annotations

from django.db.models import TextChoices


class Protocol(TextChoices):
    """How a task's unit tests run (docs/design/verdicts.md)."""

    SEALED = "sealed", "sealed"
    UPSTREAM = "upstream", "upstream"
    NONE = "none", "not shipped"


class CategorySource(TextChoices):
    """Who says that a task is in its category."""

    UPSTREAM = "upstream", "as published"
    OURS = "ours", "assigned here, upstream is silent"
    NONE = "none", "outside the nine"


class AuditState(TextChoices):
    """Whether a revision's unit test is known to tell right from wrong; only audited ones count in percentages.

    Where the environment is incomplete nothing is known of the test: it stopped at a missing module or library.
    """

    UNAUDITED = "unaudited", "not audited"
    PASSED = "passed", "audited"
    WEAK = "weak", "weak test"
    FAILED = "failed", "failed its audit"
    INCOMPLETE = "incomplete", "environment incomplete"
