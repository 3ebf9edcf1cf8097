"""Uploading through the API: a file, its check, submitting and discarding it."""

from __future__ import annotations

import json
from dataclasses import replace
from difflib import unified_diff
from typing import TYPE_CHECKING, Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from benchmark_tasks.enums import AuditState
from benchmark_tasks.models import TaskRevision
from leaderboard.api.uploads import Described
from leaderboard.sharing.client import lmr_board
from submissions.answers.archives import ArchiveLimits
from submissions.domain import organisations
from submissions.domain.quotas import CHECKS_AN_HOUR
from submissions.domain.uploads import DESCRIBING_FIELDS
from submissions.forms import WAITING_UPLOADS, UploadForm
from submissions.models import Submission, Upload
from tests.benchmark_tasks.factories import GOLDEN_1, MASKED
from tests.leaderboard.api.program import Program
from tests.submissions.factories import BROKEN, RIGHT, UploadFactory, bundle, checked_by_worker
from tests.submissions.organisations import registered

if TYPE_CHECKING:
    from pytest_django import Settings

    from benchmark_tasks.models import SuiteVersion
    from submissions.models import User

pytestmark = pytest.mark.django_db


def uploaded(program: Program, content: bytes, name: str = "answers.zip", **fields: Any) -> Any:
    """Upload a file, let a worker check it, and return the upload."""
    upload = program.upload(SimpleUploadedFile(name, content), **fields)
    assert (upload["checked"], upload["acceptable"], upload["problems"]) == (False, None, [])
    checked_by_worker()
    return program.get(f"/uploads/{upload['id']}")


def test_a_bundle_is_checked_and_submitted(small: SuiteVersion, alice: User) -> None:
    program = Program(alice)
    upload = uploaded(program, bundle({"alpha/1": RIGHT, "alpha/2": BROKEN}))
    assert (upload["acceptable"], upload["suite"], upload["suite_version"], upload["kind"]) == (
        True,
        "small",
        1,
        "ranked",
    )
    assert [(each["task"], each["applies"]) for each in upload["answers"]] == [("alpha/1", True), ("alpha/2", False)]
    (problem,) = upload["problems"]
    assert (problem["severity"], problem["task"]) == ("bad_answer", "alpha/2")
    made = program.post(f"/uploads/{upload['id']}/submit", {"publish_licence": "MIT"}, status=201)
    submission = Submission.objects.get()
    assert made == {"submission": submission.pk, "created": True, "page": f"/submissions/{submission.pk}/"}
    assert (submission.owner, submission.publish_when_scored, submission.code_licence) == (alice, True, "MIT")
    assert program.problem("GET", f"/uploads/{upload['id']}")["status"] == 404
    assert program.get("/uploads")["items"] == []


def test_the_same_answers_are_submitted_once(small: SuiteVersion, alice: User) -> None:
    program = Program(alice)
    first = program.post(f"/uploads/{uploaded(program, bundle())['id']}/submit", {}, status=201)
    again = uploaded(program, bundle(), "again.zip")
    assert again["submission"] == first["submission"]
    assert program.post(f"/uploads/{again['id']}/submit", {}) == {**first, "created": False}


def test_predictions_are_described_by_fields(small: SuiteVersion, alice: User) -> None:
    row = json.dumps({"instance_id": "alpha/1", "function": RIGHT, "model_name_or_path": "alpha-2"}).encode()
    links = "https://example.org/a\nhttps://example.org/b"
    upload = uploaded(Program(alice), row, "predictions.jsonl", suite="small", system="Otter", links=links)
    assert (upload["acceptable"], upload["system"]) == (True, "Otter")
    described = Upload.objects.get().described
    assert described is not None
    assert described["links"] == links.split("\n")


def test_wrong_fields_are_named_and_nothing_is_stored(small: SuiteVersion, alice: User) -> None:
    program, file = Program(alice), SimpleUploadedFile("a.zip", bundle())
    problem = program.upload(file, links="nowhere", suite="none", status=422)
    assert [each["field"] for each in problem["errors"]] == ["suite", "links"]
    file.seek(0)
    assert program.upload(file, inputs="all", status=422)["errors"][0]["field"] == "inputs"
    assert program.problem("POST", "/uploads")["errors"][0]["field"] == "file"
    assert Upload.objects.count() == 0


def test_a_registered_organisation_is_refused_with_its_field(
    small: SuiteVersion, alice: User, maintainer: User
) -> None:
    lab, program = registered("Example Lab", "example.org", by=maintainer), Program(alice)
    refused = "'Example Lab' is a registered organisation, and this account may not use its name."
    problem = program.upload(SimpleUploadedFile("a.zip", bundle()), organisation="example lab", status=422)
    (error,) = problem["errors"]
    assert (problem["status"], error["field"], error["message"].startswith(refused)) == (422, "organisation", True)
    assert Upload.objects.count() == 0
    upload = uploaded(program, bundle(organisation="example lab"))
    assert upload["acceptable"] is False
    assert upload["problems"][0]["message"].startswith(f"organisation: {refused}")
    organisations.grant(organisation=lab, account=alice, actor=maintainer, reason="Known.")
    program.post(f"/uploads/{upload['id']}/submit", {}, status=201)
    assert Submission.objects.get().system.organisation_confirmed == "hand"
    organisations.end(organisation=lab, account=alice, actor=maintainer, reason="Left.")
    # The same system, without naming the organisation.
    later = uploaded(program, bundle({"alpha/1": BROKEN}))
    problem = program.problem("POST", f"/uploads/{later['id']}/submit", {})
    (error,) = problem["errors"]
    assert (problem["status"], error["field"]) == (422, "organisation")
    assert "a maintainer has ended that" in error["message"]
    assert Submission.objects.count() == 1


