"""The content store."""

from __future__ import annotations

import hashlib
import io
import stat
import tarfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmark_tasks.domain import content
from benchmark_tasks.domain.bucket import DamagedError
from benchmark_tasks.domain.content import (
    ContentMissingError,
    file_hash,
    file_path,
    put_file,
    put_tree,
    tree_files,
    tree_hash,
    tree_path,
)

if TYPE_CHECKING:
    pass

FILES = {"b.txt": b"second", "a/b/c.bin": b"\x00\xff", "a/empty": b""}


def test_a_tree_comes_back_as_it_was() -> None:
    root = tree_path(put_tree(FILES))
    assert {p.relative_to(root).as_posix(): p.read_bytes() for p in root.rglob("*") if p.is_file()} == FILES
    assert list(tree_files(put_tree(FILES))) == ["a/b/c.bin", "a/empty", "b.txt"]


def test_the_hash_is_sha256_of_lengths_and_bytes(data_dir: Path) -> None:
    expected = hashlib.sha256(b"tree\0" + bytes(7) + b"\x01a" + bytes(7) + b"\x02xy").hexdigest()
    assert put_tree({"a": b"xy"}) == expected
    assert tree_path(expected) == data_dir / "content" / "trees" / expected[:2] / expected


def test_stored_content_is_read_only() -> None:
    root = tree_path(put_tree(FILES))
    modes = {stat.S_IMODE(path.stat().st_mode) for path in [root, *root.rglob("*")] if path.is_dir()}
    assert modes == {0o555}
    assert {stat.S_IMODE(path.stat().st_mode) for path in root.rglob("*") if path.is_file()} == {0o444}
    assert stat.S_IMODE(file_path(put_file(b"paper")).stat().st_mode) == 0o444


def test_storing_again_writes_nothing(data_dir: Path) -> None:
    before = tree_path(put_tree(FILES)).stat().st_ino
    put_file(b"paper")
    listed = sorted(data_dir.rglob("*"))
    assert tree_path(put_tree(dict(reversed(FILES.items())))).stat().st_ino == before
    put_file(b"paper")
    assert sorted(data_dir.rglob("*")) == listed


def test_many_at_once_store_one_tree(data_dir: Path) -> None:
    with ThreadPoolExecutor(8) as pool:
        assert len(set(pool.map(put_tree, [FILES] * 32))) == 1
    assert len([path for path in data_dir.rglob("*") if path.is_file()]) == len(FILES)


def test_a_failed_write_leaves_nothing(data_dir: Path) -> None:
    with pytest.raises(TypeError):
        put_tree({"a": b"x", "b/c": "text"})  # type: ignore[dict-item]
    assert [path for path in data_dir.rglob("*") if path.is_file()] == []


class TestFilesFromDisk:
    """Whole repositories are given as paths: their bytes are copied, never held in memory."""

    def test_paths_and_bytes_give_the_same_tree(self, tmp_path: Path) -> None:
        for name, data in FILES.items():
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name).write_bytes(data)
        paths = {name: tmp_path / name for name in FILES}
        assert tree_hash(paths) == tree_hash(FILES)
        root = tree_path(put_tree(paths))
        assert {name: (root / name).read_bytes() for name in FILES} == FILES
        assert not any((root / name).samefile(tmp_path / name) for name in FILES)
        assert put_file(tmp_path / "b.txt") == put_file(b"second") == file_hash(tmp_path / "b.txt")

    def test_files_of_the_store_are_shared(self) -> None:
        first = tree_path(put_tree(FILES))
        second = tree_path(put_tree({"copy": first / "b.txt", "own": b"new"}))
        assert (second / "copy").samefile(first / "b.txt")
        assert stat.S_IMODE((second / "copy").stat().st_mode) == 0o444

    def test_a_tree_that_changes_meanwhile_is_not_stored(
        self, tmp_path: Path, data_dir: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        source = tmp_path / "growing"
        source.write_bytes(b"first")
        write = content._write

        def write_something_else(path: Path, _: Path) -> None:
            write(path, b"second")

        monkeypatch.setattr(content, "_write", write_something_else)
        with pytest.raises(OSError, match="it changed while it was read"):
            put_tree({"a": source})
        assert [path for path in data_dir.rglob("*") if path.is_file()] == []


@pytest.mark.parametrize(
    "name",
    [
        *("../a", "/a", "a/../b", "a//b", "", "a\\b", "a\0b"),
    ],
)
def test_unclean_names_are_refused(name: str, data_dir: Path) -> None:
    with pytest.raises(ValueError, match="is not a clean relative path"):
        put_tree({name: b""})
    assert not data_dir.exists()


@pytest.mark.parametrize("found", ["0" * 64, "../../etc", ""])
def test_missing_content_raises_an_error(found: str) -> None:
    for place in (tree_path, file_path):
        with pytest.raises(ContentMissingError):
            place(found)


names = st.text(alphabet="ab/", min_size=1, max_size=4)
trees = st.dictionaries(names, st.binary(max_size=4), max_size=4)


@given(trees, trees)
def test_different_trees_have_different_hashes(one: dict[str, bytes], other: dict[str, bytes]) -> None:
    assert (tree_hash(one) == tree_hash(other)) == (one == other)


def packed_tree(name: str, kind: bytes, target: str) -> bytes:
    """Return an archive with the file ``a`` and a link."""
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w:gz") as archive:
        file, link = tarfile.TarInfo("a"), tarfile.TarInfo(name)
        file.size, link.type, link.linkname = 1, kind, target
        archive.addfile(file, io.BytesIO(b"x"))
        archive.addfile(link)
    return stream.getvalue()


def test_a_file_under_two_names_is_unpacked_twice(data_dir: Path) -> None:
    expected = tree_hash({"a": b"x", "b": b"x"})
    content.put_packed("trees", expected, [packed_tree("b", tarfile.LNKTYPE, "a")])
    assert {name: path.read_bytes() for name, path in tree_files(expected).items()} == {"a": b"x", "b": b"x"}


@pytest.mark.parametrize(
    ("name", "kind", "target"),
    [
        ("b", tarfile.LNKTYPE, "missing"),
        ("b", tarfile.LNKTYPE, "b"),
        ("b", tarfile.SYMTYPE, "/etc/passwd"),
        ("b", tarfile.SYMTYPE, "b"),
        ("../b", tarfile.LNKTYPE, "a"),
    ],
)
def test_archives_with_other_links_are_refused(data_dir: Path, name: str, kind: bytes, target: str) -> None:
    with pytest.raises(DamagedError):
        content.put_packed("trees", tree_hash({"a": b"x", "b": b"x"}), [packed_tree(name, kind, target)])
    assert not any((data_dir / "content" / "trees").rglob("*.*"))
    assert content.digest_of_packed("trees", [packed_tree(name, kind, target)]) != tree_hash({"a": b"x", "b": b"x"})
