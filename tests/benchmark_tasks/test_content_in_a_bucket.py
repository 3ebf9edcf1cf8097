"""The content store of an instance of several hosts: a bucket, and a cache on each host."""

from __future__ import annotations

import os
import stat
import tarfile
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmark_tasks.domain import content
from benchmark_tasks.domain.bucket import StorageUnavailableError, bucket
from benchmark_tasks.domain.content import ContentMissingError, file_path, put_file, put_tree, tree_path
from tests.bucket import proxy_before

if TYPE_CHECKING:
    from collections.abc import Callable

    from pytest_django import Settings

    from benchmark_tasks.domain.bucket import Bucket

FILES = {"b.txt": b"second", "a/b/c.bin": b"\x00\xff", "a/empty": b""}
HOURS = 3600


@pytest.fixture
def shared(storage_url: str) -> Bucket:
    """The bucket, which this host has not used yet."""
    found = bucket()
    assert found is not None
    return found


@pytest.fixture
def on_another_host(shared: Bucket, settings: Settings, tmp_path: Path) -> Callable[[], None]:
    """Continue on a host that shares no folder with the previous ones."""
    hosts = iter(range(100))

    def move() -> None:
        settings.DATA_DIR = tmp_path / f"host-{next(hosts)}"

    return move


def below(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def aged(path: Path, hours: float) -> None:
    os.utime(path, (time.time() - hours * HOURS,) * 2)


def replaced(shared: Bucket, key: str, body: bytes) -> None:
    """Store other bytes under a key, as a program that knows no digests would."""
    shared.client.put_object(Bucket=shared.name, Key=key, Body=body)


def test_content_stored_on_one_host_is_read_on_another(shared: Bucket, on_another_host: Callable[[], None]) -> None:
    file, tree = put_file(b"paper"), put_tree(FILES)
    assert sorted(each.key for each in shared.listed()) == [f"files/{file}", f"trees/{tree}"]
    on_another_host()
    assert (file_path(file).read_bytes(), below(tree_path(tree))) == (b"paper", FILES)
    modes = {stat.S_IMODE(path.stat().st_mode) for path in [file_path(file), *tree_path(tree).rglob("*")]}
    assert modes == {0o444, 0o555}


def test_a_host_asks_the_bucket_once(
    storage_url: str, s3_place: str, settings: Settings, on_another_host: Callable[[], None]
) -> None:
    found = put_file(b"paper")
    with proxy_before(s3_place) as proxy:
        settings.ENVIRONMENT = replace(settings.ENVIRONMENT, storage_url=storage_url.replace(s3_place, proxy.place))
        assert [file_path(found).read_bytes() for _ in range(3)] == [b"paper"] * 3
        assert proxy.seen == ["GET"]


def test_the_cache_belongs_to_one_bucket(storage_url: str, settings: Settings) -> None:
    found = put_file(b"paper")
    settings.ENVIRONMENT = replace(settings.ENVIRONMENT, storage_url=f"{storage_url}/elsewhere")
    with pytest.raises(ContentMissingError, match=f"The content store has no file {found}"):
        file_path(found)


@pytest.mark.parametrize("place", [tree_path, file_path])
def test_missing_content_raises_an_error(place: Callable[[str], Path], shared: Bucket, settings: Settings) -> None:
    for found in ("0" * 64, "../../etc", ""):
        with pytest.raises(ContentMissingError):
            place(found)
    assert [path for path in Path(settings.DATA_DIR).rglob("*") if path.is_file() and path.name != ".tidied"] == []


def test_a_bucket_that_does_not_answer_loses_nothing(
    shared: Bucket, storage_url: str, s3_place: str, settings: Settings, on_another_host: Callable[[], None]
) -> None:
    file, tree = put_file(b"paper"), put_tree(FILES)
    settings.ENVIRONMENT = replace(settings.ENVIRONMENT, storage_url=storage_url.replace(s3_place, "127.0.0.1:1"))
    for act in (lambda: file_path(file), lambda: tree_path(tree), lambda: put_file(b"new"), lambda: put_tree(FILES)):
        with pytest.raises(StorageUnavailableError, match=r"The storage at http://127\.0\.0\.1:1 could not "):
            act()
    # What could not be sent is not in the cache either, where it would look as if it had been.
    assert [path for path in content.root().rglob("*") if path.is_file() and path.name != ".tidied"] == []
    settings.ENVIRONMENT = replace(settings.ENVIRONMENT, storage_url=storage_url)
    assert (file_path(file).read_bytes(), below(tree_path(tree))) == (b"paper", FILES)


@pytest.mark.parametrize("body", [b"other", b""])
def test_wrong_bytes_are_refused(body: bytes, shared: Bucket, on_another_host: Callable[[], None]) -> None:
    file, tree = put_file(b"paper"), put_tree(FILES)
    replaced(shared, f"files/{file}", body)
    replaced(shared, f"trees/{tree}", body)
    on_another_host()
    for place, key in ((file_path, file), (tree_path, tree)):
        with pytest.raises(StorageUnavailableError, match=f"holds wrong bytes as (files|trees)/{key}"):
            place(key)
    assert [path for path in content.root().rglob("*") if path.is_file() and path.name != ".tidied"] == []


def test_another_tree_s_archive_is_refused(shared: Bucket, on_another_host: Callable[[], None]) -> None:
    tree, other = put_tree(FILES), put_tree({"b.txt": b"changed"})
    archive = shared.client.get_object(Bucket=shared.name, Key=f"trees/{other}")["Body"].read()
    replaced(shared, f"trees/{tree}", archive)
    on_another_host()
    with pytest.raises(StorageUnavailableError, match="wrong bytes"):
        tree_path(tree)


@given(st.binary(max_size=300), st.booleans())
def test_an_archive_of_any_bytes_is_refused(shared_bytes: Any, data: bytes, packed: bool) -> None:
    shared_bytes(data, packed)


@pytest.fixture
def shared_bytes(shared: Bucket, tmp_path: Path) -> Callable[[bytes, bool], None]:
    tree = put_tree(FILES)
    good = shared.client.get_object(Bucket=shared.name, Key=f"trees/{tree}")["Body"].read()
    place, found = content.place_of("trees", tree), content._fetch

    def check(data: bytes, packed: bool) -> None:
        replaced(shared, f"trees/{tree}", good[: len(data)] + data if packed else data)
        if place.exists():
            content.remove("trees", "f" * 64)
            content._remove(place)
        with pytest.raises(StorageUnavailableError, match="wrong bytes"):
            found(shared, "trees", place)
        assert not place.exists()

    return check


def test_no_path_leaves_the_folder(shared: Bucket, on_another_host: Callable[[], None], tmp_path: Path) -> None:
    evil = tmp_path / "evil.tar.gz"
    (tmp_path / "escaped").write_bytes(b"x")
    with tarfile.open(evil, "w:gz") as archive:
        archive.add(tmp_path / "escaped", "../../../../escaped-from-the-cache")
    tree = put_tree(FILES)
    replaced(shared, f"trees/{tree}", evil.read_bytes())
    on_another_host()
    with pytest.raises(StorageUnavailableError, match="wrong bytes"):
        tree_path(tree)
    assert list(tmp_path.rglob("escaped-from-the-cache")) == []


def test_many_at_once_fetch_one_tree(shared: Bucket, on_another_host: Callable[[], None]) -> None:
    tree = put_tree(FILES)
    on_another_host()
    with ThreadPoolExecutor(8) as pool:
        assert set(pool.map(tree_path, [tree] * 32)) == {content.place_of("trees", tree)}
    assert below(content.root() / "trees") == {f"{tree[:2]}/{tree}/{name}": data for name, data in FILES.items()}


def test_storing_again_sends_nothing_while_the_grace_period_is_young(
    storage_url: str, s3_place: str, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    put_file(b"paper")
    with proxy_before(s3_place) as proxy:
        settings.ENVIRONMENT = replace(settings.ENVIRONMENT, storage_url=storage_url.replace(s3_place, proxy.place))
        put_file(b"paper")
        assert proxy.seen == ["HEAD"]
        monkeypatch.setattr(content, "GRACE", content.GRACE * 0)
        put_file(b"paper")
        assert proxy.seen == ["HEAD", "HEAD", "PUT"]


class TestTidying:
    """The cache stays within ``STORAGE_CACHE_MB``, but what a box may use stays."""

    @pytest.fixture(autouse=True)
    def _small_cache(self, shared: Bucket, settings: Settings) -> None:
        settings.ENVIRONMENT = replace(settings.ENVIRONMENT, storage_cache_mb=1)

    def test_what_was_used_longest_ago_is_removed(self, shared: Bucket) -> None:
        old, older, new = (put_file(bytes([number]) * 700_000) for number in range(3))
        tree = put_tree({"a": b"x"})
        for kind, each, hours in (("files", old, 30), ("files", older, 40), ("files", new, 23), ("trees", tree, 50)):
            aged(content.place_of(kind, each), hours)  # type: ignore[arg-type]
        content.tidy()
        kept = [content.place_of("files", each).exists() for each in (old, older, new)]
        assert (kept, content.place_of("trees", tree).exists()) == ([False, False, True], False)
        assert len(list(shared.listed())) == 4
        assert file_path(old).read_bytes() == b"\0" * 700_000

    def test_what_was_used_within_a_day_stays(self) -> None:
        large = [put_file(bytes([number]) * 700_000) for number in range(3)]
        for each in large:
            aged(file_path(each), 30)
            file_path(each)  # used again
        content.tidy()
        assert [content.place_of("files", each).exists() for each in large] == [True] * 3

    def test_it_is_done_every_ten_minutes(self) -> None:
        found = [put_file(bytes([number]) * 700_000) for number in range(2)]
        for each in found:
            aged(content.place_of("files", each), 30)
        (content.root() / ".tidied").touch()
        content.tidy()
        assert all(content.place_of("files", each).exists() for each in found)
        aged(content.root() / ".tidied", 0.2)
        content.tidy()
        assert sum(content.place_of("files", each).exists() for each in found) == 1


@pytest.mark.parametrize("in_a_bucket", [True, False])
def test_what_killed_processes_left_is_removed_after_a_day(
    in_a_bucket: bool, request: pytest.FixtureRequest, data_dir: Path
) -> None:
    if in_a_bucket:
        request.getfixturevalue("shared")
    found = put_file(b"paper")
    place = content.place_of("files", found)
    drafts = [place.with_name(".old"), place.parent.parent / ".old", place.with_name(".young")]
    for draft, hours in zip(drafts, (25, 25, 23), strict=True):
        (draft / "folder").mkdir(parents=True)
        (draft / "folder").chmod(0o555)
        aged(draft, hours)
    aged(place, 25)
    content.tidy()
    assert [draft.exists() for draft in drafts] == [False, False, True]
    assert place.exists()
