"""Vendored files are exactly what VERSIONS says they are."""

from __future__ import annotations

import hashlib

from leaderboard.settings.environment import PROJECT_ROOT

VENDOR = PROJECT_ROOT / "static" / "vendor"


def test_every_vendored_file_has_its_version_licence_and_checksum() -> None:
    lines = (VENDOR / "VERSIONS").read_text().splitlines()
    columns = [line.split("  ") for line in lines if not line.startswith("#")]
    listed = {file: checksum for _name, _version, _licence, _source, file, checksum in columns}
    found = {
        path.relative_to(VENDOR).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in VENDOR.rglob("*")
        if path.is_file() and path.suffix in {".css", ".js", ".mjs"}
    }
    assert listed == found


def test_every_vendored_project_brings_its_licence() -> None:
    folders = {path.parent for path in VENDOR.rglob("*") if path.suffix in {".css", ".js", ".mjs"}}
    assert [folder.name for folder in sorted(folders) if not list(folder.glob("LICENSE*"))] == []
