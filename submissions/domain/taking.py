"""Storing an applied answer with its implementation."""

from __future__ import annotations

from typing import TYPE_CHECKING

from benchmark_tasks.domain.references import golden_definition, same_definition

if TYPE_CHECKING:
    from submissions.answers.types import AppliedAnswer
    from submissions.models import Implementation


def take(implementation: Implementation, applied: AppliedAnswer) -> None:
    """Set the code of ``implementation``, and whether it is the reference's. Does not save.

    The golden function beside any other change of code is another answer: a helper may be shadowed.
    """
    implementation.files = applied.files
    implementation.deleted = list(applied.deleted)
    implementation.diff = applied.diff
    implementation.goal_source = applied.goal_source
    implementation.identical_to_reference = applied.goal_alone and same_definition(
        applied.goal_source, golden_definition(implementation.revision)
    )
