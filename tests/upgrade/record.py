"""Record an instance for :mod:`tests.upgrade.test_upgrade`: its database, its snapshots and its public responses.

Run it with the code that made the instance, and with its settings; README.md in this folder has the commands.
"""

from __future__ import annotations

import json
import logging
import lzma
import os
import re
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

SUITES = ("lmr-mini", "lmr-bench")
OF_SUITES = (
    *("/board/{}/?format=csv", "/board/{}/?format=json", "/board/{}/matrix/?format=csv"),
    *("/api/v1/suites/{}/board", "/api/v1/suites/{}/matrix", "/api/v1/suites/{}/agreement"),
    *("/api/v1/suites/{}/snapshots", "/api/v1/suites/{}/snapshots/1", "/api/v1/suites/{}/tasks"),
)
CATEGORIES = (
    *("feature-learning-representation", "neural-network-architectures", "information-extraction"),
    *("prompt-engineering-instruction-tuning", "data-augmentation", "training-objectives-optimization"),
    *("decoding-search-strategies", "evaluation-metrics", "interpretability-explainability"),
)
OTHERS = (
    *("/api/v1/submissions", "/api/v1/submissions/4", "/api/v1/submissions/6", "/api/v1/submissions/7"),
    *("/api/v1/submissions/4/answers", "/api/v1/submissions/6/answers"),
    "/api/v1/submissions/6/answers/rope/1/1/receipt",
    *("/api/v1/judges", "/api/v1/judges/honest-judge", "/api/v1/systems", "/api/v1/reported"),
    "/api/v1/suites/lmr-mini/tasks/rope/1/difficulty",
)
ADDRESSES = (
    *(address.format(suite) for suite in SUITES for address in OF_SUITES),
    *(f"/board/lmr-bench/?format=json&category={category}" for category in CATEGORIES),
    *OTHERS,
)


def answers(client: Any) -> dict[str, Any]:
    """Status and public content by address; JSON as data, since PostgreSQL keeps no order of an object's keys."""
    found = {}
    for address in ADDRESSES:
        response = client.get(address)
        text = response.content.decode()
        found[address] = [response.status_code, json.loads(text) if text.startswith("{") else text]
    return found


def dump() -> tuple[str, str]:
    """The database's vendor, and its content as SQL."""
    from django.db import connection

    name = str(connection.settings_dict["NAME"])
    if connection.vendor == "sqlite":
        with closing(sqlite3.connect(name)) as database:
            return "sqlite", "\n".join(database.iterdump())
    host = str(connection.settings_dict["HOST"])
    command = ["pg_dump", "--inserts", "--no-owner", "--no-privileges", "--host", host]
    command += ["--username", str(connection.settings_dict["USER"]), name]
    dumped = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    # Remove commands of psql, which a server does not accept.
    return "postgresql", re.sub(r"^\\(un)?restrict .*\n", "", dumped, flags=re.MULTILINE)


def record(folder: Path) -> None:
    """Write the test's files into ``folder``."""
    import django

    django.setup()
    from django.conf import settings
    from django.test import Client

    from leaderboard.models import Snapshot

    logging.disable()
    vendor, sql = dump()
    (folder / f"{vendor}.sql.xz").write_bytes(lzma.compress(sql.encode(), preset=9))
    for snapshot in Snapshot.objects.all():
        (stored,) = (settings.DATA_DIR / "content").rglob(snapshot.archive)
        shutil.copyfile(stored, folder / f"{snapshot.archive}.zip")
    # Each database has its own responses: averages in SQL differ in the last digit.
    file = folder / "shown.json.xz"
    shown = json.loads(lzma.decompress(file.read_bytes())) if file.exists() else {}
    shown[vendor] = answers(Client(headers={"host": "localhost"}))
    written = json.dumps(shown, ensure_ascii=False, indent=1, sort_keys=True)
    file.write_bytes(lzma.compress(written.encode(), preset=9))


if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "leaderboard.settings")
    sys.path.insert(0, str(Path.cwd()))
    record(Path(sys.argv[1]))
