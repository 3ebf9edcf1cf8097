"""Write zip archives whose bytes depend on their content only: equal content has equal digests."""

from __future__ import annotations

import io
import zipfile
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

_EARLIEST: Final = (1980, 1, 1, 0, 0, 0)
"""The time of every member: the oldest that the format can store."""
_REGULAR_FILE: Final = 0o100644 << 16
_UNIX: Final = 3


def member(name: str) -> zipfile.ZipInfo:
    """Describe a compressed member, readable by everyone, without the time and the system it was written on."""
    info = zipfile.ZipInfo(name, _EARLIEST)
    info.compress_type, info.create_system, info.external_attr = zipfile.ZIP_DEFLATED, _UNIX, _REGULAR_FILE
    return info


def zipped(files: Mapping[str, str | bytes]) -> bytes:
    """Return an archive of ``files`` (name -> content), in the order of names."""
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w") as archive:
        for name, content in sorted(files.items()):
            archive.writestr(member(name), content)
    return target.getvalue()
