"""Preview pictures of pages, and the meta tags that link to them."""

from __future__ import annotations

import html
import itertools
import re
import struct
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from leaderboard.board.states import note_change
from leaderboard.board.visibility import without_numbers
from leaderboard.insight.finding import finding_of
from leaderboard.sharing.pictures.cards import board_card, compare_card, rows_card, system_card
from leaderboard.sharing.pictures.drawing import draw
from leaderboard.web.views import pictures
from submissions.domain import publishing
from tests.leaderboard.factories import measured, reported
from tests.leaderboard.freezing import frozen, ours, sent, two_tasks
from tests.leaderboard.showing import rows_of
from tests.reviews.factories import assigned, case_of, ready
from tests.submissions.factories import ImplementationFactory, SystemFactory

if TYPE_CHECKING:
    from pathlib import Path

    from django.test import Client
    from pytest_django import Settings

    from benchmark_tasks.models import SuiteVersion
    from leaderboard.sharing.pictures.cards import Card
    from submissions.models import User

pytestmark = pytest.mark.django_db


@pytest.fixture
def version(settings: Settings, tmp_path: Path) -> SuiteVersion:
    settings.DATA_DIR = tmp_path
    pictures.DRAWN.clear()
    made = two_tasks()
    note_change(made.pk)
    return made


