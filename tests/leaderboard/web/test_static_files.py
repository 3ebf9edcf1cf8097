"""Static files are compressed with gzip alone, whatever else is installed."""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING

from leaderboard.web.static_files import StaticFilesStorage

if TYPE_CHECKING:
    from pathlib import Path


def test_only_gzip_files_are_made(tmp_path: Path) -> None:
    assert find_spec("brotli"), "without Brotli this test could not fail"
    file = tmp_path / "style.css"
    file.write_text("a { color: black }\n" * 100, encoding="utf-8")
    storage = StaticFilesStorage(location=str(tmp_path), base_url="/static/")  # type: ignore[no-untyped-call]
    made = storage.create_compressor(quiet=True)
    assert [name.removeprefix(str(tmp_path)) for name in made.compress(str(file))] == ["/style.css.gz"]
