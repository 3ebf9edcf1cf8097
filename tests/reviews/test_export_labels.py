"""``manage.py export_labels`` and the content of its files."""

from __future__ import annotations

import csv
import io
import json
from typing import TYPE_CHECKING, Any

import pytest
from django.core.management import CommandError, call_command

from reviews.enums import CaseKind, CaseState
from reviews.reports.exporting import COLUMNS, export
from tests.reviews.factories import ReviewerFactory, answers, case_of, closed_case, record_of_everything, reviewed

if TYPE_CHECKING:
    from pathlib import Path

    from pytest_django import DjangoAssertNumQueries

pytestmark = pytest.mark.django_db


def exported(form: str = "jsonl", *options: str) -> str:
    out = io.StringIO(newline="")
    call_command("export_labels", "--format", form, *options, stdout=out)
    return out.getvalue()


def rows(*options: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in exported("jsonl", *options).splitlines()]


def test_a_row_has_everything_about_a_label() -> None:
    agreed, *_ = record_of_everything()
    row = rows()[1]
    assert tuple(row) == COLUMNS
    submission = agreed.implementation.submission
    review = agreed.reviews.order_by("locked", "identifier")[1]
    assert row == {
        "record": "review",
        "identifier": str(review.identifier),
        "case": str(agreed.identifier),
        "kind": "review",
        "round": 1,
        "state": "agreed",
        "case_label": "CC",
        "case_source": "agreed",
        "case_created": "2026-11-01T09:30:15.123456Z",
        "case_closed": "2026-11-02T09:30:15.123456Z",
        "triggers": [{"kind": "audit", "inclusion_probability": 0.1}],
        "suite": submission.suite_version.suite.slug,
        "suite_version": submission.suite_version.number,
        "submission": submission.pk,
        "bundle_digest": submission.bundle_digest,
        "task": agreed.implementation.revision.task.slug,
        "trial": 1,
        "system": submission.system.slug,
        "reviewer": str(review.reviewer.identifier),
        "pseudonym": review.reviewer.pseudonym,
        "name": "Ada Example" if review.reviewer.shows_name else "",
        "role": "annotator",
        "label": "CC",
        "confidence": 3,
        "findings": [],
        "note": review.note,
        "reason": "",
        "guideline": 2,
        "active_seconds": 71,
        "at": "2026-11-01T14:30:15.123456Z",
    }


def test_decisions_are_separate_rows() -> None:
    record_of_everything()
    (decision,) = [row for row in rows() if row["record"] == "decision"]
    found = {name: decision[name] for name in ("role", "label", "reason", "note", "confidence", "active_seconds")}
    assert found == {
        "role": "adjudicator",
        "label": "LI",
        "reason": "bad_test,judge_error",
        "note": "+1: the test is bad",
        "confidence": None,
        "active_seconds": None,
    }
    assert [trigger["kind"] for trigger in decision["triggers"]] == ["judge_unsure", "humans_differ"]


def test_only_closed_cases_are_exported_with_names_by_consent() -> None:
    assert (exported(), exported("csv")) == ("", ",".join(f'"{name}"' for name in COLUMNS) + "\r\n")
    cases = record_of_everything()
    before = exported()
    open_cases = [case_of(state=state) for state in (CaseState.ONE_LABEL, CaseState.DISPUTED, CaseState.VOID)]
    for case in (*open_cases, case_of(kind=CaseKind.PRACTICE, known_label="CC")):
        reviewed(case, ReviewerFactory(), "CC")
    assert exported() == before
    assert list(dict.fromkeys(row["case"] for row in rows())) == [str(case.identifier) for case in cases]
    assert ("Ada Example" in before, "Kept Private" in before) == (True, False)


def test_the_export_can_be_limited_to_a_suite() -> None:
    record_of_everything()
    mine = closed_case(answers()[0], 9, state="agreed", label="CC", source="single")
    reviewed(mine, ReviewerFactory(), "CC")
    suite = mine.implementation.submission.suite_version.suite
    assert [row["case"] for row in rows("--suite", suite.slug)] == [str(mine.identifier)]
    assert str(mine.identifier) not in "".join(export(form="jsonl", without={mine.implementation.submission_id}))
    with pytest.raises(CommandError, match="There is no suite 'nowhere'"):
        exported("csv", "--suite", "nowhere")


def test_csv_has_the_same_content_and_no_formulas() -> None:
    record_of_everything()
    text = exported("csv")
    found = list(csv.DictReader(io.StringIO(text, newline="")))
    assert tuple(found[0]) == COLUMNS
    assert [row["identifier"] for row in found] == [row["identifier"] for row in rows()]
    cells = [cell for row in found for cell in row.values()]
    assert not [cell for cell in cells if cell.startswith(("=", "+", "-", "@", "\t", "\r"))]
    notes = {row["note"] for row in found}
    assert notes >= {'\'=HYPERLINK("x")', "'@SUM(1)", "'+1: the test is bad", "''quoted', and plain"}
    assert '\'-1\nsays "two", über 漢字\r\nlines' in notes


def test_the_export_is_written_to_a_file(tmp_path: Path) -> None:
    record_of_everything()
    target = tmp_path / "labels.csv"
    out = io.StringIO()
    call_command("export_labels", "--format", "csv", "--output", str(target), stdout=out)
    assert target.read_bytes().decode() == exported("csv")
    assert out.getvalue() == f"Wrote {target}.\n"
    with pytest.raises(CommandError, match="cannot be written"):
        call_command("export_labels", "--output", str(tmp_path / "none" / "labels.csv"))


@pytest.mark.parametrize("number", [1, 3])
def test_queries_do_not_grow(number: int, django_assert_num_queries: DjangoAssertNumQueries) -> None:
    for answer in answers(number):
        case = closed_case(answer, 1, state="agreed", label="CC", source="agreed")
        reviewed(case, ReviewerFactory(), "CC")
        reviewed(case, ReviewerFactory(), "CC")
    with django_assert_num_queries(3):
        assert len("".join(export(form="jsonl")).splitlines()) == 2 * number
