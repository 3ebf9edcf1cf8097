"""Frozen boards and comparisons through the API."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

import pytest

from leaderboard.board.states import note_change
from submissions.enums import Visibility
from submissions.models import Submission
from tests.leaderboard.freezing import frozen, ours, sent, two_tasks
from tests.reviews.factories import assigned, case_of, ready
from tests.submissions.factories import ImplementationFactory

if TYPE_CHECKING:
    from pathlib import Path

    from django.test import Client
    from pytest_django import Settings

    from benchmark_tasks.models import SuiteVersion

pytestmark = pytest.mark.django_db
ADDRESS = "/api/v1/suites/small"


@pytest.fixture
def version(settings: Settings, tmp_path: Path) -> SuiteVersion:
    settings.DATA_DIR = tmp_path
    return two_tasks()


def test_snapshots_are_listed_with_what_supersedes_them(client: Client, version: SuiteVersion) -> None:
    ours(version)
    first = frozen(version)
    frozen(version, title="better", supersedes=1)
    items = client.get(f"{ADDRESS}/snapshots").json()["items"]
    assert [(each["number"], each["title"], each["superseded_by"]) for each in items] == [
        (2, "better", None),
        (1, "camera-ready", 2),
    ]
    assert (items[1]["archive_sha256"], items[1]["page"]) == (first.archive, first.get_absolute_url())


def test_a_snapshot_has_its_rows_and_their_corrections(client: Client, version: SuiteVersion) -> None:
    entry, other = ours(version, "A"), ours(version, "B")
    snapshot = frozen(version)
    entry.metrics.update(tests_passed=14, tests_rate=0.5)
    Submission.objects.filter(pk=sent(other).pk).update(visibility=Visibility.HIDDEN, visibility_reason="It must.")
    note_change(version.pk)
    found = client.get(f"{ADDRESS}/snapshots/1").json()
    assert [(row["system"], row["tests"]["passed"]) for row in found["rows"]] == [("A", 11)]
    assert found["corrected"] == [
        {
            "key": f"s{sent(entry).pk}",
            "columns": {"tests_passed": [11.0, 14.0], "tests_percent": [39.3, 50.0]},
            "tasks": [],
            "moved_to_version": None,
        }
    ]
    assert found["gone"] == [{"key": f"s{sent(other).pk}", "what": "was hidden by a maintainer", "reason": "It must."}]
    assert found["suite_digest"] == snapshot.document["suite"]["digest"]
    assert client.get(f"{ADDRESS}/snapshots/2").status_code == 404


def test_the_archive_is_that_of_the_page(client: Client, version: SuiteVersion) -> None:
    ours(version)
    snapshot = frozen(version)
    archive = client.get(f"{ADDRESS}/snapshots/1/archive")
    assert archive["Content-Type"] == "application/zip"
    assert hashlib.sha256(archive.content).hexdigest() == snapshot.archive


def test_two_rows_are_compared(client: Client, version: SuiteVersion) -> None:
    first, second = ours(version, "A"), ours(version, "B")
    second.marks = {"tests": [0.0, 0.0]}
    second.save()
    ours(version, "Hidden", published=False)
    keys = [f"s{sent(each).pk}" for each in (first, second)]
    found = client.get(f"{ADDRESS}/compare?row={keys[0]}&row={keys[1]}").json()
    assert [row["key"] for row in found["rows"]] == keys
    (pair,) = found["pairs"]
    assert (pair["tasks"], pair["first_only"], pair["second_only"], pair["difference"]) == (2, 1, 0, 50.0)
    assert (pair["p"], pair["p_holm"], pair["low"]) == (1.0, 1.0, None)
    secret = Submission.objects.get(system__name="Hidden").pk
    assert client.get(f"{ADDRESS}/compare?row={keys[0]}&row=s{secret}").status_code == 404
    assert client.get(f"{ADDRESS}/compare?row={keys[0]}").status_code == 422


def test_annotators_of_an_answer_get_no_archive(version: SuiteVersion, client: Client) -> None:
    from submissions.domain import tokens

    entry = ours(version)
    frozen(version)
    answer = ImplementationFactory(submission=sent(entry), revision=version.revisions.get(task__slug="a/1"))
    annotator = ready()
    assert annotator.user is not None
    assigned(case_of(answer, state="leased"), annotator)
    _, secret = tokens.make(owner=annotator.user, name="x", scopes=["read"], days=1)
    refused = client.get(f"{ADDRESS}/snapshots/1/archive", headers={"Authorization": f"Bearer {secret}"})
    assert (refused.status_code, refused["Content-Type"]) == (403, "application/problem+json")
