"""``manage.py personal_data``: one person's data without another's, and erasing what others do not need."""

from __future__ import annotations

import io
import json
import zipfile
from typing import TYPE_CHECKING, Any

import pytest
from allauth.account.models import EmailAddress
from allauth.mfa.models import Authenticator
from allauth.socialaccount.models import SocialAccount
from django.core.management import CommandError, call_command
from django.test import Client
from django.utils import timezone

from benchmark_tasks.domain.content import put_file
from leaderboard.models import MailChoice, Notice
from reviews.models import Assignment, Case, Conflict, Invitation, Review, Reviewer, Trigger
from submissions.domain import endpoint_keys, teams, tokens
from submissions.domain.operators import local_operator
from submissions.enums import SubmissionState
from submissions.models import ApiToken, AuditEvent, Endpoint, Submission, Upload, User
from tests.reviews.factories import ReviewerFactory, assigned, case_of, reviewed
from tests.second_factors import with_app
from tests.submissions.endpoints.factories import EndpointFactory
from tests.submissions.factories import (
    PASSWORD,
    SubmissionFactory,
    UploadFactory,
    UserFactory,
    with_answers,
)

if TYPE_CHECKING:
    from pathlib import Path

    from pytest_django import Settings

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _own_folder(settings: Settings, tmp_path: Path) -> None:
    settings.DATA_DIR = tmp_path / "data"


def account(name: str) -> User:
    """Return an account with rows of every kind, each with the account's name in it."""
    user: User = UserFactory(username=name, last_name=f"last {name}")
    EmailAddress.objects.create(user=user, email=user.email, primary=True)
    SocialAccount.objects.create(user=user, provider="github", uid=name, extra_data={"login": f"connection of {name}"})
    with_app(user)
    tokens.make(owner=user, name=f"token of {name}", scopes=["read"], days=1)
    endpoint = EndpointFactory(owner=user, name=f"endpoint of {name}")
    endpoint.sealed_key = endpoint_keys.sealed_for(endpoint, "sk-secret")
    endpoint.save()
    UploadFactory(owner=user, name=f"upload of {name}.zip", file=put_file(f"upload of {name}".encode()))
    sent = SubmissionFactory(
        published=True, owner=user, notes=f"notes of {name}", bundle=put_file(f"bundle of {name}".encode())
    )
    with_answers(sent, 1, raw_answer=f"answer of {name}")
    Notice.objects.create(recipient=user, kind="scored", key=name, made=timezone.now())
    MailChoice.objects.create(user=user, kind="scored")
    reviewer = ReviewerFactory(user=user, name=f"full {name}", pseudonym=f"pseudonym {name}", affiliation=f"at {name}")
    reviewed(case_of(), reviewer, "LI", note=f"label of {name}")
    assigned(case_of(), reviewer, draft={"note": f"draft of {name}"})
    return user


def run(*arguments: str) -> str:
    out = io.StringIO()
    call_command("personal_data", *arguments, stdout=out)
    return out.getvalue()


def exported(user: User, file: Path) -> tuple[dict[str, Any], list[bytes]]:
    assert run(user.username, "--export", str(file)).startswith(f"{file}: ")
    with zipfile.ZipFile(file) as archive:
        data, *files = archive.namelist()
        assert data == "data.json"
        return json.loads(archive.read(data)), [archive.read(name) for name in files]


