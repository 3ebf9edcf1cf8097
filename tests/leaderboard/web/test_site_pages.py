"""Pages of the site itself: documentation, errors, robots.txt, the site map and security.txt."""

from __future__ import annotations

import errno
import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree as ET

import pytest
from django.db import connection
from django.db.utils import OperationalError
from django.test import Client, RequestFactory
from django.urls import reverse
from hypothesis import given
from hypothesis import strategies as st

from benchmark_tasks.domain.bucket import DamagedError, StorageUnavailableError
from benchmark_tasks.domain.content import ContentMissingError
from leaderboard.web import documentation
from leaderboard.web.views.site import server_error
from reviews.enums import CaseState
from submissions.enums import Visibility
from submissions.models import Submission
from tests.benchmark_tasks.factories import SuiteFactory, SuiteVersionFactory
from tests.conftest import PROJECT_ROOT
from tests.leaderboard.factories import measured
from tests.reviews.factories import assigned, case_of, ready
from tests.submissions.factories import ImplementationFactory, SubmissionFactory, SystemFactory, UserFactory

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from django.http import HttpResponse
    from pytest_django import Settings
    from time_machine import TimeMachineFixture

    from reviews.models import Case
    from submissions.models import Implementation

pytestmark = pytest.mark.django_db


def body(markdown: str) -> str:
    return documentation.page_of(markdown, slug="page").body


class TestRendering:
    def test_headings_have_anchors_as_on_github(self) -> None:
        page = documentation.page_of("# The `title`\n\n## One & two\n\n## One & two\n", slug="page")
        assert page.title == "The title"
        assert re.findall(r'id="([^"]+)"', page.body) == ["one--two", "one--two-1"]
        assert 'href="#one--two-1"' in page.body

    @pytest.mark.parametrize(
        ("target", "expected"),
        [
            ("configuration.md", 'href="/docs/configuration/"'),
            ("./configuration.md#table", 'href="/docs/configuration/#table"'),
            ("index.md", 'href="/docs/"'),
            ("about.md", 'href="/about/"'),
            ("#here", 'href="#here"'),
            ("https://example.org/x.md", 'href="https://example.org/x.md"'),
        ],
    )
    def test_links_lead_to_pages(self, target: str, expected: str) -> None:
        assert expected in body(f"[words]({target})")

    @pytest.mark.parametrize(
        "target", ["../README.md", "no-such-page.md", "design/rules.md", "decisions/", "javascript:alert(1)"]
    )
    def test_links_to_other_files_become_text(self, target: str) -> None:
        rendered = body(f"[words]({target})")
        assert "words" in rendered
        assert "href" not in rendered

    @given(st.text(max_size=300) | st.text(alphabet="<>\"'=[]()!`#|-\\& \nascript:onload", max_size=300))
    def test_active_content_is_removed(self, markdown: str) -> None:
        rendered = body(markdown)
        assert not re.search(
            r"<(?!/?(?:a|b|blockquote|br|code|d|em|h[1-5]|hr|img|li|ol|p|pre|s|t|ul)[\s\w>/])", rendered
        )
        assert not re.search(r"<[^>]*\s(?:on\w+|style)\s*=", rendered)
        assert "<script" not in rendered


