"""What browsers and search engines ask for unprompted."""

from __future__ import annotations

from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

import pytest
from django.urls import reverse

from leaderboard import documentation
from reviews.enums import CaseState
from submissions.enums import Visibility
from submissions.models import Submission
from tests.benchmark_tasks.factories import SuiteFactory, SuiteVersionFactory
from tests.leaderboard.factories import measured
from tests.reviews.factories import case_of
from tests.submissions.factories import ImplementationFactory, SystemFactory

if TYPE_CHECKING:
    from django.test import Client

    from reviews.models import Case
    from submissions.models import Implementation

pytestmark = pytest.mark.django_db

NAMESPACE = "{http://www.sitemaps.org/schemas/sitemap/0.9}"


def listed(client: Client) -> list[str]:
    """The paths of the site map."""
    response = client.get("/sitemap.xml")
    assert response.headers["Content-Type"] == "application/xml"
    found = ET.fromstring(response.content)  # noqa: S314 - our own page
    addresses = [element.text or "" for element in found.iter(f"{NAMESPACE}loc")]
    assert all(address.startswith("http://testserver/") for address in addresses)
    return [address.removeprefix("http://testserver") for address in addresses]


def decided(slug: str) -> tuple[Implementation, Case]:
    """A closed case of a published answer of the system with this slug."""
    version = SuiteVersionFactory(suite=SuiteFactory(slug=f"{slug}-suite"), tasks=1)
    entry = measured(version, system=SystemFactory(slug=slug))
    answer = ImplementationFactory(submission=entry.submission, revision=version.revisions.get(), trial=1)
    return answer, case_of(answer, state=CaseState.AGREED, label="CC", source="agreed")


def test_robots_may_read_what_is_public(client: Client) -> None:
    response = client.get("/robots.txt")
    lines = response.content.decode().splitlines()
    assert response.headers["Content-Type"] == "text/plain; charset=utf-8"
    assert (lines[0], lines[-1]) == ("User-agent: *", "Sitemap: http://testserver/sitemap.xml")
    assert "Disallow: /accounts/" in lines
    assert "Disallow: /" not in lines


def test_the_site_map_lists_public_pages_that_are_there(client: Client) -> None:
    answer, case = decided("shown")
    hidden, hidden_case = decided("secret-weapon")
    Submission.objects.filter(pk=hidden.submission_id).update(visibility=Visibility.WITHDRAWN)
    open_case = case_of(answer, round=2)
    paths = listed(client)
    task = answer.revision.task
    for path in (
        *("/", "/suites/", "/judges/", "/cases/", "/reviews/", "/about/", "/status/"),
        *("/board/shown-suite/", "/agreement/shown-suite/", "/suites/shown-suite/", "/systems/shown/"),
        reverse("task", args=["shown-suite", task.paper.slug, task.index]),
        case.get_absolute_url(),
        *(f"/docs/{slug}/" for slug in documentation.page_slugs()),
    ):
        assert path in paths, path
    assert len(paths) == len(set(paths))
    assert "/systems/secret-weapon/" not in paths
    assert not {hidden_case.get_absolute_url(), open_case.get_absolute_url()} & set(paths)
    assert {path: client.get(path, follow=True).status_code for path in paths} == dict.fromkeys(paths, 200)
