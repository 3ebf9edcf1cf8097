"""Cut a release: name and date what is unreleased, and keep what later changes are compared with.

``.venv/bin/python -m scripts.release 0.10.0`` (docs/contributing.md, "Releases") changes files and commits nothing.
"""

from __future__ import annotations

import datetime as dt
import lzma
import os
import re
import sys
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[1]
CHANGELOG: Final = ROOT / "CHANGELOG.md"
TABLE: Final = ROOT / "docs/operating.md"
RELEASED_API: Final = ROOT / "tests/leaderboard/api/released.json.xz"


def leaves() -> dict[str, str]:
    """Return the last migration of each app."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "leaderboard.settings")
    import django

    django.setup()
    from django.db.migrations.loader import MigrationLoader

    return dict(sorted(MigrationLoader(None).graph.leaf_nodes()))


def cut(version: str, *, root: Path, last: dict[str, str], today: dt.date) -> str:
    """Change the files below ``root``. Return why that is not possible, or "" if it was done."""
    if not re.fullmatch(r"\d+\.\d+\.\d+", version):
        return f"{version!r} is not a version such as 0.10.0."
    replaced = (
        (CHANGELOG, "## Unreleased\n", f"## {version} - {today}\n"),
        (ROOT / "leaderboard/settings/releases.toml", '\nversion = "unreleased"\n', f'\nversion = "{version}"\n'),
        (TABLE, "\n| unreleased | ", f"\n| {version} | "),
    )
    files = [(root / file.relative_to(ROOT), old, new) for file, old, new in replaced]
    texts = {file: file.read_text(encoding="utf-8") for file, _, _ in files}
    if lacking := [file.name for file, old, _ in files if texts[file].count(old) != 1]:
        return f"Nothing is unreleased, or more than one thing, in {', '.join(lacking)}."
    for file, old, new in files:
        ending = "\n[releases.leaves]\n" + "".join(f'{app} = "{name}"\n' for app, name in last.items())
        file.write_text(texts[file].replace(old, new) + (ending if file.suffix == ".toml" else ""), encoding="utf-8")
    document = (root / "docs/openapi.json").read_bytes()
    (root / RELEASED_API.relative_to(ROOT)).write_bytes(lzma.compress(document, preset=9))
    return ""


def main() -> int:
    """Cut the release that the command line names."""
    version = sys.argv[1] if sys.argv[1:] else ""
    if problem := cut(version, root=ROOT, last=leaves(), today=dt.datetime.now(dt.UTC).date()):
        sys.stderr.write(f"{problem}\n")
        return 1
    sys.stdout.write(f"Look at git diff, run make test, commit, and tag the commit: git tag --annotate v{version}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
