"""Attacks by the file that is sent in: nothing of it is ever unpacked to disk, and reading it costs little."""

from __future__ import annotations

import json
import stat
import tarfile
from functools import partial
from typing import TYPE_CHECKING, Final

from evaluator.auditing.canary_round import GOLDEN, NAME
from tests.attacks.corpus.archives import REGULAR, gzip_bomb, overlapping_zip, tar_files, tar_header, tar_of, zip_of
from tests.attacks.corpus.kinds import ACCEPTED, BAD_PATCH, REFUSED, Attack, Group, UploadAttack, Way, ends

if TYPE_CHECKING:
    from collections.abc import Callable

MEGABYTE: Final = 1024 * 1024
MANIFEST: Final = json.dumps({"suite": "attacks", "system": "Attack", "backbone": "none", "inputs": "full"}).encode()
PLACE: Final = f"answers/{NAME}"
_GOOD: Final = (("submission.json", MANIFEST), (f"{PLACE}/answer.py", GOLDEN.encode()))
_LOG: Final = f"{PLACE}/log.txt"
_ROW: Final = {"instance_id": NAME, "model_patch": "x", "model_name_or_path": "none"}


def _attack(name: str, make: Callable[[], bytes], says: str, outcome: str = REFUSED) -> UploadAttack:
    return UploadAttack(name, Group.UPLOAD, {Way.CHECKER: ends(outcome, says=says)}, make=make)


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


GOOD_UPLOAD: Final = UploadAttack(
    "good upload", Group.CONTROL, {Way.CHECKER: ends(ACCEPTED)}, make=lambda: zip_of(*_GOOD)
)
UPLOAD: Final[tuple[Attack, ...]] = (
    _attack("zip slip", _zip("../../evil.txt"), "climbs out"),
    _attack("tar slip", _tar("../../evil.txt"), "climbs out"),
    _attack("absolute name", _tar("/opt/evil.txt"), "absolute"),
    _attack("zip device", _zip(_LOG, b"", stat.S_IFCHR | 0o666), "special file"),
    _attack("tar device", _tar(_LOG, tarfile.CHRTYPE), "character device"),
    _attack("zip link", _zip(_LOG, b"/etc", stat.S_IFLNK | 0o777), "symbolic link"),
    _attack("tar link", _tar(_LOG, tarfile.SYMTYPE, target="/etc"), "symbolic link"),
    _attack("hard link", _tar(_LOG, tarfile.LNKTYPE, target="submission.json"), "hard link"),
    _attack("set-uid", _tar(_LOG, content=b"x", mode=0o6755), "", ACCEPTED),
    _attack("zip bomb", _zip(_LOG, bytes(8 * MEGABYTE)), "times its packed size"),
    _attack("overlapping zip", partial(overlapping_zip, _LOG.encode(), bytes(range(256)) * 4096, 8000), "clashes with"),
    _attack(
        "tar bomb", lambda: gzip_bomb(tar_header(_LOG.encode(), 1024 * MEGABYTE), 64 * MEGABYTE), "unpacks to more than"
    ),
    _attack(
        "PAX header of 1 GB",
        lambda: gzip_bomb(tar_header(b"pax", 1024 * MEGABYTE, b"x"), 64 * MEGABYTE),
        "unpacks to more than",
    ),
    _attack("many entries", lambda: gzip_bomb(tar_header(b"a/", 0, b"5") * 100_000, 0), "more than 8000 entries"),
    _attack("nested archive", _zip(f"{PLACE}/more.zip", b"PK"), "Files of this kind"),
    _attack("duplicate names", lambda: zip_of(*_GOOD, _GOOD[1]), "clashes with"),
    _attack("names by case", _zip(f"{PLACE}/Answer.PY"), "clashes with"),
    _attack("decomposed name", _zip(f"{PLACE}/e\u0301.txt"), "ASCII"),
    _attack("control in a name", _tar(f"{PLACE}/a\x07.txt"), "ASCII"),
    _attack("encrypted or odd", lambda: b"Rar!\x1a\x07\x00", "RAR"),
    _attack("deep JSON", _manifest(_with("x", "[" * 100_000)), "Not usable"),
    _attack("NaN in a manifest", _manifest(_with("suite_version", "NaN")), "Not usable"),
    _attack("duplicate keys", _manifest(_with("suite", '"other"')), "Not usable"),
    _attack("NUL in JSON", _manifest(_with("notes", '"\\u0000"')), "Not usable"),
    _attack("lone surrogate", _manifest(_with("notes", '"\\ud800"')), "Not usable"),
    _attack("long number", _manifest(_with("suite_version", "9" * 900_000)), "Not usable"),
    _attack("huge line", lambda: json.dumps(_ROW | {"x": "x" * 2 * MEGABYTE}).encode(), "longer than 1 MB"),
    _attack("too many rows", lambda: b"{}\n" * 7000, "more than 6000 rows"),
    _attack("too large", lambda: b"{" + b" " * 21 * MEGABYTE, "larger than 20 MB"),
    _attack(
        "many definitions",
        lambda: zip_of(_GOOD[0], (f"{PLACE}/answer.py", b"def a(): pass\n" * 17_800 + GOLDEN.encode())),
        "more than 2,000 functions",
        BAD_PATCH,
    ),
    _attack(
        "many nodes",
        lambda: zip_of(_GOOD[0], (f"{PLACE}/answer.py", b"X = (" + b"a," * 120_000 + b")\n" + GOLDEN.encode())),
        "more than 200,000 syntax nodes",
        BAD_PATCH,
    ),
    _attack("deep path in a bundle", _zip(f"{PLACE}/{'a/' * 60}log.txt"), "deeper than 8 folders"),
    _attack("plain tar", lambda: tar_files({"x/answer.py": b""}), "missing"),
)
