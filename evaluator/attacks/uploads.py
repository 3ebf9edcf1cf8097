"""Attacks by the file that is sent in: nothing of it is ever unpacked to disk, and reading it costs little."""

from __future__ import annotations

import json
import stat
import tarfile
from functools import partial
from typing import TYPE_CHECKING, Final

from evaluator.attacks.archives import REGULAR, gzip_bomb, overlapping_zip, tar_files, tar_header, tar_of, zip_of
from evaluator.attacks.task import GOLDEN, NAME
from evaluator.attacks.types import ACCEPTED, BAD_PATCH, REFUSED, Attack, Group, UploadAttack, Way, ends

if TYPE_CHECKING:
    from collections.abc import Callable

MEGABYTE: Final = 1024 * 1024
MANIFEST: Final = json.dumps({"suite": "attacks", "system": "Attack", "backbone": "none", "inputs": "full"}).encode()
PLACE: Final = f"answers/{NAME}"
_GOOD: Final = (("submission.json", MANIFEST), (f"{PLACE}/answer.py", GOLDEN.encode()))
_LOG: Final = f"{PLACE}/log.txt"
_ROW: Final = {"instance_id": NAME, "model_patch": "x", "model_name_or_path": "none"}


def good_upload() -> bytes:
    """A bundle with nothing wrong in it."""
    return zip_of(*_GOOD)


def _attack(name: str, what: str, make: Callable[[], bytes], says: str, outcome: str = REFUSED) -> UploadAttack:
    return UploadAttack(name, Group.UPLOAD, what, {Way.CHECKER: ends(outcome, says=says)}, make=make)


def _zip(name: str, content: bytes = b"x", mode: int = REGULAR) -> Callable[[], bytes]:
    return lambda: zip_of(*_GOOD, (name, content, mode))


def _tar(
    name: str, kind: bytes = tarfile.REGTYPE, content: bytes = b"", target: str = "", mode: int = 0o644
) -> Callable[[], bytes]:
    good = [(place, tarfile.REGTYPE, data, "", 0o644) for place, data in _GOOD]
    return lambda: tar_of(*good, (name, kind, content, target, mode))


def _manifest(text: bytes) -> Callable[[], bytes]:
    return lambda: zip_of(("submission.json", text), _GOOD[1])


def _with(key: str, value: str) -> bytes:
    return MANIFEST.replace(b"}", f', "{key}": {value}}}'.encode())


