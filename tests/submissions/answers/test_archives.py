from __future__ import annotations

import contextlib
import gzip
import io
import os
import stat
import struct
import tarfile
import time
import zipfile
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from submissions.answers.archives import Archive, ArchiveKind, read_archive
from submissions.answers.intake import ArchiveLimits, Member, ProblemList
from submissions.answers.types import BundleError
from tests.submissions.answers.archive_makers import (
    GOOD_FILES,
    close_zip,
    gzip_of_zeros,
    info,
    make_tar,
    make_tar_of,
    make_zip,
    make_zip_of_infos,
    million_entries_zip,
    overlapping_zip,
    raw_zip,
    raw_zip_entry,
    tar_header,
    tar_info,
)

MB = 1024 * 1024
LOG = "answers/dpo/1/log.txt"
GOOD_MEMBERS = tuple(Member(name=name, content=content) for name, content in sorted(GOOD_FILES.items()))


def read(data: bytes) -> Archive:
    """An archive with nothing wrong in it."""
    problems = ProblemList(100)
    archive = read_archive(io.BytesIO(data), ArchiveLimits(), problems)
    assert problems.all() == []
    return archive


def refused(data: bytes, limits: ArchiveLimits | None = None) -> list[tuple[str, str]]:
    """What is wrong, whether it ends the reading or one file only."""
    problems = ProblemList(100)
    try:
        read_archive(io.BytesIO(data), limits or ArchiveLimits(), problems)
        found = problems.all()
    except BundleError as error:
        found = error.problems
    assert found
    return [(problem.file, problem.message) for problem in found]


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        (make_zip(GOOD_FILES), ArchiveKind.ZIP),
        (make_zip(GOOD_FILES, compression=zipfile.ZIP_STORED), ArchiveKind.ZIP),
        (make_tar(GOOD_FILES), ArchiveKind.TAR_GZ),
        (make_tar(GOOD_FILES, tar_format=tarfile.GNU_FORMAT), ArchiveKind.TAR_GZ),
        (make_tar(GOOD_FILES, tar_format=tarfile.USTAR_FORMAT), ArchiveKind.TAR_GZ),
    ],
)
def test_good_archives_give_their_files_sorted(data: bytes, kind: ArchiveKind) -> None:
    archive = read(data)
    assert (archive.kind, archive.members) == (kind, GOOD_MEMBERS)


