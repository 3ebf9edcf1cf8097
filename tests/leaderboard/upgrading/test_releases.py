"""The table of releases agrees with the changelog, the documentation and the migrations; and a release is cut."""

from __future__ import annotations

import datetime as dt
import lzma
import re
import shutil
import tomllib
from typing import TYPE_CHECKING, Any

import pytest
from django.db.migrations.loader import MigrationLoader
from django.test import Client

from leaderboard.settings import releases as table
from leaderboard.settings.releases import UNRELEASED, Release, releases, version
from scripts import release as script
from tests.conftest import PROJECT_ROOT

if TYPE_CHECKING:
    from pathlib import Path

    from pytest_django import Settings

CUT = ("CHANGELOG.md", "docs/operating.md", "docs/openapi.json", "leaderboard/settings/releases.toml")
TODAY = dt.date(2026, 12, 24)
LAST = {"shop": "0007_more", "auth": "0012_alter_user_first_name_max_length"}


def sections(root: Path = PROJECT_ROOT) -> list[str]:
    """The versions in the changelog, newest first."""
    return re.findall(r"^## (\S+)", (root / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)


def test_the_changelog_has_the_same_releases() -> None:
    listed = [each.version for each in reversed(releases())]
    assert [each.lower() for each in sections()[: len(listed)]] == listed


def test_the_documentation_has_the_same_table() -> None:
    rows = [f"| {each.version} | {each.todo} | {each.downtime} | {each.rolling_back} |" for each in releases()]
    text = (PROJECT_ROOT / "docs/operating.md").read_text(encoding="utf-8")
    assert "\n| Release | What to do | Stop | Rolling back |\n|---|---|---|---|\n" + "\n".join(rows) + "\n\n" in text


def test_every_release_ends_with_migrations_that_exist() -> None:
    known = MigrationLoader(None, replace_migrations=False).disk_migrations.keys()
    listed = {leaf for each in releases() for leaf in each.leaves.items()}
    assert listed - known == set()
    assert [each.version for each in releases() if not each.leaves] in ([], [UNRELEASED])


def test_the_version_is_that_of_the_newest_release(monkeypatch: pytest.MonkeyPatch) -> None:
    facts: Any = {"todo": "", "downtime": "", "rolling_back": ""}
    listed = tuple(Release(each, **facts) for each in ("1.9.0", "1.10.0", UNRELEASED))
    for known, expected in ((listed, "1.10.0+unreleased"), (listed[:2], "1.10.0")):
        monkeypatch.setattr(table, "releases", lambda known=known: known)
        assert version() == expected


@pytest.mark.django_db
def test_the_version_is_on_every_page_and_in_the_status(settings: Settings) -> None:
    assert version() == settings.VERSION
    settings.VERSION = "1.10.0"
    assert Client().get("/status.json").json()["version"] == "1.10.0"
    assert "LMR-Board 1.10.0 is free software" in Client().get("/docs/").content.decode()


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """A copy of the files that a release changes."""
    for name in (*CUT, "tests/leaderboard/api/released.json.xz"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(PROJECT_ROOT / name, tmp_path / name)
    text = (tmp_path / "leaderboard/settings/releases.toml").read_text(encoding="utf-8")
    assert text.count('"unreleased"') == 1, "the tests of cutting need something to release"
    return tmp_path


def test_cutting_names_what_is_unreleased_everywhere(copy: Path) -> None:
    assert script.cut("0.10.0", root=copy, last=LAST, today=TODAY) == ""
    assert sections(copy)[:2] == ["0.10.0", "0.9.0"]
    assert "\n## 0.10.0 - 2026-12-24\n" in (copy / "CHANGELOG.md").read_text(encoding="utf-8")
    before, now = (
        tomllib.loads((root / "leaderboard/settings/releases.toml").read_text(encoding="utf-8"))["releases"]
        for root in (PROJECT_ROOT, copy)
    )
    assert now[:-1] == before[:-1]
    assert now[-1] == {**before[-1], "version": "0.10.0", "leaves": LAST}
    operating = (copy / "docs/operating.md").read_text(encoding="utf-8")
    assert (operating.count("\n| 0.10.0 | "), operating.count("\n| unreleased |")) == (1, 0)
    kept = lzma.decompress((copy / "tests/leaderboard/api/released.json.xz").read_bytes())
    assert kept == (PROJECT_ROOT / "docs/openapi.json").read_bytes()


def test_cutting_twice_changes_nothing(copy: Path) -> None:
    script.cut("0.10.0", root=copy, last=LAST, today=TODAY)
    before = {name: (copy / name).read_bytes() for name in CUT}
    expected = "Nothing is unreleased, or more than one thing, in CHANGELOG.md, releases.toml, operating.md."
    assert script.cut("0.11.0", root=copy, last=LAST, today=TODAY) == expected
    assert {name: (copy / name).read_bytes() for name in CUT} == before


@pytest.mark.parametrize("wrong", ["", "0.10", "v0.10.0", "0.10.0-rc1"])
def test_a_version_has_three_numbers(copy: Path, wrong: str) -> None:
    assert script.cut(wrong, root=copy, last=LAST, today=TODAY) == f"{wrong!r} is not a version such as 0.10.0."


def test_the_last_migrations_are_those_of_the_code() -> None:
    last = script.leaves()
    assert last.keys() >= {"auth", "evaluator", "leaderboard", "sessions", "submissions"}
    assert last == dict(sorted(MigrationLoader(None).graph.leaf_nodes()))
