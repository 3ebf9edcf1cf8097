"""What visitors and maintainers read of the environments that tasks wait for."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from benchmark_tasks.models import Task, TaskRevision
from evaluator.enums import BuildState
from evaluator.models import EnvironmentBuild
from evaluator.sandbox.task_environments import paper_environment
from tests.benchmark_tasks.factories import SuiteFactory, SuiteVersionFactory, TaskFactory, TaskRevisionFactory

if TYPE_CHECKING:
    from django.test import Client

    from submissions.models import User

pytestmark = pytest.mark.django_db

LOG = "Step 1: FROM internal.example/base\n" + "".join(f"step-{number};\n" for number in range(20)) + "exit code 1"


@pytest.fixture
def maintainer(django_user_model: type[User]) -> User:
    return django_user_model.objects.create_user("keeper", is_staff=True)


def suite_of(*environments: str, slug: str = "small") -> list[TaskRevision]:
    """A suite with a task for each environment; an empty one stands for a Dockerfile."""
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


def test_an_environment_that_is_ready_is_named_on_the_tasks_page_only(client: Client) -> None:
    suite_of("numpy")
    suite, task = pages(client)
    assert "<dt>Environment</dt>" in task
    assert "<code>numpy</code>" in task
    assert "wait for an environment" not in suite


def test_a_failed_paper_shows_the_logs_end_to_all_and_the_whole_to_maintainers(
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


def test_the_log_of_an_operators_environment_is_for_maintainers(client: Client, maintainer: User) -> None:
    suite_of("torch-cpu")
    failed("torch-cpu", "cannot read /srv/secret")
    for page in pages(client):
        assert "could not be built" in page
        assert "/srv/secret" not in page
    client.force_login(maintainer)
    assert "/srv/secret" in pages(client)[1]


def test_the_suites_page_needs_no_more_queries_for_more_environments(client: Client) -> None:
    counts = []
    for slug, number in (("one", 1), ("five", 5)):
        for revision in suite_of(*[""] * number, slug=slug):
            failed(paper_environment(revision))
        client.get(f"/suites/{slug}/")
        with CaptureQueriesContext(connection) as queries:
            client.get(f"/suites/{slug}/")
        counts.append(len(queries))
    assert counts[0] == counts[1]
