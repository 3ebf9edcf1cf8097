"""Zip archives whose bytes depend on nothing but what is in them: equal content has equal digests."""

from __future__ import annotations

import io
import zipfile
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

_EARLIEST: Final = (1980, 1, 1, 0, 0, 0)
"""The time that every member carries: the oldest that the format knows."""
_REGULAR_FILE: Final = 0o100644 << 16
_UNIX: Final = 3


def member(name: str) -> zipfile.ZipInfo:
    """A compressed member, readable by everybody, that says nothing of when and where it was written."""
    info = zipfile.ZipInfo(name, _EARLIEST)
    info.compress_type, info.create_system, info.external_attr = zipfile.ZIP_DEFLATED, _UNIX, _REGULAR_FILE
    return info


def zipped(files: Mapping[str, str | bytes]) -> bytes:
    """An archive of ``files`` (name -> content), in the order of names."""
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w") as archive:
        for name, content in sorted(files.items()):
            archive.writestr(member(name), content)
    return target.getvalue()
