"""Downloading the file of all answers."""

from __future__ import annotations

import io
import zipfile
from typing import TYPE_CHECKING, Any

import pytest

from benchmark_tasks.domain.content import remove
from leaderboard.board.states import note_change
from leaderboard.models import AnswersFile
from leaderboard.sharing.answer_files import archive
from leaderboard.upkeep.jobs import write_answers
from reviews.enums import AssignmentState
from submissions.models import Submission
from tests.benchmark_tasks.factories import SuiteFactory, SuiteVersionFactory
from tests.leaderboard.factories import measured
from tests.leaderboard.showing import text_of
from tests.reviews.factories import assigned, case_of, ready
from tests.submissions.factories import ImplementationFactory

if TYPE_CHECKING:
    from django.test import Client

    from submissions.models import Implementation, User

pytestmark = pytest.mark.django_db
ADDRESS = "/board/small/answers.zip"


@pytest.fixture
def answer(redis_url: str) -> Implementation:
    """The only public answer."""
    version = SuiteVersionFactory(suite=SuiteFactory(slug="small", position=1), tasks=1)
    made: Implementation = ImplementationFactory(
        submission=measured(version).submission, revision=version.revisions.get()
    )
    return made


def content(response: Any) -> bytes:
    return b"".join(response.streaming_content)


def test_the_job_writes_what_is_downloaded(client: Client, answer: Implementation) -> None:
    waiting = client.get(ADDRESS)
    assert (waiting.status_code, waiting.headers["Retry-After"]) == (503, "60")
    write_answers(answer.submission.suite_version.suite_id)
    write_answers(0)
    response = client.get(ADDRESS)
    file = AnswersFile.objects.get()
    got = content(response)
    assert (response.status_code, response.headers["Content-Type"]) == (200, "application/zip")
    assert response.headers["Content-Length"] == str(len(got)) == str(file.size)
    assert response.headers["Content-Disposition"] == 'attachment; filename="small-answers.zip"'
    assert response.headers["Cache-Control"] == "no-cache"
    assert zipfile.ZipFile(io.BytesIO(got)).testzip() is None
    tag = response.headers["ETag"]
    assert tag == f'"{file.digest}"'
    again = client.get(ADDRESS, headers={"If-None-Match": tag})
    assert (again.status_code, again.content) == (304, b"")
    head = client.head(ADDRESS)
    assert (head.status_code, head.headers["Content-Length"]) == (200, str(file.size))
    head.close()


def test_the_board_links_to_the_file_once_it_is_written(client: Client, answer: Implementation) -> None:
    board = "/board/small/"
    note_change(answer.submission.suite_version_id)
    link = f'href="{ADDRESS}"'
    assert link not in client.get(board).content.decode()
    write_answers(answer.submission.suite_version.suite_id)
    shown = client.get(board)
    assert "Download CSV · JSON · all answers" in text_of(shown)  # type: ignore[arg-type]
    assert link in shown.content.decode()


@pytest.mark.parametrize("visibility", ["private", "hidden", "withdrawn"])
def test_a_file_with_answers_that_are_no_longer_public_cannot_be_downloaded(
    client: Client, answer: Implementation, visibility: str
) -> None:
    archive.write_answers(answer.submission.suite_version.suite)
    tag = f'"{AnswersFile.objects.get().digest}"'
    Submission.objects.update(visibility=visibility)
    assert client.get(ADDRESS).status_code == 404
    assert client.get(ADDRESS, headers={"If-None-Match": tag}).status_code == 404


def test_annotators_cannot_download_the_file_while_they_hold_an_item(
    client: Client, answer: Implementation, bob: User
) -> None:
    archive.write_answers(answer.submission.suite_version.suite)
    annotator = ready(user=bob)
    assignment = assigned(case_of(answer), annotator)
    client.force_login(bob)
    refused = client.get(ADDRESS)
    assert refused.status_code == 403
    assert "Hidden until you lock your label" in refused.content.decode()
    assignment.state = AssignmentState.SKIPPED
    assignment.save()
    response = client.get(ADDRESS)
    assert response.status_code == 200
    response.close()


def test_a_lost_file_is_reported_as_unavailable(client: Client, answer: Implementation) -> None:
    made = archive.write_answers(answer.submission.suite_version.suite)
    remove("files", made.digest)
    assert client.get(ADDRESS).status_code == 503


def test_suites_without_answers_have_no_file(client: Client, answer: Implementation) -> None:
    SuiteFactory(slug="empty", position=2)
    assert client.get("/board/empty/answers.zip").status_code == 404
    assert client.get("/board/none/answers.zip").status_code == 404