def test_a_refused_bundle_cannot_be_submitted(small: SuiteVersion, alice: User) -> None:
    program = Program(alice)
    upload = uploaded(program, bundle({"alpha/9": RIGHT}))
    assert (upload["acceptable"], upload["problems"][0]["severity"]) == (False, "refuse")
    problem = program.problem("POST", f"/uploads/{upload['id']}/submit", {})
    assert (problem["status"], problem["type"]) == (422, "/docs/api/#invalid")
    message = upload["problems"][0]["message"]
    assert problem["detail"] == f"The bundle has problems and was not submitted. {message}"
    assert problem["errors"] == [{"field": "file", "message": message}]
    unreadable = uploaded(program, b"no", "no.zip")
    problem = program.problem("POST", f"/uploads/{unreadable['id']}/submit", {})
    message = "The bundle has problems and was not submitted. A bundle is a zip, tar.gz, JSONL or JSON file;"
    assert (problem["status"], problem["detail"][: len(message)]) == (422, message)
    assert Submission.objects.count() == 0


def test_edits_set_aside_are_counted_at_the_check_and_listed_with_the_code(small: SuiteVersion, alice: User) -> None:
    program = Program(alice)
    old, new = MASKED.splitlines(keepends=True), GOLDEN_1.splitlines(keepends=True)
    diff = "".join(unified_diff(old, new, "a/scoring/core.py", "b/scoring/core.py"))
    patch = f"{diff}--- /dev/null\n+++ b/tests/test_new.py\n@@ -0,0 +1 @@\n+x = 1\n"
    row = {"instance_id": "alpha/1", "model_patch": patch, "model_name_or_path": "alpha-2"}
    upload = uploaded(program, json.dumps([row]).encode(), "rows.json", suite="small")
    assert [(each["applies"], each["set_aside"]) for each in upload["answers"]] == [(True, 1)]
    made = program.post(f"/uploads/{upload['id']}/submit", {}, status=201)
    answer = program.get(f"/submissions/{made['submission']}/answers/alpha/1/1")
    (aside,) = answer["code"]["set_aside"]
    assert (aside["file"], "+x = 1" in aside["diff"]) == ("tests/test_new.py", True)
    assert aside["message"].startswith("Not applied")


def test_submitting_too_early_and_after_the_suite_has_changed(small: SuiteVersion, alice: User) -> None:
    program = Program(alice)
    early = program.upload(SimpleUploadedFile("a.zip", bundle({"alpha/1": RIGHT, "alpha/2": BROKEN})))
    problem = program.problem("POST", f"/uploads/{early['id']}/submit", {})
    assert (problem["status"], problem["detail"]) == (*(409, "This file is being checked. Submit it after the check."),)
    checked_by_worker()
    TaskRevision.objects.filter(task__slug="alpha/2").update(audit_state=AuditState.FAILED)
    assert program.problem("POST", f"/uploads/{early['id']}/submit", {})["status"] == 409
    assert program.get(f"/uploads/{early['id']}")["checked"] is False
    checked_by_worker()
    program.post(f"/uploads/{early['id']}/submit", {}, status=201)


def test_quotas_are_those_of_the_pages(small: SuiteVersion, alice: User) -> None:
    alice.daily_submissions = 0
    alice.save()
    program = Program(alice)
    upload = uploaded(program, bundle())
    problem = program.problem("POST", f"/uploads/{upload['id']}/submit", {})
    assert (problem["status"], problem["type"]) == (429, "/docs/api/#quota")
    assert "your limit is 0" in problem["detail"]
    assert program.get("/me")["submissions_left"] == 0


@pytest.mark.usefixtures("half_past_noon")
def test_checks_are_counted(small: SuiteVersion, alice: User) -> None:
    program, file = Program(alice), SimpleUploadedFile("a.zip", bundle())
    for _ in range(CHECKS_AN_HOUR):
        file.seek(0)
        upload = program.upload(file)
        assert program.send("DELETE", f"/uploads/{upload['id']}").status_code == 204
    file.seek(0)
    assert program.upload(file, status=429)["type"] == "/docs/api/#quota"


def test_the_number_of_waiting_uploads_is_limited(small: SuiteVersion, alice: User) -> None:
    UploadFactory.create_batch(WAITING_UPLOADS, owner=alice)
    problem = Program(alice).upload(SimpleUploadedFile("a.zip", bundle()), status=422)
    assert "uploads that are not submitted yet" in problem["detail"]


def test_an_oversized_file_is_refused(small: SuiteVersion, alice: User, settings: Settings) -> None:
    settings.ENVIRONMENT = replace(settings.ENVIRONMENT, output_tree_upload_mb=1)
    file = SimpleUploadedFile("a.zip", b"x" * (ArchiveLimits().upload + 1))
    assert Program(alice).upload(file, status=413)["type"] == "/docs/api/#too-large"
    assert Upload.objects.count() == 0


def test_uploads_of_others_are_not_found(small: SuiteVersion, alice: User, maintainer: User) -> None:
    upload = uploaded(Program(alice), bundle())
    other = Program(maintainer)
    for method, path in (("GET", ""), ("DELETE", ""), ("POST", "/submit")):
        data: dict[str, str] | None = {} if method == "POST" else None
        assert other.problem(method, f"/uploads/{upload['id']}{path}", data)["status"] == 404
    assert other.get("/uploads")["items"] == []
    assert Upload.objects.count() == 1


def test_the_site_the_api_and_the_client_take_the_same_description() -> None:
    form = UploadForm.base_fields.keys() - {"file", "stored", "content"}
    client = {*lmr_board.DESCRIBING, "links"}
    assert form == Described.model_fields.keys() == client == set(DESCRIBING_FIELDS)
