"""``manage.py import_labels``: what was exported comes back as it was, or nothing does."""

from __future__ import annotations

import csv
import io
import json
from typing import TYPE_CHECKING, Any

import pytest
from django.core.management import CommandError, call_command
from hypothesis import given
from hypothesis import strategies as st

from reviews.enums import CaseState
from reviews.models import Case, CaseEvent, Decision, GuidelineRevision, Review, Reviewer, TaskFlag
from reviews.record.exporting import export
from reviews.record.importing import Imported, ImportRefusedError, import_labels
from reviews.record.label_files import COLUMNS, read, written
from reviews.signals import case_settled
from submissions.enums import SubmissionState, Verb
from submissions.exceptions import NotAllowedError
from submissions.models import AuditEvent, Submission
from tests.reviews.factories import ReviewerFactory, answers, case_of
from tests.reviews.settled import forget_reviewing, record_of_everything
from tests.submissions.factories import ImplementationFactory, SubmissionFactory, UserFactory

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from reviews.record.label_files import Format

pytestmark = pytest.mark.django_db

VALID: dict[str, Any] = {
    **dict.fromkeys(("identifier", "case", "reviewer"), "1b4e28ba-2fa1-11d2-883f-0016d3cca427"),
    **dict.fromkeys(("case_created", "case_settled", "at"), "2026-11-01T00:00:00Z"),
    **dict.fromkeys(("round", "trial", "suite_version", "submission", "guideline", "active_seconds"), 1),
    **dict.fromkeys(("suite", "bundle_digest", "task", "system", "pseudonym"), "a"),
    **dict.fromkeys(("label", "case_label"), "CC"),
    **dict.fromkeys(("name", "reason"), ""),
    "record": "review",
    "triggers": [],
    "findings": [],
    "kind": "review",
    "state": "agreed",
    "case_source": "single",
    "role": "annotator",
    "confidence": 1,
    "note": "",
}


def exported(form: Format = "jsonl") -> bytes:
    return "".join(export(form=form)).encode()


def take_in(content: bytes, **options: Any) -> Imported:
    return import_labels(actor=UserFactory(is_staff=True), content=content, **options)


def changed(content: bytes, number: int, **facts: Any) -> bytes:
    """JSON Lines with other ``facts`` in one row."""
    rows = [json.loads(line) for line in content.decode().splitlines()]
    rows[number] |= facts
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


def refused(content: bytes) -> list[str]:
    before = Review.objects.count()
    with pytest.raises(ImportRefusedError) as error:
        take_in(content)
    assert Review.objects.count() == before
    return [str(problem) for problem in error.value.problems]


@pytest.mark.parametrize("form", ["csv", "jsonl"])
def test_what_was_exported_comes_back_byte_for_byte(form: Format) -> None:
    record_of_everything()
    before = exported(form)
    forget_reviewing()
    assert exported("jsonl") == b""
    assert take_in(before) == Imported(cases=5, labels=9, decisions=1, reviewers=3)
    assert exported(form) == before


def test_imported_cases_are_settled_and_their_people_have_no_account(
    django_capture_on_commit_callbacks: Any,
) -> None:
    record_of_everything()
    content = exported()
    forget_reviewing()
    told: list[Case] = []

    def hear(case: Case, **_: Any) -> None:
        told.append(case)

    case_settled.connect(hear)
    try:
        with django_capture_on_commit_callbacks(execute=True):
            take_in(content)
    finally:
        case_settled.disconnect(hear)
    assert {(case.state, case.label, case.source) for case in Case.objects.all()} == {
        ("agreed", "CC", "agreed"),
        ("final", "LI", "decision"),
        ("reopened", "LC", "agreed"),
        ("agreed", "LI", "single"),
        ("agreed", "", ""),
    }
    assert sorted(case.pk for case in told) == sorted(Case.objects.values_list("pk", flat=True))
    assert CaseEvent.objects.filter(what="imported").count() == 5
    people = Reviewer.objects.order_by("name")
    assert {(person.user, person.active, person.is_annotator) for person in people} == {(None, False, False)}
    assert sorted((person.name, person.shows_name) for person in people) == [
        *(("", False), ("", False), ("Ada Example", True)),
    ]
    assert TaskFlag.objects.get().decision == Decision.objects.get()
    event = AuditEvent.objects.get(verb=Verb.LABELS_IMPORTED)
    assert event.data == {"cases": 5, "labels": 9, "decisions": 1}


def test_a_second_time_nothing_changes() -> None:
    record_of_everything()
    content = exported()
    assert take_in(content) == Imported(there=10)
    assert exported() == content
    assert not AuditEvent.objects.filter(verb=Verb.LABELS_IMPORTED).exists()


def test_a_dry_run_stores_nothing() -> None:
    record_of_everything()
    content = exported()
    forget_reviewing()
    assert take_in(content, dry_run=True) == Imported(cases=5, labels=9, decisions=1, reviewers=3)
    assert not Case.objects.exists()
    assert not Reviewer.objects.exists()


