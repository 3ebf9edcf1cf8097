"""Where what the reference did in its boxes is kept between runs."""

from __future__ import annotations

import json
import os
import secrets
from typing import TYPE_CHECKING

from evaluator.grading.upstream_types import Mode, ModeChoice

if TYPE_CHECKING:
    from pathlib import Path

    from evaluator.grading.golden import GoldenKey


class FileGoldenStore:
    """Golden outputs as files named by their key; written whole or not at all."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def get(self, key: GoldenKey) -> bytes | None:
        """What was stored under ``key``."""
        try:
            return self._path(key).read_bytes()
        except FileNotFoundError:
            return None

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
        try:
            stored = json.loads(self._path.read_text())
        except FileNotFoundError:
            return None
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


def _write(path: Path, value: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    draft = path.with_suffix(f".{secrets.token_hex(4)}")
    draft.write_bytes(value)
    os.replace(draft, path)  # noqa: PTH105 - the atomic one
