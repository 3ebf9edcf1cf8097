"""The receipt of an answer, and ``manage.py repeat``, which reproduces its result in real boxes."""

from __future__ import annotations

import io
import json
import re
from typing import TYPE_CHECKING, Any

import pytest
from django.core.management import CommandError, call_command
from hypothesis import given
from hypothesis import strategies as st

from evaluator.repeating.receipts import ReceiptError, read_receipt
from evaluator.sandbox.configuration import EVALUATOR_VERSION
from evaluator.testing import evaluate
from submissions.answers.contents import AnswerKind, RawAnswer
from submissions.answers.limited import apply_limited
from submissions.domain.uploads import files_of
from submissions.enums import SubmissionState, Visibility
from submissions.models import Implementation, Submission
from tests.evaluator.factories import QueuedSubmissionFactory, TestRunFactory
from tests.leaderboard.api.program import Program
from tests.leaderboard.judging import JudgeFactory, judged
from tests.submissions.factories import SubmissionFactory, UserFactory, with_answers

if TYPE_CHECKING:
    from pathlib import Path

    from django.test import Client

    from benchmark_tasks.models import SuiteVersion
    from evaluator.sandbox.interface import Sandbox
    from submissions.models import User

WRONG = "def double(x):\n    '''Twice.'''\n    return 2.0 * x if x < 3 else 0.0\n"


def receipt(answer: Implementation, person: User | None = None) -> dict[str, Any]:
    found: dict[str, Any] = Program(person).get(f"{answer.get_absolute_url()}receipt")
    return found


def repeated(place: Path | str, *options: str) -> tuple[int, str]:
    """Exit code and output of the command."""
    out = io.StringIO()
    try:
        call_command("repeat", str(place), *options, stdout=out)
    except SystemExit as ended:
        return int(ended.code or 0), out.getvalue()
    return 0, out.getvalue()


def measured(version: SuiteVersion, source: str) -> Implementation:
    """A published answer to ``alpha/1``, measured in real boxes."""
    submission = QueuedSubmissionFactory(suite_version=version, answers=False)
    revision = version.revisions.select_related("task__paper").get(task__index=1)
    raw = RawAnswer("alpha/1", 1, AnswerKind.SOURCE, source.encode(), "answer.py")
    answer = Implementation(submission=submission, revision=revision, attempted=True)
    answer.set_code(apply_limited(raw, files_of(revision)))
    answer.save()
    TestRunFactory(implementation=answer, evaluator_version=EVALUATOR_VERSION)
    assert evaluate.evaluate_next()
    Submission.objects.update(state=SubmissionState.SCORED, visibility=Visibility.PUBLISHED, code_licence="MIT")
    return Implementation.objects.get()


@pytest.mark.bubblewrap
@pytest.mark.django_db(transaction=True)
def test_a_run_is_repeated_from_its_receipt_and_every_difference_is_named(
    small_version: SuiteVersion, real_sandbox: Sandbox, tmp_path: Path
) -> None:
    facts = receipt(measured(small_version, WRONG))
    file = tmp_path / "receipt.json"
    file.write_text(json.dumps(facts))
    assert facts["run"]["outcome"] == "wrong_output"
    assert facts["run"]["sandbox"] == real_sandbox.name == "bubblewrap"
    code, text = repeated(file)
    assert code == 0, text
    assert "The result equals the stored one in every public test case." in text
    assert "Not the same here" not in text

    # Every change of the result in the receipt is named.
    cases = facts["run"]["cases"]
    changed = next(case for case in cases if case["outcome"] == "passed")
    changed["outcome"] = "raised"
    facts["run"] |= {"outcome": "timeout", "evaluator": "0"}
    file.write_text(json.dumps(facts))
    code, text = repeated(file, "--json")
    found = json.loads(text)
    assert code == 2
    assert found["differences"] == [
        "outcome: stored “timed out”, here “wrong output”",
        f"seed {changed['seed']}, case {changed['number']}: stored “raised an error”, here “passed”",
    ]
    assert [remark.partition(":")[0] for remark in found["remarks"]] == ["evaluator"]

    # Code other than the measured code is not run.
    facts["answer"]["diff"] = facts["answer"]["diff"].replace("x < 3", "x < 4")
    file.write_text(json.dumps(facts))
    with pytest.raises(CommandError, match="the receipt was changed or is damaged"):
        repeated(file)
    facts["answer"]["diff"] = facts["answer"]["diff"].replace("scoring/core.py", "../core.py")
    file.write_text(json.dumps(facts))
    with pytest.raises(CommandError, match="does not apply to the masked repository"):
        repeated(file)
    facts["task"]["grading_digest"] = "0" * 64
    file.write_text(json.dumps(facts))
    with pytest.raises(CommandError, match="No suite here has alpha/1 with the tests of"):
        repeated(file)