def test_only_maintainers_import() -> None:
    with pytest.raises(NotAllowedError, match="Only maintainers import labels"):
        import_labels(actor=UserFactory(), content=b"{}")


def test_another_site_finds_answers_by_their_bundle() -> None:
    """Numbers of submissions differ from site to site; the bundle's digest does not."""
    record_of_everything()
    content = exported()
    forget_reviewing()
    elsewhere = content.replace(b'"submission": %d' % Submission.objects.get().pk, b'"submission": 987654')
    assert b"987654" in elsewhere
    assert take_in(elsewhere).labels == 9
    assert exported() == content


def test_a_bundle_that_two_people_sent_needs_a_name() -> None:
    first, *_ = record_of_everything()
    content = exported()
    forget_reviewing()
    sent = first.implementation.submission
    again = SubmissionFactory(suite_version=sent.suite_version, bundle_digest=sent.bundle_digest)
    for answer in sent.implementations.all():
        ImplementationFactory(submission=again, revision=answer.revision)
    anywhere = content.replace(b'"submission": %d' % sent.pk, b'"submission": 987654')
    nameless = anywhere.replace(b'"system": "%s"' % sent.system.slug.encode(), b'"system": "other"')
    assert "several submissions here answer" in refused(nameless)[0]
    assert take_in(anywhere).labels == 9
    assert {case.implementation.submission for case in Case.objects.all()} == {sent}


def test_cancelled_submissions_are_no_place_for_labels() -> None:
    record_of_everything()
    content = exported()
    forget_reviewing()
    Submission.objects.update(state=SubmissionState.CANCELLED)
    problems = refused(content)
    assert len(problems) == 5
    assert problems[0].startswith("line 1: no answer here is ")
    assert problems[0].endswith("submit that bundle first.")


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (lambda text: changed(text, 0, label="XX"), "line 1: label must be one of 'CC', 'LC', 'LI', not 'XX'."),
        (lambda text: changed(text, 0, label="LI"), "settle nothing: no decision, and no labels that agree."),
        (lambda text: changed(text, 0, round=2), "line 2: says another round of the same case than line 1."),
        (lambda text: changed(text, 0, guideline=7), "line 1: revision 7 of the guidelines is not here"),
        (lambda text: changed(text, 4, case_label="CC"), "line 5: says another case_label of the same case"),
        (lambda text: changed(text, 1, at="yesterday"), "line 2: at must be a time with its zone"),
        (lambda text: changed(text, 1, at="2026-11-01T10:00:00"), "line 2: at must be a time with its zone"),
        (lambda text: changed(text, 1, note="a\0b"), "line 2: note holds a character that cannot be stored"),
        (lambda text: changed(text, 1, note="\ud800"), "line 2: note holds a character that cannot be stored"),
        (lambda text: changed(text, 2, findings=[{"side": "x"}]), "line 3: findings must be a JSON list of objects"),
        (lambda text: changed(text, 0, confidence=True), "line 1: confidence must be a whole number from 1 to 3"),
        (lambda text: changed(text, 0, reason="bad_test"), "line 1: a review has a confidence"),
        (lambda text: changed(text, 2, reason="bad_test,because"), "line 3: reason must be one of 'bad_test',"),
        (lambda text: changed(text, 0, extra=1), "line 1: has other members than an export: 'extra' missing or in"),
        (
            lambda text: changed(text, 0, **{"\ud800<b>": 1}),
            r"line 1: has other members than an export: '\ud800<b>' mis",
        ),
        (lambda text: text + text.splitlines()[0] + b"\n", "line 11: has the same identifier as line 1"),
        (lambda text: text.splitlines()[0] + b"\n{nonsense\n", "line 2: is not JSON"),
        (lambda text: text.splitlines()[0] + b"\n[1]\n", "line 2: is JSON, and no object"),
        (lambda text: text.splitlines()[0] + b"\n\xff\n", "line 2: is not UTF-8"),
        (lambda _: b" \n", "The file is empty"),
        (lambda text: text.replace(b"0.1", b"NaN"), "line 1: is not JSON (NaN is no JSON)"),
        (lambda text: text.replace(b"0.1", b"1.5"), "line 1: triggers must have inclusion probabilities"),
    ],
)
def test_what_is_wrong_is_said_by_line(change: Callable[[bytes], bytes], problem: str) -> None:
    record_of_everything()
    content = exported()
    forget_reviewing()
    assert any(problem in found for found in refused(change(content)))
    assert not Case.objects.exists()


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (lambda text: text.replace('"label"', '"etikett"', 1), "line 1: The header lacks label and has 'etikett' in"),
        (lambda text: text.replace('"review"', '"review","more"', 1), "line 2: has 31 cells where the header has 30."),
        (lambda text: text.replace('"3"', '"three"', 1), "line 2: confidence must be a whole number from 1 to 3"),
        (lambda text: text[:-10], "is not CSV (unexpected end of data)"),
    ],
)
def test_what_is_wrong_in_csv_is_said_by_line(change: Callable[[str], str], problem: str) -> None:
    record_of_everything()
    content = exported("csv").decode()
    forget_reviewing()
    assert any(problem in found for found in refused(change(content).encode()))


