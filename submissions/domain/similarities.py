"""Compare with the golden function the answers that are older than the measurement of similarity."""

from __future__ import annotations

from typing import Final

from benchmark_tasks.domain.queries import UNREADABLE, golden_definition
from submissions.answers.similarity import similarity
from submissions.models import Implementation

BATCH: Final = 200


def compare_older_answers() -> int:
    """Compare a batch of answers whose similarity is not known yet; return how many."""
    older = Implementation.objects.filter(similarity__isnull=True).exclude(goal_source="")
    answers = list(older.select_related("revision__task").only("goal_source", "revision")[:BATCH])
    for answer in answers:
        try:
            answer.similarity = similarity(answer.goal_source, golden_definition(answer.revision))
        except UNREADABLE:
            answer.similarity = {}
    Implementation.objects.bulk_update(answers, ["similarity"])
    return len(answers)
