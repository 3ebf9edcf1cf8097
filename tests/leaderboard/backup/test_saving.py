"""A backup and its restoration: equal rows, equal files, equal boards, on either database."""

from __future__ import annotations

import gzip
import io
import json
import re
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest
from django.apps import apps
from django.core.files.base import ContentFile
from django.core.management import call_command
from django.db import connection
from django.db.migrations.recorder import MigrationRecorder

from benchmark_tasks.domain import content
from benchmark_tasks.domain.content import file_path, put_file, put_tree, tree_files
from benchmark_tasks.models import Suite, TaskRevision
from evaluator.models import ModelCall, ShownJudge
from leaderboard.backup.archive import BackupError, Reader, Writer
from leaderboard.backup.saving import Summary, check, restore, save
from submissions.models import Submission, User
from tests.benchmark_tasks.factories import SuiteVersionFactory, TaskRevisionFactory
from tests.instances import Instance
from tests.submissions.factories import SubmissionFactory
from tests.upgrade.test_upgrade import another_database, load_version_0_9, recorded, shown, without_later_fields

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pytest_django import Settings

pytestmark = pytest.mark.django_db(transaction=True)
both = pytest.mark.both_databases


@pytest.fixture
def old(transactional_db: None, settings: Settings, tmp_path: Path) -> Iterator[None]:
    """An instance that version 0.9 made and nothing has migrated yet, in a database of its own."""
    settings.DATA_DIR = tmp_path / "old"
    with another_database(tmp_path):
        load_version_0_9()
        yield


@pytest.fixture
def filled(old: None) -> None:
    """The same, migrated: rows in nearly every table."""
    call_command("migrate", interactive=False, verbosity=0)


def saved() -> tuple[bytes, Summary]:
    stream = io.BytesIO()
    summary = save(stream)
    return stream.getvalue(), summary


MADE_BY_DJANGO = ("auth.Permission", "contenttypes.ContentType")
"""Tables to which migrating adds rows in an instance, but not in the tests."""


def stored_rows(archive: bytes) -> dict[str, list[dict[str, Any]]]:
    """Return the rows of each table, as values by field."""
    found: dict[str, list[dict[str, Any]]] = {}
    for member in Reader(io.BytesIO(archive)):
        if member.name.startswith("rows/") and member.name.split("/")[1] not in MADE_BY_DJANGO:
            names, *values = map(json.loads, gzip.decompress(b"".join(member.pieces())).splitlines())
            found.setdefault(member.name.split("/")[1], []).extend(dict(zip(names, row, strict=True)) for row in values)
    return found


def files_in(archive: bytes) -> list[str]:
    names = [each.name for each in Reader(io.BytesIO(archive))]
    return [name.removeprefix("content/") for name in names if name.startswith("content/")]


def restored(archive: bytes) -> Summary:
    return restore(io.BytesIO(archive))


@contextmanager
def another_instance(settings: Settings, folder: Path) -> Iterator[None]:
    """Continue with an empty database and an empty content store."""
    folder.mkdir()
    settings.DATA_DIR = folder
    with another_database(folder):
        yield


@both
def test_rows_files_and_boards_are_restored_to_the_digit(filled: None, settings: Settings, tmp_path: Path) -> None:
    archive, summary = saved()
    assert summary.files == 2
    assert sum(summary.counts.values()) == 1983
    before = shown()
    with another_instance(settings, tmp_path / "new"):
        assert restored(archive) == Summary(summary.made, {k: v for k, v in summary.counts.items() if v}, 2)
        assert shown() == before == recorded()
        again, _ = saved()
        assert stored_rows(again) == stored_rows(archive)
        assert files_in(again) == files_in(archive)


def test_every_table_is_in_a_backup(db: None) -> None:
    _, summary = saved()
    labels = {model._meta.label for model in apps.get_models(include_auto_created=True) if model._meta.managed}
    assert set(summary.counts) == labels - {"sessions.Session"}


