"""Pictures of pages, and the tags that name them."""

from __future__ import annotations

import html
import re
import struct
from typing import TYPE_CHECKING, Any

import pytest

from leaderboard.board.states import note_change
from leaderboard.pictures.cards import board_card, compare_card, system_card
from leaderboard.pictures.drawing import draw
from leaderboard.views import pictures
from submissions.domain import publishing
from tests.leaderboard.factories import measured, reported
from tests.leaderboard.freezing import frozen, ours, sent, two_tasks
from tests.leaderboard.showing import rows_of
from tests.submissions.factories import SystemFactory

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
    made = two_tasks()
    note_change(made.pk)
    return made


def size(picture: bytes) -> tuple[int, int]:
    assert picture.startswith(b"\x89PNG")
    width, height = struct.unpack(">II", picture[16:24])
    return width, height


def tags(client: Client, address: str) -> dict[str, str]:
    page = client.get(address).content.decode()
    found = re.findall(r'<meta (?:property|name)="((?:og|twitter):[^"]+)" content="([^"]*)">', page)
    return {name: html.unescape(value) for name, value in found}


class TestCards:
    def test_a_board_shows_its_best_rows_with_intervals(self, version: SuiteVersion) -> None:
        ours(version, "Best", metric={"tests_passed": 14.0})
        measured(version, system=SystemFactory(name="S" * 99), metric={"tests_low": None, "tests_high": None})
        reported(version, system=SystemFactory(name="No tests"), metric={"tests_passed": None})
        shown = board_card("Small board", rows_of(version), number=3, tasks=1)
        assert [(bar.name, bar.value) for bar in shown.bars] == [("Best", "50.0"), ("S" * 29 + "…", "39.3")]
        assert [(bar.low, bar.at, bar.high) for bar in shown.bars] == [(631.0, 755.0, 790.7), (None, 704.6, None)]
        assert shown.footer == "3 rows on 1 task. Bars are 95 % intervals."

    def test_a_system_says_its_rank_band(self, version: SuiteVersion) -> None:
        entry = ours(version)
        entry.metrics.update(rank_from=2, rank_to=5)
        shown = system_card("Ours", "", [("Small", rows_of(version)[0])])
        assert [line for _, line in shown.lines] == ["Small: rank 2–5, 11 of 28 tasks pass"]

    def test_a_comparison_says_its_sentence(self, version: SuiteVersion) -> None:
        from leaderboard.board.matrix import tasks_of
        from leaderboard.comparing.systems import compared

        ours(version, "A")
        ours(version, "B")
        rows = rows_of(version)
        shown = compare_card("Small", rows, compared(rows, tasks_of(version)))
        assert shown.title == "A against B"
        assert " ".join(line for _, line in shown.lines) == (
            "Difference +0.0 points. A and B cannot be told apart on these 2 tasks: 0 against 0 discordant, p = 1.00."
        )

    @pytest.mark.parametrize("name", ["<&\"'>", "\0\ud800\ufffe", "模型", "{{ x }}", ""])
    def test_any_name_can_be_drawn(self, version: SuiteVersion, name: str) -> None:
        ours(version)
        shown = system_card(name, name, [(name, rows_of(version)[0])])
        assert size(draw(shown, site="board.example.org")) == (1200, 630)


class TestPages:
    def test_name_their_pictures(self, client: Client, version: SuiteVersion) -> None:
        first, second = ours(version, "A"), ours(version, "B")
        frozen(version)
        query = f"?row=s{first.submission_id}&row=s{second.submission_id}"
        told = "A and B cannot be told apart on these 2 tasks: 0 against 0 discordant, p = 1.00."
        pages = {
            "/board/small/": "Small board",
            "/systems/a/": "A",
            f"/compare/small/{query}": told,
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

    def test_are_kept_until_something_changes(self, client: Client, version: SuiteVersion) -> None:
        ours(version)
        first = client.get("/board/small/picture.png")
        again = client.get("/board/small/picture.png", headers={"If-None-Match": first["ETag"]})
        assert again.status_code == 304
        note_change(version.pk)
        assert client.get("/board/small/picture.png")["ETag"] != first["ETag"]

    def test_nothing_withdrawn_is_in_one(self, client: Client, version: SuiteVersion, maintainer: User) -> None:
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

    def test_no_visitor_can_have_them_drawn_without_end(
        self, client: Client, version: SuiteVersion, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        ours(version)
        monkeypatch.setattr(pictures, "MOST_DRAWN", 2)
        monkeypatch.setattr("time.time", lambda: 1_800_000_000.0)
        answers: list[Any] = [client.get(f"/board/small/picture.png?{number}") for number in (1, 2, 3)]
        assert [each.status_code for each in answers] == [200, 200, 429]
        assert answers[2]["Retry-After"] == "60"
        # One that was drawn before is still there.
        assert client.get("/board/small/picture.png?1").status_code == 200
