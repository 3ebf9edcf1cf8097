"""``manage.py backup`` and ``manage.py restore``, as an operator runs them."""

from __future__ import annotations

import io
import os
import re
import signal
import subprocess
import sys
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
import time_machine
from django.core.management import CommandError, call_command

from benchmark_tasks.domain import content
from benchmark_tasks.domain.bucket import bucket_at
from leaderboard.backup import places
from leaderboard.backup.archive import missing_at
from submissions.domain import endpoint_keys
from tests.bucket import made_bucket, proxy_before
from tests.conftest import PROJECT_ROOT
from tests.instances import Instance
from tests.submissions.endpoints.factories import EndpointFactory
from tests.submissions.factories import SubmissionFactory

if TYPE_CHECKING:
    from pathlib import Path

    from pytest_django import Settings

pytestmark = pytest.mark.django_db(transaction=True)
NIGHTS = [f"2026-03-{day:02} 02:00:00+00:00" for day in range(1, 5)]


@pytest.fixture(autouse=True)
def _own_folder(settings: Settings, tmp_path: Path) -> None:
    settings.DATA_DIR = tmp_path / "data"


@pytest.fixture
def kept(settings: Settings, tmp_path: Path) -> Path:
    """The folder that BACKUPS names; two are kept."""
    folder = tmp_path / "backups"
    settings.ENVIRONMENT = replace(settings.ENVIRONMENT, backups=folder, backups_keep=2)
    return folder


@pytest.fixture
def kept_in_bucket(s3_place: str, settings: Settings) -> str:
    """The bucket that BACKUPS names."""
    url = made_bucket(s3_place, "/nightly")
    settings.ENVIRONMENT = replace(settings.ENVIRONMENT, backups=url, backups_keep=2)
    return url


def printed(*arguments: str) -> tuple[str, str]:
    out, err = io.StringIO(), io.StringIO()
    call_command(*arguments, stdout=out, stderr=err)
    return out.getvalue(), err.getvalue()