def test_zip_written_to_a_pipe_has_sizes_after_the_data() -> None:
    class Pipe(io.RawIOBase):
        def __init__(self) -> None:
            self.content = b""

        def writable(self) -> bool:
            return True

        def write(self, data: object) -> int:
            self.content += bytes(data)  # type: ignore[call-overload]
            return len(data)  # type: ignore[arg-type]

    pipe = Pipe()
    with zipfile.ZipFile(pipe, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in GOOD_FILES.items():
            archive.writestr(name, content)
    assert read(pipe.content).members == GOOD_MEMBERS


def test_wrapper_folder_folders_and_macos_clutter_are_left_out() -> None:
    files = {
        "run-7/": b"",
        **{f"run-7/{name}": content for name, content in GOOD_FILES.items()},
        "__MACOSX/run-7/._submission.json": b"x",
        "run-7/.DS_Store": b"x",
        "run-7/answers/._dpo": b"x",
    }
    assert read(make_zip(files)).members == GOOD_MEMBERS


def test_long_names_of_both_tar_dialects_are_read() -> None:
    name = f"answers/{'p' * 60}/1/{'t' * 60}.json"
    for tar_format in (tarfile.PAX_FORMAT, tarfile.GNU_FORMAT, tarfile.USTAR_FORMAT):
        members = read(make_tar({name: b"{}"}, tar_format=tar_format)).members
        assert [member.name for member in members] == [name]


def test_28_tasks_with_10_trials_and_3_files_each_fit() -> None:
    files = {
        f"answers/paper-{task}/1/trial-{trial}/{name}": b"{}"
        for task in range(28)
        for trial in range(1, 11)
        for name in ("answer.py", "usage.json", "trajectory.jsonl")
    }
    assert len(read(make_zip(files)).members) == 840


def test_a_trajectory_may_be_longer_than_an_answer() -> None:
    long = os.urandom(2 * MB)
    assert read(make_zip({LOG: long})).members[0].content == long
    assert refused(make_zip({"answers/dpo/1/answer.py": long})) == [
        ("answers/dpo/1/answer.py", "The file is larger than 1 MB.")
    ]


def test_jsonl_is_known_by_its_content() -> None:
    data = b'\xef\xbb\xbf\n {"instance_id": "dpo/1"}\n'
    archive = read(data)
    assert (archive.kind, archive.members) == (ArchiveKind.JSONL, (Member(name="", content=data),))


def test_all_problems_are_listed_together_and_bounded() -> None:
    files = {f"answers/dpo/{number}/x.exe": b"" for number in range(130)} | {"../up.txt": b""}
    problems = refused(make_zip(files))
    assert len(problems) == 101
    assert problems[0][1].startswith("Files of this kind are not accepted")
    assert problems[-1] == ("", "31 more problems are not listed; correct these first.")


def test_what_is_wrong_with_one_file_leaves_the_others() -> None:
    for make in (make_zip, make_tar):
        problems = ProblemList(100)
        files = {f"run-7/{name}": content for name, content in {**GOOD_FILES, "answers/dpo/2/x.exe": b""}.items()}
        archive = read_archive(io.BytesIO(make({**files, "../up.txt": b""})), ArchiveLimits(), problems)
        assert archive.members == GOOD_MEMBERS
        assert archive.refused == {"answers/dpo/2/x.exe", "../up.txt"}
        assert [problem.file for problem in problems.all()] == ["run-7/answers/dpo/2/x.exe", "../up.txt"]


def test_one_problem_too_many_is_counted_in_the_singular() -> None:
    problems = refused(make_zip({f"answers/dpo/{number}/x.exe": b"" for number in range(101)}))
    assert problems[-1] == ("", "1 more problem is not listed; correct these first.")


def zip_named(name: str) -> Callable[[], bytes]:
    return lambda: make_zip({name: b"x"})


def tar_named(name: str) -> Callable[[], bytes]:
    return lambda: make_tar({name: b"x"})


def tar_special(kind: bytes, target: str = "") -> Callable[[], bytes]:
    return lambda: make_tar_of((tar_info(LOG, kind=kind, target=target), b""))


def swapped(data: bytes, old: bytes, new: bytes) -> bytes:
    assert old in data
    return data.replace(old, new)


def zip64_end() -> bytes:
    return make_zip(GOOD_FILES)[:-12] + struct.pack("<LLH", 0xFFFFFFFF, 0xFFFFFFFF, 0) + b"\0\0"


def split_zip() -> bytes:
    data = bytearray(make_zip(GOOD_FILES))
    data[-18] = 1
    return bytes(data)


def colliding(first: str, second: str) -> Callable[[], bytes]:
    return lambda: make_zip_of_infos((info(first), b"1"), (info(second), b"2"))


def tar_bytes(*blocks: bytes) -> bytes:
    return gzip.compress(b"".join(blocks), mtime=0)


def broken_checksum() -> bytes:
    header = bytearray(tar_header(LOG.encode(), 0))
    header[0] ^= 1
    return tar_bytes(bytes(header), bytes(1024))


def pax(records: bytes) -> Callable[[], bytes]:
    head = tar_header(b"pax", len(records), b"x") + records.ljust(-(-len(records) // 512) * 512, b"\0")
    return lambda: tar_bytes(head, tar_header(LOG.encode(), 0), bytes(1024))


def pax_path(path: bytes) -> bytes:
    length = len(path) + 8 + (2 if len(path) > 90 else 0)
    record = b"%d path=%s\n" % (length, path)
    return record if len(record) == length else b"%d path=%s\n" % (len(record), path)


HOSTILE: dict[str, tuple[Callable[[], bytes], str]] = {
    "empty": (lambda: b"", "The file is empty"),
    "spaces": (lambda: b" \n ", "The file is empty"),
    "text": (lambda: b"hello", "this file is none of these"),
    "bzip2": (lambda: b"BZh91AY", "this file is bzip2"),
    "xz": (lambda: b"\xfd7zXZ\x00abc", "this file is xz"),
    "rar": (lambda: b"Rar!\x1a", "this file is RAR"),
    "plain tar": (lambda: gzip.decompress(make_tar(GOOD_FILES)), "this file is an uncompressed tar"),
    "empty zip": (lambda: make_zip({}), "holds no files"),
    "zip of folders": (zip_named("answers/"), "folder with data"),
    "zip traversal": (zip_named("../evil.txt"), "climbs out"),
    "zip inner traversal": (zip_named("answers/../../evil.txt"), "climbs out"),
    "zip absolute": (zip_named("/etc/cron.txt"), "absolute"),
    "zip drive letter": (zip_named("C:/evil.txt"), "absolute"),
    "zip backslash": (lambda: raw_zip(b"answers\\evil.txt", b"x"), "backslash"),
    "zip NUL in name": (lambda: raw_zip(b"answers/a.txt\0.py", b"x"), "outside printable ASCII"),
    "zip control in name": (zip_named("answers/a\x07.txt"), "outside printable ASCII"),
    "zip non-ASCII name": (zip_named("answers/dpö.txt"), "outside printable ASCII"),
    "zip direction override": (zip_named("answers/\u202etxt.py"), "outside printable ASCII"),
    "zip empty part": (zip_named("answers//a.txt"), "empty, '.' or space-padded"),
    "zip dot part": (zip_named("answers/./a.txt"), "empty, '.' or space-padded"),
    "zip padded part": (zip_named("answers/ a.txt"), "empty, '.' or space-padded"),
    "zip long path": (zip_named("a/" + "b" * 200 + ".txt"), "longer than 200"),
    "zip deep path": (zip_named("a/" * 8 + "b.txt"), "deeper than 8"),
    "zip symlink": (lambda: make_zip_of_infos((info(LOG, mode=stat.S_IFLNK | 0o777), b"/etc")), "symbolic link"),
    "zip device": (lambda: make_zip_of_infos((info(LOG, mode=stat.S_IFCHR | 0o666), b"")), "special file"),
    "zip pipe": (lambda: make_zip_of_infos((info(LOG, mode=stat.S_IFIFO | 0o666), b"")), "special file"),
    "zip encrypted": (lambda: raw_zip(LOG.encode(), b"x", flags=1), "encrypted file"),
    "zip strange method": (lambda: raw_zip(LOG.encode(), b"x", method=12), "packed with method 12"),
    "zip duplicate": (colliding(LOG, LOG), "clashes with"),
    "zip duplicate by case": (colliding(LOG, LOG.upper()), "clashes with"),
    "zip file as folder": (colliding("a.txt", "A.txt/b.txt"), "clashes with"),
    "zip folder as file": (colliding("a.txt/b.txt", "a.txt"), "clashes with"),
    "zip nested zip": (zip_named("answers/dpo/1/more.zip"), "Files of this kind"),
    "zip no suffix": (zip_named("answers/dpo/1/answer"), "Files of this kind"),
    "zip names disagree": (lambda: raw_zip(LOG.encode(), b"x", local_name=b"answers/dpo/1/log.exe"), "disagree"),
    "zip size lies low": (lambda: raw_zip(LOG.encode(), b"x" * 900, size=10), "damaged"),
    "zip size lies high": (lambda: raw_zip(LOG.encode(), b"x", size=900), "damaged"),
    "zip wrong checksum": (lambda: raw_zip(LOG.encode(), b"x", crc=1), "checksum"),
    "zip stored size lies": (lambda: raw_zip(LOG.encode(), b"x", method=0, size=900), "damaged"),
    "zip stated too big": (lambda: raw_zip(LOG.encode(), b"x", size=0xFFFFFFFE), "larger than 8 MB"),
    "zip truncated": (lambda: make_zip(GOOD_FILES)[:-30], "cut off"),
    "zip headless": (lambda: b"PK\x03\x04" + make_zip(GOOD_FILES), "not where it says"),
    "zip with a tail": (lambda: make_zip(GOOD_FILES) + b"tail", "not where it says"),
    "zip64": (zip64_end, "zip64"),
    "zip of several parts": (split_zip, "one part of several"),
    "zip overlap": (lambda: overlapping_zip(2, b"x" * 100), "share the same data"),
    "zip directory garbage": (lambda: close_zip(b"PK\x03\x04", b"PK\x01\x03" + bytes(60), 1), "directory is damaged"),
    "zip points nowhere": (lambda: swapped(raw_zip(LOG.encode(), b"x"), b"PK\x03\x04", b"PK\x03\x05"), "none of these"),
    "zip points outside": (
        lambda: close_zip(b"PK\x03\x04", raw_zip_entry(LOG.encode(), b"x", offset=9999)[1], 1),
        "points at no file header",
    ),
    "tar traversal": (tar_named("../evil.txt"), "climbs out"),
    "tar absolute": (tar_named("/etc/evil.txt"), "absolute"),
    "tar non-ASCII": (tar_named("answers/dpö.txt"), "outside printable ASCII"),
    "tar nested": (tar_named("answers/dpo/1/more.gz"), "Files of this kind"),
    "tar symlink": (tar_special(tarfile.SYMTYPE, "/etc/passwd"), "symbolic link"),
    "tar hard link": (tar_special(tarfile.LNKTYPE, "submission.json"), "hard link"),
    "tar character device": (tar_special(tarfile.CHRTYPE), "character device"),
    "tar block device": (tar_special(tarfile.BLKTYPE), "block device"),
    "tar pipe": (tar_special(tarfile.FIFOTYPE), "named pipe"),
    "tar sparse": (tar_special(tarfile.GNUTYPE_SPARSE), "sparse file"),
    "tar pax sparse": (pax(b"22 GNU.sparse.major=1\n"), "sparse file"),
    "tar unknown kind": (tar_special(b"Z"), "unknown kind"),
    "tar duplicate": (lambda: make_tar_of((tar_info(LOG), b""), (tar_info(LOG), b"")), "clashes with"),
    "tar pax path traversal": (pax(pax_path(b"../../evil.txt")), "climbs out"),
    "tar pax length lies": (pax(b"99 path=a.txt\n"), "extended header does not read"),
    "tar pax without length": (pax(b"path=a.txt\n"), "extended header does not read"),
    "tar pax size lies": (pax(b"15 size=999999\n"), "cut off"),
    "tar pax size is a word": (pax(b"12 size=abc\n"), "size is not a number"),
    "tar truncated": (lambda: make_tar(GOOD_FILES)[:-20], "cut off"),
    "tar damaged": (lambda: make_tar(GOOD_FILES)[:40] + b"\xff" * 60, "damaged"),
    "tar without end": (lambda: tar_bytes(tar_header(LOG.encode(), 0)), "end mark is missing"),
    "tar cut in a file": (lambda: tar_bytes(tar_header(LOG.encode(), 4000), bytes(512)), "cut off inside"),
    "tar checksum": (broken_checksum, "header does not add up"),
    "tar size garbage": (lambda: tar_bytes(swapped(tar_header(b"a.txt", 8), b"00000010\0", b"0000008x\0")), "add up"),
    "tar short block": (lambda: gzip.compress(b"\1" * 100), "does not add up"),
    "gzip of nothing": (lambda: gzip.compress(b""), "end mark is missing"),
    "gzip head only": (lambda: b"\x1f\x8b\x08", "cut off"),
}  # fmt: skip


@pytest.mark.parametrize("case", HOSTILE)
def test_hostile_archive_is_refused_with_its_reason(case: str) -> None:
    make, expected = HOSTILE[case]
    problems = refused(make())
    assert any(expected in message for _, message in problems), problems


def test_at_least_forty_hostile_archives() -> None:
    assert len(HOSTILE) >= 40


TINY = ArchiveLimits(upload=5000, total=3000, members=3, entries=6, ratio_floor=2400, ratio=2)


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"{" + b" " * 5000, "larger than 4 KB"),
        (make_zip({f"{n}.txt": b"" for n in range(4)}), "more than 3 files"),
        (make_zip({f"{n}/": b"" for n in range(4)} | {f"{n}.txt": b"" for n in range(3)}), "more than 6 entries"),
        (make_zip({"a.txt": b"x" * 2500}), "unpacks to more than 2 KB"),
        (make_zip({"a.txt": bytes(range(250)) * 16}, compression=zipfile.ZIP_STORED), "unpacks to more than 2 KB"),
    ],
)
def test_every_cap_holds(data: bytes, expected: str) -> None:
    assert any(expected in message for _, message in refused(data, TINY)), refused(data, TINY)


