"""A small open suite, and a data folder for each test."""

from __future__ import annotations

from tests.submissions.conftest import data_dir, small

__all__ = ["data_dir", "small"]
