"""A frozen board's data: the archive, what is withdrawn from it, and what annotators must not see."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import zipfile
from typing import TYPE_CHECKING

import pytest

from leaderboard.board.columns import FILE_COLUMNS, FILE_FIELDS
from leaderboard.board.matrix import FILE_COLUMNS as MATRIX_COLUMNS
from leaderboard.board.matrix import FILE_MEANINGS as MATRIX_MEANINGS
from leaderboard.board.states import note_change
from leaderboard.models import Snapshot
from leaderboard.sharing.snapshots.archive import archive_of
from reviews.enums import CaseState
from submissions.domain import publishing
from submissions.domain.audit import record
from submissions.enums import Verb, Visibility
from submissions.models import Submission
from tests.leaderboard.freezing import PAGE, frozen, ours, sent, two_tasks
from tests.leaderboard.showing import words_of
from tests.reviews.factories import assigned, case_of, ready
from tests.submissions.factories import ImplementationFactory

if TYPE_CHECKING:
    from pathlib import Path

    from django.test import Client
    from pytest_django import Settings

    from benchmark_tasks.models import SuiteVersion
    from submissions.models import User

pytestmark = pytest.mark.django_db


@pytest.fixture
def version(settings: Settings, tmp_path: Path) -> SuiteVersion:
    settings.DATA_DIR = tmp_path
    return two_tasks()


def files_of(archive: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(archive)) as opened:
        return {name.partition("/")[2]: opened.read(name) for name in opened.namelist()}


def lines_of(content: bytes) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(content.decode())))


class TestWithdrawn:
    """Withdrawn and hidden submissions are removed from snapshots, too."""

    @pytest.mark.parametrize("how", ["withdrawn", "hidden"])
    def test_leaves_the_number_and_the_public_reason(
        self, client: Client, version: SuiteVersion, maintainer: User, how: str
    ) -> None:
        entry = ours(version, "Secretive")
        record(verb=Verb.PUBLISHED, subject=sent(entry), actor=None)
        ours(version, "Staying")
        snapshot = frozen(version)
        assert "Secretive" in words_of(client.get(PAGE))
        before = client.get(f"{PAGE}archive.zip").content
        act = publishing.withdraw if how == "withdrawn" else publishing.hide
        act(submission=sent(entry), actor=maintainer, reason="It was trained on the tests.")
        page = client.get(PAGE).content.decode()
        archive = client.get(f"{PAGE}archive.zip").content
        assert "Secretive" not in page
        assert "secretive" not in page
        assert "Staying" in page
        assert f"Submission {entry.submission_id} was {how} by " in words_of(client.get(PAGE))
        assert "It was trained on the tests." in page
        files = files_of(archive)
        assert not any(b"ecretive" in content for content in files.values())
        assert [line["system"] for line in lines_of(files["board.csv"])] == ["Staying"]
        assert json.loads(files["manifest.json"])["rows_withdrawn"] == 1
        assert hashlib.sha256(archive).hexdigest() in page
        assert snapshot.archive in page
        if how == "hidden":
            publishing.unhide(submission=sent(entry), actor=maintainer, reason="It was not.")
            assert client.get(f"{PAGE}archive.zip").content == before
            assert "Secretive" in words_of(client.get(PAGE))

    def test_the_agreement_is_removed_with_it(self, client: Client, version: SuiteVersion) -> None:
        entry = ours(version)
        snapshot = frozen(version)
        assert snapshot.document["agreement_of"] == [entry.submission_id]
        Submission.objects.update(visibility=Visibility.WITHDRAWN)
        note_change(version.pk)
        assert "It counted answers that were withdrawn or hidden since" in words_of(client.get(PAGE))

    def test_a_submission_that_is_private_again_has_no_page(self, client: Client, version: SuiteVersion) -> None:
        entry = ours(version, "Secretive")
        frozen(version)
        Submission.objects.update(visibility=Visibility.PRIVATE)
        note_change(version.pk)
        page = client.get(PAGE)
        assert f"Submission {entry.submission_id} is no longer published." in words_of(page)
        assert "Secretive" not in words_of(page)
        assert f'href="/submissions/{entry.submission_id}/"' not in page.content.decode()

    def test_a_deleted_submission(self, client: Client, version: SuiteVersion) -> None:
        entry = ours(version, "Secretive")
        frozen(version)
        number = sent(entry).pk
        Submission.objects.filter(pk=number).delete()
        note_change(version.pk)
        page = words_of(client.get(PAGE))
        assert f"Submission {number} was deleted" in page
        assert "Secretive" not in page


class TestArchive:
    def test_is_what_was_frozen_to_the_byte(self, client: Client, version: SuiteVersion) -> None:
        entry = ours(version)
        snapshot = frozen(version)
        entry.metrics.update(tests_passed=28, tests_rate=1)
        response = client.get(f"{PAGE}archive.zip")
        assert response["Content-Disposition"] == 'attachment; filename="small-snapshot-1.zip"'
        assert hashlib.sha256(response.content).hexdigest() == snapshot.archive
        assert archive_of(Snapshot.objects.get()) == response.content

    def test_holds_board_matrix_agreement_and_the_meaning_of_columns(
        self, client: Client, version: SuiteVersion
    ) -> None:
        entry = ours(version, "=Ours")
        frozen(version)
        files = files_of(client.get(f"{PAGE}archive.zip").content)
        assert sorted(files) == [
            *("README.md", "agreement.csv", "agreement.json", "board.csv", "board.json"),
            *("manifest.json", "matrix.csv", "matrix.json"),
        ]
        (row,) = lines_of(files["board.csv"])
        assert list(row) == ["row", "calibration", *FILE_COLUMNS]
        assert (row["row"], row["system"], row["tests_percent"]) == (f"s{entry.submission_id}", "'=Ours", "39.3")
        assert json.loads(files["board.json"])["rows"][0]["system"] == "=Ours"
        marks = [(line["task"], line["tests"], line["judge"]) for line in lines_of(files["matrix.csv"])]
        assert marks == [("a/1", "1.0", "CC"), ("b/1", "0.0", "LI")]
        manifest = json.loads(files["manifest.json"])
        assert manifest["sha256"] == {
            name: hashlib.sha256(content).hexdigest() for name, content in files.items() if name != "manifest.json"
        }
        readme = files["README.md"].decode()
        assert "# Small, snapshot 1: camera-ready" in readme
        assert all(f"| {name} |" in readme for name in (*FILE_COLUMNS, *MATRIX_COLUMNS))

    def test_every_column_is_explained(self) -> None:
        assert (len({field.name for field in FILE_FIELDS}), list(MATRIX_MEANINGS)) == (36, list(MATRIX_COLUMNS))
        assert all(field.meaning.endswith(".") for field in FILE_FIELDS)


class TestBlindness:
    """Marks of an answer are hidden from its annotators in snapshots, too."""

    def test_marks_and_corrections_are_hidden_and_the_archive_is_refused(
        self, client: Client, version: SuiteVersion
    ) -> None:
        entry = ours(version)
        frozen(version)
        entry.marks = {"tests": [0.0, 0.0], "judge": ["LC", "LI"]}
        entry.save()
        note_change(version.pk)
        answer = ImplementationFactory(submission=sent(entry), revision=version.revisions.get(task__slug="a/1"))
        annotator = ready()
        assert annotator.user is not None
        client.force_login(annotator.user)
        page = client.get(PAGE).content.decode()
        assert "tests passed, judge CC" in page
        assert "Other marks on 1 task" in page
        assigned(case_of(answer, state=CaseState.LEASED), annotator)
        page = client.get(PAGE).content.decode()
        assert "tests passed, judge CC" not in page
        assert "Other marks on" not in page
        assert "Hidden until you lock your label" in page
        refused = client.get(f"{PAGE}archive.zip")
        assert refused.status_code == 403
        assert "so that it stays blind" in words_of(refused)
