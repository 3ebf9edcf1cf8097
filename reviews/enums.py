"""The closed vocabularies of reviewing."""

from __future__ import annotations

from typing import Final

from django.db.models import IntegerChoices, TextChoices


class Role(TextChoices):
    """In which capacity somebody labels."""

    ANNOTATOR = "annotator", "annotator"
    ADJUDICATOR = "adjudicator", "adjudicator"


class CaseKind(TextChoices):
    """Why an answer is labelled at all. Only reviews decide a final label."""

    REVIEW = "review", "review"
    REPEAT = "repeat", "repeat"
    PRACTICE = "practice", "practice"


class CaseState(TextChoices):
    """A case's life (JUDGING, section 4). Changed by conditional update only; each change leaves a ``CaseEvent``.

    Leases come and go, so ``leased`` says that somebody is at work and nobody has locked a label yet.
    """

    QUEUED = "queued", "waiting for an annotator"
    LEASED = "leased", "being labelled"
    ONE_LABEL = "one_label", "one label"
    TWO_LABELS = "two_labels", "two labels"
    AGREED = "agreed", "agreed"
    DISPUTED = "disputed", "waiting for an adjudicator"
    ADJUDICATING = "adjudicating", "being adjudicated"
    FINAL = "final", "decided"
    VOID = "void", "void"
    REOPENED = "reopened", "reopened"


TO_LABEL: Final = (CaseState.QUEUED, CaseState.LEASED, CaseState.ONE_LABEL)
"""In these an annotator may take a case up, and lock a label."""

OPEN: Final = (*TO_LABEL, CaseState.TWO_LABELS, CaseState.DISPUTED, CaseState.ADJUDICATING)
"""In these, in the order of a case's life, somebody is still to label: what was said counts and is shown nowhere."""

CLOSED: Final = (CaseState.AGREED, CaseState.FINAL, CaseState.REOPENED)
"""In these the labels are public and count. A reopened round counts until the next one is closed."""

NEWEST_CLOSED: Final = (CaseState.AGREED, CaseState.FINAL)
"""Of these, an appeal opens the next round."""


class TriggerKind(TextChoices):
    """Why a case was opened, or goes to an adjudicator (JUDGING, section 4)."""

    HUMANS_DIFFER = "humans_differ", "the annotators differ"
    JUDGE_OPPOSES = "judge_opposes", "annotators and judge are two steps apart"
    TESTS_OPPOSE = "tests_oppose", "a label contradicts the unit tests"
    JUDGE_UNSURE = "judge_unsure", "the judge is split, abstained or suspects influence"
    APPEAL = "appeal", "an appeal"
    JUDGE_GAP = "judge_gap", "sampled: one step between labels"
    AUDIT = "audit", "sampled at random"
    SAMPLE = "sample", "a calibration sample"


class Severity(IntegerChoices):
    """Which cases come first."""

    AUDIT = 10, "audit"
    GAP = 20, "one step apart"
    UNSURE = 30, "judge unsure"
    CONTRADICTION = 40, "contradiction"
    CONFLICT = 50, "direct conflict"
    APPEAL = 60, "appeal"


class AssignmentState(TextChoices):
    """Whose turn it is. ``done`` holds a locked label (for an adjudicator: a decision)."""

    ACTIVE = "active", "at work"
    EVIDENCE = "evidence", "blind label locked, deciding"
    DONE = "done", "done"
    RETURNED = "returned", "handed back"
    EXPIRED = "expired", "expired"
    SKIPPED = "skipped", "skipped"


LIVE: Final = (AssignmentState.ACTIVE, AssignmentState.EVIDENCE)
"""In these somebody is at work, as long as the lease lasts."""

LET_GO: Final = (AssignmentState.RETURNED, AssignmentState.EXPIRED)
"""In these an item was held and may be taken up again."""


class Confidence(IntegerChoices):
    """How sure a labeller is."""

    LOW = 1, "low"
    MEDIUM = 2, "medium"
    HIGH = 3, "high"


class ErrorClass(TextChoices):
    """What went wrong in an answer (paper, section 5.3)."""

    PARSING = "parsing", "paper misread"
    COMPREHENSION = "comprehension", "problem not fully understood"
    ROBUSTNESS = "robustness", "fragile code"
    RETRIEVAL = "retrieval", "other files missed"
    POLICY = "policy", "policy error"


class FindingSide(TextChoices):
    """Which code a finding's lines are of."""

    CANDIDATE = "candidate", "candidate"
    GOLDEN = "golden", "golden function"


class ReasonCode(TextChoices):
    """Why raters differed (JUDGING, section 4). The first two flag the task."""

    BAD_TEST = "bad_test", "bad test"
    BAD_GOLDEN = "bad_golden", "bad golden function"
    AMBIGUOUS_PAPER = "ambiguous_paper", "ambiguous paper"
    RUBRIC_GAP = "rubric_gap", "gap in the rubric"
    ANNOTATOR_SLIP = "annotator_slip", "annotator's slip"
    JUDGE_ERROR = "judge_error", "judge's error"
    EQUIVALENT = "equivalent", "equivalent implementation"


class FinalSource(TextChoices):
    """Whose label the final one is, strongest first (DESIGN, section 3)."""

    DECISION = "decision", "adjudicator's decision"
    AGREED = "agreed", "two annotators agree"
    SINGLE = "single", "a single annotator"
    JUDGE = "judge", "judge"
