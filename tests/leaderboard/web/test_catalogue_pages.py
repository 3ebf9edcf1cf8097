"""The pages of suites, of systems and of reported runs."""

from __future__ import annotations

import io
import re
import zipfile
from typing import TYPE_CHECKING

import pytest

from benchmark_tasks.domain.importing import import_suite
from benchmark_tasks.enums import AuditState, Protocol
from benchmark_tasks.models import Task, TaskRevision
from evaluator.enums import BuildState
from evaluator.models import EnvironmentBuild
from evaluator.sandbox.task_environments import paper_environment
from leaderboard.board.results import confusion, runs_of_system
from leaderboard.models import ReportedAggregate, ReportedRun
from leaderboard.models.enums import Provenance
from tests.benchmark_tasks.factories import (
    CategoryFactory,
    PaperFactory,
    SuiteFactory,
    SuiteVersionFactory,
    TaskFactory,
    TaskRevisionFactory,
    write_suite,
)
from tests.leaderboard.factories import MetricFactory, ReportedResultFactory, label_counts, measured, reported
from tests.leaderboard.freezing import two_tasks
from tests.leaderboard.showing import words, words_of
from tests.submissions.factories import SystemFactory

if TYPE_CHECKING:
    from pathlib import Path

    from django.test import Client
    from pytest_django import Settings

    from submissions.models import User

pytestmark = pytest.mark.django_db


def test_one_table_lists_every_task_and_facts_of_the_suite_follow(client: Client) -> None:
    suite = SuiteFactory(slug="small", title="Small", licence="CC0-1.0", description="Nine of them.")
    metrics, data = CategoryFactory(slug="evaluation-metrics"), CategoryFactory(slug="data-augmentation")
    revisions = [
        TaskRevisionFactory(
            task=TaskFactory(suite=suite, paper__slug=name, paper__suite=suite, paper__title=f"Paper of {name}"),
            category=category,
        )
        for name, category in (("one", metrics), ("two", data), ("three", None))
    ]
    SuiteVersionFactory(suite=suite, revisions=revisions, changes="Added three.")
    response = client.get("/suites/small/")
    page = response.content.decode()
    assert page.count("<table") == 1
    order = (">one/1<", "Evaluation Metrics</span>", "Paper of one</span>", ">two/1<", ">three/1<", "CC0-1.0")
    places = [page.index(text) for text in order]
    assert places == sorted(places)
    assert "<title>Small · 3 tasks · open" in page
    shown = words_of(response)
    assert "3 tasks from 3 papers. 3 take answers, and 3 count in percentages." in shown
    for text in ("Nine of them.", "Added three."):
        assert text in shown
    assert page.count('aria-sort="ascending"') == 1


@pytest.mark.parametrize(
    ("query", "shown"),
    [
        ("", ["one/1", "three/1", "two/1"]),
        ("?sort=-task", ["two/1", "three/1", "one/1"]),
        ("?sort=category", ["two/1", "one/1", "three/1"]),
        ("?category=evaluation-metrics", ["one/1"]),
        ("?q=two", ["two/1"]),
        ("?q=paper+of+t&sort=-task", ["two/1", "three/1"]),
        ("?q=nothing", []),
        ("?category=unknown", ["one/1", "three/1", "two/1"]),
    ],
)
def test_the_tasks_are_sorted_and_filtered_by_the_address(client: Client, query: str, shown: list[str]) -> None:
    suite = SuiteFactory(slug="small")
    categories = {"one": "evaluation-metrics", "two": "data-augmentation"}
    for name in ("one", "two", "three"):
        paper = PaperFactory(suite=suite, slug=name, folder_name=name, title=f"Paper of {name}")
        category = CategoryFactory(slug=categories[name]) if name in categories else None
        TaskRevisionFactory(task=TaskFactory(suite=suite, paper=paper), category=category, goal_function="score")
    SuiteVersionFactory(suite=suite, revisions=list(TaskRevision.objects.all()))
    response = client.get(f"/suites/small/{query}")
    assert re.findall(r">(\w+/1)</a>", response.content.decode()) == shown
    assert ("No task matches." in response.content.decode()) is (not shown)
    if "category=evaluation-metrics" in query:
        assert CategoryFactory(slug="evaluation-metrics").definition in words_of(response)


def test_the_table_shows_the_pass_rates_of_measured_and_of_reported_rows(client: Client) -> None:
    version = two_tasks()
    for entry, second in ((reported(version), 0.0), (measured(version), None)):
        entry.marks = {"tests": [0.0, second]}
        entry.save()
    text = words_of(client.get("/suites/small/"))
    assert re.search(
        r"a/1 double .*? 0 of 1 tested here 0 of 1 reported passed b/1 double .*? 0 of 1 reported passed", text
    )


