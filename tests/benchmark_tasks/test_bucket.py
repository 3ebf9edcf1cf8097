"""A bucket over HTTP: what it stores, and what happens when it or the network fails."""

from __future__ import annotations

import hashlib
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest

from benchmark_tasks.domain import bucket as module
from benchmark_tasks.domain.bucket import NoObjectError, StorageUnavailableError, bucket, bucket_at
from tests.bucket import SLOW_SECONDS, Proxy, made_bucket, proxy_before
from tests.measures import counted

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from benchmark_tasks.domain.bucket import Bucket
    from tests.bucket import Failure

BYTES = bytes(range(256)) * 9000
"""Over a megabyte, so that it is read in several pieces."""


@pytest.fixture(autouse=True)
def _no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("benchmark_tasks.domain.bucket._PAUSE_SECONDS", 0.001)
    monkeypatch.setattr("botocore.retries.standard.ExponentialBackoff.delay_amount", lambda *_: 0.001)


@pytest.fixture
def proxy(s3_place: str) -> Iterator[Proxy]:
    with proxy_before(s3_place) as made:
        yield made


@pytest.fixture
def found(proxy: Proxy) -> Bucket:
    """A bucket behind the proxy."""
    return bucket_at(made_bucket(proxy.place, "/a/prefix"))


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "file"
    path.write_bytes(BYTES)
    return path


def fetched(found: Bucket, key: str, folder: Path) -> bytes:
    found.fetch(key, folder / "fetched")
    return (folder / "fetched").read_bytes()


def test_an_object_comes_back_as_it_was(found: Bucket, file: Path, tmp_path: Path) -> None:
    assert found.written("files/one") is None
    found.send("files/one", file)
    written = found.written("files/one")
    assert written is not None
    assert abs(written - datetime.now(UTC)) < timedelta(minutes=1)
    assert fetched(found, "files/one", tmp_path) == BYTES
    assert [(each.key, each.size) for each in found.listed("files/")] == [("files/one", len(BYTES))]
    assert list(found.listed("trees/")) == []
    found.delete(["files/one", "files/never"])
    assert list(found.listed()) == []


def test_objects_are_below_the_prefix_with_their_digest(found: Bucket, file: Path) -> None:
    found.send("files/one", file)
    head = found.client.head_object(Bucket=found.name, Key="a/prefix/files/one")
    assert head["Metadata"] == {"sha256": hashlib.sha256(BYTES).hexdigest()}


def test_a_listing_has_all_pages(found: Bucket) -> None:
    for number in range(12):
        found.client.put_object(Bucket=found.name, Key=f"a/prefix/n/{number:04}", Body=b"")
    assert [each.key for each in found.listed()] == [f"n/{number:04}" for number in range(12)]


def test_an_absent_object_is_no_failure_of_the_bucket(found: Bucket, tmp_path: Path) -> None:
    with pytest.raises(NoObjectError):
        found.fetch("files/none", tmp_path / "fetched")
    assert not (tmp_path / "fetched").exists()


def test_an_absent_bucket_is_a_failure(s3_place: str, tmp_path: Path) -> None:
    absent = bucket_at(f"s3+http://k:s@{s3_place}/absent")
    before = counted("storage_errors_total", "read")
    with pytest.raises(StorageUnavailableError, match=rf"The storage at http://{s3_place} could not read x: .*NoSuch"):
        absent.fetch("x", tmp_path / "fetched")
    assert counted("storage_errors_total", "read") - before == 1


@pytest.mark.parametrize("failure", ["503", "refused", "cut", "changed", "slow"])
@pytest.mark.parametrize("times", [2, 3])
def test_a_read_is_tried_three_times(
    failure: Failure, times: int, proxy: Proxy, file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "READ_SECONDS", SLOW_SECONDS / 2)
    found = bucket_at(made_bucket(proxy.place))
    found.send("files/one", file)
    proxy.failures, proxy.seen = [("GET", failure)] * times, []
    if times < module.TRIES:
        assert fetched(found, "files/one", tmp_path) == BYTES
    else:
        reason = {"503": "503", "changed": "it returned wrong bytes"}.get(failure, "")
        with pytest.raises(StorageUnavailableError, match=f"could not read files/one: .*{reason}"):
            found.fetch("files/one", tmp_path / "fetched")
    assert proxy.seen == ["GET"] * 3


