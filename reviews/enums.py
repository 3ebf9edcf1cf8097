"""The closed vocabularies of reviewing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from django.db.models import IntegerChoices, TextChoices

if TYPE_CHECKING:
    from collections.abc import Iterable


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
    """A case's life (docs/design/verdicts.md). Changed by conditional update only; each change leaves a ``CaseEvent``.

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
    """Why a case was opened, or goes to an adjudicator (docs/design/verdicts.md)."""

    ANNOTATORS_DIFFER = "humans_differ", "the annotators differ"
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
    """Why raters differed: each code with when an adjudicator chooses it, and its name."""

    when: str

    def __new__(cls, code: str, when: str = "") -> ReasonCode:
        """A code that carries its explanation."""
        made = str.__new__(cls, code)
        made._value_, made.when = code, when
        return made

    BAD_TEST = (
        "bad_test",
        "The unit tests accept wrong code, or refuse right code. Flags the task and every score that rests on it.",
        "bad test",
    )
    BAD_GOLDEN = (
        "bad_golden",
        "The golden function is not what paper and instruction ask for. Flags the task and every score on it.",
        "bad golden function",
    )
    AMBIGUOUS_PAPER = (
        "ambiguous_paper",
        "Paper and instruction can be read in more than one way, and the raters read them differently.",
        "ambiguous paper",
    )
    RUBRIC_GAP = "rubric_gap", "The guidelines do not say what such code is to be called.", "gap in the rubric"
    ANNOTATOR_SLIP = (
        "annotator_slip",
        "An annotator overlooked something, or took it for something else.",
        "annotator's slip",
    )
    JUDGE_ERROR = "judge_error", "The judge misread the code, or took it for something else.", "judge's error"
    EQUIVALENT = (
        "equivalent",
        "The code does the same as the golden function in another way, and was taken for wrong.",
        "equivalent implementation",
    )

    @property
    def flags_task(self) -> bool:
        """Whether a decision for this reason puts the task itself in doubt."""
        return self in {ReasonCode.BAD_TEST, ReasonCode.BAD_GOLDEN}

    @classmethod
    def in_words(cls, codes: Iterable[str]) -> str:
        """The names of codes."""
        return ", ".join(cls(code).label for code in codes)


class FinalSource(TextChoices):
    """Whose label the final one is, strongest first (docs/design/verdicts.md)."""

    DECISION = "decision", "adjudicator's decision"
    AGREED = "agreed", "two annotators agree"
    SINGLE = "single", "a single annotator"
    JUDGE = "judge", "judge"