class TestPages:
    def test_every_file_is_a_page_with_its_title(self, client: Client) -> None:
        listed = [page for group in documentation.groups() for page in group.pages]
        assert {page.slug for page in listed} == {path.stem for path in documentation.FOLDER.glob("*.md")} - {"index"}
        for page in listed:
            address = documentation.address_of(page.slug)
            response = client.get(address)
            assert response.status_code == 200
            assert f"<title>{page.title} · LMR-Board</title>" in response.content.decode()
            assert f'<a href="{address}" aria-current="page">{page.title}</a>' in response.content.decode()

    def test_pages_are_grouped_by_reader_and_a_new_file_is_listed_last(
        self, client: Client, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        for slug in ("index", "about", "glossary", "operating", "reviewing", "zebras"):
            (tmp_path / f"{slug}.md").write_text(f"# The {slug}\n", encoding="utf-8")
        monkeypatch.setattr(documentation, "FOLDER", tmp_path)
        shown = [(group.reader, [page.slug for page in group.pages]) for group in documentation.groups()]
        assert shown == [
            ("Visitors", ["about", "glossary"]),
            ("Submitters", []),
            ("Annotators", ["reviewing"]),
            ("Operators", ["operating"]),
            ("Developers", ["zebras"]),
        ]
        page = client.get("/docs/glossary/").content.decode()
        assert re.findall(r'<p id="pages-\d">(\w+)</p>', page) == ["Visitors", "Annotators", "Operators", "Developers"]

    def test_images_are_served_from_their_folder_only(
        self, client: Client, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        (tmp_path / "images").mkdir()
        (tmp_path / "images" / "board.png").write_bytes(b"png")
        (tmp_path / "images" / "notes.txt").write_bytes(b"text")
        (tmp_path / "secret.png").write_bytes(b"secret")
        monkeypatch.setattr(documentation, "FOLDER", tmp_path)
        response = client.get("/docs/images/board.png")
        assert (response.getvalue(), response["Content-Type"]) == (b"png", "image/png")
        for name in ("notes.txt", "..%2Fsecret.png", "../secret.png"):
            assert client.get(f"/docs/images/{name}").status_code == 404


ACCOUNT = {"username": "ada", "email": "ada@mail.example", "password1": "long-enough-1", "password2": "long-enough-1"}


def test_not_found_names_the_missing_page(client: Client) -> None:
    SuiteFactory(slug="small")
    page = client.get("/docs/absent/").content.decode()
    assert "There is no page “absent” in the documentation." in page
    unknown = client.get("/nothing/here/")
    assert unknown.status_code == 404
    assert "There is no such page" in unknown.content.decode()
    assert "Resolver404" not in unknown.content.decode()
    # A message that gives the reason is not followed by a guess.
    assert ["Perhaps" in text for text in (unknown.content.decode(), page)] == [True, False]
    assert "given query" not in client.get("/suites/absent/").content.decode()


def test_a_missing_form_token_has_an_explanation() -> None:
    response = Client(enforce_csrf_checks=True).post("/accounts/login/", {"login": "a", "password": "b"})
    assert response.status_code == 403
    assert "send the form again" in response.content.decode()


def test_an_error_needs_no_database(django_assert_num_queries: Any) -> None:
    with django_assert_num_queries(0):
        response = server_error(RequestFactory().get("/"))
    page = response.content.decode()
    assert (response.status_code, "Something broke on this site" in page, "with this id" in page) == (500, True, False)


def test_an_error_page_has_the_id_of_its_log_lines(
    client: Client, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("leaderboard.web.views.status.current_status", lambda: 1 / 0)
    client.raise_request_exception = False
    response = client.get("/status/")
    found = re.search(r"<code>([0-9a-f-]{36})</code>", response.content.decode())
    assert found is not None
    assert (response.status_code, response["X-Request-ID"]) == (500, found[1])
    failed = [each.msg for each in caplog.records if each.name == "django_structlog.middlewares.request"]
    assert [each["request_id"] for each in failed if isinstance(each, dict)] == [found[1]]


PAGES = 1073741823
NO_ROOM = """
CREATE FUNCTION no_room() RETURNS trigger AS $$ BEGIN RAISE EXCEPTION 'full' USING ERRCODE = '53100'; END $$
LANGUAGE plpgsql; CREATE TRIGGER no_room BEFORE INSERT ON submissions_user EXECUTE FUNCTION no_room();
"""


@pytest.fixture
def full_database(transactional_db: None) -> Iterator[None]:
    """A database without room: SQLite at its page limit, or PostgreSQL with a trigger that raises the error."""
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            cursor.execute(NO_ROOM)
            yield
            cursor.execute("DROP FUNCTION no_room CASCADE")
            return
        cursor.execute("VACUUM")
        cursor.execute("PRAGMA page_count")
        cursor.execute(f"PRAGMA max_page_count = {cursor.fetchone()[0]}")
        with pytest.raises(OperationalError, match="database or disk is full"):
            UserFactory.create_batch(500)
        yield
        cursor.execute(f"PRAGMA max_page_count = {PAGES}")


@pytest.mark.both_databases
def test_a_full_disk_is_reported_and_the_form_s_text_is_repeated(full_database: None) -> None:
    client = Client(raise_request_exception=False)
    typed = {**ACCOUNT, "email": f"{'x' * 60}@mail.example", "note": "<b>words</b> " * 2000}
    response = client.post("/accounts/signup/", typed)
    page = response.content.decode()
    assert response.status_code == 507
    assert "disk is full" in page
    assert "&lt;b&gt;words&lt;/b&gt; " * 2000 in page
    assert "long-enough-1" not in page


def answer_to(error: Exception) -> HttpResponse:
    """The page for an uncaught error."""
    late = RuntimeError("on the way")
    late.__cause__ = error
    try:
        raise late
    except RuntimeError:
        return server_error(RequestFactory().post("/", {"words": "kept"}))


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT])
def test_a_full_disk_is_recognised_as_the_cause_of_another_error(number: int) -> None:
    response = answer_to(OSError(number, "no room", "/srv/secret"))
    assert response.status_code == 507
    assert "kept" in response.content.decode()
    assert "/srv/secret" not in response.content.decode()


@pytest.mark.parametrize("kind", [StorageUnavailableError, DamagedError, ContentMissingError])
def test_stored_files_that_cannot_be_read_are_no_error_of_the_site(kind: type[Exception]) -> None:
    response = answer_to(kind("http://secret.example"))
    page = response.content.decode()
    assert response.status_code == 503
    assert "A stored file cannot be read now" in page
    assert ("kept" in page, "secret" in page, "disk is full" in page) == (True, False, False)


def test_other_errors_have_status_500() -> None:
    assert answer_to(OSError(errno.EIO, "broken")).status_code == 500
    assert answer_to(OperationalError("database is locked")).status_code == 500


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


def test_robots_may_read_public_pages(client: Client) -> None:
    response = client.get("/robots.txt")
    lines = response.content.decode().splitlines()
    assert response.headers["Content-Type"] == "text/plain; charset=utf-8"
    assert (lines[0], lines[-1]) == ("User-agent: *", "Sitemap: http://testserver/sitemap.xml")
    assert "Disallow: /accounts/" in lines
    assert "Disallow: /" not in lines


def test_the_site_map_lists_existing_public_pages(client: Client) -> None:
    answer, case = decided("shown")
    hidden, hidden_case = decided("secret-weapon")
    Submission.objects.filter(pk=hidden.submission_id).update(visibility=Visibility.WITHDRAWN)
    open_case = case_of(answer, round=2)
    paths = listed(client)
    task = answer.revision.task
    for path in (
        *("/", "/suites/", "/judges/", "/cases/", "/reviews/", "/about/", "/status/"),
        *("/board/shown-suite/", "/agreement/shown-suite/", "/suites/shown-suite/", "/systems/shown/"),
        "/analysis/shown-suite/figures/scores/",
        reverse("task", args=["shown-suite", task.paper.slug, task.index]),
        case.get_absolute_url(),
        *(f"/docs/{slug}/" for slug in documentation.page_slugs()),
    ):
        assert path in paths, path
    assert len(paths) == len(set(paths))
    assert "/systems/secret-weapon/" not in paths
    assert not {hidden_case.get_absolute_url(), open_case.get_absolute_url()} & set(paths)
    assert {path: client.get(path, follow=True).status_code for path in paths} == dict.fromkeys(paths, 200)


SECURITY_TXT = "/.well-known/security.txt"


def test_security_txt_has_the_contact_and_an_expiry_date(
    client: Client, settings: Settings, time_machine: TimeMachineFixture
) -> None:
    time_machine.move_to("2026-11-21T20:00:00Z")
    settings.ENVIRONMENT = replace(settings.ENVIRONMENT, security_contact="mailto:security@board.example.org")
    response = client.get(SECURITY_TXT)
    assert response.headers["Content-Type"] == "text/plain; charset=utf-8"
    assert response.content.decode().splitlines() == [
        "Contact: mailto:security@board.example.org",
        "Expires: 2027-05-20T00:00:00Z",
        "Policy: http://testserver/docs/security/",
        "Preferred-Languages: en",
    ]


def test_without_a_contact_there_is_no_security_txt(client: Client, settings: Settings) -> None:
    settings.ENVIRONMENT = replace(settings.ENVIRONMENT, security_contact="")
    assert client.get(SECURITY_TXT).status_code == 404


def test_the_style_guide_shows_rows_in_every_state_while_debug_is_on(client: Client, settings: Settings) -> None:
    settings.DEBUG = True
    page = client.get("/styleguide/").content.decode()
    states = (
        "Mean over 3 trials",
        "1/2",
        "totals only",
        "hidden while you label",
        "in doubt",
        "2 unpublished",
        "aria-busy",
    )
    assert [state for state in states if state not in page] == []


def test_too_many_sign_ups_have_an_explanation(client: Client, settings: Settings) -> None:
    settings.ACCOUNT_RATE_LIMITS = {"signup": "1/m/ip"}
    sent = [client.post("/accounts/signup/", {"username": f"user{number}"}) for number in range(2)]
    assert [response.status_code for response in sent] == [200, 429]
    assert "wait a few minutes" in sent[1].content.decode()


def test_links_to_the_documentation_lead_to_pages(client: Client) -> None:
    templates = (PROJECT_ROOT / "templates").rglob("*.html")
    linked = {slug for file in templates for slug in re.findall(r"'docs_page' '([^']+)'", file.read_text("utf-8"))}
    assert {"glossary", "api"} <= linked
    assert linked - {*documentation.page_slugs()} == set()
    assert client.get("/docs/about/").headers["Location"] == "/about/"
    assert client.get("/docs/index/").headers["Location"] == "/docs/"


def test_the_menu_marks_the_section_of_every_page(client: Client) -> None:
    person = ready(user=UserFactory(is_staff=True))
    client.force_login(person.user)  # type: ignore[arg-type]
    own, foreign = SubmissionFactory(owner=person.user), SubmissionFactory(published=True)
    held = assigned(case_of(), person)
    sections = {
        "My submissions": ["/my/", own.get_absolute_url()],
        "Endpoints": ["/endpoints/", "/endpoints/new/"],
        "Review": ["/reviews/", "/reviews/profile/", "/reviews/dashboard/", f"/reviews/label/{held.pk}/"],
        "Maintain": ["/maintain/", "/maintain/reevaluate/", "/reviews/people/", f"/reviews/people/{person.pk}/"],
        "": ["/nothing/here/", foreign.get_absolute_url()],
    }
    for section, addresses in sections.items():
        for address in addresses:
            header = client.get(address).content.decode().partition("</header>")[0]
            assert re.findall(r'aria-current="page"\s*>([^<]+)</a>', header) == [section] * bool(section), address