@pytest.mark.parametrize("failure", ["503", "refused"])
@pytest.mark.parametrize("times", [2, 3])
def test_a_write_is_tried_three_times(
    failure: Failure, times: int, proxy: Proxy, found: Bucket, file: Path, tmp_path: Path
) -> None:
    proxy.failures, proxy.seen = [("PUT", failure)] * times, []
    if times < module.TRIES:
        found.send("files/one", file)
        assert fetched(found, "files/one", tmp_path) == BYTES
    else:
        with pytest.raises(StorageUnavailableError, match="could not store files/one: "):
            found.send("files/one", file)
        assert found.written("files/one") is None
    assert [method for method in proxy.seen if method == "PUT"] == ["PUT"] * 3


def test_lookups_lists_and_deletions_name_what_failed(proxy: Proxy, found: Bucket) -> None:
    for method, act, message in (
        ("HEAD", lambda: found.written("files/one"), "look up files/one"),
        ("GET", lambda: list(found.listed()), "list its files"),
        ("DELETE", lambda: found.delete(["files/one"]), "delete files/one"),
    ):
        proxy.failures = [(method, "503")] * 2
        with pytest.raises(StorageUnavailableError, match=rf"^The storage at http://{proxy.place} could not {message}"):
            act()


def test_a_bucket_that_stays_silent_is_asked_nothing_for_a_moment(
    proxy: Proxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "LOOK_UP_SECONDS", SLOW_SECONDS / 4)
    found = bucket_at(made_bucket(proxy.place))
    proxy.failures, proxy.seen = [("HEAD", "slow"), ("HEAD", "slow")], []
    with pytest.raises(StorageUnavailableError, match="Read timeout"):
        found.written("x")
    with pytest.raises(StorageUnavailableError, match="could not list its files: it did not answer a moment ago"):
        list(found.listed())
    assert proxy.seen == ["HEAD", "HEAD"]
    monkeypatch.setitem(module._down_until, found.address, 0.0)  # the moment is over
    assert list(found.listed()) == []


def test_a_server_that_does_not_listen(tmp_path: Path) -> None:
    gone = bucket_at("s3+http://k:s@127.0.0.1:1/b")
    with pytest.raises(StorageUnavailableError, match="could not read x: Could not connect to the endpoint"):
        gone.fetch("x", tmp_path / "fetched")


def test_an_error_of_the_disk_is_no_failure_of_the_bucket(found: Bucket, file: Path) -> None:
    found.send("files/one", file)
    with pytest.raises(NotADirectoryError):
        found.fetch("files/one", file / "below")


def test_objects_that_another_program_copied_are_read(found: Bucket, tmp_path: Path) -> None:
    found.client.put_object(Bucket=found.name, Key="a/prefix/copied", Body=b"x")
    assert fetched(found, "copied", tmp_path) == b"x"


@pytest.mark.parametrize(
    ("url", "address", "name", "prefix"),
    [
        ("s3://k:s@s3.example.org/b", "https://s3.example.org", "b", ""),
        ("s3+http://k:s@h:9000/b/one/two/", "http://h:9000", "b", "one/two/"),
        ("s3://h/b", "https://h", "b", ""),
    ],
)
def test_addresses(url: str, address: str, name: str, prefix: str) -> None:
    made = bucket_at(url)
    assert (made.address, made.name, made.prefix, made.client.meta.endpoint_url) == (address, name, prefix, address)


def test_keys_and_regions_come_from_the_address() -> None:
    client = bucket_at("s3://a%20key:s%2F%2B@h/b?region=eu-north-1").client
    credentials = client._request_signer._credentials
    assert (credentials.access_key, credentials.secret_key) == ("a key", "s/+")
    assert client.meta.region_name == "eu-north-1"
    assert bucket_at("s3://k:s@h/b").client.meta.region_name == "us-east-1"


def test_one_client_serves_all_threads_of_a_process(storage_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    first = bucket()
    assert first is bucket()
    monkeypatch.setattr("os.getpid", lambda: 1)  # as in a process that was forked
    assert bucket() is not first


def test_buckets_differ_by_server_name_and_prefix() -> None:
    urls = ["s3://k:s@h/b", "s3://k:s@i/b", "s3://k:s@h/c", "s3://k:s@h/b/p", "s3+http://k:s@h/b"]
    assert len({bucket_at(url).identity for url in urls}) == len(urls)
    assert bucket_at("s3://other:key@h/b").identity == bucket_at(urls[0]).identity