def test_a_backup_from_before_an_upgrade_is_restored_and_upgraded(
    old: None, settings: Settings, tmp_path: Path
) -> None:
    archive, _ = saved()
    with another_instance(settings, tmp_path / "new"):
        restored(archive)
        assert shown() == recorded()


@both
def test_new_rows_get_numbers_after_the_restored_ones(filled: None, settings: Settings, tmp_path: Path) -> None:
    archive, _ = saved()
    newest = Submission.objects.latest("pk").pk
    with another_instance(settings, tmp_path / "new"):
        restored(archive)
        owner = User.objects.earliest("pk")
        assert SubmissionFactory(owner=owner).pk == newest + 1


def test_times_are_the_stored_ones(filled: None, settings: Settings, tmp_path: Path) -> None:
    """Of fields that hold the time of storing, too, and to the microsecond."""
    before = dict(ModelCall.objects.values_list("pk", "started"))
    changed = dict(ShownJudge.objects.values_list("pk", "changed"))
    assert any(time.microsecond % 1000 for time in before.values())
    archive, _ = saved()
    with another_instance(settings, tmp_path / "new"):
        restored(archive)
        assert dict(ModelCall.objects.values_list("pk", "started")) == before
        assert dict(ShownJudge.objects.values_list("pk", "changed")) == changed


@pytest.fixture
def small(transactional_db: None, settings: Settings, tmp_path: Path) -> TaskRevision:
    """An instance with a task, its files and a submission."""
    settings.DATA_DIR = tmp_path / "data"
    revision: TaskRevision = TaskRevisionFactory(
        repository_hash=put_tree({"a.py": b"a", "folder/b.py": b"b"}), paper_hash=put_file(b"paper"), grading_hash=""
    )
    made = SubmissionFactory(suite_version=SuiteVersionFactory(suite=revision.task.suite))
    made.bundle.save("x", ContentFile(b"bundle"))
    return revision


@both
def test_stored_files_come_back_with_their_names(small: TaskRevision, settings: Settings, tmp_path: Path) -> None:
    archive, summary = saved()
    assert summary.missing == []
    bundle = str(Submission.objects.get().bundle)
    assert files_in(archive) == [f"files/{name}" for name in sorted([bundle, small.paper_hash])] + [
        f"trees/{small.repository_hash}"
    ]
    with another_instance(settings, tmp_path / "new"):
        assert restored(archive).files == 3
        assert file_path(bundle).read_bytes() == b"bundle"
        assert file_path(small.paper_hash).read_bytes() == b"paper"
        files = tree_files(small.repository_hash)
        assert {name: path.read_bytes() for name, path in files.items()} == {"a.py": b"a", "folder/b.py": b"b"}
        assert not files["a.py"].stat().st_mode & 0o222


@pytest.mark.parametrize("how", ["missing", "damaged"])
def test_files_that_the_store_lacks_are_listed(
    small: TaskRevision, settings: Settings, tmp_path: Path, how: str
) -> None:
    if how == "missing":
        content.remove("files", small.paper_hash)
    else:
        file_path(small.paper_hash).chmod(0o600)
        file_path(small.paper_hash).write_bytes(b"rotten")
    archive, summary = saved()
    lacking = [f"files/{small.paper_hash}"]
    assert (summary.files, summary.missing) == (2, lacking)
    assert check(io.BytesIO(archive)).missing == lacking
    with another_instance(settings, tmp_path / "new"):
        assert restored(archive).files == 2


def test_files_are_left_out_where_the_bucket_has_its_own_copies(small: TaskRevision) -> None:
    stream = io.BytesIO()
    assert save(stream, files=False).files == 0
    assert files_in(stream.getvalue()) == []
    assert check(io.BytesIO(stream.getvalue())).missing == []


class Interrupted(io.BytesIO):
    """A stream during whose first write, which follows the first rows, another connection stores a suite."""

    def __init__(self) -> None:
        super().__init__()
        self.wrote = False

    def write(self, data: Any) -> int:
        if b"rows/" in bytes(data) and not self.wrote:
            self.wrote = True
            other = threading.Thread(target=self.store)
            other.start()
            other.join(timeout=10)
            assert not other.is_alive(), "the backup keeps writers out"
        return super().write(data)

    @staticmethod
    def store() -> None:
        Suite.objects.create(slug="later", title="Later")
        connection.close()


