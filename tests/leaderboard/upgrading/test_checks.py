"""What ``upgrade --check`` finds, on the tests' own database."""

from __future__ import annotations

import shutil
from collections import namedtuple
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from django.db import connection
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder
from django.utils import timezone

from evaluator.models import Host
from evaluator.outcomes import Outcome
from leaderboard.doctor.findings import Finding, State, failed, ok, warning
from leaderboard.settings.releases import Release, version
from leaderboard.supervision.data_folder import only_instance
from leaderboard.upgrading import checks
from leaderboard.upgrading.database import Database, UpgradeError, release_named
from leaderboard.upgrading.effects import Effect
from tests.evaluator.factories import TestRunFactory
from tests.migrating import models_at

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from pytest_django import Settings

pytestmark = [pytest.mark.django_db, pytest.mark.both_databases]

STOPPING = ("leaderboard", "0019_answers_in_the_content_store")
PLAIN = ("evaluator", "0018_hosts")
STOP = "Stop it on every host (Ctrl-C, SIGTERM). A host that was killed counts as running for 100 seconds."


@pytest.fixture(autouse=True)
def _own_folder(settings: Settings, tmp_path: Path) -> None:
    settings.DATA_DIR = tmp_path


@pytest.fixture
def ahead(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Let the database lack these migrations only, whichever follow them."""

    def lacks(*missing: tuple[str, str]) -> None:
        nodes = MigrationLoader(None).graph.nodes
        monkeypatch.setattr(Database, "ahead", lambda _: [nodes[each] for each in missing])

    return lacks


def found(name: str) -> list[Finding]:
    return named(name, checks.before_upgrade(Database()))


def going_back(name: str) -> list[Finding]:
    return named(name, checks.before_rollback(Database(), release_named("0.9.0")))


def named(name: str, findings: Iterator[Finding]) -> list[Finding]:
    return [each for each in findings if each.name == name]


def later() -> int:
    return len(Database().after(release_named("0.9.0")))


def test_an_instance_that_is_up_to_date() -> None:
    expected = f"0.9.0 and {later()} later migrations in the database, {version()} in this code"
    assert found("release") == [ok("release", expected)]
    assert found("migration") == found("under way") == found("rolling back") == []
    assert found("running") == [ok("running", "older code may run beside the new one; no instance and no host runs")]


def test_a_database_that_newer_code_has_changed() -> None:
    for number in range(9996, 10_000):
        MigrationRecorder(connection).record_applied("leaderboard", f"{number}_of_the_future")
    (release,) = found("release")
    assert release.state is State.FAILED
    names = ", ".join(f"leaderboard.{number}_of_the_future" for number in range(9996, 9999))
    expected = f"the database is newer than this code, {version()}: 4 unknown migrations, such as {names}"
    assert release.found == expected
    assert release.todo.startswith("Use the newer code.")


def test_older_databases_have_names() -> None:
    MigrationRecorder(connection).record_unapplied(*("sessions", "0001_initial"))
    assert str(Database()) == "older than 0.9.0"
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM django_migrations")
    assert str(Database()) == "empty"


def test_a_migration_beside_which_older_code_may_run(ahead: Callable[..., None]) -> None:
    ahead(PLAIN)
    assert found("migration") == [ok("migration", "evaluator.0018_hosts creates evaluator_host")]
    Host.objects.create(name="same", version=version(), seen=timezone.now())
    beside = "older code may run beside the new one; now running: "
    assert found("running") == [ok("running", f"{beside}the host same ({version()})")]
    Host.objects.create(name="other", version="0.9.0", seen=timezone.now())
    listed = f"{beside}the host other (0.9.0), the host same ({version()})"
    todo = "Upgrade every host, after the site's: git pull, make host."
    assert found("running") == [warning("running", listed, todo)]


@pytest.mark.django_db(transaction=True)
def test_hosts_of_a_database_without_their_version() -> None:
    with models_at("evaluator", "0018_hosts") as apps:
        apps.get_model("evaluator", "Host").objects.create(name="old", seen=timezone.now())
        (running,) = found("running")
        assert running.found.endswith("now running: the host old (an older version)")
        Host.objects.filter(name="old").delete()


def test_a_migration_that_needs_a_stop(ahead: Callable[..., None]) -> None:
    ahead(STOPPING)
    reason = "names files by their content, and 0.9.0 does not find them"
    assert found("migration") == [
        warning("migration", f"{'.'.join(STOPPING)} runs RunPython", f"No older code may run meanwhile: it {reason}.")
    ]
    Host.objects.create(name="silent", seen=timezone.now() - timedelta(seconds=101))
    assert found("running") == [ok("running", "no instance and no host runs")]
    Host.objects.create(name="other", seen=timezone.now())
    assert found("running") == [failed("running", "now running: the host other (an older version)", STOP)]


def test_the_instance_of_this_folder_runs(ahead: Callable[..., None], tmp_path: Path) -> None:
    ahead(STOPPING)
    with only_instance(tmp_path):
        assert found("running") == [failed("running", "now running: this instance", STOP)]


def test_rows_of_tables_that_are_written_again(ahead: Callable[..., None]) -> None:
    ahead(("submissions", "0018_files_in_the_content_store"), STOPPING)
    TestRunFactory()
    (files,) = [each for each in found("migration") if each.found.startswith("submissions.0018")]
    again = " Every row is written again: submissions_upload (0 rows), submissions_submission (1 rows),"
    assert (again in files.found) == (connection.vendor == "sqlite")


def test_a_contract_counts_for_the_release_before_only() -> None:
    done = {
        "shop.0002": [Effect("shop_thing", "drops a", breaks="drops a")],
        "shop.0003": [Effect("shop_a", "creates")],
    }
    facts: Any = {"todo": "", "downtime": "", "rolling_back": ""}
    expand = Release("1.0.0", **facts)
    contract = Release("1.1.0", contracts={"shop.0002": "1.0.0 reads no a"}, **facts)
    assert checks._reasons(done, [contract]) == {}
    assert checks._reasons(done, [expand, contract]) == {"shop.0002": "drops a"}
    assert checks._reasons(done, [Release("1.1.0", stops={"shop.0002": "drops b"}, **facts)]) == {
        "shop.0002": "drops b"
    }


def test_work_that_is_under_way(ahead: Callable[..., None]) -> None:
    ahead(PLAIN)
    assert found("under way") == [ok("under way", "nothing")]
    TestRunFactory(running=True)
    todo = "A stop returns them to the queue, and they start again afterwards."
    assert found("under way") == [warning("under way", "1 test runs", todo)]


def test_space_for_copies_of_files_and_tables(
    ahead: Callable[..., None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ahead(STOPPING)
    (tmp_path / "media/a").mkdir(parents=True)
    (tmp_path / "media/a/b").write_bytes(bytes(3000))
    usage = namedtuple("usage", "free")
    for free, state in ((3000, State.OK), (2999, State.FAILED)):
        monkeypatch.setattr(shutil, "disk_usage", lambda _, free=free: usage(free))
        (space,) = found("space")
        assert (space.state, space.found) == (state, f"2.9 KB free at {tmp_path}, 2.9 KB needed for copies")


def test_the_way_back(ahead: Callable[..., None]) -> None:
    ahead(STOPPING)
    todo = "manage.py upgrade --to 0.9.0 with this code; it drops what the migrations add."
    assert found("rolling back") == [Finding("rolling back", State.OK, "possible to 0.9.0", todo)]
    final = {"shop.0002": [Effect("", "runs RunPython", reversible=False)]}
    backup = "Make a backup before you upgrade: it is the only way back."
    assert checks._way_back(release_named("0.9.0"), final) == warning(
        "rolling back", "not possible: shop.0002 cannot be undone", backup
    )
    assert checks._way_back(None, {}) == warning(
        "rolling back", "not possible: the database is older than 0.9.0, the oldest known release", backup
    )


def test_what_a_rollback_undoes() -> None:
    listed = going_back("migration")
    assert len(listed) == later()
    assert ok("migration", "evaluator.0018_hosts is undone: drops the table evaluator_host") in listed
    assert {each.state for each in listed} == {State.OK}
    assert going_back("running") == [ok("running", "no instance and no host runs")]
    Host.objects.create(name="other", seen=timezone.now())
    assert going_back("running") == [failed("running", "now running: the host other (an older version)", STOP)]


def test_values_that_the_older_code_does_not_know() -> None:
    TestRunFactory(done=Outcome.TEST_LACKS)
    TestRunFactory(done=Outcome.PASSED)
    assert [each for each in going_back("migration") if each.state is State.WARNING] == [
        warning(
            "migration",
            "evaluator.0017_outcome_test_lacks is undone. "
            "It leaves 1 rows of evaluator_testrun with the outcome test_lacks",
            "The older code does not know these values, and pages that show them may fail.",
        )
    ]


def test_a_migration_that_cannot_be_undone_forbids_the_rollback() -> None:
    undone = checks._undone("shop.0002", [Effect("", "runs RunPython", reversible=False)])
    todo = "Restore the backup that was made before the upgrade (docs/operating.md, “Rolling back”)."
    assert undone == failed("migration", "shop.0002 cannot be undone", todo)


def test_an_older_database_has_nothing_to_roll_back() -> None:
    MigrationRecorder(connection).record_unapplied(*("evaluator", "0016_trajectories_know_their_reader"))
    MigrationRecorder(connection).record_unapplied(*("evaluator", "0001_squashed_0016_trajectories_know_their_reader"))
    with pytest.raises(UpgradeError, match="there is nothing to roll back"):
        Database().after(release_named("0.9.0"))


def test_unknown_releases() -> None:
    with pytest.raises(UpgradeError, match=r"^0\.9 is not a release that this code knows\. It knows 0\.9\.0"):
        release_named("0.9")
    with pytest.raises(UpgradeError, match="unreleased is not a release"):
        release_named("unreleased")