UPLOAD: Final[tuple[Attack, ...]] = (
    _attack("zip slip", "Climbs out of the folder it would be unpacked to.", _zip("../../evil.txt"), "climbs out"),
    _attack("tar slip", "The same in a tar.", _tar("../../evil.txt"), "climbs out"),
    _attack("absolute name", "Names a place of the whole machine.", _tar("/opt/evil.txt"), "absolute"),
    _attack("zip device", "Holds a device.", _zip(_LOG, b"", stat.S_IFCHR | 0o666), "special file"),
    _attack("tar device", "The same in a tar.", _tar(_LOG, tarfile.CHRTYPE), "character device"),
    _attack(
        "zip link", "Holds a link to the host's files.", _zip(_LOG, b"/etc", stat.S_IFLNK | 0o777), "symbolic link"
    ),
    _attack("tar link", "The same in a tar.", _tar(_LOG, tarfile.SYMTYPE, target="/etc"), "symbolic link"),
    _attack("hard link", "Holds a hard link.", _tar(_LOG, tarfile.LNKTYPE, target="submission.json"), "hard link"),
    _attack(
        "set-uid",
        "Holds a set-uid program: only its text is taken, no file is made.",
        _tar(_LOG, content=b"x", mode=0o6755),
        "",
        ACCEPTED,
    ),
    _attack(
        "zip bomb", "Unpacks to a thousand times its size.", _zip(_LOG, bytes(8 * MEGABYTE)), "times its packed size"
    ),
    _attack(
        "overlapping zip",
        "Uses the same data for thousands of files.",
        partial(overlapping_zip, _LOG.encode(), bytes(range(256)) * 4096, 8000),
        "clashes with",
    ),
    _attack(
        "tar bomb",
        "Unpacks to a gigabyte.",
        lambda: gzip_bomb(tar_header(_LOG.encode(), 1024 * MEGABYTE), 64 * MEGABYTE),
        "unpacks to more than",
    ),
    _attack(
        "PAX header of 1 GB",
        "Has a header that a plain reader takes into memory whole.",
        lambda: gzip_bomb(tar_header(b"pax", 1024 * MEGABYTE, b"x"), 64 * MEGABYTE),
        "unpacks to more than",
    ),
    _attack(
        "many entries",
        "Holds a hundred thousand folders.",
        lambda: gzip_bomb(tar_header(b"a/", 0, b"5") * 100_000, 0),
        "more than 8000 entries",
    ),
    _attack("nested archive", "Holds another archive.", _zip(f"{PLACE}/more.zip", b"PK"), "Files of this kind"),
    _attack("duplicate names", "Holds two files of one name.", lambda: zip_of(*_GOOD, _GOOD[1]), "clashes with"),
    _attack("names by case", "Holds two files whose names differ in case.", _zip(f"{PLACE}/Answer.PY"), "clashes with"),
    _attack(
        "decomposed name", "Holds a name that another system writes otherwise.", _zip(f"{PLACE}/e\u0301.txt"), "ASCII"
    ),
    _attack("control in a name", "Holds a character that terminals act upon.", _tar(f"{PLACE}/a\x07.txt"), "ASCII"),
    _attack("encrypted or odd", "Is an archive of another kind.", lambda: b"Rar!\x1a\x07\x00", "RAR"),
    _attack(
        "deep JSON", "Nests its manifest a hundred thousand times.", _manifest(_with("x", "[" * 100_000)), "Not usable"
    ),
    _attack(
        "NaN in a manifest",
        "Writes a number that no database takes.",
        _manifest(_with("suite_version", "NaN")),
        "Not usable",
    ),
    _attack("duplicate keys", "Says two things under one key.", _manifest(_with("suite", '"other"')), "Not usable"),
    _attack(
        "NUL in JSON", "Holds a character that no database takes.", _manifest(_with("notes", '"\\u0000"')), "Not usable"
    ),
    _attack("lone surrogate", "Holds half a character.", _manifest(_with("notes", '"\\ud800"')), "Not usable"),
    _attack(
        "long number",
        "Holds a number of a million digits.",
        _manifest(_with("suite_version", "9" * 900_000)),
        "Not usable",
    ),
    _attack(
        "huge line",
        "Sends one row of megabytes.",
        lambda: json.dumps(_ROW | {"x": "x" * 2 * MEGABYTE}).encode(),
        "longer than 1 MB",
    ),
    _attack("too many rows", "Sends more rows than there are answers.", lambda: b"{}\n" * 7000, "more than 6000 rows"),
    _attack("too large", "Is larger than an upload may be.", lambda: b"{" + b" " * 21 * MEGABYTE, "larger than 20 MB"),
    _attack(
        "many definitions",
        "Defines 17,800 functions, for which Python's compiler takes half a minute.",
        lambda: zip_of(_GOOD[0], (f"{PLACE}/answer.py", b"def a(): pass\n" * 17_800 + GOLDEN.encode())),
        "more than 2,000 functions",
        BAD_PATCH,
    ),
    _attack(
        "many nodes",
        "Defines few functions with very much in them.",
        lambda: zip_of(_GOOD[0], (f"{PLACE}/answer.py", b"X = (" + b"a," * 120_000 + b")\n" + GOLDEN.encode())),
        "more than 200,000 syntax nodes",
        BAD_PATCH,
    ),
    _attack("deep path in a bundle", "Nests folders.", _zip(f"{PLACE}/{'a/' * 60}log.txt"), "deeper than 8 folders"),
    _attack("plain tar", "Holds a bundle in the wrong shape.", lambda: tar_files({"x/answer.py": b""}), "missing"),
)