@both
def test_a_backup_is_of_one_moment_and_holds_up_no_writer(small: TaskRevision) -> None:
    stream = Interrupted()
    save(stream)
    assert stream.wrote
    assert Suite.objects.filter(slug="later").exists()
    titles = [row["slug"] for row in stored_rows(stream.getvalue())["benchmark_tasks.Suite"]]
    assert titles == [small.task.suite.slug]


@both
def test_a_damaged_backup_restores_nothing(small: TaskRevision, settings: Settings, tmp_path: Path) -> None:
    archive, _ = saved()
    with another_instance(settings, tmp_path / "new"):
        for damaged in (
            archive[: len(archive) // 2],
            with_member(archive, "rows/submissions.User/000000.jsonl.gz", b""),
        ):
            with pytest.raises(BackupError):
                restored(damaged)
            assert (User.objects.count(), Suite.objects.count()) == (0, 0)
        assert restored(archive).counts["submissions.User"] == 1


@both
def test_an_instance_with_rows_is_left_alone(small: TaskRevision) -> None:
    archive, _ = saved()
    suites = list(Suite.objects.values_list("slug", flat=True))
    with pytest.raises(BackupError, match="has accounts, and a backup is restored into an empty one only"):
        restored(archive)
    User.objects.filter(submissions=None).delete()
    assert list(Suite.objects.values_list("slug", flat=True)) == suites


def with_member(archive: bytes, name: str, content: bytes) -> bytes:
    """Return the archive, whole, with other content of one member."""
    reader, stream = Reader(io.BytesIO(archive)), io.BytesIO()
    writer = Writer(stream, modified=1.0)
    writer.add("backup.json", content if name == "backup.json" else json.dumps(reader.head).encode())
    for member in reader:
        kept = b"".join(member.pieces())
        writer.add(member.name, content if member.name == name else kept)
    if name.startswith("new/"):
        writer.add(name, content)
    writer.end()
    return stream.getvalue()


HEAD = {"format": 1, "made": "today"}


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("backup.json", HEAD, "its first part names no migrations"),
        ("backup.json", HEAD | {"migrations": [["submissions", "9999_later"]]}, "A newer version of LMR-Board made"),
        ("new/part", b"", "an unknown part, 'new/part'"),
        ("rows/benchmark_tasks.Suite/000000.jsonl.gz", gzip.compress(b"[]\n{}", mtime=0), "not lists of equal length"),
        ("rows/benchmark_tasks.Suite/000000.jsonl.gz", b"no gzip", "Rows in the backup are damaged"),
        ("rows/benchmark_tasks.Suite/000000.jsonl.gz", gzip.compress(b"[]\n[1]", mtime=0), "not lists of equal length"),
        ("content/files/PAPER", b"other", "damaged"),
        ("content/trees/TREE", b"other", "damaged"),
    ],
)
def test_what_is_damaged_before_it_was_summed_is_noticed(
    small: TaskRevision, settings: Settings, tmp_path: Path, name: str, content: Any, message: str
) -> None:
    archive, _ = saved()
    name = name.replace("PAPER", small.paper_hash).replace("TREE", small.repository_hash)
    damaged = with_member(archive, name, content if isinstance(content, bytes) else json.dumps(content).encode())
    with pytest.raises(BackupError, match=message):
        check(io.BytesIO(damaged))
    with another_instance(settings, tmp_path / "new"), pytest.raises(BackupError, match=message):
        restored(damaged)


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ('["id", "slug"]\n[1, "a"]', "benchmark_tasks.Suite has other fields than the backup"),
        (None, "Rows of benchmark_tasks.Suite in the backup are damaged: “x” value must be an integer"),
    ],
)
def test_rows_that_do_not_fit_their_table_are_refused(
    small: TaskRevision, settings: Settings, tmp_path: Path, lines: str | None, message: str
) -> None:
    archive, _ = saved()
    name = "rows/benchmark_tasks.Suite/000000.jsonl.gz"
    if lines is None:
        (row,) = stored_rows(archive)["benchmark_tasks.Suite"]
        lines = f"{json.dumps(list(row))}\n{json.dumps(list((row | {'id': 'x'}).values()))}"
    damaged = with_member(archive, name, gzip.compress(lines.encode()))
    with pytest.raises(BackupError, match=re.escape(message)):
        check(io.BytesIO(damaged))
    with another_instance(settings, tmp_path / "new"), pytest.raises(BackupError, match=re.escape(message)):
        restored(damaged)