def test_csv_that_a_spreadsheet_has_saved_is_read() -> None:
    """A byte order mark, columns in another order, only the quotes that are needed."""
    record_of_everything()
    content = exported("csv")
    forget_reviewing()
    rows = list(csv.DictReader(io.StringIO(content.decode(), newline="")))
    target = io.StringIO(newline="")
    writer = csv.DictWriter(target, fieldnames=sorted(COLUMNS))
    writer.writeheader()
    writer.writerows(rows)
    assert take_in(b"\xef\xbb\xbf" + target.getvalue().encode()).labels == 9
    assert exported("csv") == content


def test_what_is_here_is_never_changed() -> None:
    agreed, *_ = record_of_everything()
    content = exported()
    assert refused(changed(content, 0, note="other words")) == [
        f"line 1: case {agreed.identifier} is here already and says something else; labels never change. Leave it out."
    ]
    assert exported() == content


def test_a_round_that_is_under_way_here_is_left_alone() -> None:
    agreed, *_ = record_of_everything()
    content = exported()
    answer = agreed.implementation
    forget_reviewing()
    case_of(answer)
    task = answer.revision.task.slug
    assert refused(content) == [f"line 1: {task}, trial 1, has a case of round 1 here already. Leave its rows out."]
    Case.objects.update(identifier=agreed.identifier, state=CaseState.ONE_LABEL)
    assert refused(content) == [
        f"line 1: case {agreed.identifier} is open, void or a practice case here. Leave it out."
    ]


def test_a_pseudonym_of_somebody_else_is_refused() -> None:
    record_of_everything()
    content = exported()
    taken = json.loads(content.splitlines()[0])["pseudonym"]
    forget_reviewing()
    ReviewerFactory(pseudonym=taken)
    assert f"the pseudonym {taken!r} is somebody else's here" in refused(content)[0]


def test_guidelines_have_to_be_here() -> None:
    record_of_everything()
    content = exported()
    forget_reviewing()
    GuidelineRevision._base_manager.filter(number=2)._raw_delete(using="default")
    problems = refused(content)
    assert len(problems) == 10
    assert "revision 2 of the guidelines is not here; publish it first" in problems[0]


def test_the_command_says_what_it_did(tmp_path: Path) -> None:
    record_of_everything()
    file = tmp_path / "labels.jsonl"
    file.write_bytes(exported())
    forget_reviewing()
    out, err = io.StringIO(), io.StringIO()
    counts = "9 labels and 1 decisions of 5 cases, 3 new reviewers; 0 rows were here already."
    call_command("import_labels", str(file), "--dry-run", stdout=out)
    call_command("import_labels", str(file), stdout=out)
    assert out.getvalue().splitlines() == [f"Would be imported: {counts}", f"Imported: {counts}"]
    file.write_bytes(b"{}\n")
    with pytest.raises(CommandError, match="Nothing was imported"):
        call_command("import_labels", str(file), stderr=err)
    assert err.getvalue().startswith("labels.jsonl, line 1: has other members than an export: active_seconds, at, ")
    with pytest.raises(CommandError, match="cannot be read"):
        call_command("import_labels", str(tmp_path / "none.csv"))


@given(st.binary(max_size=400))
def test_no_content_breaks_the_reader(content: bytes) -> None:
    reading = read(content)
    assert reading.rows == []
    assert reading.problems or not content.strip(b"\xef\xbb\xbf")


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)


@given(column=st.sampled_from(COLUMNS), value=_JSON)
def test_no_value_breaks_the_reader(column: str, value: Any) -> None:
    reading = read(json.dumps({**VALID, column: value}).encode())
    assert (len(reading.rows), bool(reading.problems)) in {(1, False), (0, True)}


_SURPLUS = st.text(st.characters(exclude_categories=[]), min_size=1).filter(lambda name: name not in COLUMNS)


@given(st.lists(_SURPLUS, min_size=1, max_size=40, unique=True))
def test_members_of_any_name_are_named_so_that_every_page_can_show_them(names: list[str]) -> None:
    (problem,) = read(json.dumps({**VALID, **dict.fromkeys(names, "")}).encode()).problems
    assert str(problem).isprintable()
    assert len(str(problem)) < 3000


@given(note=st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=40))
@pytest.mark.parametrize("form", ["csv", "jsonl"])
def test_every_text_comes_back(form: Format, note: str) -> None:
    ((_, row),) = read(json.dumps({**VALID, "note": note}).encode()).rows
    assert row.note == note
    ((_, again),) = read("".join(written([row], form)).encode()).rows
    assert again == row


def test_answers_that_were_not_given_take_no_labels() -> None:
    record_of_everything()
    content = exported()
    forget_reviewing()
    answers()[0].submission.implementations.update(attempted=True)
    Submission.objects.order_by("pk")[0].implementations.update(attempted=False)
    assert len(refused(content)) == 5