class TestToAFile:
    """``backup FILE``."""

    def test_it_is_written_for_this_user_alone(self, tmp_path: Path) -> None:
        SubmissionFactory()
        file = tmp_path / "new folder" / "b.tar"
        out, err = printed("backup", str(file))
        assert re.fullmatch(rf"{file}: \d+ rows of \d+ tables and 0 stored files, of \S+\+00:00\.\n", out)
        assert (err, file.stat().st_mode & 0o777) == ("", 0o600)
        assert [each.name for each in file.parent.iterdir()] == ["b.tar"]
        assert printed("restore", str(file), "--check")[0].startswith("The backup is whole: ")

    def test_an_existing_file_is_kept(self, tmp_path: Path) -> None:
        file = tmp_path / "b.tar"
        file.write_text("mine")
        with pytest.raises(CommandError, match=r"b.tar exists. Name a new file."):
            printed("backup", str(file))
        assert file.read_text() == "mine"

    def test_an_interrupted_backup_leaves_no_file(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        def refuse(*_: Any) -> None:
            raise OSError(28, "No space left on device")

        monkeypatch.setattr("leaderboard.backup.archive._Counted.write", refuse)
        with pytest.raises(CommandError, match=r"No backup was made: .*No space left on device"):
            printed("backup", str(tmp_path / "b.tar"))
        assert list(tmp_path.iterdir()) == []

    def test_missing_files_are_named(self, tmp_path: Path) -> None:
        found = content.put_file(b"bundle")
        SubmissionFactory(bundle=found)
        content.remove("files", found)
        lacking = rf"it lacks them \(manage.py storage --verify\):\n  files/{found}"
        with pytest.raises(CommandError, match=f"The backup was made, but .*{lacking}"):
            printed("backup", str(tmp_path / "b.tar"))
        with pytest.raises(CommandError, match=rf"can be restored .* lacks these stored files:\n  files/{found}"):
            printed("restore", str(tmp_path / "b.tar"), "--check")


def test_keys_are_apart_and_only_on_request(settings: Settings, tmp_path: Path) -> None:
    keys = tmp_path / "keys"
    printed("backup", str(tmp_path / "a.tar"), "--keys", str(keys))
    lines = endpoint_keys.lines_for_env()
    assert keys.read_text() == "\n".join([*lines, ""])
    assert keys.stat().st_mode & 0o777 == 0o600
    for secret in (line.partition("=")[2] for line in lines):
        assert secret.encode() not in (tmp_path / "a.tar").read_bytes()
    with pytest.raises(CommandError, match=r"keys exists. Name a new file for the keys."):
        printed("backup", str(tmp_path / "b.tar"), "--keys", str(keys))
    assert not (tmp_path / "b.tar").exists()


class TestInAFolder:
    """Without FILE, in the folder of BACKUPS."""

    def test_the_newest_are_kept(self, kept: Path) -> None:
        removed = []
        for night in NIGHTS:
            with time_machine.travel(night, tick=False):
                removed += re.findall(r"Removed (\S+): BACKUPS_KEEP=2", printed("backup")[0])
        assert removed == ["lmr-board-20260301T020000Z.tar", "lmr-board-20260302T020000Z.tar"]
        assert sorted(each.name for each in kept.iterdir()) == [
            "lmr-board-20260303T020000Z.tar",
            "lmr-board-20260304T020000Z.tar",
        ]

    def test_other_files_there_are_never_removed(self, kept: Path) -> None:
        kept.mkdir()
        others = ["lmr-board-20269999T999999Z.tar", "notes.txt", "lmr-board-20250101T000000Z.tar.gpg"]
        for name in others:
            (kept / name).touch()
        for night in NIGHTS[:3]:
            with time_machine.travel(night, tick=False):
                printed("backup")
        assert {each.name for each in kept.iterdir()} >= set(others)
        assert len(list(kept.iterdir())) == 5

    def test_incomplete_ones_push_out_no_whole_one(self, kept: Path) -> None:
        for night in NIGHTS[:2]:
            with time_machine.travel(night, tick=False):
                printed("backup")
        first, second = sorted(kept.iterdir())
        second.write_bytes(second.read_bytes()[:2000])
        with time_machine.travel(NIGHTS[2], tick=False):
            printed("backup")
        assert first.exists()
        listed = printed("backup", "--list")[0].splitlines()
        assert [line.endswith("INCOMPLETE") for line in listed] == [False, True, False, False]
        assert listed[0].startswith("lmr-board-20260303T020000Z.tar  2026-03-03 02:00 UTC")
        assert listed[-1] == f"3 in {kept}"

    def test_those_that_lack_files_push_out_no_whole_one(self, kept: Path) -> None:
        found = content.put_file(b"bundle")
        SubmissionFactory(bundle=found)
        for night in NIGHTS:
            if night == NIGHTS[1]:
                content.remove("files", found)
            with time_machine.travel(night, tick=False), suppress(CommandError):
                printed("backup")
        listed = printed("backup", "--list")[0].splitlines()
        assert [(line[:18], line.endswith("LACKS 1 FILES")) for line in listed[:-1]] == [
            ("lmr-board-20260304", True),
            ("lmr-board-20260303", True),
            ("lmr-board-20260301", False),
        ]

    def test_what_killed_processes_left_goes_after_a_day(self, kept: Path) -> None:
        kept.mkdir()
        for name in (".lmr-board-20260301T020000Z.tar.part", ".lmr-board-20260302T020000Z.tar.part"):
            (kept / name).touch()
        os.utime(kept / ".lmr-board-20260301T020000Z.tar.part", (1, 1))
        printed("backup")
        assert [each.name for each in kept.glob(".*")] == [".lmr-board-20260302T020000Z.tar.part"]

    def test_the_newest_is_checked_by_that_name(self, kept: Path) -> None:
        for night in NIGHTS[:2]:
            with time_machine.travel(night, tick=False):
                printed("backup")
        assert f"of {NIGHTS[1].replace(' ', 'T')}." in printed("restore", "newest", "--check")[0]
        assert (
            f"of {NIGHTS[0].replace(' ', 'T')}." in printed("restore", "lmr-board-20260301T020000Z.tar", "--check")[0]
        )
        with pytest.raises(CommandError, match=rf"There is no file other, and no backup of this name in {kept}"):
            printed("restore", "other", "--check")


class TestInABucket:
    """Without FILE, in the bucket of BACKUPS."""

    def test_backups_are_sent_kept_and_read_there(self, kept_in_bucket: str) -> None:
        bundle = content.put_file(b"\0" * 1_000_000)
        SubmissionFactory(bundle=bundle)
        for night in NIGHTS[:3]:
            with time_machine.travel(night, tick=False):
                printed("backup")
        names = [each.name for each in places.kept(places.InBucket(bucket_at(kept_in_bucket)))]
        assert names == ["lmr-board-20260303T020000Z.tar", "lmr-board-20260302T020000Z.tar"]
        assert "and 1 stored files" in printed("restore", "newest", "--check")[0]
        assert "secret" not in printed("backup", "--list")[0]

    def test_an_interrupted_backup_leaves_no_object(self, kept_in_bucket: str, monkeypatch: pytest.MonkeyPatch) -> None:
        def refuse(*_: Any, **__: Any) -> None:
            raise OSError(5, "Input/output error")

        monkeypatch.setattr(content, "packed", refuse)
        SubmissionFactory(bundle=content.put_file(b"bundle"))
        with pytest.raises(CommandError, match=r"No backup was made: .*Input/output error"):
            printed("backup")
        assert list(bucket_at(kept_in_bucket).listed()) == []

    def test_a_bucket_that_fails_is_named(self, s3_place: str, settings: Settings) -> None:
        with proxy_before(s3_place) as proxy:
            url = made_bucket(s3_place).replace(s3_place, proxy.place)
            settings.ENVIRONMENT = replace(settings.ENVIRONMENT, backups=url)
            proxy.failures = [("PUT", "refused")] * 9
            with pytest.raises(CommandError, match=r"No backup was made: The storage at .* could not store lmr-board-"):
                printed("backup")


def test_without_a_place_the_setting_is_named() -> None:
    for arguments in ((), ("--list",)):
        with pytest.raises(CommandError, match="Name a file, or a folder or bucket for all backups in BACKUPS"):
            printed("backup", *arguments)
    with pytest.raises(CommandError, match="no backup of this name since BACKUPS is not set"):
        printed("restore", "newest")


def test_a_new_instance_is_restored_from_standard_input(tmp_path: Path) -> None:
    """From one process into another, as over ssh; only then does it have an account."""
    SubmissionFactory(owner__username="ada")
    archive = tmp_path / "b.tar"
    printed("backup", str(archive))
    new = Instance(tmp_path / "new")
    command = [sys.executable, "manage.py", "restore", "-"]
    with archive.open("rb") as file:
        ended = subprocess.run(
            command, cwd=PROJECT_ROOT, env=new.environment, stdin=file, capture_output=True, text=True, check=False
        )
    assert (ended.returncode, ended.stderr) == (0, "")
    assert re.match(r"Restored \d+ rows of \d+ tables and 0 stored files", ended.stdout)
    assert "ada" in new.printed("shell", "-v0", "-c", "from submissions.models import User; print(User.objects.all())")
    again = new.manage("restore", str(archive))
    assert again.returncode == 1
    assert again.stderr.startswith("CommandError: The database of this instance has accounts")
    out = subprocess.run(
        [sys.executable, "manage.py", "backup", "-"],
        cwd=PROJECT_ROOT,
        env=new.environment,
        capture_output=True,
        check=False,
    )
    assert (out.returncode, out.stderr.startswith(b"Saved ")) == (0, True)
    assert missing_at(out.stdout) == 0


def test_a_stopped_backup_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As a service manager stops it."""
    monkeypatch.setattr("leaderboard.backup.archive._Counted.write", lambda *_: os.kill(os.getpid(), signal.SIGTERM))
    before = signal.getsignal(signal.SIGTERM)
    try:
        with pytest.raises(CommandError, match=r"No backup was made: it was interrupted\."):
            printed("backup", str(tmp_path / "b.tar"))
    finally:
        signal.signal(signal.SIGTERM, before)
    assert list(tmp_path.iterdir()) == []


def test_keys_that_another_secret_sealed_are_named(tmp_path: Path, settings: Settings) -> None:
    """Restored without the old instance's ENDPOINT_KEYS."""
    endpoint = EndpointFactory(name="my-model", owner__username="ada")
    endpoint.sealed_key = endpoint_keys.sealed_for(endpoint, "sk-secret")
    endpoint.save()
    archive = tmp_path / "b.tar"
    printed("backup", str(archive))
    new = Instance(tmp_path / "new")
    ended = new.manage("restore", str(archive))
    assert ended.returncode == 0
    assert "The key of endpoint my-model" in ended.stderr
    assert "put the old instance's ENDPOINT_KEYS into .env" in ended.stderr