@pytest.fixture
def drawn(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The site in the corner of each picture that is drawn from now on."""
    sites: list[str] = []

    def noted(card: Card, *, site: str) -> bytes:
        sites.append(site)
        return draw(card, site=site)

    monkeypatch.setattr(pictures, "draw", noted)
    return sites


def size(picture: bytes) -> tuple[int, int]:
    assert picture.startswith(b"\x89PNG")
    width, height = struct.unpack(">II", picture[16:24])
    return width, height


def tags(client: Client, address: str) -> dict[str, str]:
    page = client.get(address).content.decode()
    found = re.findall(r'<meta (?:property|name)="((?:og|twitter):[^"]+)" content="([^"]*)">', page)
    return {name: html.unescape(value) for name, value in found}


class TestCards:
    def test_a_board_shows_its_finding_with_intervals_and_ranks(self, version: SuiteVersion) -> None:
        ours(version, "Best", metric={"tests_passed": 14.0, "rank_from": 1, "rank_to": 2})
        measured(version, system=SystemFactory(name="S" * 99), metric={"tests_low": None, "tests_high": None})
        reported(version, system=SystemFactory(name="No tests"), metric={"tests_passed": None})
        shown = board_card("Small board", finding_of(rows_of(version), ranked=2))
        assert (shown.title, shown.subtitle) == (
            "Best solves 14 of 28 tasks.",
            "Small board: unit tests passed, in per cent",
        )
        assert [(bar.name, bar.note, bar.value) for bar in shown.bars] == [
            ("Best", "1st to 2nd", "50.0"),
            ("S" * 29 + "…", "", "39.3"),
        ]
        assert [(bar.low, bar.at, bar.high) for bar in shown.bars] == [(631.0, 755.0, 790.7), (None, 704.6, None)]
        assert " ".join(line for _, line in shown.lines) == (
            "With 28 tasks, it cannot be distinguished from the other system measured task by task."
        )

    def test_a_long_finding_is_below_the_bars(self, version: SuiteVersion) -> None:
        for place in range(7):
            ours(version, f"System {place}")
        shown = board_card("Small board", finding_of(rows_of(version), ranked=0))
        assert (shown.title, [line for _, line in shown.lines]) == (
            "Seven systems lead: each solves 11 of 28 tasks.",
            [],
        )
        assert len(shown.bars) == 6
        few = finding_of(rows_of(version)[:3], ranked=0)
        shown = board_card("Small board", few)
        assert (shown.title, [line for _, line in shown.lines]) == ("Small board", [few.sentence])

    def test_a_frozen_board_shows_its_best_rows(self, version: SuiteVersion) -> None:
        ours(version, "Best")
        shown = rows_card("Small, snapshot 1", rows_of(version), number=3, tasks=1, subtitle="Frozen")
        assert [(bar.name, bar.value) for bar in shown.bars] == [("Best", "39.3")]
        assert shown.footer == "3 rows on 1 task. Bars are 95 % intervals."

    def test_a_held_row_is_named_without_numbers(self, version: SuiteVersion) -> None:
        held = ours(version, "Held").submission_id
        ours(version, "Other")
        assert held is not None
        rows = without_numbers(rows_of(version), {held})
        expected = [("Held", "hidden while you label", None), ("Other", "39.3", 704.6)]
        shown = board_card("Small board", finding_of(rows, ranked=0))
        assert [(bar.name, bar.value, bar.at) for bar in shown.bars] == expected
        (bar,) = system_card("Held", "", [("Small", rows[0])]).bars
        assert (bar.name, bar.value, bar.at, bar.low, bar.high) == ("Small", "hidden while you label", None, None, None)
        drawn = draw(shown, site="board.example.org")
        assert size(drawn) == (1200, 630)
        # A point at the scale's start would also be read as a number.
        hidden, other = shown.bars
        at_zero = replace(shown, bars=(replace(hidden, at=520.0), other))
        assert draw(at_zero, site="board.example.org") != drawn

    def test_a_system_shows_its_rank_band(self, version: SuiteVersion) -> None:
        entry = ours(version)
        entry.metrics.update(rank_from=2, rank_to=5)
        shown = system_card("Ours", "", [("Small", rows_of(version)[0])])
        assert [line for _, line in shown.lines] == ["Small: rank 2–5, 11 of 28 tasks pass"]

    def test_a_comparison_shows_its_sentence(self, version: SuiteVersion) -> None:
        from leaderboard.board.matrix import tasks_of
        from leaderboard.insight.comparing import compared

        ours(version, "A")
        ours(version, "B")
        rows = rows_of(version)
        shown = compare_card("Small", rows, compared(rows, tasks_of(version)))
        assert shown.title == "A against B"
        assert " ".join(line for _, line in shown.lines) == (
            "A and B do equally well on these 2 tasks. Difference +0.0 points, p = 1.00"
        )

    @pytest.mark.parametrize("name", ["<&\"'>", "\0\ud800\ufffe", "模型", "{{ x }}", ""])
    def test_any_name_can_be_drawn(self, version: SuiteVersion, name: str) -> None:
        ours(version)
        shown = system_card(name, name, [(name, rows_of(version)[0])])
        assert size(draw(shown, site="board.example.org")) == (1200, 630)


class TestPages:
    def test_pages_link_to_their_pictures(self, client: Client, version: SuiteVersion) -> None:
        first, second = ours(version, "A"), ours(version, "B")
        frozen(version)
        query = f"?row=s{first.submission_id}&row=s{second.submission_id}"
        sentence = "A and B do equally well on these 2 tasks."
        pages = {
            "/board/small/": "Small board",
            "/systems/a/": "A",
            f"/compare/small/{query}": sentence,
            "/board/small/snapshots/1/": "Small board, snapshot 1: camera-ready",
        }
        for address, title in pages.items():
            found = tags(client, address)
            assert found["og:title"] == title
            assert found["og:url"].startswith(f"http://testserver{address}")
            assert found["og:image"].startswith("http://testserver/")
            assert found["twitter:card"] == "summary_large_image"
            picture = client.get(found["og:image"].removeprefix("http://testserver"))
            assert (picture.status_code, picture["Content-Type"]) == (200, "image/png")
            assert size(picture.content) == (1200, 630)

    def test_pictures_are_cached_until_the_data_change(self, client: Client, version: SuiteVersion) -> None:
        ours(version)
        first = client.get("/board/small/picture.png")
        again = client.get("/board/small/picture.png", headers={"If-None-Match": first["ETag"]})
        assert again.status_code == 304
        note_change(version.pk)
        assert client.get("/board/small/picture.png")["ETag"] != first["ETag"]

    def test_withdrawn_rows_are_in_no_picture(self, client: Client, version: SuiteVersion, maintainer: User) -> None:
        first, second = ours(version, "A"), ours(version, "B")
        snapshot = frozen(version)
        query = f"?row=s{first.submission_id}&row=s{second.submission_id}"
        addresses = ("/systems/a/picture.png", f"/compare/small/picture.png{query}")
        snapshots = f"{snapshot.get_absolute_url()}picture.png"
        assert [client.get(address).status_code for address in addresses] == [200, 200]
        before = client.get(snapshots).content
        publishing.hide(submission=sent(first), actor=maintainer, reason="It must.")
        assert [client.get(address).status_code for address in addresses] == [404, 404]
        assert client.get(snapshots).content != before

    def test_an_annotator_s_pictures_name_the_held_row_without_numbers(
        self, client: Client, version: SuiteVersion, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        entry, other = ours(version, "Held"), ours(version, "Other")
        cards: list[Card] = []

        def noted(card: Card, *, site: str) -> bytes:
            cards.append(card)
            return draw(card, site=site)

        monkeypatch.setattr(pictures, "draw", noted)
        person = ready()
        answer = ImplementationFactory(submission=sent(entry), revision=version.revisions.first())
        assigned(case_of(answer), person)
        client.force_login(person.user)  # type: ignore[arg-type]
        compared = f"/compare/small/picture.png?row=s{entry.submission_id}&row=s{other.submission_id}"
        for address in ("/board/small/picture.png", "/systems/held/picture.png", compared):
            assert client.get(address).status_code == 200
        assert [[(bar.name, bar.value) for bar in card.bars] for card in cards] == [
            [("Other", "39.3"), ("Held", "hidden while you label")],
            [("Small", "hidden while you label")],
            [("Held", "hidden while you label"), ("Other", "39.3")],
        ]

    def test_unknown_parameters_make_no_new_picture(
        self, client: Client, version: SuiteVersion, drawn: list[str]
    ) -> None:
        first, second = ours(version, "A"), ours(version, "B")
        frozen(version)
        addresses = (
            "/board/small/picture.png?",
            "/systems/a/picture.png?",
            "/board/small/snapshots/1/picture.png?",
            f"/compare/small/picture.png?row=s{first.submission_id}&row=s{second.submission_id}&",
        )
        for address in addresses:
            tags = {client.get(f"{address}{more}")["ETag"] for more in ("", "x=1", "x=2", "utm_source=mail&y=")}
            assert len(tags) == 1
        assert len(drawn) == len(addresses)
        assert client.get("/board/small/picture.png?version=1&x=1").status_code == 200
        assert client.get("/board/small/picture.png?version=2").status_code == 404

    def test_headers_make_no_new_picture(self, client: Client, version: SuiteVersion, drawn: list[str]) -> None:
        ours(version)
        for number in (1, 2, 3):
            for headers in ({"host": f"testserver:{number}"}, {"hx-request": str(number)}, {"cookie": "messages=x"}):
                assert client.get("/board/small/picture.png", headers=headers).status_code == 200
        assert drawn == ["testserver"]

    def test_new_pictures_are_limited_per_client_and_a_board_s_own_are_always_served(
        self, client: Client, version: SuiteVersion, settings: Settings, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        rows = [f"row=s{ours(version, name).submission_id}" for name in "ABC"]
        frozen(version)
        monkeypatch.setattr(pictures, "MOST_DRAWN", 2)
        monkeypatch.setattr("time.time", lambda: 1_800_000_000.0)
        pairs = [f"/compare/small/picture.png?{one}&{other}" for one, other in itertools.combinations(rows, 2)]

        def codes(addresses: list[str], **extra: str) -> list[int]:
            return [client.get(address, **extra).status_code for address in addresses]  # type: ignore[arg-type]

        assert codes(pairs) == [200, 200, 429]
        refused = client.get(pairs[2])
        assert refused["Retry-After"] == "60"
        assert (
            refused.content == b"Too many pictures were drawn for your address in this minute. Try again in the next."
        )
        # Pictures that are cached, or linked from a board's own page, are still served.
        own = ["/board/small/picture.png", "/board/small/snapshots/1/picture.png"]
        assert codes([*pairs[:2], *own]) == [200, 200, 200, 200]
        assert codes(["/systems/a/picture.png", "/board/small/picture.png?version=1"]) == [429, 429]
        # Other addresses are not affected; a claimed address counts only behind a trusted proxy.
        assert codes(pairs[2:], HTTP_X_FORWARDED_FOR="192.0.2.1") == [429]
        assert codes(pairs[2:], REMOTE_ADDR="192.0.2.1") == [200]
        settings.ALLAUTH_TRUSTED_PROXY_COUNT = 1
        assert codes(["/systems/a/picture.png"], HTTP_X_FORWARDED_FOR="203.0.113.9, 127.0.0.1") == [429]
        assert codes(["/systems/a/picture.png"], HTTP_X_FORWARDED_FOR="192.0.2.2") == [200]
