"""Define the choices of reviewing: roles, states of cases, triggers, reasons."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from django.db.models import IntegerChoices, TextChoices

if TYPE_CHECKING:
    from collections.abc import Iterable


class Role(TextChoices):
    """The role in which a reviewer labels."""

    ANNOTATOR = "annotator", "annotator"
    ADJUDICATOR = "adjudicator", "adjudicator"


class CaseKind(TextChoices):
    """Why an answer is labelled. Only reviews decide a final label."""

    REVIEW = "review", "review"
    REPEAT = "repeat", "repeat"
    PRACTICE = "practice", "practice"


class CaseState(TextChoices):
    """A case's state (docs/design/verdicts.md), changed only by conditional update with a ``CaseEvent``.

    ``leased`` means that an annotator holds the case and no label is locked yet.
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
"""States in which an annotator may claim a case and lock a label."""

OPEN: Final = (*TO_LABEL, CaseState.TWO_LABELS, CaseState.DISPUTED, CaseState.ADJUDICATING)
"""States, in order, in which labels are still missing; existing labels are neither counted nor shown."""

CLOSED: Final = (CaseState.AGREED, CaseState.FINAL, CaseState.REOPENED)
"""States in which the labels are public and count. A reopened round counts until the next one is closed."""

NEWEST_CLOSED: Final = (CaseState.AGREED, CaseState.FINAL)
"""States of a newest round from which an appeal opens the next one."""


class TriggerKind(TextChoices):
    """Why a case was opened or sent to an adjudicator (docs/design/verdicts.md)."""

    ANNOTATORS_DIFFER = "humans_differ", "the annotators differ"
    JUDGE_OPPOSES = "judge_opposes", "annotators and judge are two steps apart"
    TESTS_OPPOSE = "tests_oppose", "a label contradicts the unit tests"
    TEST_LACKS = "test_lacks", "the answer used what the test lacks"
    JUDGE_UNSURE = "judge_unsure", "the judge is split, abstained or suspects influence"
    APPEAL = "appeal", "an appeal"
    JUDGE_GAP = "judge_gap", "sampled: one step between labels"
    AUDIT = "audit", "sampled at random"
    SAMPLE = "sample", "a calibration sample"


class Severity(IntegerChoices):
    """Priority of a case; higher values come first."""

    AUDIT = 10, "audit"
    GAP = 20, "one step apart"
    UNSURE = 30, "judge unsure"
    CONTRADICTION = 40, "contradiction"
    CONFLICT = 50, "direct conflict"
    APPEAL = 60, "appeal"


class AssignmentState(TextChoices):
    """State of an assignment. ``done`` has a locked label (for an adjudicator, a decision)."""

    ACTIVE = "active", "at work"
    EVIDENCE = "evidence", "blind label locked, deciding"
    DONE = "done", "done"
    RETURNED = "returned", "handed back"
    EXPIRED = "expired", "expired"
    SKIPPED = "skipped", "skipped"


LIVE: Final = (AssignmentState.ACTIVE, AssignmentState.EVIDENCE)
"""States in which a reviewer holds the item while the lease lasts."""

RESUMABLE: Final = (AssignmentState.RETURNED, AssignmentState.EXPIRED)
"""States in which the reviewer no longer holds the item but may resume it."""


class Confidence(IntegerChoices):
    """How confident a reviewer is in a label."""

    LOW = 1, "low"
    MEDIUM = 2, "medium"
    HIGH = 3, "high"


class ErrorClass(TextChoices):
    """Class of an answer's error (paper, section 5.3)."""

    PARSING = "parsing", "paper misread"
    COMPREHENSION = "comprehension", "problem not fully understood"
    ROBUSTNESS = "robustness", "fragile code"
    RETRIEVAL = "retrieval", "other files missed"
    POLICY = "policy", "policy error"


class FindingSide(TextChoices):
    """The code that a finding's lines refer to."""

    CANDIDATE = "candidate", "answer"
    GOLDEN = "golden", "reference implementation"


class ReasonCode(TextChoices):
    """Why raters differed: each code with its name and the condition for choosing it."""

    when: str

    def __new__(cls, code: str, when: str = "") -> ReasonCode:
        """Create a code with its explanation."""
        made = str.__new__(cls, code)
        made._value_, made.when = code, when
        return made

    BAD_TEST = (
        "bad_test",
        "The unit tests pass wrong code, or fail right code. Flags the task and every score that depends on it.",
        "bad test",
    )
    BAD_GOLDEN = (
        "bad_golden",
        "The reference implementation does not match paper and instruction. Flags the task and every score on it.",
        "bad golden function",
    )
    AMBIGUOUS_PAPER = (
        "ambiguous_paper",
        "Paper and instruction can be read in more than one way, and the raters read them differently.",
        "ambiguous paper",
    )
    RUBRIC_GAP = "rubric_gap", "The guidelines do not define the label of such code.", "gap in the rubric"
    ANNOTATOR_SLIP = (
        "annotator_slip",
        "An annotator overlooked or misread something.",
        "annotator's slip",
    )
    JUDGE_ERROR = "judge_error", "The judge misread the code.", "judge's error"
    EQUIVALENT = (
        "equivalent",
        "The code does the same as the reference implementation in another way, but was labelled wrong.",
        "equivalent implementation",
    )

    @property
    def flags_task(self) -> bool:
        """Return whether a decision with this reason flags the task itself."""
        return self in {ReasonCode.BAD_TEST, ReasonCode.BAD_GOLDEN}

    @classmethod
    def in_words(cls, codes: Iterable[str]) -> str:
        """Return the names of codes, joined by commas."""
        return ", ".join(cls(code).label for code in codes)


class FinalSource(TextChoices):
    """Source of the final label, strongest first (docs/design/verdicts.md)."""

    DECISION = "decision", "adjudicator's decision"
    AGREED = "agreed", "two annotators agree"
    SINGLE = "single", "a single annotator"
    JUDGE = "judge", "judge"
