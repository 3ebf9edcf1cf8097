"""Where what the reference did in its boxes is kept between runs."""

from __future__ import annotations

import json
import os
import secrets
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from evaluator.testing.upstream_types import Mode, ModeChoice

if TYPE_CHECKING:
    from pathlib import Path

    from evaluator.testing.golden import GoldenKey


UNUSED_DAYS: Final = 30
"""How long an entry is kept that nothing asks for: its grading content, seed or environment is out of use, or its task
is seldom answered, and then one run of the reference brings it back."""
_DAY: Final = 24 * 3600.0
_SWEPT: Final = ".swept"


class FileGoldenStore:
    """Golden outputs as files named by their key; written whole or not at all."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def get(self, key: GoldenKey) -> bytes | None:
        """What was stored under ``key``."""
        return _read(self._path(key))

    def put(self, key: GoldenKey, value: bytes) -> None:
        """Store ``value`` under ``key``."""
        _write(self._path(key), value)

    def _path(self, key: GoldenKey) -> Path:
        return self._folder / key.text()


class ModeFile:
    """How one upstream task's answers are tested in one environment."""

    def __init__(self, folder: Path, key: str) -> None:
        self._path = folder / f"mode-{key}"

    def read(self) -> ModeChoice | None:
        """The choice, if one was made."""
        content = _read(self._path)
        if content is None:
            return None
        stored = json.loads(content)
        return ModeChoice(
            mode=Mode(stored["mode"]),
            why=stored["why"],
            copies_back=stored["copies_back"],
            returns=frozenset(stored["returns"]),
        )

    def write(self, choice: ModeChoice) -> None:
        """Remember ``choice``."""
        facts = {"mode": choice.mode.value, "why": choice.why, "copies_back": choice.copies_back}
        _write(self._path, json.dumps({**facts, "returns": sorted(choice.returns)}).encode())


def sweep_golden(folder: Path) -> int:
    """Once a day remove what nothing has asked for in ``UNUSED_DAYS``, and say how many files that were."""
    now = time.time()
    mark = folder / _SWEPT
    if not folder.is_dir() or (mark.exists() and now - mark.stat().st_mtime < _DAY):
        return 0
    mark.touch()
    swept = 0
    for path in folder.iterdir():
        with suppress(FileNotFoundError):  # another sweep, or the rename of a draft
            if now - path.stat().st_mtime > UNUSED_DAYS * _DAY:
                path.unlink()
                swept += 1
    return swept


def _read(path: Path) -> bytes | None:
    """The file's content, if there is one; its time of change becomes that of its last use."""
    try:
        content = path.read_bytes()
        os.utime(path)
    except FileNotFoundError:
        return None
    return content


def _write(path: Path, value: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    draft = path.with_suffix(f".{secrets.token_hex(4)}")
    draft.write_bytes(value)
    os.replace(draft, path)  # noqa: PTH105 - the atomic one
