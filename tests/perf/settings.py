"""The site's settings with an additional address, for ``boards``."""

from __future__ import annotations

from leaderboard.settings import *  # noqa: F403

ROOT_URLCONF = "tests.perf.urls"
