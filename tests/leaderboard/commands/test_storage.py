"""``manage.py storage`` and ``manage.py move_storage``."""

from __future__ import annotations

import io
import re
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from django.core.cache import cache
from django.core.files.base import ContentFile
from django.core.management import CommandError, call_command

from benchmark_tasks.domain import content, garbage
from benchmark_tasks.domain.bucket import bucket, bucket_at
from benchmark_tasks.domain.content import put_file, put_tree
from benchmark_tasks.models import SeedEpoch
from tests.benchmark_tasks.factories import SuiteFactory
from tests.bucket import made_bucket, proxy_before
from tests.submissions.factories import SubmissionFactory

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pytest_django import Settings

    from submissions.models import Submission

NO_ADDRESS = "--to: not a bucket's address such as s3://key:secret@s3.example.org/bucket, or local"
pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _own_folder(settings: Settings, tmp_path: Path) -> Iterator[None]:
    settings.DATA_DIR = tmp_path / "data"
    yield
    cache.clear()


def use(settings: Settings, url: str) -> None:
    """Continue with ``STORAGE_URL`` set to ``url``, on a host without a cache."""
    settings.ENVIRONMENT = replace(settings.ENVIRONMENT, storage_url=url)


def printed(*arguments: str) -> str:
    out = io.StringIO()
    call_command(*arguments, stdout=out)
    return out.getvalue()


def submission(text: bytes) -> Submission:
    made: Submission = SubmissionFactory()
    made.bundle.save("x", ContentFile(text))
    return made


def rows(text: str) -> dict[str, tuple[str, str]]:
    found = re.findall(r"^  (\S.*?) +(\d+) +(\S+ \S+)$", text, re.MULTILINE)
    return {name: (count, size) for name, count, size in found}


class TestStorage:
    """What is kept, and whether it is whole."""

    @pytest.fixture(params=["local", "bucket"])
    def _where(self, request: pytest.FixtureRequest) -> None:
        if request.param == "bucket":
            request.getfixturevalue("storage_url")

    @pytest.mark.usefixtures("_where")
    def test_kept_files_are_counted_by_what_names_them(self) -> None:
        submission(b"12345")
        submission(b"1234567")
        put_file(b"123")
        text = printed("storage")
        assert rows(text) == {"Submission.bundle": ("2", "12 bytes"), "named by no row": ("1", "3 bytes")}
        assert "digests" not in text
        assert "Files that have their digests: 2" in printed("storage", "--verify")

    def test_a_store_of_another_instance_is_named(self) -> None:
        epoch = SeedEpoch.objects.create(suite=SuiteFactory(), number=1)
        garbage.require_own_store()
        SeedEpoch.objects.filter(pk=epoch.pk).update(key="another instance")
        errors = io.StringIO()
        call_command("storage", stdout=io.StringIO(), stderr=errors)
        assert errors.getvalue().startswith("The content store belongs to another instance's database, so nothing is")

    def test_the_place_is_printed_without_a_secret(self, storage_url: str) -> None:
        shared = bucket()
        assert shared is not None
        assert printed("storage").splitlines()[0] == f"Files are stored in {shared.address}/{shared.name}/"

    def test_a_missing_file_is_named(self) -> None:
        name = str(submission(b"12345").bundle)
        content.remove("files", name)
        with pytest.raises(
            CommandError, match=rf"^These files are missing or damaged:\n  missing: Submission.bundle files/{name}\n"
        ):
            printed("storage")

    @pytest.mark.usefixtures("_where")
    def test_a_damaged_file_is_named(self) -> None:
        name, whole = str(submission(b"12345").bundle), submission(b"whole")
        place, shared = content.file_path(name), bucket()
        if shared is not None:
            shared.client.put_object(Bucket=shared.name, Key=f"files/{name}", Body=b"12346")
        else:
            place.chmod(0o600)
            place.write_bytes(b"12346")
        assert rows(printed("storage"))["Submission.bundle"][0] == "2"
        with pytest.raises(
            CommandError, match=rf"^These files are missing or damaged:\n  damaged: Submission.bundle files/{name}\n"
        ):
            printed("storage", "--verify")
        assert content.file_path(str(whole.bundle)).read_bytes() == b"whole"

    def test_a_bucket_that_does_not_answer_is_a_clear_error(self, settings: Settings) -> None:
        use(settings, "s3+http://k:s@127.0.0.1:1/b")
        with pytest.raises(CommandError, match=r"^The storage at http://127\.0\.0\.1:1 could not list its files: "):
            printed("storage")


