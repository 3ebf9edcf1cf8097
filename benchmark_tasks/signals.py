"""News of this room. Receivers live in higher rooms, and only queue work."""

from __future__ import annotations

from typing import Final

from django.dispatch import Signal

suite_imported: Final = Signal()
"""A new suite version exists. Sent after commit by SuiteVersion, with ``suite_version`` and ``actor`` (or None)."""
