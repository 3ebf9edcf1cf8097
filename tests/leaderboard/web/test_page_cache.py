"""Pages that are cached until their data change."""

from __future__ import annotations

import gzip
import re
from typing import TYPE_CHECKING

import pytest
from django.core.cache import caches
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from leaderboard.board import caching
from leaderboard.board.caching import PAGES, Kept, build
from leaderboard.board.states import every_board_changed, note_change
from leaderboard.web import page_cache
from submissions.domain.publishing import withdraw
from submissions.models import System
from tests.benchmark_tasks.factories import SuiteFactory, SuiteVersionFactory
from tests.leaderboard.factories import measured, reported
from tests.submissions.factories import SystemFactory, UserFactory

if TYPE_CHECKING:
    from pathlib import Path
    from typing import Any

    from benchmark_tasks.models import SuiteVersion

pytestmark = pytest.mark.django_db
ADDRESSES = ("/", "/board/small/", "/board/small/matrix/", "/compare/small/")


@pytest.fixture
def version() -> SuiteVersion:
    caches[PAGES].clear()
    made: SuiteVersion = SuiteVersionFactory(suite=SuiteFactory(slug="small", position=1), tasks=2)
    reported(made, system=SystemFactory(name="Shown"))
    note_change(made.pk)
    return made


def queries(client: Client, address: str, **headers: str) -> tuple[int, Any]:
    with CaptureQueriesContext(connection) as counted:
        response = client.get(address, headers=headers)
    return len(counted), response


@pytest.mark.parametrize("address", ADDRESSES)
def test_a_cached_page_is_identical_and_needs_at_most_two_queries(
    client: Client, version: SuiteVersion, address: str
) -> None:
    first = client.get(address)
    number, second = queries(client, address)
    assert number == (2 if address == "/" else 1)
    assert (second.content, second["ETag"], second["Cache-Control"]) == (first.content, first["ETag"], "no-cache")
    number, unchanged = queries(client, address, if_none_match=first["ETag"])
    assert (unchanged.status_code, unchanged.content, unchanged["ETag"]) == (304, b"", first["ETag"])
    assert second["Content-Security-Policy"] == first["Content-Security-Policy"]


def test_a_change_is_shown_at_once(client: Client, version: SuiteVersion) -> None:
    first = client.get("/")
    System.objects.update(name="Renamed")
    assert b"Shown" in client.get("/").content, "the version is unchanged"
    every_board_changed()
    second = client.get("/", headers={"if-none-match": first["ETag"]})
    assert (second.status_code, b"Renamed" in second.content, b"Shown" in second.content) == (200, True, False)


def test_a_withdrawn_submission_is_gone_before_its_row_is_updated(client: Client, version: SuiteVersion) -> None:
    """Callbacks on commit do not run in a test, as in a process that is killed before them."""
    entry = measured(version, system=SystemFactory(name="Secret"))
    note_change(version.pk)
    assert b"Secret" in client.get("/").content
    assert entry.submission is not None
    withdraw(submission=entry.submission, actor=entry.submission.owner, reason="It was the wrong bundle.")
    assert b"Secret" not in client.get("/").content


def test_requests_with_a_session_neither_read_nor_fill_the_cache(client: Client, version: SuiteVersion) -> None:
    person = UserFactory(username="visible-name")
    signed_in = Client()
    signed_in.force_login(person)
    page = signed_in.get("/")
    assert (b"visible-name" in page.content, page["Cache-Control"], page.has_header("ETag")) == (
        True,
        "private, no-cache",
        False,
    )
    assert b"visible-name" not in client.get("/").content
    assert b"visible-name" in signed_in.get("/").content


def test_addresses_hosts_and_kinds_of_request_are_cached_separately(client: Client, version: SuiteVersion) -> None:
    tags = {
        client.get("/")["ETag"],
        client.get("/?q=a")["ETag"],
        client.get("/board/small/")["ETag"],
        client.get("/", headers={"hx-request": "true"})["ETag"],
        client.get("/", headers={"accept-encoding": "gzip"})["ETag"],
        client.get("/", headers={"host": "localhost"})["ETag"],
        client.get("/", secure=True)["ETag"],
    }
    assert len(tags) == 7
    assert not client.get(f"/?q={'a' * 600}").has_header("ETag"), "long addresses are not cached"


