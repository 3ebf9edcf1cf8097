"""Registered organisations' names in every way of submitting, and in corrections."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import call_command
from django.db import transaction
from django.urls import reverse

from submissions.answers.contents import Manifest
from submissions.domain import organisations, publishing, submitting, uploads
from submissions.domain.audit import history
from submissions.domain.uploads import BundleRefusedError
from submissions.enums import Confirmed
from submissions.exceptions import OrganisationRefusedError
from submissions.models import Organisation, OrganisationGrant, Submission, System, Upload, User
from tests.at_once import at_once
from tests.submissions.factories import SubmissionFactory, bundle, checked_by_worker
from tests.submissions.organisations import has_address, registered

if TYPE_CHECKING:
    from pathlib import Path

    from django.test import Client

    from benchmark_tasks.models import SuiteVersion
    from submissions.models import Team

pytestmark = pytest.mark.django_db
REFUSED = "'Example Lab' is a registered organisation, and this account may not use its name."


@pytest.fixture
def lab(maintainer: User) -> Organisation:
    """Example Lab, with the domain example.org."""
    return registered("Example Lab", "example.org", by=maintainer)


def manifest(**facts: Any) -> Manifest:
    return Manifest(
        **{"suite": "small", "system": "Solver", "backbone": "b", "scaffold": "none", "inputs": "full"} | facts
    )


def system_of(owner: User, team: Team | None = None, **facts: Any) -> System:
    with transaction.atomic():
        return submitting.system_of(owner, team, manifest(**facts))


def declared(system: System) -> tuple[str, str | None]:
    system.refresh_from_db()
    return system.organisation, system.organisation_confirmed


def upload_of(owner: User, content: bytes) -> Upload:
    file = SimpleUploadedFile("answers.zip", content)
    upload = uploads.receive(owner=owner, file=file, described=None, fields={})
    checked_by_worker()
    upload.refresh_from_db()
    return upload


def correct(submission: Submission, actor: User, organisation: str) -> None:
    changes = {"organisation": organisation}
    publishing.correct_system(submission=submission, actor=actor, changes=changes, reason="A slip.")


@pytest.mark.both_databases
def test_a_new_system_has_the_registered_spelling_and_its_confirmation(alice: User, lab: Organisation) -> None:
    has_address(alice, "alice@example.org")
    assert declared(system_of(alice, organisation="EXAMPLE LAB")) == ("Example Lab", Confirmed.DOMAIN)
    assert declared(system_of(alice, system="Other", organisation="Elsewhere")) == ("Elsewhere", None)


@pytest.mark.both_databases
@pytest.mark.parametrize("written", ["Example Lab", "example-lab", "Ex\u0430mple Lab"])
def test_a_registered_name_is_refused_and_nothing_is_stored(alice: User, lab: Organisation, written: str) -> None:
    with pytest.raises(OrganisationRefusedError, match=REFUSED):
        system_of(alice, organisation=written)
    assert (System.objects.count(), OrganisationGrant.objects.count()) == (0, 0)


def test_an_empty_organisation_is_filled_by_a_later_submission(alice: User, lab: Organisation) -> None:
    system = system_of(alice)
    has_address(alice, "alice@example.org")
    assert declared(system) == ("", None)
    assert system_of(alice, organisation="Example Lab") == system
    assert declared(system) == ("Example Lab", Confirmed.DOMAIN)


def test_a_system_from_before_is_confirmed_by_a_submission_of_an_account_with_the_right(
    alice: User, maintainer: User
) -> None:
    system, other = system_of(alice, organisation="example lab"), system_of(alice, system="O", organisation="Elsewhere")
    lab = registered("Example Lab", "example.org", by=maintainer)
    with pytest.raises(OrganisationRefusedError):
        system_of(alice)
    assert declared(system) == ("example lab", None)
    organisations.grant(organisation=lab, account=alice, actor=maintainer, reason="Known.")
    system_of(alice, organisation="example lab")
    system_of(alice, system="O", organisation="Example Lab")
    assert (declared(system), declared(other)) == (("Example Lab", Confirmed.HAND), ("Elsewhere", None))


def test_a_confirmed_system_takes_no_submissions_of_an_account_without_the_right(
    alice: User, maintainer: User, lab: Organisation
) -> None:
    organisations.grant(organisation=lab, account=alice, actor=maintainer, reason="Known.")
    system = system_of(alice, organisation="Example Lab")
    organisations.end(organisation=lab, account=alice, actor=maintainer, reason="Left.")
    with pytest.raises(OrganisationRefusedError, match="a maintainer has ended that"):
        system_of(alice)
    assert declared(system) == ("Example Lab", Confirmed.HAND)
    assert declared(system_of(alice, system="Another")) == ("", None)


def test_an_unconfirmed_system_takes_no_more_answers_without_the_right(alice: User, maintainer: User) -> None:
    before = system_of(alice, organisation="Example Lab")
    registered("Example Lab", "example.org", by=maintainer)
    with pytest.raises(OrganisationRefusedError, match=r"The system Solver has it already: correct that on the page"):
        system_of(alice)
    has_address(alice, "alice@example.org")
    assert system_of(alice) == before
    assert declared(before) == ("Example Lab", Confirmed.DOMAIN)


def test_a_bundle_is_refused_with_the_manifest_s_place(
    alice: User, small: SuiteVersion, lab: Organisation, tmp_path: Path
) -> None:
    file = tmp_path / "a.zip"
    file.write_bytes(bundle(organisation="Example Lab"))
    with pytest.raises(BundleRefusedError) as refused:
        submitting.submit(owner=alice, path=file)
    (problem,) = refused.value.checked.problems
    assert (problem.severity, problem.file) == ("refuse", "submission.json")
    assert problem.message.startswith(f"organisation: {REFUSED}")
    assert Submission.objects.count() == 0
    has_address(alice, "alice@example.org")
    submitted = submitting.submit(owner=alice, path=file).submission
    assert declared(submitted.system) == ("Example Lab", Confirmed.DOMAIN)


def test_the_check_of_an_upload_reports_it_and_so_does_submitting(
    as_alice: Client, alice: User, small: SuiteVersion, lab: Organisation
) -> None:
    upload = upload_of(alice, bundle(organisation="Example Lab"))
    (problem,) = upload.report["problems"]
    assert (upload.report["acceptable"], problem["severity"], problem["file"]) == (False, "refuse", "submission.json")
    page = as_alice.get(reverse("upload_check", args=[upload.pk])).content.decode()
    assert REFUSED.replace("'", "&#x27;") in page
    with pytest.raises(BundleRefusedError):
        submitting.submit_upload(upload=upload)
    has_address(alice, "alice@example.org")
    assert declared(submitting.submit_upload(upload=upload).submission.system) == ("Example Lab", Confirmed.DOMAIN)


def test_a_name_that_is_registered_after_the_check_is_refused_when_submitting(
    as_alice: Client, alice: User, maintainer: User, small: SuiteVersion
) -> None:
    upload = upload_of(alice, bundle(organisation="Example Lab"))
    assert upload.report["problems"] == []
    registered("Example Lab", by=maintainer)
    page = as_alice.post(reverse("upload_check", args=[upload.pk])).content.decode()
    assert REFUSED.replace("'", "&#x27;") in page
    upload.refresh_from_db()
    assert upload.report["acceptable"] is False
    assert Submission.objects.count() == 0


def test_the_upload_form_names_its_field_and_keeps_what_was_typed(
    as_alice: Client, small: SuiteVersion, lab: Organisation
) -> None:
    row = json.dumps({"instance_id": "alpha/1", "function": "def f(): pass", "model_name_or_path": "m"}).encode()
    file = SimpleUploadedFile("p.jsonl", row)
    typed = {"suite": "small", "organisation": "example lab", "notes": "Typed."}
    response = as_alice.post(reverse("upload"), {"file": file, **typed})
    form = response.context["form"]
    assert list(form.errors) == ["organisation"]
    assert form.errors["organisation"][0].startswith(REFUSED)
    assert (form["organisation"].value(), form["notes"].value()) == ("example lab", "Typed.")
    assert Upload.objects.get().name == "p.jsonl"


def test_validate_remarks_on_a_registered_name(
    small: SuiteVersion, lab: Organisation, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "a.zip"
    file.write_bytes(bundle(organisation="example lab"))
    call_command("validate", file)
    first = capsys.readouterr().out.splitlines()[0]
    assert first == (
        "remark: submission.json: organisation: 'Example Lab' is a registered organisation: only accounts that may use "
        "its name can submit with it."
    )
    file.write_bytes(bundle(organisation="Elsewhere"))
    call_command("validate", file)
    assert "registered" not in capsys.readouterr().out


def test_submit_on_the_command_line_is_held_to_the_rule(
    small: SuiteVersion, lab: Organisation, maintainer: User, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "a.zip"
    file.write_bytes(bundle(organisation="Example Lab"))
    with pytest.raises(SystemExit) as ended:
        call_command("submit", file)
    assert ended.value.code == 1
    assert f"refused: submission.json: organisation: {REFUSED}" in capsys.readouterr().out
    operator = User.objects.get(username="operator")
    organisations.grant(organisation=lab, account=operator, actor=maintainer, reason="Our own runs.")
    with pytest.raises(SystemExit) as ended:
        call_command("submit", file)
    assert ended.value.code == 0
    assert declared(System.objects.get()) == ("Example Lab", Confirmed.HAND)


@pytest.mark.both_databases
def test_a_correction_is_held_to_the_rule(alice: User, maintainer: User, lab: Organisation) -> None:
    submission = SubmissionFactory(owner=alice)
    with pytest.raises(OrganisationRefusedError, match=REFUSED):
        correct(submission, alice, "example lab")
    assert (declared(submission.system), history(submission).count()) == (("", None), 0)
    has_address(alice, "alice@example.org")
    correct(submission, alice, "example lab")
    assert declared(submission.system) == ("Example Lab", Confirmed.DOMAIN)
    assert history(submission).get().data == {"changed": {"organisation": ["", "Example Lab"]}}
    correct(submission, alice, "Elsewhere")
    assert declared(submission.system) == ("Elsewhere", None)
    correct(submission, alice, "Example Lab")
    correct(submission, maintainer, "")
    assert declared(submission.system) == ("", None)


def test_correcting_other_facts_needs_no_right_and_keeps_the_confirmation(alice: User, maintainer: User) -> None:
    before = SubmissionFactory(owner=alice, system__organisation="example lab")
    lab = registered("Example Lab", by=maintainer)
    changes = {"organisation": "example lab", "backbone": "other"}
    publishing.correct_system(submission=before, actor=alice, changes=changes, reason="A slip.")
    assert (declared(before.system), before.system.backbone) == (("example lab", None), "other")
    organisations.confirm(system=before.system, actor=maintainer, reason="Known.")
    organisations.end(organisation=lab, account=alice, actor=maintainer, reason="Left.")
    changes = {"organisation": "Example Lab", "backbone": "third"}
    publishing.correct_system(submission=before, actor=alice, changes=changes, reason="A slip.")
    assert (declared(before.system), before.system.backbone) == (("Example Lab", Confirmed.HAND), "third")


def test_a_maintainer_corrects_in_the_name_of_the_owner(alice: User, maintainer: User, lab: Organisation) -> None:
    submission = SubmissionFactory(owner=alice)
    has_address(maintainer, "carol@example.org")
    with pytest.raises(OrganisationRefusedError):
        correct(submission, maintainer, "Example Lab")
    has_address(alice, "alice@example.org")
    correct(submission, maintainer, "Example Lab")
    assert submission.system.confirmation is not None
    assert submission.system.confirmation.account == alice


def test_the_form_of_a_correction_shows_the_refusal_at_its_field(
    as_alice: Client, alice: User, lab: Organisation
) -> None:
    submission = SubmissionFactory(owner=alice)
    typed = {"name": "N", "backbone": "b", "scaffold": "none", "organisation": "Example Lab", "reason": "Typed."}
    response = as_alice.post(reverse("submission_correct", args=[submission.pk]), typed)
    assert response.status_code == 422
    form = response.context["correct"]
    assert list(form.errors) == ["organisation"]
    assert form.errors["organisation"][0].startswith(REFUSED)
    assert form["reason"].value() == "Typed."
    assert declared(submission.system) == ("", None)


@pytest.mark.django_db(transaction=True)
@pytest.mark.both_databases
def test_ending_a_use_and_using_it_at_once_never_confirms_afterwards(
    alice: User, maintainer: User, lab: Organisation
) -> None:
    has_address(alice, "alice@example.org")
    first = system_of(alice, organisation="Example Lab")
    submission = SubmissionFactory(owner=alice, system=first)

    def act(number: int) -> str:
        try:
            if number == 0:
                organisations.end(organisation=lab, account=alice, actor=maintainer, reason="Left.")
            elif number == 1:
                correct(submission, alice, "Elsewhere")
                correct(submission, alice, "Example Lab")
            else:
                system_of(alice, system=f"New {number}", organisation="Example Lab")
        except OrganisationRefusedError:
            return "refused"
        return "done"

    results = at_once(act, range(4))
    assert results[0] == "done"
    # Confirmed ones were made before the end.
    ended = OrganisationGrant.objects.get().ended
    assert ended is not None
    confirmed = System.objects.exclude(confirmation=None).exclude(pk=first.pk)
    assert confirmed.count() == [*results[2:]].count("done")
    assert not confirmed.filter(created__gt=ended).exists()
