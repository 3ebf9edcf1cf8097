"""A small open suite, a data folder for each test, and a stand-in for workers."""

from __future__ import annotations

from tests.leaderboard.working import at_work
from tests.submissions.conftest import data_dir, small

__all__ = ["at_work", "data_dir", "small"]
