"""Taking labels in that were exported here or elsewhere: all of a file, or nothing and what is wrong with it."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from django.db import IntegrityError, transaction

from benchmark_tasks.models import Suite
from reviews.cases.flags import flag_task
from reviews.cases.states import note
from reviews.cases.voiding import tell
from reviews.enums import CaseKind
from reviews.exceptions import ReviewError
from reviews.models import Case, Decision, GuidelineRevision, Review, Reviewer, Trigger
from reviews.record.exporting import rows_of, settled_cases
from reviews.record.label_checks import problems_within
from reviews.record.label_files import DECISION, REVIEW, LabelRow, Problem, read
from submissions.domain.audit import record
from submissions.enums import SubmissionState, Verb
from submissions.exceptions import NotAllowedError
from submissions.models import Implementation

if TYPE_CHECKING:
    from collections.abc import Iterable
    from uuid import UUID

    from submissions.models import User

_CONTENT: Final = (
    *("record", "case", "reviewer", "role", "label", "confidence", "findings", "note", "reason", "guideline", "at"),
)


class ImportRefusedError(ReviewError):
    """Nothing was imported; ``problems`` say what is wrong in which line."""

    def __init__(self, problems: list[Problem]) -> None:
        super().__init__("\n".join(str(problem) for problem in problems))
        self.problems = problems


@dataclass(slots=True)
class Imported:
    """How many rows of each kind were new; ``there``: rows that had been imported, or made here, before."""

    cases: int = 0
    labels: int = 0
    decisions: int = 0
    reviewers: int = 0
    there: int = 0

    def __str__(self) -> str:
        new = (
            f"{self.labels} labels and {self.decisions} decisions of {self.cases} cases, {self.reviewers} new reviewers"
        )
        return f"{new}; {self.there} rows were here already."


@dataclass(slots=True)
class _Known:
    """What of this site the rows refer to."""

    guidelines: dict[int, GuidelineRevision]
    reviewers: dict[UUID, Reviewer]
    pseudonyms: dict[str, UUID]
    cases: dict[UUID, Case]
    taken: dict[UUID, Case]
    answers: dict[tuple[str, str, str, int], list[Implementation]]
    problems: list[Problem] = field(default_factory=list)


def import_labels(*, actor: User, content: bytes, dry_run: bool = False) -> Imported:
    """Store what of ``content`` (CSV or JSON Lines, as exported) is not here yet; with ``dry_run`` only say it.

    Answers are found by the digest of their bundle, task and trial. Reviewers who are not here are made without an
    account. Raises :class:`NotAllowedError` for others than maintainers, :class:`ImportRefusedError` for a file in
    which anything is wrong: then nothing of it is stored.
    """
    if not actor.is_staff:
        msg = "Only maintainers import labels."
        raise NotAllowedError(msg)
    reading = read(content)
    problems = reading.problems or problems_within(reading.rows)
    if problems:
        raise ImportRefusedError(problems)
    try:
        with transaction.atomic():
            imported = _import(reading.rows, actor)
            transaction.set_rollback(dry_run)
    except IntegrityError:
        msg = "Somebody labelled, or imported, the same answers just now; nothing was imported. Try again."
        raise ImportRefusedError([Problem(0, msg)]) from None
    return imported


def _import(rows: list[tuple[int, LabelRow]], actor: User) -> Imported:
    known = _known([row for _, row in rows])
    by_case: dict[UUID, list[tuple[int, LabelRow]]] = defaultdict(list)
    for line, row in rows:
        by_case[row.case].append((line, row))
    imported, new = Imported(), []
    for numbered in by_case.values():
        case = known.cases.get(numbered[0][1].case)
        if case is not None:
            imported.there += _there(case, numbered, known.problems)
        elif (answer := _checked(numbered, known)) is not None:
            new.append((answer, numbered))
    if known.problems:
        raise ImportRefusedError(sorted(known.problems, key=lambda problem: problem.line))
    for answer, numbered in new:
        _store(answer, [row for _, row in numbered], known, imported)
    if imported.cases:
        _record(actor, [numbered[0][1].suite for _, numbered in new], imported)
    return imported


def _known(rows: list[LabelRow]) -> _Known:
    identifiers = [row.identifier for row in rows]
    reviewers = Reviewer.objects.filter(identifier__in={row.reviewer for row in rows})
    named = Reviewer.objects.filter(pseudonym__in={row.pseudonym for row in rows})
    answers: dict[tuple[str, str, str, int], list[Implementation]] = defaultdict(list)
    sent = Implementation.objects.filter(submission__bundle_digest__in={row.bundle_digest for row in rows})
    sent = sent.exclude(submission__state=SubmissionState.CANCELLED).filter(attempted=True)
    for answer in sent.select_related(
        "submission__system", "submission__suite_version__suite", "revision__task"
    ).order_by("pk"):
        submission = answer.submission
        key = (submission.suite_version.suite.slug, submission.bundle_digest, answer.revision.task.slug, answer.trial)
        answers[key].append(answer)
    taken = {
        said.identifier: said.case
        for model in (Review, Decision)
        for said in model.objects.filter(identifier__in=identifiers).select_related("case")
    }
    return _Known(
        guidelines={each.number: each for each in GuidelineRevision.objects.all()},
        reviewers={each.identifier: each for each in reviewers},
        pseudonyms={each.pseudonym: each.identifier for each in named},
        cases={each.identifier: each for each in settled_cases().filter(identifier__in={row.case for row in rows})},
        taken=taken,
        answers=answers,
    )


def _there(case: Case, numbered: list[tuple[int, LabelRow]], problems: list[Problem]) -> int:
    """How many of the rows are here already; what differs from what is here is a problem, since nothing is changed."""
    here = {row.identifier: row for row in rows_of(case)}
    for line, row in numbered:
        mine = here.get(row.identifier)
        if mine is None or any(getattr(mine, name) != getattr(row, name) for name in _CONTENT):
            said = "lacks this label" if mine is None else "says something else"
            message = f"case {row.case} is here already and {said}; labels never change. Leave it out."
            problems.append(Problem(line, message))
    return len(numbered)


def _checked(numbered: list[tuple[int, LabelRow]], known: _Known) -> Implementation | None:
    """The answer that the rows of a case are about; None, and problems, where the case cannot be stored."""
    before = len(known.problems)
    for line, row in numbered:
        known.problems.extend(Problem(line, message) for message in _missing(row, known))
    line, row = numbered[0]
    answer = _answer(row, known)
    if isinstance(answer, str):
        known.problems.append(Problem(line, answer))
        return None
    if Case.objects.filter(identifier=row.case).exists():
        known.problems.append(Problem(line, f"case {row.case} is open, void or a practice case here. Leave it out."))
    elif _is_taken(row, answer):
        message = f"{row.task}, trial {row.trial}, has a case of round {row.round} here already. Leave its rows out."
        known.problems.append(Problem(line, message))
    return answer if len(known.problems) == before else None


def _missing(row: LabelRow, known: _Known) -> Iterable[str]:
    if row.guideline not in known.guidelines:
        yield f"revision {row.guideline} of the guidelines is not here; publish it first, with the text of that site."
    if known.pseudonyms.get(row.pseudonym, row.reviewer) != row.reviewer and row.reviewer not in known.reviewers:
        yield f"the pseudonym {row.pseudonym!r} is somebody else's here; give the person another one in the file."
    if row.identifier in known.taken:
        yield f"the {row.record} {row.identifier} belongs to another case here. Leave it out."


def _answer(row: LabelRow, known: _Known) -> Implementation | str:
    """The answer, or why there is none."""
    found = known.answers.get((row.suite, row.bundle_digest, row.task, row.trial), [])
    if len(found) > 1:
        # Several people have submitted the same bundle.
        by_number = [each for each in found if each.submission_id == row.submission]
        by_system = [each for each in found if each.submission.system.slug == row.system]
        found = by_number or by_system or found
    if len(found) == 1:
        return found[0]
    where = f"{row.task} of {row.suite}, trial {row.trial}, from a bundle with the digest {row.bundle_digest[:16]}…"
    if found:
        return f"several submissions here answer {where}; name one of them in the column submission."
    return f"no answer here is {where}; submit that bundle first."


def _is_taken(row: LabelRow, answer: Implementation) -> bool:
    same = Case.objects.filter(implementation=answer, kind=row.kind)
    if row.kind == CaseKind.REPEAT:
        return same.filter(reserved_for__identifier=row.reviewer).exists()
    return same.filter(round=row.round).exists()


def _store(answer: Implementation, rows: list[LabelRow], known: _Known, imported: Imported) -> None:
    people = [_reviewer(row, known, imported) for row in rows]
    first = rows[0]
    case = Case.objects.create(
        identifier=first.case,
        implementation=answer,
        kind=first.kind,
        round=first.round,
        state=first.state,
        label=first.case_label,
        source=first.case_source,
        settled=first.case_settled,
        reserved_for=people[0] if first.kind == CaseKind.REPEAT else None,
        labels_wanted=max(1, min(2, sum(row.record == REVIEW for row in rows))),
    )
    # Its field sets itself when it is made.
    Case.objects.filter(pk=case.pk).update(created=first.case_created)
    Trigger.objects.bulk_create([Trigger(case=case, **trigger) for trigger in first.triggers])
    note(case, before="", after=first.state, what="imported")
    for row, person in zip(rows, people, strict=True):
        _store_row(case, row, person, known.guidelines[row.guideline], imported)
    imported.cases += 1
    tell(case)


def _store_row(case: Case, row: LabelRow, person: Reviewer, guideline: GuidelineRevision, imported: Imported) -> None:
    said: dict[str, Any] = {
        "identifier": row.identifier,
        "case": case,
        "label": row.label,
        "note": row.note,
        "guideline": guideline,
    }
    if row.record == DECISION:
        decision = Decision.objects.create(adjudicator=person, reasons=row.reason.split(","), decided=row.at, **said)
        flag_task(decision)
        imported.decisions += 1
        return
    assert row.confidence is not None  # noqa: S101 - of reviews, reading has seen to both
    assert row.active_seconds is not None  # noqa: S101
    Review.objects.create(
        reviewer=person,
        role=row.role,
        confidence=row.confidence,
        findings=row.findings,
        active_seconds=row.active_seconds,
        locked=row.at,
        **said,
    )
    imported.labels += 1


def _reviewer(row: LabelRow, known: _Known, imported: Imported) -> Reviewer:
    person = known.reviewers.get(row.reviewer)
    if person is None:
        person = Reviewer.objects.create(
            identifier=row.reviewer, pseudonym=row.pseudonym, name=row.name, shows_name=bool(row.name), active=False
        )
        known.reviewers[row.reviewer] = person
        imported.reviewers += 1
    return person


def _record(actor: User, suites: list[str], imported: Imported) -> None:
    for suite in Suite.objects.filter(slug__in=suites).order_by("slug"):
        record(
            verb=Verb.LABELS_IMPORTED,
            subject=suite,
            actor=actor,
            data={"cases": imported.cases, "labels": imported.labels, "decisions": imported.decisions},
        )