@pytest.mark.parametrize("order", [(False, True), (True, False)], ids=["http first", "https first"])
@pytest.mark.parametrize("address", ["/board/small/", "/board/small/?format=json"])
def test_absolute_addresses_have_the_scheme_of_the_request(
    client: Client, version: SuiteVersion, address: str, order: tuple[bool, bool]
) -> None:
    for secure in order:
        page = client.get(address, secure=secure).content.decode()
        used = "https" if secure else "http"
        assert set(re.findall(r"(https?)://testserver", page)) == {used}


def test_errors_are_not_cached(client: Client, version: SuiteVersion) -> None:
    for _ in range(2):
        response = client.get("/board/small/?category=none")
        assert (response.status_code, response.has_header("ETag")) == (404, False)


def test_cached_pages_are_compressed_once_and_others_have_random_padding(client: Client, version: SuiteVersion) -> None:
    plain = client.get("/").content
    zipped = [client.get("/", headers={"accept-encoding": "gzip"}) for _ in range(3)]
    assert {page["Content-Encoding"] for page in zipped} == {"gzip"}
    assert {gzip.decompress(page.content) for page in zipped} == {plain}
    assert len({page.content for page in zipped}) == 1
    assert "Accept-Encoding" in zipped[0]["Vary"]
    signed_in = Client()
    signed_in.force_login(UserFactory())
    others = [signed_in.get("/", headers={"accept-encoding": "gzip"}) for _ in range(8)]
    assert {page["Content-Encoding"] for page in others} == {"gzip"}
    assert len({len(page.content) for page in others}) > 1


@pytest.mark.parametrize("gzipped", [True, False])
def test_a_page_is_rendered_once_for_clients_with_and_without_compression(
    client: Client, version: SuiteVersion, gzipped: bool
) -> None:
    headers = [{"accept_encoding": "gzip"}, {}]
    first, other = headers if gzipped else headers[::-1]
    _, rendered = queries(client, "/", **first)
    number, kept = queries(client, "/", **other)
    assert number == 2
    zipped, plain = (rendered, kept) if gzipped else (kept, rendered)
    assert (gzip.decompress(zipped.content), plain.headers.get("Content-Encoding")) == (plain.content, None)
    assert zipped["ETag"] != plain["ETag"]


@pytest.mark.parametrize(("most", "kept"), [(page_cache.MOST_KEPT, True), (100, False)])
def test_large_pages_are_rendered_for_each_request(
    client: Client, version: SuiteVersion, monkeypatch: pytest.MonkeyPatch, most: int, kept: bool
) -> None:
    monkeypatch.setattr(page_cache, "MOST_KEPT", most)
    first = client.get("/")
    number, second = queries(client, "/")
    assert (second.content, number == 2) == (first.content, kept)


@pytest.mark.parametrize("name", ["templates/page.html", "leaderboard/board/row.py", "submissions/enums.py"])
def test_the_build_changes_with_the_code(name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    file = tmp_path / name
    file.parent.mkdir(parents=True)
    monkeypatch.setattr(caching, "PROJECT_ROOT", tmp_path)

    def digest() -> str:
        build.cache_clear()
        return build()

    file.write_text("a page")
    first = digest()
    assert digest() == first
    file.write_text("another page")
    assert digest() != first
    build.cache_clear()


def test_the_cache_keeps_the_last_used_values() -> None:
    kept: Kept[str] = Kept(2)
    kept.set_many({"a": "A", "b": "B"})
    assert kept.get_many(["a", "none"]) == {"a": "A"}
    kept.set_many({"c": "C"})
    assert kept.get_many(["a", "b", "c"]) == {"a": "A", "c": "C"}
    kept.clear()
    assert kept.get_many(["a", "c"]) == {}