def test_rows_of_a_model_that_its_migrations_lack_are_refused(small: TaskRevision) -> None:
    archive, _ = saved()
    damaged = with_member(archive, "new/x", b"").replace(b"new/x\0", b"rows/x", 1)
    for read in (check, restore):
        with pytest.raises(BackupError):
            read(io.BytesIO(damaged))


@both
def test_rows_that_refer_to_none_are_refused(small: TaskRevision, settings: Settings, tmp_path: Path) -> None:
    archive, _ = saved()
    fields = json.dumps(list(stored_rows(archive)["submissions.User"][0]))
    damaged = with_member(archive, "rows/submissions.User/000000.jsonl.gz", gzip.compress(f"{fields}\n".encode()))
    with another_instance(settings, tmp_path / "new"):
        with pytest.raises(BackupError, match="The backup lacks rows that others refer to"):
            restored(damaged)
        assert Submission.objects.count() == 0


@both
def test_numbers_of_deleted_rows_are_not_given_again(small: TaskRevision, settings: Settings, tmp_path: Path) -> None:
    """Audit events name rows by number, and would be those of the new row."""
    deleted = Suite.objects.create(slug="deleted", title="Deleted")
    number = deleted.pk
    deleted.delete()
    archive, _ = saved()
    with another_instance(settings, tmp_path / "new"):
        restored(archive)
        assert Suite.objects.create(slug="next", title="Next").pk == number + 1


def test_a_database_of_a_newer_version_is_not_saved(small: TaskRevision) -> None:
    MigrationRecorder(connection).record_applied("submissions", "9999_later")
    try:
        with pytest.raises(BackupError, match=r"A newer version .* changed this database \(submissions.9999_later\)"):
            save(io.BytesIO())
    finally:
        MigrationRecorder(connection).record_unapplied("submissions", "9999_later")


@pytest.mark.postgres
def test_an_instance_moves_to_postgresql_and_back(filled: None, settings: Settings, tmp_path: Path) -> None:
    """SQLite instances are separate processes; this one is on PostgreSQL."""
    first, _ = saved()
    before = shown()
    instance = Instance(tmp_path / "sqlite", EVALUATOR_SANDBOX="docker", DOCKER_HOST="unix:///nowhere")
    instance.data.mkdir(parents=True)
    (tmp_path / "first.tar").write_bytes(first)
    assert "Restored 1,983 rows" in instance.printed("restore", str(tmp_path / "first.tar"))
    printed = instance.python("-c", SHOWN)
    assert printed.returncode == 0, printed.stderr
    assert without_later_fields(json.loads(printed.stdout)) == before
    instance.manage("backup", str(tmp_path / "second.tar"))  # ends with 1, since the recorded instance lacks files
    second = (tmp_path / "second.tar").read_bytes()
    with another_instance(settings, tmp_path / "new"):
        restored(second)
        assert shown() == before
        third, _ = saved()
    assert stored_rows(first) == stored_rows(second) == stored_rows(third)
    assert files_in(first) == files_in(second) == files_in(third)


SHOWN = """
import django, json
django.setup()
from django.test import Client
from tests.upgrade.record import answers
print(json.dumps(answers(Client(headers={"host": "localhost"}))))
"""
