"""Frozen boards: freezing, the form, the page and later corrections."""

from __future__ import annotations

import hashlib
import html
import io
import json
import re
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from leaderboard.board.ranks import rank_version
from leaderboard.board.states import changes_of, note_change
from leaderboard.models import EntryMetric, Snapshot
from leaderboard.sharing.snapshots import changes
from leaderboard.sharing.snapshots.changes import Gone, changes_since, gone_since
from leaderboard.sharing.snapshots.document import rows_of, tasks_of
from leaderboard.sharing.snapshots.freezing import freeze
from leaderboard.web.views import snapshots
from submissions.domain.audit import record
from submissions.enums import Kind, Verb
from submissions.exceptions import NotAllowedError, WrongStateError
from submissions.models import AuditEvent
from tests.benchmark_tasks.factories import SuiteVersionFactory
from tests.leaderboard.factories import label_counts, reported
from tests.leaderboard.freezing import PAGE, frozen, ours, sent, two_tasks
from tests.leaderboard.judging import JudgeFactory, show
from tests.leaderboard.showing import rows_of as board_rows_of
from tests.leaderboard.showing import words_of
from tests.reviews.factories import guideline
from tests.submissions.factories import SystemFactory

if TYPE_CHECKING:
    from pathlib import Path

    from django.test import Client
    from pytest_django import Settings
    from time_machine import TimeMachineFixture

    from benchmark_tasks.models import SuiteVersion
    from submissions.models import User

pytestmark = pytest.mark.django_db


@pytest.fixture
def version(settings: Settings, tmp_path: Path) -> SuiteVersion:
    settings.DATA_DIR = tmp_path
    return two_tasks()


class TestFreezing:
    def test_the_tasks_of_a_snapshot_from_before_they_named_their_suite_lead_to_its_board(
        self, version: SuiteVersion
    ) -> None:
        ours(version)
        snapshot = frozen(version)
        for task in snapshot.document["tasks"]:
            assert task.pop("suite") == version.suite.slug
        assert {task.suite for task in tasks_of(snapshot.document)} == {version.suite.slug}

    def test_stores_the_public_board(self, version: SuiteVersion) -> None:
        judge = JudgeFactory()
        show(version.suite, judge)
        text = guideline(3)
        ours(version, metric={"labels": {"judge": label_counts(5, 3, 10, tasks=28)}})
        reported(version, system=SystemFactory(name="Theirs"), slug="theirs-1", metric={"tests_passed": None})
        ours(version, "Sample", kind=Kind.CALIBRATION)
        ours(version, "Secret", published=False)
        shown = board_rows_of(version)
        snapshot = frozen(version)
        assert {row.system for row in rows_of(snapshot.document)} == {"Ours", "Theirs", "Sample"}
        ranked = {row.key: row for row in board_rows_of(version)}
        assert len(shown) == 3
        for row in rows_of(snapshot.document):
            assert row == ranked[row.key]
            assert row.marks == ranked[row.key].marks
        assert snapshot.document["judge"] is not None
        assert snapshot.document["judge"]["digest"] == judge.digest
        assert snapshot.document["guidelines"] == {
            "number": 3,
            "digest": hashlib.sha256(text.text.encode()).hexdigest(),
        }

    def test_numbers_increase_and_freezing_is_audited(self, version: SuiteVersion, maintainer: User) -> None:
        ours(version)
        frozen(version)
        snapshot = freeze(suite=version.suite, actor=maintainer, title=" Second ", note="Again.", supersedes=1)
        assert (snapshot.number, snapshot.title) == (2, "Second")
        event = AuditEvent.objects.filter(verb=Verb.FROZEN).first()
        assert event is not None
        assert (event.actor, event.reason, event.data["archive"]) == (maintainer, "Again.", snapshot.archive)
        with pytest.raises(WrongStateError, match="superseded by snapshot 2 already"):
            frozen(version, supersedes=1)
        with pytest.raises(WrongStateError, match="There is no snapshot 9"):
            frozen(version, supersedes=9)
        assert Snapshot.objects.count() == 2

    def test_is_never_changed_or_deleted(self, version: SuiteVersion) -> None:
        ours(version)
        snapshot = frozen(version)
        for act in (snapshot.save, snapshot.delete, Snapshot.objects.all().delete):
            with pytest.raises(TypeError, match="append-only"):
                act()

    def test_invalid_requests_are_refused(self, version: SuiteVersion, alice: User, maintainer: User) -> None:
        with pytest.raises(WrongStateError, match="Nothing is published on this board"):
            frozen(version)
        ours(version)
        given: dict[str, Any] = {"suite": version.suite, "title": "t", "note": "n"}
        note_change(version.pk, results=True)
        with pytest.raises(WrongStateError, match="Rank bands are still being computed"):
            freeze(**given, actor=maintainer)
        rank_version(version.pk)
        with pytest.raises(NotAllowedError, match="Only maintainers"):
            freeze(**given, actor=alice)
        with pytest.raises(NotAllowedError, match="Give a title"):
            freeze(**{**given, "note": " "}, actor=maintainer)
        with pytest.raises(WrongStateError, match="has changed since you opened this page"):
            freeze(**given, actor=maintainer, seen=(changes_of("small") or 0) - 1)
        assert not Snapshot.objects.exists()

    def test_the_command_freezes_a_board(self, version: SuiteVersion) -> None:
        ours(version)
        note_change(version.pk, results=True)
        output = io.StringIO()
        call_command("snapshot", suite="small", title="May", note="Why.", json=True, stdout=output)
        made = Snapshot.objects.get()
        assert json.loads(output.getvalue()) == {
            "suite": "small",
            "snapshot": 1,
            "address": PAGE,
            "rows": 1,
            "sha256": made.archive,
        }
        for wrong, message in (({"suite": "none"}, "no suite 'none'"), ({"title": "t" * 121}, "longer than 120")):
            with pytest.raises(CommandError, match=message):
                call_command("snapshot", **{"suite": "small", "title": "t", "note": "n", **wrong})


