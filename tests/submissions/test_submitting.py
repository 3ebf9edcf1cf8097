"""Creating a submission from a checked bundle, with an answer for every task and trial."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import connection

from benchmark_tasks.domain import content
from submissions.domain import submitting, uploads
from submissions.domain.audit import history
from submissions.domain.uploads import BundleRefusedError
from submissions.enums import Kind, SubmissionState, Verb, Visibility
from submissions.exceptions import NotAllowedError, QuotaExceededError, WrongStateError
from submissions.models import Submission, System, Upload
from submissions.signals import submission_cancelled, submission_created
from tests.submissions.factories import (
    BROKEN,
    MANIFEST,
    RIGHT,
    SubmissionFactory,
    UploadFactory,
    bundle,
    checked_by_worker,
    zipped,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from benchmark_tasks.models import SuiteVersion
    from submissions.models import User


@pytest.fixture
def news() -> Iterator[list[tuple[str, Submission]]]:
    """Collect ``submission_created`` and ``submission_cancelled`` signals."""
    heard: list[tuple[str, Submission]] = []

    def created(submission: Submission, **_: Any) -> None:
        heard.append(("created", submission))

    def cancelled(submission: Submission, **_: Any) -> None:
        heard.append(("cancelled", submission))

    submission_created.connect(created)
    submission_cancelled.connect(cancelled)
    yield heard
    submission_created.disconnect(created)
    submission_cancelled.disconnect(cancelled)


def submit(owner: User, tmp_path: Path, content: bytes, **options: Any) -> submitting.Submitted:
    file = tmp_path / "sent.bundle"
    file.write_bytes(content)
    return submitting.submit(owner=owner, path=file, **options)


def test_every_task_gets_an_implementation(
    alice: User, tmp_path: Path, small: SuiteVersion, news: list[tuple[str, Submission]]
) -> None:
    content = bundle({"alpha/1": BROKEN}, organisation="Example Lab", notes="First try.")
    submitted = submit(alice, tmp_path, content)
    submission = submitted.submission
    assert submitted.created
    assert (submission.owner, submission.suite_version, submission.state) == (alice, small, SubmissionState.QUEUED)
    assert (submission.visibility, submission.kind, submission.notes) == (
        Visibility.PRIVATE,
        Kind.RANKED,
        "First try.",
    )
    with submission.bundle.open("rb") as stored:
        assert stored.read() == content
    assert (submission.system.name, submission.system.organisation) == ("Alpha Solver", "Example Lab")
    first, second = submission.implementations.order_by("revision__task__slug")
    assert (first.attempted, first.files, first.raw_answer) == (True, None, BROKEN)
    assert (first.answer_error["file"], first.answer_error["line"]) == ("answers/alpha/1/answer.py", 1)
    assert (second.attempted, second.files, second.answer_error) == (False, None, {})
    assert news == [("created", submission)]
    assert [(event.verb, event.actor) for event in history(submission)] == [(Verb.SUBMITTED, alice)]


def test_trials_usage_and_trajectories_are_kept(alice: User, tmp_path: Path, small: SuiteVersion) -> None:
    content = zipped(
        {
            "submission.json": json.dumps(MANIFEST),
            "answers/alpha/1/trial-1/answer.py": RIGHT,
            "answers/alpha/1/trial-1/usage.json": '{"input_tokens": 120, "cost_usd": 0.5}',
            "answers/alpha/1/trial-2/answer.py": BROKEN,
            "answers/alpha/1/trial-2/steps.txt": "looked around",
        }
    )
    submission = submit(alice, tmp_path, content).submission
    assert submission.trials == 2
    answers = {(a.revision.task.slug, a.trial): a for a in submission.implementations.all()}
    assert sorted(answers) == [("alpha/1", 1), ("alpha/1", 2), ("alpha/2", 1), ("alpha/2", 2)]
    assert answers["alpha/1", 1].usage == {"input_tokens": 120.0, "cost_usd": 0.5}
    assert not answers["alpha/1", 1].trajectory
    with answers["alpha/1", 2].trajectory.open("rb") as trajectory:
        assert trajectory.read() == b"looked around"


def test_an_answer_in_utf16_is_stored_as_text(alice: User, tmp_path: Path, small: SuiteVersion) -> None:
    files = {"submission.json": json.dumps(MANIFEST).encode(), "answers/alpha/1/answer.py": BROKEN.encode("utf-16")}
    content = zipped(files)
    submission = submit(alice, tmp_path, content).submission
    answer = submission.implementations.get(revision__task__slug="alpha/1")
    assert (answer.answer_error["line"], answer.raw_answer) == (1, BROKEN)


@pytest.mark.both_databases
def test_the_same_content_is_submitted_once(alice: User, bob: User, tmp_path: Path, small: SuiteVersion) -> None:
    first = submit(alice, tmp_path, bundle())
    again = submit(alice, tmp_path, zipped({**_files(), "README.md": "packed another time"}))
    assert (again.created, again.submission) == (False, first.submission)
    assert submit(bob, tmp_path, bundle()).created
    submitting.cancel(submission=first.submission, actor=alice)
    assert submit(alice, tmp_path, bundle()).created


def _files() -> dict[str, str]:
    return {"submission.json": json.dumps(MANIFEST), "answers/alpha/1/answer.py": RIGHT}


@pytest.mark.both_databases
def test_without_quota_no_submission_is_stored(
    alice: User, tmp_path: Path, small: SuiteVersion, news: list[tuple[str, Submission]]
) -> None:
    alice.daily_submissions = 1
    alice.save()
    first = submit(alice, tmp_path, bundle())
    with pytest.raises(QuotaExceededError):
        submit(alice, tmp_path, bundle({"alpha/1": BROKEN}))
    assert Submission.objects.get() == first.submission
    # Identical content needs no quota.
    assert not submit(alice, tmp_path, bundle()).created
    assert len(news) == 1


def test_advance_consent_needs_an_offered_licence(alice: User, tmp_path: Path, small: SuiteVersion) -> None:
    with pytest.raises(NotAllowedError, match="'WTFPL' is not one of the offered licences"):
        submit(alice, tmp_path, bundle(), publish_licence="WTFPL")
    submission = submit(alice, tmp_path, bundle(), publish_licence="MIT").submission
    assert (submission.publish_when_scored, submission.code_licence) == (True, "MIT")


def test_only_maintainers_consent_to_publish_calibration_samples(
    alice: User, maintainer: User, tmp_path: Path, small: SuiteVersion
) -> None:
    with pytest.raises(NotAllowedError, match="published by maintainers only"):
        submit(alice, tmp_path, bundle(kind="calibration"), publish_licence="MIT")
    assert not Submission.objects.exists()
    submitted = submit(maintainer, tmp_path, bundle(kind="calibration"), publish_licence="MIT")
    assert submitted.submission.publish_when_scored


@pytest.mark.both_databases
def test_a_system_is_found_regardless_of_case(alice: User, bob: User, tmp_path: Path, small: SuiteVersion) -> None:
    first = submit(alice, tmp_path, bundle(links=["https://example.org/a"])).submission.system
    second = submit(
        alice,
        tmp_path,
        bundle(
            {"alpha/1": BROKEN},
            system="ALPHA solver",
            organisation="Example Lab",
            links=["https://example.org/b"],
            weights="open",
        ),
    ).submission.system
    assert second == first
    assert (second.name, second.organisation, second.weights) == ("Alpha Solver", "Example Lab", "open")
    assert second.links == ["https://example.org/a", "https://example.org/b"]
    other = submit(bob, tmp_path, bundle()).submission.system
    assert (first.slug, other.slug) == ("alpha-solver", "alpha-solver-2")


def received(owner: User, file: SimpleUploadedFile) -> Upload:
    upload = uploads.receive(owner=owner, file=file, described=None, fields={})
    checked_by_worker()
    upload.refresh_from_db()
    return upload


def test_an_upload_becomes_a_submission(alice: User, small: SuiteVersion) -> None:
    file = SimpleUploadedFile("answers.zip", bundle())
    upload = received(alice, file)
    assert submitting.submitted_before(upload) is None
    submission = submitting.submit_upload(upload=upload).submission
    assert submission.bundle.name == upload.file.name
    assert not Upload.objects.exists()
    again = received(alice, SimpleUploadedFile("b.zip", bundle()))
    assert submitting.submitted_before(again) == submission
    submitting.cancel(submission=submission, actor=alice)
    assert submitting.submitted_before(again) is None


def test_an_unreadable_upload_cannot_be_submitted(alice: User, small: SuiteVersion) -> None:
    upload = received(alice, SimpleUploadedFile("a.zip", b"no"))
    with pytest.raises(BundleRefusedError) as refused:
        submitting.submit_upload(upload=upload)
    (problem,) = refused.value.checked.problems
    assert problem.message.startswith("A bundle is a zip, tar.gz, JSONL or JSON file;")
    assert Upload.objects.count() == 1


def test_an_upload_whose_check_failed_is_not_refused(alice: User) -> None:
    problem = {"severity": "refuse", "message": "An error ended it.", "task": "", "file": "", "line": None}
    upload = UploadFactory(owner=alice, report={"infrastructure_error": True, "problems": [problem]})
    with pytest.raises(WrongStateError, match="An error ended it"):
        submitting.submit_upload(upload=upload)


@pytest.mark.parametrize("failing", ["quota", "signal"])
@pytest.mark.both_databases
def test_a_failure_after_storing_files_removes_them(
    alice: User, tmp_path: Path, small: SuiteVersion, data_dir: Path, failing: str
) -> None:
    content = zipped({**_files(), "answers/alpha/1/steps.txt": "looked around"})

    def fail(**_: Any) -> None:
        raise RuntimeError(failing)

    if failing == "quota":
        alice.daily_submissions = 0
        alice.save()
    else:
        submission_created.connect(fail)
    try:
        with pytest.raises((QuotaExceededError, RuntimeError)):
            submit(alice, tmp_path, content)
    finally:
        submission_created.disconnect(fail)
    assert [path for path in (data_dir / "media").rglob("*") if path.is_file()] == []
    assert (Submission.objects.count(), System.objects.count()) == (0, 0)


@pytest.mark.parametrize("state", [SubmissionState.QUEUED, SubmissionState.RUNNING, SubmissionState.HELD])
@pytest.mark.both_databases
def test_open_submissions_can_be_cancelled(
    alice: User, state: SubmissionState, news: list[tuple[str, Submission]]
) -> None:
    submission = SubmissionFactory(owner=alice, state=state)
    submitting.cancel(submission=submission, actor=alice)
    submission.refresh_from_db()
    assert submission.state == SubmissionState.CANCELLED
    assert news == [("cancelled", submission)]
    assert history(submission).get().verb == Verb.CANCELLED


@pytest.mark.parametrize("state", [SubmissionState.SCORED, SubmissionState.CANCELLED])
def test_ended_submissions_cannot_be_cancelled(alice: User, state: SubmissionState) -> None:
    with pytest.raises(WrongStateError, match="queued, running or held"):
        submitting.cancel(submission=SubmissionFactory(owner=alice, state=state), actor=alice)


def test_other_users_cannot_cancel(alice: User, bob: User, news: list[tuple[str, Submission]]) -> None:
    submission = SubmissionFactory(owner=alice, state=SubmissionState.RUNNING)
    with pytest.raises(NotAllowedError, match="Only the owner"):
        submitting.cancel(submission=submission, actor=bob)
    submission.refresh_from_db()
    assert (submission.state, news) == (SubmissionState.RUNNING, [])


@pytest.mark.both_databases
def test_an_upload_submitted_or_discarded_in_another_window(alice: User, small: SuiteVersion) -> None:
    upload = received(alice, SimpleUploadedFile("answers.zip", bundle()))
    Upload.objects.all().delete()
    with pytest.raises(WrongStateError, match="in another window"):
        submitting.submit_upload(upload=upload)


def test_files_are_stored_before_the_transaction(
    alice: User, tmp_path: Path, small: SuiteVersion, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Copying is slow, and SQLite has a single writer."""
    inside: list[int] = []
    put = content.put_file

    def noting(stored: Any) -> str:
        inside.append(len(connection.savepoint_ids))
        return put(stored)

    monkeypatch.setattr(submitting, "put_file", noting)
    submit(alice, tmp_path, zipped({**_files(), "answers/alpha/1/steps.txt": "looked around"}))
    assert inside == [0, 0]
