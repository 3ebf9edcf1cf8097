"""Signals of this app. Receivers are in the apps that depend on it, and only queue work."""

from __future__ import annotations

from typing import Final

from django.dispatch import Signal

suite_imported: Final = Signal()
"""A new suite version exists. Sent after commit by SuiteVersion, with ``suite_version`` and ``actor`` (or None)."""

paper_found: Final = Signal()
"""A paper's ``file`` is imported. A receiver returns the reason why models cannot read it, or "". ``content_hash`` is
the file's, and empty in a dry run, which stores nothing.
"""