class TestForm:
    def test_shows_the_rows_to_freeze_and_freezes_them(self, as_maintainer: Client, version: SuiteVersion) -> None:
        ours(version)
        note_change(version.pk, results=True)
        rank_version(version.pk)
        page = as_maintainer.get("/board/small/snapshots/").content.decode()
        assert "1 row, with" in " ".join(page.split())
        seen = re.search(r'name="seen" value="(\d+)"', page)
        assert seen
        typed = {"title": "May", "note": "Why.", "seen": seen[1], "previewed": ["May", "Why.", ""]}
        wrong = as_maintainer.post("/board/small/snapshots/freeze/", {**typed, "title": ""})
        assert (wrong.status_code, "Why." in wrong.content.decode()) == (422, True)
        late = as_maintainer.post("/board/small/snapshots/freeze/", {**typed, "seen": "\N{ARABIC-INDIC DIGIT ONE}"})
        assert "has changed since you opened this page" in words_of(late)
        assert "Preview: Snapshot 1: May" in words_of(late)
        done = as_maintainer.post("/board/small/snapshots/freeze/", typed, follow=True)
        assert done.redirect_chain == [(PAGE, 302)]
        assert "The board is frozen as snapshot 1." in words_of(done)
        assert done.content.decode().count('<button type="button" class="quiet copy"') == 2

    def test_previews_title_and_citation_and_freezes_nothing(
        self, as_maintainer: Client, version: SuiteVersion, time_machine: TimeMachineFixture
    ) -> None:
        time_machine.move_to("2026-05-04T10:00:00Z", tick=False)
        ours(version)
        note_change(version.pk, results=True)
        rank_version(version.pk)
        typed = {"title": " May & June ", "note": "Why.", "seen": "0", "preview": "yes"}
        shown = as_maintainer.post("/board/small/snapshots/freeze/", typed)
        assert (shown.status_code, Snapshot.objects.exists()) == (200, False)
        page = words_of(shown)
        assert "Preview: Snapshot 1: May & June" in page
        assert (
            "LMR-Board. Small board, snapshot 1: May & June. Frozen 4 May 2026. http://testserver/board/small/snapshots/1/"
            " (suite version 1, SHA-256 known once it is frozen)" in page
        )
        assert r"title = {{Small board, snapshot 1: May \& June}}," in page
        assert "4 May 2026, 10:00 UTC" in page
        assert 'value=" May &amp; June "' in shown.content.decode()
        assert "Preview again Freeze the board" in page
        refused = as_maintainer.post("/board/small/snapshots/freeze/", {**typed, "title": ""})
        assert (refused.status_code, "Preview:" in words_of(refused)) == (422, False)
        source = shown.content.decode()
        seen = re.search(r'name="seen" value="(\d+)"', source)
        assert seen
        previewed = [html.unescape(each) for each in re.findall('name="previewed" value="(.*?)"', source)]
        frozen_now = {"title": " May & June ", "note": "Why.", "seen": seen[1], "previewed": previewed}
        changes: tuple[dict[str, Any], ...] = ({"title": "June"}, {"note": "Because."}, {"previewed": []})
        for changed in changes:
            unseen = as_maintainer.post("/board/small/snapshots/freeze/", {**frozen_now, **changed})
            assert (unseen.status_code, Snapshot.objects.exists()) == (422, False)
            assert "This text differs from the last preview." in words_of(unseen)
        assert "Preview: Snapshot 1: May & June" in words_of(unseen)
        cited = words_of(as_maintainer.post("/board/small/snapshots/freeze/", frozen_now, follow=True))
        archive = Snapshot.objects.get().archive
        assert f"Frozen 4 May 2026. http://testserver{PAGE} (suite version 1, SHA-256 {archive})" in cited

    def test_only_maintainers_have_the_form(self, as_alice: Client, version: SuiteVersion) -> None:
        ours(version)
        assert "Freeze" not in as_alice.get("/board/small/snapshots/").content.decode()