@pytest.mark.parametrize(
    ("make", "expected"),
    [
        (lambda: make_zip({LOG: bytes(8 * MB), "answers/dpo/2/log.txt": bytes(8 * MB)}), "times its packed size"),
        (lambda: million_entries_zip(300_000), "more than 8000 entries"),
        (lambda: gzip_of_zeros(64 * MB, head=tar_header(b"pax", 1024 * MB, b"x")), "extended header of 1073741824"),
        (lambda: gzip_of_zeros(64 * MB, head=tar_header(LOG.encode(), 1024 * MB)), "unpacks to more than"),
        (lambda: gzip.compress(tar_header(b"a/", 0, b"5") * 100_000), "more than 8000 entries"),
        (lambda: gzip.compress(tar_header(b"pax", 0, b"x") * 100_000), "more than 8000 entries"),
        (lambda: overlapping_zip(8000, bytes(range(256)) * 4096), "clashes with"),
    ],
    ids=["zip bomb", "many entries", "huge pax header", "huge member", "tar folders", "pax chain", "overlapping"],
)
def test_bombs_are_refused_within_seconds(make: Callable[[], bytes], expected: str) -> None:
    data = make()
    begun = time.process_time()
    problems = refused(data)
    assert time.process_time() - begun < 3
    assert any(expected in message for _, message in problems), problems[-3:]


def test_a_million_entries_are_refused_by_size_before_anything_is_read() -> None:
    data = million_entries_zip()
    begun = time.process_time()
    assert refused(data) == [("", "The file is larger than 20 MB; send fewer trajectories.")]
    assert time.process_time() - begun < 1


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=2000), st.sampled_from([b"", b"PK\x03\x04", b"PK\x05\x06", b"\x1f\x8b\x08", b"{"]))
def test_any_bytes_are_read_or_refused(data: bytes, magic: bytes) -> None:
    with contextlib.suppress(BundleError):
        read_archive(io.BytesIO(magic + data), ArchiveLimits(), ProblemList(100))


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_damaged_archives_are_read_or_refused(data: st.DataObject) -> None:
    kind = data.draw(st.sampled_from(["zip", "tar", "raw tar"]))
    whole = make_zip(GOOD_FILES) if kind == "zip" else make_tar(GOOD_FILES)
    content = bytearray(gzip.decompress(whole) if kind == "raw tar" else whole)
    for _ in range(data.draw(st.integers(1, 4))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    with contextlib.suppress(BundleError):
        packed = gzip.compress(content) if kind == "raw tar" else bytes(content)
        read_archive(io.BytesIO(packed), ArchiveLimits(), ProblemList(100))