@pytest.mark.django_db
def test_the_receipt_contains_no_private_case_and_no_unpublished_code(client: Client) -> None:
    submission = SubmissionFactory(published=True)
    answer = with_answers(submission, 1)[0]
    case = {"seed": 424242, "index": 0, "public": False, "outcome": "passed", "difference": "", "error": "3.14159"}
    shown = {"seed": 7, "index": 1, "public": True, "outcome": "raised", "difference": "", "error": "boom"}
    TestRunFactory(implementation=answer, done="raised", cases=[case, shown], reason="secret reason")
    judgement = judged(answer, JudgeFactory(name="Careful May"), "LI")
    facts = receipt(answer)
    assert facts["run"]["cases"] == [{"seed": 7, "number": 1, "name": "", "outcome": "raised"}]
    assert (facts["run"]["private_passed"], facts["run"]["private_total"]) == (1, 1)
    assert [(each["label"], each["digest"]) for each in facts["judges"]] == [("LI", judgement.config.digest)]
    assert facts["answer"]["digest"] == answer.digest
    assert facts["command"].endswith(f"manage.py repeat http://testserver{answer.get_absolute_url()}")
    assert "424242" not in json.dumps(facts)
    page = client.get(answer.get_absolute_url()).content.decode()
    assert facts["command"] in page
    assert facts["task"]["suite_digest"] in page

    Submission.objects.update(code_licence="")
    hidden = receipt(answer)
    assert (hidden["answer"]["diff"], hidden["answer"]["digest"]) == (None, None)
    page = client.get(answer.get_absolute_url()).content.decode()
    assert facts["command"] not in page
    assert answer.digest not in page
    Submission.objects.update(visibility=Visibility.PRIVATE)
    assert Program().send("GET", f"{answer.get_absolute_url()}receipt").status_code == 404
    assert receipt(answer, UserFactory(is_staff=True))["answer"]["digest"] == answer.digest


@pytest.mark.django_db
def test_why_an_answer_cannot_be_repeated_is_reported(tmp_path: Path) -> None:
    answer = with_answers(SubmissionFactory(published=True), 1)[0]
    file = tmp_path / "receipt.json"

    def message() -> str:
        file.write_text(json.dumps(receipt(answer)))
        with pytest.raises(CommandError) as refused:
            repeated(file)
        return str(refused.value)

    assert message() == "This answer's test run has not ended yet, so there is nothing to repeat."
    TestRunFactory(implementation=answer, done="bad_patch")
    assert message() == "No test was run: the outcome is “answer does not apply”."
    file.write_text("{}")
    with pytest.raises(CommandError, match=r"This is not a receipt of an answer: answer: Field required\."):
        repeated(file)
    with pytest.raises(CommandError, match="neither an address"):
        repeated(tmp_path / "missing.json")
    address = re.escape("http://127.0.0.1:1/api/v1/submissions/1/answers/dpo/1/1/receipt?run=2 could not be fetched: ")
    with pytest.raises(CommandError, match=address):
        repeated("http://127.0.0.1:1/submissions/1/answers/dpo/1/1/?run=2#receipt")
    with pytest.raises(CommandError, match=r"http://127\.0\.0\.1:1/x/ is not the address of an answer's page"):
        repeated("http://127.0.0.1:1/x/")


@given(
    st.binary() | st.recursive(st.none() | st.integers() | st.text(), st.lists).map(lambda x: json.dumps(x).encode())
)
def test_no_bytes_are_a_receipt_by_accident(content: bytes) -> None:
    with pytest.raises(ReceiptError, match="not a receipt"):
        read_receipt(content)
