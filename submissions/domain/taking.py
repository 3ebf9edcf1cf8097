"""Storing an applied answer with its implementation."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from submissions.answers.types import AppliedAnswer
    from submissions.models import Implementation


def take(implementation: Implementation, applied: AppliedAnswer) -> None:
    """Set the code of ``implementation``, and whether it is the reference's. Does not save."""
    implementation.files = applied.files
    implementation.deleted = list(applied.deleted)
    implementation.diff = applied.diff
    implementation.goal_source = applied.goal_source
    implementation.identical_to_reference = applied.identical
