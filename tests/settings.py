"""The settings of the tests: the site's own, with a data folder that is removed with the test process.

pytest-django reads settings before any conftest, so the environment is prepared here. ``DATABASE_URL`` is not changed:
``make test`` runs the tests once on SQLite and once on PostgreSQL.
"""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
from pathlib import Path


def _folder(mode: int) -> Path:
    folder = Path(tempfile.mkdtemp(prefix="lmr-board-test-"))
    folder.chmod(mode)
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


_data_dir = _folder(0o700)
# Making a box's environment takes seconds, so the first process of a test run makes it for all: workers of xdist
# inherit the variable. The folder corresponds to /var/lib/lmr-board: the boxes' user may pass through it.
_boxes = os.environ.get("TEST_SANDBOX_DIR") or str(_folder(0o711))
os.environ |= {"TEST_SANDBOX_DIR": _boxes, "DATA_DIR": str(_data_dir), "ENV_FILE": os.devnull, "LOG_LEVEL": "WARNING"}
# A fork server would outlive the run: tests that need one start and stop it.
os.environ["SANDBOX_IDLE_MINUTES"] = "0"
(_data_dir / "sandbox").symlink_to(_boxes)

from leaderboard.settings import *  # noqa: E402, F403 - all of them, and after the environment is set
from leaderboard.settings import DATA_DIR, DATABASES, STORAGES  # noqa: E402

if DATABASES["default"]["ENGINE"].endswith("sqlite3"):
    # A file, as on a real instance: SQLite in memory has neither WAL nor waiting for locks.
    DATABASES["default"]["TEST"] = {"NAME": str(DATA_DIR / "test.sqlite3")}

STORAGES = STORAGES | {"staticfiles": {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"}}
# WhiteNoise warns about a folder that is missing, and warnings are errors.
(DATA_DIR / "static").mkdir()
# Argon2 is slow on purpose.
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
