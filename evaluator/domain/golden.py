"""Where the reference box's outputs are kept between runs."""

from __future__ import annotations

import os
import secrets
from typing import TYPE_CHECKING

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
        self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        path = self._path(key)
        draft = path.with_suffix(f".{secrets.token_hex(4)}")
        draft.write_bytes(value)
        os.replace(draft, path)  # noqa: PTH105 - the atomic one

    def _path(self, key: GoldenKey) -> Path:
        return self._folder / key.text()