class TestExport:
    """``--export``."""

    def test_everything_of_the_person_and_nothing_of_others(self, tmp_path: Path) -> None:
        ada, eve = account("ada"), account("eve")
        rows, files = exported(ada, tmp_path / "ada.zip")
        assert sorted(files) == [b"bundle of ada", b"upload of ada"]
        assert {label: len(found) for label, found in rows.items()} == {
            "submissions.User": 1,
            "submissions.AuditEvent": 1,
            "submissions.System": 1,
            "submissions.Upload": 1,
            "submissions.Submission": 1,
            "submissions.Implementation": 1,
            "submissions.ApiToken": 1,
            "submissions.Endpoint": 1,
            "account.EmailAddress": 1,
            "socialaccount.SocialAccount": 1,
            "mfa.Authenticator": 2,
            "leaderboard.Notice": 1,
            "leaderboard.MailChoice": 1,
            "reviews.Reviewer": 1,
            "reviews.Assignment": 2,
            "reviews.Review": 1,
        }
        text = json.dumps(rows)
        for what in ("last", "token of", "endpoint of", "upload of", "notes of", "answer of", "full", "at", "label of"):
            assert f"{what} ada" in text
        assert "draft of ada" in text
        assert "connection of ada" in text
        assert "eve" not in text
        assert str(eve.email) not in text

    def test_no_secret_and_no_result_is_in_it(self, tmp_path: Path) -> None:
        ada = account("ada")
        Submission.objects.update(held_reason="/srv/private is full")
        rows, _ = exported(ada, tmp_path / "ada.zip")
        (user,), (token,), (endpoint,) = (rows[f"submissions.{name}"] for name in ("User", "ApiToken", "Endpoint"))
        assert (user["username"], "password" in user) == ("ada", False)
        assert (token["name"], "digest" in token) == ("token of ada", False)
        assert (endpoint["name"], "sealed_key" in endpoint) == ("endpoint of ada", False)
        assert all(
            set(factor) == {"id", "user_id", "type", "created_at", "last_used_at"}
            for factor in rows["mfa.Authenticator"]
        )
        assert "/srv/private" not in json.dumps(rows)
        assert set(rows["submissions.Implementation"][0]) == {
            *("id", "submission_id", "revision_id", "trial", "attempted", "files", "deleted", "raw_answer", "usage")
        }

    def test_an_annotator_does_not_learn_which_answers_come_twice(self, tmp_path: Path) -> None:
        ada = account("ada")
        case_of(kind="repeat", reserved_for=ada.reviewer)
        rows, _ = exported(ada, tmp_path / "ada.zip")
        assert not {"reviews.Case", "reviews.CaseEvent"} & set(rows)

    def test_what_refers_to_the_person_without_a_name_of_its_own(self, tmp_path: Path) -> None:
        ada = account("ada")
        Trigger.objects.create(case=case_of(), kind="appeal", detail="appeal of ada", raised_by=ada)
        invitation = Invitation.objects.create(
            secret_digest="d" * 64, created_by=UserFactory(), used_by=ada.reviewer, expires=timezone.now()
        )
        rows, _ = exported(ada, tmp_path / "ada.zip")
        assert [row["detail"] for row in rows["reviews.Trigger"]] == ["appeal of ada"]
        (row,) = rows["reviews.Invitation"]
        assert (row["id"], "secret_digest" in row) == (invitation.pk, False)

    def test_what_belongs_to_a_team_stays_out(self, tmp_path: Path) -> None:
        user = account("alice")
        team = teams.create(actor=user, name="Lynx")
        shared = SubmissionFactory(owner=user, team=team, system__team=team, bundle=put_file(b"of the team"))
        with_answers(shared, 1, raw_answer="of the team")
        EndpointFactory(owner=user, team=team, name="endpoint of the team")
        data, files = exported(user, tmp_path / "alice.zip")
        assert [row["role"] for row in data["submissions.Membership"]] == ["owner"]
        assert {
            len(data[f"submissions.{name}"]) for name in ("Submission", "System", "Endpoint", "Implementation")
        } == {1}
        assert "of the team" not in json.dumps(data)
        assert b"of the team" not in files

    def test_an_existing_file_is_kept(self, tmp_path: Path) -> None:
        UserFactory(username="ada")
        file = tmp_path / "mine"
        file.write_text("mine")
        with pytest.raises(CommandError, match=r"mine could not be written: File exists\. Name a new file"):
            run("ada", "--export", str(file))
        assert file.read_text() == "mine"


