"""Badges and feeds."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from leaderboard.models import Entry
from submissions.enums import Inputs, Kind, Visibility
from submissions.models import Submission
from tests.benchmark_tasks.factories import SuiteFactory, SuiteVersionFactory
from tests.leaderboard.factories import measured, reported
from tests.reviews.factories import assigned, case_of, ready
from tests.submissions.factories import ImplementationFactory, SystemFactory

if TYPE_CHECKING:
    from django.test import Client

    from benchmark_tasks.models import SuiteVersion
    from submissions.models import System

pytestmark = pytest.mark.django_db
ATOM = "{http://www.w3.org/2005/Atom}"


def parsed(answer: bytes) -> ET.Element:
    return ET.fromstring(answer)  # noqa: S314 - it is the site's own


@pytest.fixture
def version() -> SuiteVersion:
    made: SuiteVersion = SuiteVersionFactory(
        suite=SuiteFactory(slug="small", title="Small & <Co>", position=1), tasks=1
    )
    return made


@pytest.fixture
def system() -> System:
    made: System = SystemFactory(name="Shown", slug="shown")
    return made


class TestBadge:
    def texts(self, client: Client, query: str = "") -> list[str | None]:
        response = client.get(f"/systems/shown/badge.svg{query}")
        assert (response.status_code, response["Content-Type"]) == (200, "image/svg+xml")
        return [text.text for text in parsed(response.content).iter("{http://www.w3.org/2000/svg}text")]

    def test_shows_the_score_with_its_interval(self, client: Client, version: SuiteVersion, system: System) -> None:
        measured(version, system=system)
        assert self.texts(client) == ["Small & <Co>", "39.3 % [23.6, 57.6]"]

    def test_with_few_tasks_shows_a_fraction(self, client: Client, version: SuiteVersion, system: System) -> None:
        measured(version, system=system, metric={"tasks": 5, "tests_passed": 2.0})
        assert self.texts(client) == ["Small & <Co>", "2/5"]

    def test_parameters_choose_the_suite_and_the_inputs(
        self, client: Client, version: SuiteVersion, system: System
    ) -> None:
        other = SuiteVersionFactory(suite=SuiteFactory(slug="other", title="Other", position=2), tasks=1)
        reported(version, system=system, metric={"tests_passed": 14.0})
        reported(version, system=system, inputs=Inputs.PAPER_ONLY, metric={"tests_passed": 7.0})
        reported(other, system=system, metric={"tests_passed": 28.0})
        found = [self.texts(client, query)[1] for query in ("", "?inputs=paper_only", "?suite=other")]
        assert [text and text.partition(" ")[0] for text in found] == ["50.0", "50.0", "100.0"]
        assert client.get("/systems/shown/badge.svg?suite=none").status_code == 404
        assert client.get("/systems/shown/badge.svg?suite=%00").status_code == 404

    @pytest.mark.parametrize("visibility", [Visibility.PRIVATE, Visibility.HIDDEN, Visibility.WITHDRAWN])
    def test_an_unpublished_system_has_no_badge(
        self, client: Client, version: SuiteVersion, system: System, visibility: Visibility
    ) -> None:
        entry = measured(version, system=system)
        Submission.objects.filter(entry=entry).update(visibility=visibility)
        assert client.get("/systems/shown/badge.svg").status_code == 404

    def test_the_systems_page_shows_how_to_embed_it(
        self, client: Client, version: SuiteVersion, system: System
    ) -> None:
        measured(version, system=system)
        page = client.get("/systems/shown/").content.decode()
        assert "[![Shown](http://testserver/systems/shown/badge.svg)](http://testserver/systems/shown/)" in page


class TestFeed:
    def titles(self, client: Client) -> list[str | None]:
        response = client.get("/board/small/feed.atom")
        assert (response.status_code, response["Content-Type"]) == (200, "application/atom+xml; charset=utf-8")
        root = parsed(response.content)
        return [entry.findtext(f"{ATOM}title") for entry in root.iter(f"{ATOM}entry")]

    def test_has_the_newest_rows_first(self, client: Client, version: SuiteVersion) -> None:
        for name, day in (("Old & <b>", 1), ("New", 2)):
            entry = measured(version, system=SystemFactory(name=name))
            Entry.objects.filter(pk=entry.pk).update(date=datetime(2026, 1, day, tzinfo=UTC))
        assert self.titles(client) == ["New: 11 of 28 tasks", "Old & <b>: 11 of 28 tasks"]
        root = parsed(client.get("/board/small/feed.atom").content)
        first = next(root.iter(f"{ATOM}entry"))
        link = first.find(f"{ATOM}link")
        assert link is not None
        newest = Entry.objects.get(system__name="New")
        assert link.get("href") == f"http://testserver/submissions/{newest.submission_id}/"
        assert first.findtext(f"{ATOM}updated") == "2026-01-02T00:00:00+00:00"

    def test_has_ranked_published_rows_only(self, client: Client, version: SuiteVersion) -> None:
        now = datetime(2026, 1, 1, tzinfo=UTC)
        measured(version, published=False, entry_flag=True, system=SystemFactory(name="Secret"))
        measured(version, kind=Kind.CALIBRATION, system=SystemFactory(name="Sample"))
        reported(version, system=SystemFactory(name="Theirs"))
        measured(SuiteVersionFactory(tasks=1), system=SystemFactory(name="Elsewhere"))
        measured(version, system=SystemFactory(name="Shown"))
        Entry.objects.exclude(reported_run__isnull=False).update(date=now)
        assert self.titles(client) == ["Shown: 11 of 28 tasks"]
        assert client.get("/board/none/feed.atom").status_code == 404

    def test_leaves_out_held_rows(self, client: Client, version: SuiteVersion) -> None:
        now = datetime(2026, 1, 1, tzinfo=UTC)
        held, _ = (measured(version, system=SystemFactory(name=name)) for name in ("Held", "Other"))
        Entry.objects.update(date=now)
        annotator = ready()
        answer = ImplementationFactory(submission=held.submission, revision=version.revisions.first())
        assigned(case_of(answer), annotator)
        client.force_login(annotator.user)  # type: ignore[arg-type]
        assert self.titles(client) == ["Other: 11 of 28 tasks"]
        client.logout()
        assert self.titles(client) == ["Other: 11 of 28 tasks", "Held: 11 of 28 tasks"]

    def test_queries_do_not_grow_with_rows(self, client: Client, version: SuiteVersion) -> None:
        counts = []
        for _ in range(2):
            measured(version)
            Entry.objects.update(date=datetime(2026, 1, 1, tzinfo=UTC))
            with CaptureQueriesContext(connection) as queries:
                client.get("/board/small/feed.atom")
            counts.append(len(queries))
        assert counts[0] == counts[1]

    def test_the_board_links_to_its_feed(self, client: Client, version: SuiteVersion) -> None:
        page = client.get("/board/small/").content.decode()
        assert '<link rel="alternate" type="application/atom+xml"' in page
