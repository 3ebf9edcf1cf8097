"""Models of reviewing: cases, labels, decisions, reviewers and guidelines."""

from reviews.models.cases import Assignment, Case, CaseEvent, Trigger
from reviews.models.guidelines import GuidelineReading, GuidelineRevision
from reviews.models.labels import Decision, Review, TaskFlag
from reviews.models.reviewers import Conflict, Invitation, Reviewer

__all__ = [
    "Assignment",
    "Case",
    "CaseEvent",
    "Conflict",
    "Decision",
    "GuidelineReading",
    "GuidelineRevision",
    "Invitation",
    "Review",
    "Reviewer",
    "TaskFlag",
    "Trigger",
]
