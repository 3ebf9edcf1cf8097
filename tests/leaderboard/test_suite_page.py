"""The suites' pages and their kits."""

from __future__ import annotations

import io
import re
import zipfile
from typing import TYPE_CHECKING

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from benchmark_tasks.domain.importing import import_suite
from benchmark_tasks.enums import AuditState, Protocol
from tests.benchmark_tasks.factories import (
    CategoryFactory,
    SuiteFactory,
    SuiteVersionFactory,
    TaskFactory,
    TaskRevisionFactory,
    write_suite,
)

if TYPE_CHECKING:
    from pathlib import Path

    from django.test import Client
    from pytest_django import Settings

pytestmark = pytest.mark.django_db


def test_lists_suites(client: Client) -> None:
    SuiteFactory(slug="bare", title="Bare One")
    page = client.get("/suites/").content.decode()
    assert "Bare One" in page
    assert 'href="/suites/bare/"' in page
    assert client.get("/suites/bare/").status_code == 200


def test_groups_tasks_by_category_and_lists_those_outside(client: Client) -> None:
    suite = SuiteFactory(slug="small", licence="CC0-1.0", description="Nine of them.")
    metrics, data = CategoryFactory(slug="evaluation-metrics"), CategoryFactory(slug="data-augmentation")
    revisions = [
        TaskRevisionFactory(task=TaskFactory(suite=suite, paper__slug=name, paper__suite=suite), category=category)
        for name, category in (("one", metrics), ("two", data), ("three", None))
    ]
    SuiteVersionFactory(suite=suite, revisions=revisions, changes="Added three.")
    page = client.get("/suites/small/").content.decode()
    places = [
        page.index(text)
        for text in (
            "Data Augmentation</h3>",
            ">two/1<",
            "Evaluation Metrics</h3>",
            ">one/1<",
            "Outside the nine",
            ">three/1<",
        )
    ]
    assert places == sorted(places)
    for text in ("CC0-1.0", "Nine of them.", "3, of which 3 take answers", "Added three."):
        assert text in page


def test_without_code_says_how_an_operator_adds_it_and_offers_no_kit(client: Client) -> None:
    suite = SuiteFactory(slug="facts")
    revision = TaskRevisionFactory(
        task=TaskFactory(suite=suite),
        protocol=Protocol.NONE,
        audit_state=AuditState.UNAUDITED,
        not_runnable_reasons=["its code is not shipped"],
    )
    SuiteVersionFactory(suite=suite, revisions=[revision])
    page = client.get("/suites/facts/").content.decode()
    assert "import_suite PATH --slug facts" in page
    assert "<dd>1, none of which takes answers here</dd>" in page
    assert "/suites/facts/kit/" not in page
    assert client.get("/suites/facts/kit/").status_code == 404


def test_the_kit_downloads_without_secrets(client: Client, tmp_path: Path, settings: Settings) -> None:
    settings.DATA_DIR = tmp_path / "data"
    import_suite(folder=write_suite(tmp_path / "suite"), slug="small")
    assert "/suites/small/kit/?version=1" in client.get("/suites/small/").content.decode()
    response = client.get("/suites/small/kit/")
    assert response["Content-Disposition"] == 'attachment; filename="small-v1-kit.zip"'
    archive = zipfile.ZipFile(io.BytesIO(response.getvalue()))
    assert any(name.endswith("tasks.json") for name in archive.namelist())
    assert not any(b"golden-double" in archive.read(name) for name in archive.namelist())
    assert client.get("/suites/small/kit/?version=2").status_code == 404


def test_queries_do_not_grow_with_tasks(client: Client) -> None:
    counts = []
    for slug, tasks in (("one", 1), ("five", 5)):
        SuiteVersionFactory(suite=SuiteFactory(slug=slug), tasks=tasks)
        client.get(f"/suites/{slug}/")
        with CaptureQueriesContext(connection) as queries:
            client.get(f"/suites/{slug}/")
        counts.append(len(queries))
    assert counts[0] == counts[1] <= 8


def test_imported_tasks_that_cannot_run_say_why(client: Client) -> None:
    suite = SuiteFactory(slug="imported")
    facts = {"task__suite": suite, "protocol": Protocol.UPSTREAM}
    revisions = [TaskRevisionFactory(**facts, not_runnable_reasons=["no unit test"]) for _ in range(2)]
    revisions.append(TaskRevisionFactory(**facts, audit_state=AuditState.FAILED))
    SuiteVersionFactory(suite=suite, revisions=revisions)
    page = client.get("/suites/imported/").content.decode()
    assert "No task is runnable here, so this suite takes no answers." in page
    assert re.findall(r"<li>([^<]+ \(\d tasks?\))</li>", page) == [
        "no unit test (2 tasks)",
        "failed its audit: its test does not tell right from wrong (1 task)",
    ]
    assert "not shipped" not in page
    assert "Published results" not in page


def test_a_suite_that_is_being_audited_takes_answers_unless_the_audit_cannot_be_made(client: Client) -> None:
    suite = SuiteFactory(slug="waiting")
    states = [AuditState.PASSED, AuditState.WEAK, AuditState.FAILED, AuditState.UNAUDITED, AuditState.UNAUDITED]
    revisions = [TaskRevisionFactory(task__suite=suite, audit_state=state) for state in states]
    revisions.append(
        TaskRevisionFactory(task__suite=suite, audit_state=AuditState.UNAUDITED, not_runnable_reasons=["no test"])
    )
    SuiteVersionFactory(suite=suite, revisions=revisions)
    page = client.get("/suites/waiting/").content.decode()
    assert "a task counts once its audit has passed (3 of 5 tasks are audited)." in page
    assert page.count(">being audited</span>") == 2
    assert "6, of which 4 take answers and 1 count in percentages" in page
    assert "Submit answers" in page
    revisions[3].audit = {"obstacle": "no sandbox works"}
    revisions[3].save()
    page = client.get("/suites/waiting/").content.decode()
    assert "The audit cannot be made: no sandbox works." in page
    assert "cannot be audited</span>" in page
    assert "Submit answers" not in page
    assert "/suites/waiting/kit/?version=1" in page
    for revision in revisions:
        revision.audit_state = AuditState.PASSED
        revision.save()
    page = client.get("/suites/waiting/").content.decode()
    assert "Submit answers" in page
    assert "Being audited" not in page
    assert "6, of which 5 take answers and 5 count in percentages</dd>" in page