class TestMoving:
    """Copying the store, with interruptions."""

    def test_there_and_back(self, s3_place: str, settings: Settings, tmp_path: Path) -> None:
        made, tree = submission(b"12345"), put_tree({"a/b": b"x", "c": b""})
        url = made_bucket(s3_place, "/a/prefix")
        text = printed("move_storage", "--to", url)
        assert text.startswith("Files to copy: 2. Already there: 0.\nAll are copied. ")
        assert "set STORAGE_URL to this address" in text
        assert "secret" not in text
        use(settings, url)
        settings.DATA_DIR = tmp_path / "another host"
        assert content.file_path(str(made.bundle)).read_bytes() == b"12345"
        assert {name: path.read_bytes() for name, path in content.tree_files(tree).items()} == {"a/b": b"x", "c": b""}
        put_file(b"stored in the bucket")
        settings.DATA_DIR = tmp_path / "third host"
        assert "unset STORAGE_URL" in printed("move_storage", "--to", "local")
        use(settings, "")
        assert {each.blob.found for each in garbage.stored(None)} == {
            *(str(made.bundle), tree, content.file_hash(b"stored in the bucket"))
        }
        assert "Files that have their digests: 1" in printed("storage", "--verify")

    def test_from_one_bucket_to_another(self, s3_place: str, storage_url: str, settings: Settings) -> None:
        found = put_file(b"12345")
        url = made_bucket(s3_place)
        printed("move_storage", "--to", url)
        use(settings, url)
        assert content.file_path(found).read_bytes() == b"12345"

    def test_an_interrupted_copy_goes_on(
        self, s3_place: str, settings: Settings, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("botocore.retries.standard.ExponentialBackoff.delay_amount", lambda *_: 0.001)
        found = [put_file(bytes([number])) for number in range(4)]
        with proxy_before(s3_place) as proxy:
            url = made_bucket(proxy.place)
            proxy.failures = [("PUT", None), ("PUT", None), ("PUT", "503"), ("PUT", "503"), ("PUT", "503")]
            with pytest.raises(CommandError, match="What was copied stays; repeat the command to copy the rest"):
                printed("move_storage", "--to", url)
            assert len(list(bucket_at(url).listed())) == 2
            assert printed("move_storage", "--to", url).startswith("Files to copy: 2. Already there: 2.\n")
            assert printed("move_storage", "--to", url).startswith("Files to copy: 0. Already there: 4.\n")
            assert sorted(each.key for each in bucket_at(url).listed()) == sorted(f"files/{each}" for each in found)

    def test_damaged_files_are_not_copied_and_named(self, s3_place: str) -> None:
        whole, damaged = put_file(b"whole"), content.file_path(put_file(b"12345"))
        damaged.chmod(0o600)
        damaged.write_bytes(b"12346")
        url = made_bucket(s3_place)
        with pytest.raises(
            CommandError, match=rf"^These files could not be copied; all others were:\n  .*{damaged.name}"
        ):
            printed("move_storage", "--to", url)
        assert [each.key for each in bucket_at(url).listed()] == [f"files/{whole}"]

    @pytest.mark.parametrize(
        ("address", "message"),
        [
            ("local", "The files are in the data folder already: STORAGE_URL is not set."),
            ("https://host/bucket", NO_ADDRESS),
            ("/srv/files", NO_ADDRESS),
            ("s3://two_words/bucket", NO_ADDRESS),
            ("", NO_ADDRESS),
        ],
    )
    def test_wrong_targets(self, address: str, message: str) -> None:
        with pytest.raises(CommandError) as refused:
            printed("move_storage", "--to", address)
        assert str(refused.value) == message

    def test_the_address_may_come_from_a_variable(self, s3_place: str, settings: Settings) -> None:
        put_file(b"12345")
        url = made_bucket(s3_place)
        settings.ENVIRONMENT = replace(settings.ENVIRONMENT, move_storage_to=url)
        assert printed("move_storage").startswith("Files to copy: 1. ")
        assert len(list(bucket_at(url).listed())) == 1

    def test_the_present_bucket_is_no_target(self, storage_url: str) -> None:
        with pytest.raises(CommandError, match=r"^The files are in this bucket already: STORAGE_URL names it\.$"):
            printed("move_storage", "--to", storage_url)
