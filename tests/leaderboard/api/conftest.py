"""A small open suite, and data folders of their own."""

from __future__ import annotations

from tests.submissions.conftest import data_dir, small

__all__ = ["data_dir", "small"]
