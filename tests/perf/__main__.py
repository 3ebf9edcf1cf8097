"""Measure the site in one run and print one table: ``make bench [PARTS=boards,boxes] [SOURCE=FOLDER] [ROUNDS=5]``.

Not a test: it compares no time with a limit. Each part runs in a process of its own on an instance of its own (a new
data folder with SQLite), one after the other. What cannot be measured here has a row with the reason.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import platform
import re
import shutil
import sqlite3
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from tests.perf.rows import HEAD, Row, measured, progress

PARTS: Final = {
    "boards": "boards beside a bare view and nginx",
    "caches": "a changed board without each kind of cached value",
    "pages": "pages about many answers",
    "sizes": "every page and list of the API at two sizes, on PostgreSQL",
    "boxes": "an answer in each sandbox",
    "suites": "whole suites on two workers",
    "starts": "the start of make run, and an upload",
}


def machine() -> list[str]:
    """Return the lines that describe where and when this was measured."""
    model = re.search(r"^model name\s*:\s*(.+)$", Path("/proc/cpuinfo").read_text(encoding="utf-8"), re.MULTILINE)
    pages = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    versions = {
        "bubblewrap": _printed("bwrap", "--version"),
        "Docker": _printed("docker", "version", "--format", "{{.Server.Version}}"),
        "gVisor": _printed("runsc", "--version"),
        "nginx": _printed("nginx", "-v"),
    }
    return [
        f"- Date: {datetime.now(UTC):%Y-%m-%d %H:%M} UTC; load before: {os.getloadavg()[0]:.1f}",
        f"- Processors: {os.cpu_count()}, {model[1] if model else platform.machine()}; memory: {pages / 2**30:.0f} GB",
        f"- Kernel: {platform.release()}; Python: {platform.python_version()}; SQLite: {sqlite3.sqlite_version}",
        f"- {'; '.join(f'{name}: {version}' for name, version in versions.items())}",
    ]


def _printed(*command: str) -> str:
    if shutil.which(command[0]) is None:
        return "not installed"
    found = subprocess.run(command, capture_output=True, text=True, check=False)
    words = re.search(r"\d[\w.+~-]*", found.stdout + found.stderr) if found.returncode == 0 else None
    return words[0] if words else "does not answer"


def _parts(text: str) -> list[str]:
    parts = text.split(",") if text else list(PARTS)
    if unknown := sorted(set(parts) - PARTS.keys()):
        msg = f"{', '.join(unknown)}: no such part; there are {', '.join(PARTS)}"
        raise argparse.ArgumentTypeError(msg)
    return parts


def main() -> int:
    """Measure and print; return 1 if a part failed."""
    parser = argparse.ArgumentParser(prog="python -m tests.perf", description=__doc__)
    parser.add_argument("--parts", type=_parts, default=list(PARTS), help=f"some of {','.join(PARTS)}; default: all")
    parser.add_argument("--source", default="", help="the folder of LMR-BENCH's data set, as for make lmr-bench")
    parser.add_argument("--rounds", type=int, default=5, help="how often to repeat each measurement (default: 5)")
    options = parser.parse_args()
    for name in ("DATABASE_URL", "REDIS_URL", "STORAGE_URL", "DATA_DIR"):
        os.environ.pop(name, None)
    os.environ["ENV_FILE"] = os.devnull
    head, rows, failed = machine(), list[Row](), False
    spawn = multiprocessing.get_context("spawn")
    for part in options.parts:
        progress(f"{part}: {PARTS[part]} …")
        with ProcessPoolExecutor(1, mp_context=spawn) as pool:
            try:
                rows += pool.submit(measured, part, options.source, options.rounds).result()
            except (Exception, SystemExit) as error:  # noqa: BLE001 - the other parts are measured all the same
                failed = True
                rows.append(Row(PARTS[part], missing=f"failed: {type(error).__name__}: {error}".replace("\n", " ")))
    lines = [HEAD, ["---"] * len(HEAD), *(row.cells() for row in rows)]
    sys.stdout.write("\n".join([*head, "", *(f"| {' | '.join(line)} |" for line in lines), ""]))
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