class TestErase:
    """``--erase``."""

    def test_the_person_is_gone_and_what_others_need_stays(self, client: Client) -> None:
        ada, eve = account("ada"), account("eve")
        unfinished = SubmissionFactory(owner=ada, state=SubmissionState.QUEUED)
        assert client.login(username="ada", password=PASSWORD)
        labels = list(Review.objects.values_list("pk", "label", "reviewer_id"))
        gone = f"deleted:{ada.pk}"
        assert run("ada", "--erase", "--yes") == (
            f"The account is erased. Its submissions and labels are those of {gone} now.\n"
        )
        ada.refresh_from_db()
        assert (ada.username, ada.email, ada.last_name, ada.is_active) == (gone, "", "", False)
        assert client.get("/accounts/tokens/").status_code == 302
        assert not client.login(username=gone, password=PASSWORD)
        for model in (ApiToken, Endpoint, Upload):
            assert set(model.objects.values_list("owner", flat=True)) == {eve.pk}
        assert set(Notice.objects.values_list("recipient", flat=True)) == {eve.pk}
        assert set(MailChoice.objects.values_list("user", flat=True)) == {eve.pk}
        for own in (EmailAddress, SocialAccount, Authenticator):
            assert set(own.objects.values_list("user", flat=True)) == {eve.pk}
        unfinished.refresh_from_db()
        assert unfinished.state == SubmissionState.CANCELLED
        assert Submission.objects.filter(owner=ada, published_at__isnull=False).count() == 1
        assert list(Review.objects.values_list("pk", "label", "reviewer_id")) == labels
        reviewer = Reviewer.objects.get(pseudonym="pseudonym ada")
        facts = (reviewer.user, reviewer.name, reviewer.affiliation, reviewer.active)
        assert facts == (None, "", "", False)
        event = AuditEvent.objects.filter(verb="erased").get()
        assert (event.subject_text, event.actor) == (gone, None)
        assert Case.objects.count() == 4

    def test_what_the_annotator_held_returns_to_the_queue(self) -> None:
        ada = account("ada")
        repeat = case_of(kind="repeat", reserved_for=ada.reviewer)
        ada.reviewer.conflicts.create(organisation="Employer")
        held = Assignment.objects.get(reviewer=ada.reviewer, state="active")
        Case.objects.filter(pk=held.case_id).update(state="leased")
        run("ada", "--erase", "--yes")
        held.refresh_from_db()
        repeat.refresh_from_db()
        assert (held.state, held.case.state, repeat.state) == ("returned", "queued", "void")
        assert not Conflict.objects.exists()

    def test_no_account_can_take_the_name_of_an_erased_one(self, client: Client) -> None:
        fields = {"email": "eve@mail.example", "password1": PASSWORD, "password2": PASSWORD}
        assert client.post("/accounts/signup/", {"username": "deleted:4", **fields}).status_code == 200
        assert not User.objects.exists()

    @pytest.mark.parametrize(("typed", "erased"), [("ada", True), ("yes", False), ("", False)])
    def test_the_name_is_typed_to_confirm(self, monkeypatch: pytest.MonkeyPatch, typed: str, erased: bool) -> None:
        ada: User = UserFactory(username="ada")
        monkeypatch.setattr("builtins.input", lambda _: typed)
        if erased:
            run("ada", "--erase")
        else:
            with pytest.raises(CommandError, match=r"Nothing was erased\."):
                run("ada", "--erase")
        ada.refresh_from_db()
        assert (ada.username != "ada") is erased

    def test_the_only_maintainer_stays(self) -> None:
        maintainer: User = UserFactory(username="ada", is_staff=True)
        with pytest.raises(CommandError, match="ada is the only maintainer"):
            run("ada", "--erase", "--yes")
        UserFactory(is_staff=True)
        run("ada", "--erase", "--yes")
        maintainer.refresh_from_db()
        assert (maintainer.is_staff, maintainer.is_active) == (False, False)

    def test_the_operator_stays(self) -> None:
        local_operator()
        with pytest.raises(CommandError, match="operator is the account of the command line"):
            run("operator", "--erase", "--yes")


def test_an_unknown_account_is_named() -> None:
    with pytest.raises(CommandError, match="There is no account named 'ada'"):
        run("ada", "--erase", "--yes")
