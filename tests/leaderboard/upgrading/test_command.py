"""``manage.py upgrade`` as an operator runs it; tests/upgrade runs it on an older database."""

from __future__ import annotations

import io
import shutil
from typing import TYPE_CHECKING, Any

import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder

from leaderboard.management.commands import upgrade
from leaderboard.upgrading.database import Database, release_named
from tests.instances import Instance

if TYPE_CHECKING:
    from pathlib import Path

    from pytest_django import Settings


@pytest.fixture
def set_up(monkeypatch: pytest.MonkeyPatch, settings: Settings, tmp_path: Path) -> list[Any]:
    """The calls of the set-up, which is not run."""
    settings.DATA_DIR = tmp_path
    calls: list[Any] = []
    monkeypatch.setattr(upgrade, "call_command", lambda *names, **options: calls.append((names, options)))
    return calls


def printed(**options: Any) -> str:
    out = io.StringIO()
    call_command("upgrade", stdout=out, **options)
    return out.getvalue()


@pytest.mark.django_db
class TestUpgrading:
    def test_after_the_check_it_sets_the_instance_up(self, set_up: list[Any]) -> None:
        assert printed(no_audit=True).startswith("ok       release       0.9.0 and ")
        assert set_up == [(("setup",), {"no_audit": True, "verbosity": 1})]

    def test_the_check_alone_changes_nothing(self, set_up: list[Any], tmp_path: Path) -> None:
        last = MigrationLoader(None).graph.leaf_nodes("evaluator")
        MigrationRecorder(connection).record_unapplied(*last[0])
        assert f" migration     evaluator.{last[0][1]} " in printed(check=True)
        assert set_up == []
        assert len(Database().ahead()) == 1

    @pytest.mark.parametrize("check", [True, False])
    def test_a_failure_forbids_it(self, set_up: list[Any], check: bool) -> None:
        MigrationRecorder(connection).record_applied("leaderboard", "9999_of_the_future")
        with pytest.raises(CommandError, match=r"^Nothing was changed: see the lines with FAILED\.$"):
            printed(check=check)
        assert set_up == []

    def test_a_rollback_needs_a_yes(self, set_up: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("builtins.input", lambda _: "y")
        with pytest.raises(CommandError, match=r"^Nothing was changed\.$"):
            printed(to="0.9.0")
        assert Database().after(release_named("0.9.0"))


@pytest.fixture
def instance(prepared: Path, tmp_path: Path) -> Instance:
    made = Instance(tmp_path)
    shutil.copytree(prepared, made.data)
    return made


def test_a_rollback_at_the_command_line(instance: Instance) -> None:
    checked = instance.printed("upgrade", "--check", "--to", "0.9.0").splitlines()
    done = instance.printed("upgrade", "--to", "0.9.0", "--yes").splitlines()
    assert done[: len(checked)] == checked
    assert done[-1] == "The database is that of 0.9.0. Start the code of 0.9.0 now, not this one."
    assert instance.printed("upgrade", "--check", "--to", "0.9.0").splitlines() == [
        "ok       release       0.9.0 in the database, to be rolled back to 0.9.0"
    ]
    # The running site would find no columns.
    again = instance.printed("upgrade", "--check").splitlines()
    assert again[0].startswith("ok       release       0.9.0 in the database, ")


def test_there_is_no_database(tmp_path: Path) -> None:
    instance = Instance(tmp_path)
    missing = instance.data / "db.sqlite3"
    assert instance.printed("upgrade", "--check") == f"There is no database {missing} yet: nothing to upgrade.\n"
    refused = instance.manage("upgrade", "--to", "0.9.0")
    assert (refused.returncode, refused.stderr) == (1, f"CommandError: There is no database {missing}.\n")
    assert not missing.exists()


def test_an_unknown_release(instance: Instance) -> None:
    refused = instance.manage("upgrade", "--to", "1.0")
    expected = "CommandError: 1.0 is not a release that this code knows. It knows 0.9.0.\n"
    assert (refused.returncode, refused.stderr) == (1, expected)
