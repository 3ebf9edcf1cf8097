"""Reading an uploaded archive by what it contains, not by its name, in bounded time, memory and disk.

Nothing is ever unpacked to disk. No Django here.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, BinaryIO

from submissions.answers.intake import ArchiveLimits, Intake, Member, ProblemList, readable, refuse
from submissions.answers.tar_reader import read_tar_gz
from submissions.answers.types import BundleError
from submissions.answers.zip_reader import read_zip

if TYPE_CHECKING:
    from collections.abc import Callable

_ZIP, _EMPTY_ZIP, _GZIP = b"PK\x03\x04", b"PK\x05\x06", b"\x1f\x8b"
_UTF8_MARK = b"\xef\xbb\xbf"
_REFUSED_KINDS = (
    (b"BZh", "bzip2"),
    (b"\xfd7zXZ\x00", "xz"),
    (b"(\xb5/\xfd", "zstandard"),
    (b"7z\xbc\xaf\x27\x1c", "7-Zip"),
    (b"Rar!", "RAR"),
)


class ArchiveKind(StrEnum):
    """The three forms in which a bundle may be sent."""

    ZIP = "zip"
    TAR_GZ = "tar.gz"
    JSONL = "jsonl"


@dataclass(frozen=True, slots=True)
class Archive:
    """The regular files of an upload; for JSONL, one member without a name that is the whole file.

    ``refused`` are the names of files that were left out, each for a problem, ``passed_over`` those without one.
    """

    kind: ArchiveKind
    members: tuple[Member, ...]
    refused: frozenset[str] = frozenset()
    passed_over: tuple[str, ...] = ()


def is_packed(data: bytes) -> bool:
    """Whether this is the beginning of a zip or gzip file."""
    return data.startswith((_ZIP, _GZIP))


def read_archive(stream: BinaryIO, limits: ArchiveLimits, problems: ProblemList) -> Archive:
    """Read a zip, tar.gz or JSONL file from ``stream``; what is wrong with single files is added to ``problems``.

    At most ``limits.upload`` + 1 bytes are taken from the stream and ``limits.total`` bytes unpacked, all in memory.

    Raises BundleError, with the ``problems`` so far, for what cannot be read to its end.
    """
    data = stream.read(limits.upload + 1)
    if len(data) > limits.upload:
        raise BundleError([refuse(f"The file is larger than {readable(limits.upload)}; send fewer trajectories.")])
    if data.startswith((_ZIP, _EMPTY_ZIP)):
        return _unpacked(ArchiveKind.ZIP, read_zip, data, Intake(limits, problems, compressed_size=len(data)))
    if data.startswith(_GZIP):
        return _unpacked(ArchiveKind.TAR_GZ, read_tar_gz, data, Intake(limits, problems, compressed_size=len(data)))
    if data.removeprefix(_UTF8_MARK).lstrip(b" \t\r\n").startswith(b"{"):
        return Archive(kind=ArchiveKind.JSONL, members=(Member(name="", content=data),))
    raise BundleError([refuse(_unknown_kind(data))])


def _unpacked(kind: ArchiveKind, reader: Callable[[bytes, Intake], None], data: bytes, intake: Intake) -> Archive:
    reader(data, intake)
    members, refused = intake.finish()
    return Archive(kind=kind, members=members, refused=refused, passed_over=tuple(intake.passed_over))


def _unknown_kind(data: bytes) -> str:
    if not data.strip():
        return "The file is empty; send a zip, tar.gz or JSONL file."
    found = next((name for magic, name in _REFUSED_KINDS if data.startswith(magic)), "")
    if not found and data[257:262] == b"ustar":
        found = "an uncompressed tar"
    what = f"is {found}" if found else "is none of these"
    return f"A bundle is a zip, a tar.gz or a JSONL file; this file {what}. Pack it again as zip or tar.gz."