def test_the_table_s_links_to_an_earlier_version_stay_on_it(client: Client) -> None:
    version = two_tasks()
    SuiteVersionFactory(suite=version.suite, number=2, revisions=list(version.revisions.all()))
    page = client.get("/suites/small/?version=1&sort=year").content.decode()
    assert 'href="/suites/small/tasks/a/1/?version=1"' in page
    assert "This is not the newest version" in page
    assert '<input type="hidden" name="version" value="1">' in page
    assert 'href="?version=1&amp;sort=-year#tasks"' in page
    assert "/suites/small/tasks/a/1/?version" not in client.get("/suites/small/").content.decode()


def test_how_code_is_added_is_for_maintainers(client: Client, maintainer: User) -> None:
    suite = SuiteFactory(slug="facts", title="Facts")
    revision = TaskRevisionFactory(
        task=TaskFactory(suite=suite),
        protocol=Protocol.NONE,
        audit_state=AuditState.UNAUDITED,
        not_runnable_reasons=["its code is not shipped"],
    )
    version = SuiteVersionFactory(suite=suite, revisions=[revision])
    reported(version)
    SuiteVersionFactory(suite=SuiteFactory(slug="other", title="Other"), tasks=1)
    response = client.get("/suites/facts/")
    page, shown = response.content.decode(), words_of(response)
    assert "This suite accepts no answers here: its code is not part of this site." in shown
    assert "Published results are on the board . Other accepts answers." in shown
    assert "no test to run here" in shown
    for secret in ("import_suite", "not runnable", "its code is not shipped", "/suites/facts/kit/"):
        assert secret not in page
    assert "<title>Facts · 1 task · published" in page
    assert client.get("/suites/facts/kit/").status_code == 404
    client.force_login(maintainer)
    page = client.get("/suites/facts/").content.decode()
    assert "import_suite PATH --slug facts" in page
    assert "(its code is not shipped)" in page
    assert "import_suite" not in client.get(revision.task.get_absolute_url()).content.decode()


def test_the_kit_contains_no_secrets(client: Client, tmp_path: Path, settings: Settings) -> None:
    settings.DATA_DIR = tmp_path / "data"
    import_suite(folder=write_suite(tmp_path / "suite"), slug="small")
    assert "/suites/small/kit/?version=1" in client.get("/suites/small/").content.decode()
    response = client.get("/suites/small/kit/")
    assert response["Content-Disposition"] == 'attachment; filename="small-v1-kit.zip"'
    archive = zipfile.ZipFile(io.BytesIO(response.getvalue()))
    assert any(name.endswith("tasks.json") for name in archive.namelist())
    assert not any(b"golden-double" in archive.read(name) for name in archive.namelist())
    assert client.get("/suites/small/kit/?version=2").status_code == 404


def test_a_suite_under_audit_takes_answers_unless_the_audit_is_impossible(client: Client, maintainer: User) -> None:
    suite = SuiteFactory(slug="waiting")
    states = [AuditState.PASSED, AuditState.WEAK, AuditState.FAILED, AuditState.UNAUDITED, AuditState.UNAUDITED]
    revisions = [TaskRevisionFactory(task__suite=suite, audit_state=state) for state in states]
    revisions.append(
        TaskRevisionFactory(task__suite=suite, audit_state=AuditState.UNAUDITED, not_runnable_reasons=["no test"])
    )
    SuiteVersionFactory(suite=suite, revisions=revisions)
    page = client.get("/suites/waiting/").content.decode()
    assert "3 of 5 tasks are audited. A task counts once its test has passed the audit." in page
    assert page.count(">not audited yet</span>") == 2
    assert "4 take answers, and 1 counts in percentages." in words(page)
    assert "Submit answers" in page
    revisions[3].audit = {"obstacle": "no sandbox works"}
    revisions[3].save()
    page = client.get("/suites/waiting/").content.decode()
    assert "This suite accepts no answers at the moment: its tests are not audited yet." in page
    assert "no sandbox works" not in page
    assert ("Submit answers" in page, "/suites/waiting/kit/?version=1" in page) == (False, True)
    client.force_login(maintainer)
    assert "The audit cannot be made: no sandbox works." in client.get("/suites/waiting/").content.decode()


LOG = "Step 1: FROM internal.example/base\n" + "".join(f"step-{number};\n" for number in range(20)) + "exit code 1"


@pytest.fixture
def maintainer(django_user_model: type[User]) -> User:
    return django_user_model.objects.create_user("keeper", is_staff=True)