class TestPage:
    def test_shows_frozen_numbers_and_later_corrections(
        self, client: Client, version: SuiteVersion, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        entry = ours(version)
        with monkeypatch.context() as before:
            earlier = timezone.now() - timedelta(seconds=2)
            before.setattr(timezone, "now", lambda: earlier)
            record(verb=Verb.REEVALUATED, subject=sent(entry), actor=None, reason="Before it was frozen.")
        frozen(version)
        entry.metrics.update(tests_passed=14, tests_rate=0.5)
        entry.marks = {"tests": [1.0, 1.0], "judge": ["CC", "LI"]}
        entry.save()
        record(verb=Verb.REEVALUATED, subject=sent(entry), actor=None, reason="The test was mended.")
        note_change(version.pk)
        page = words_of(client.get(PAGE))
        assert "39.3 [23.6, 57.6]" in page
        assert "tests_passed was 11.0 , is 14.0" in page
        assert "tests_percent was 39.3 , is 50.0" in page
        assert "Other marks on 1 task: b/1." in page
        assert "re-evaluated: The test was mended." in page
        assert "Before it was frozen." not in page

    def test_the_list_of_corrected_rows_is_limited_and_links_to_all(
        self, client: Client, version: SuiteVersion, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(snapshots, "MOST_CORRECTED", 1)
        for name in ("A", "B", "C"):
            ours(version, name)
        frozen(version)
        EntryMetric.objects.update(tests_passed=12)
        note_change(version.pk)
        page = client.get(PAGE)
        assert words_of(page).count("tests_passed was 11.0 , is 12.0") == 1
        assert "2 more rows: all of them as JSON" in words_of(page)
        assert 'href="/api/v1/suites/small/snapshots/1"' in page.content.decode()

    def test_shows_that_nothing_was_corrected(self, client: Client, version: SuiteVersion) -> None:
        ours(version)
        frozen(version)
        page = words_of(client.get(PAGE))
        assert "Nothing. Every number above is still the current one." in page
        assert "No new rows since." in page
        ours(version, "Newcomer", metric={"tests_passed": 28.0})
        note_change(version.pk, results=True)
        rank_version(version.pk)
        page = words_of(client.get(PAGE))
        assert "Nothing. Every number above is still the current one." in page
        assert "1 new row on the board since." in page
        assert "Newcomer" not in page

    def test_every_column_has_a_head_and_samples_are_named(self, client: Client, version: SuiteVersion) -> None:
        several = ours(version, trials=2)
        several.trial_passes = [1, 0]
        several.save()
        ours(version, "Sample", kind=Kind.CALIBRATION)
        frozen(version)
        page = client.get(PAGE).content.decode()
        table = page[page.index('<table class="board"') : page.index("</table>")]
        heads = re.findall(r'<th role="columnheader"[^>]*class="column-([a-z]+)', table)
        first = table[table.index("<tbody") : table.index("</tr>", table.index("<tbody"))]
        assert heads == ["system", "inputs", "tests", "trials", "judge", "human", "marks", "source"]
        assert len(re.findall(r'role="(?:cell|rowheader)"', first)) == len(heads)
        assert table.count("calibration sample, never ranked") == 1

    def test_shows_a_new_judge_guidelines_and_suite_version(self, client: Client, version: SuiteVersion) -> None:
        ours(version)
        frozen(version)
        show(version.suite, JudgeFactory(name="New judge"))
        guideline(7)
        newer = SuiteVersionFactory(suite=version.suite, number=2)
        newer.revisions.add(version.revisions.get(task__slug="a/1"))
        note_change(version.pk)
        page = words_of(client.get(PAGE))
        assert "Judge: was none , is New judge, digest" in page
        assert "Annotators' guidelines: was none , is revision 7" in page
        assert "Suite: was version 1 , is version 2; without: b/1" in page

    def test_shows_removed_reported_rows_and_new_counting_rules(
        self, client: Client, version: SuiteVersion, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        ours(version)
        theirs = reported(version, system=SystemFactory(name="Theirs"), slug="theirs-1")
        snapshot = frozen(version)
        assert gone_since(snapshot) == []
        type(theirs).objects.filter(pk=theirs.pk).update(published=False)
        assert gone_since(snapshot) == [Gone("r-theirs-1", None, "was removed")]
        monkeypatch.setattr(changes, "COUNTING", 99)
        found = changes_since(snapshot, gone_since(snapshot))
        assert [each.key for each in found.gone] == ["r-theirs-1"]
        assert found.around == (("Counting rules", str(snapshot.document["counting"]), "99"),)
        assert (found.corrected, found.new_rows) == ((), 0)

    def test_a_row_moved_to_a_newer_version_names_it(self, version: SuiteVersion) -> None:
        entry = ours(version)
        snapshot = frozen(version)
        newer = SuiteVersionFactory(suite=version.suite, number=2)
        entry.marks = {"tests": [0.0], "judge": [""]}
        entry.suite_version = newer
        entry.save()
        EntryMetric.objects.update(suite_version=newer)
        (moved,) = changes_since(snapshot, []).corrected
        assert (moved.row.system, moved.columns, moved.tasks, moved.moved_to) == ("Ours", (), (), 2)

    def test_a_superseded_snapshot_links_to_the_newer(self, client: Client, version: SuiteVersion) -> None:
        ours(version)
        frozen(version)
        assert "Superseded" not in words_of(client.get(PAGE))
        frozen(version, title="better", supersedes=1)
        assert "Superseded by snapshot 2: better . For the paper." in words_of(client.get(PAGE))
        assert "Supersedes snapshot 1: camera-ready ." in words_of(client.get("/board/small/snapshots/2/"))
        assert "superseded by 2" in words_of(client.get("/board/small/snapshots/"))

    def test_has_a_citation(self, client: Client, version: SuiteVersion) -> None:
        ours(version)
        snapshot = frozen(version, title="50 % of A_B & {C}")
        page = client.get(PAGE)
        bibtex = page.context["citation"].bibtex
        assert bibtex.startswith("@misc{smallsnapshot1,\n")
        assert r"title        = {{Small board, snapshot 1: 50 \% of A\_B \& \{C\}}}," in bibtex
        assert r"howpublished = {\url{http://testserver/board/small/snapshots/1/}}," in bibtex
        assert snapshot.archive in bibtex
        assert f"{snapshot.created:%Y}" in bibtex
        assert page.context["citation"].plain in words_of(page).replace("&amp;", "&")

    @pytest.mark.parametrize("address", ["", "archive.zip"])
    def test_a_missing_snapshot_is_not_found(self, client: Client, version: SuiteVersion, address: str) -> None:
        assert client.get(f"{PAGE}{address}").status_code == 404
        assert client.get(f"/board/none/snapshots/1/{address}").status_code == 404

    def test_queries_do_not_grow_with_rows(self, client: Client, version: SuiteVersion) -> None:
        counts = []
        for number in range(1, 4):
            entry = ours(version, f"System{number}")
            reported(version)
            frozen(version)
            entry.metrics.update(tests_passed=12)
            note_change(version.pk)
            with CaptureQueriesContext(connection) as queries:
                assert client.get(f"/board/small/snapshots/{number}/").status_code == 200
            counts.append(len(queries))
        assert counts[1] == counts[2]