def suite_of(*environments: str, slug: str = "small") -> list[TaskRevision]:
    """A suite with a task for each environment; an empty name means a Dockerfile."""
    suite = SuiteFactory(slug=slug)
    revisions: list[TaskRevision] = [
        TaskRevisionFactory(
            task=TaskFactory(suite=suite, paper__slug=f"p{number}", paper__suite=suite),
            environment=environment,
            dockerfile_hash="" if environment else f"{number:064x}",
        )
        for number, environment in enumerate(environments)
    ]
    SuiteVersionFactory(suite=suite, revisions=revisions)
    return revisions


def failed(name: str, log: str = LOG) -> None:
    EnvironmentBuild.objects.create(name=name, sandbox="docker", state=BuildState.FAILED, log=log)


def pages(client: Client) -> tuple[str, str]:
    """The suite's page and the first task's."""
    addresses = ("/suites/small/", Task.objects.get(paper__slug="p0").get_absolute_url())
    found = [client.get(address) for address in addresses]
    assert [response.status_code for response in found] == [200, 200]
    return found[0].content.decode(), found[1].content.decode()


def test_a_failed_build_shows_the_log_s_end_to_all_and_all_of_it_to_maintainers(
    client: Client, maintainer: User
) -> None:
    name = paper_environment(suite_of("")[0])
    failed(name)
    for page in pages(client):
        assert f"<code>{name}</code>" in page
        assert "could not be built" in page
        assert ("exit code 1" in page, "step-9;" in page, "step-8;" in page) == (True, True, False)
        assert "internal.example" not in page
    client.force_login(maintainer)
    for page in pages(client):
        assert "internal.example" in page


def test_only_maintainers_see_the_log_of_an_operator_s_environment(client: Client, maintainer: User) -> None:
    suite_of("torch-cpu")
    failed("torch-cpu", "cannot read /srv/secret")
    for page in pages(client):
        assert "could not be built" in page
        assert "/srv/secret" not in page
    client.force_login(maintainer)
    assert "/srv/secret" in pages(client)[1]


def test_a_system_s_page_has_all_its_rows_with_categories(client: Client) -> None:
    system = SystemFactory(slug="solver", name="Solver", links=["https://example.org/solver"])
    first = SuiteVersionFactory(suite=SuiteFactory(slug="first", position=1), tasks=1)
    second = SuiteVersionFactory(suite=SuiteFactory(slug="second", position=2), tasks=1)
    measured(second, system=system)
    entry = measured(first, system=system)
    MetricFactory(
        entry=entry, category=CategoryFactory(slug="evaluation-metrics"), tasks=4, tests_passed=3.0, tests_low=None
    )
    MetricFactory(entry=entry, category=CategoryFactory(slug="data-augmentation"), tasks=2, tests_passed=None)
    runs = runs_of_system(system)
    assert [run.entry.suite_version.suite.slug for run in runs] == ["first", "second"]
    assert [(each["category"].slug, each["tests"] and each["tests"].passed) for each in runs[0].categories] == [
        ("evaluation-metrics", 3.0)
    ]
    page = client.get("/systems/solver/").content.decode()
    assert "3 of 4" in page
    assert 'href="https://example.org/solver"' in page


def test_an_unpublished_system_s_page_is_shown_to_its_owner(client: Client, alice: User) -> None:
    SystemFactory(slug="secret", owner=alice)
    client.force_login(alice)
    assert "Nothing of this system is published" in client.get("/systems/secret/").content.decode()


def test_a_reported_run_s_page_lists_each_task(client: Client) -> None:
    version = SuiteVersionFactory(suite=SuiteFactory(slug="upstream"), tasks=3)
    entry = reported(
        version,
        slug="no-agent-gpt-4.1",
        remarks=["Judge: the paper prints 7.1."],
        metric={"labels": {"judge": label_counts(1, 1, 1, tasks=3)}},
    )
    run = ReportedRun.objects.get(entry=entry)
    labels = [("LI", "LI"), ("LI", "CC"), ("CC", "")]
    for revision, (judge, human) in zip(version.revisions.order_by("pk"), labels, strict=True):
        ReportedResultFactory(run=run, task=revision.task, judge_label=judge, human_label=human)
    ReportedAggregate.objects.create(run=run, measure="tests", printed="32.1")
    page = client.get("/reported/no-agent-gpt-4.1/").content.decode()
    for text in (
        Provenance.REPORTED.sentence,
        "https://example.org/results",
        "the paper prints 7.1",
        "32.1",
    ):
        assert text in page
    assert confusion(run.results.all()) == [("CC", [0, 0, 1]), ("LC", [0, 0, 0]), ("LI", [0, 0, 1])]
    for revision in version.revisions.all():
        assert revision.task.get_absolute_url() in page


def test_an_unknown_or_unpublished_run_is_not_found(client: Client) -> None:
    entry = reported(slug="draft")
    entry.published = False
    entry.save()
    assert client.get("/reported/draft/").status_code == 404
    assert client.get("/reported/none/").status_code == 404
