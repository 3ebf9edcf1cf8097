"""Signals of this room, for the higher ones. Receivers only queue work after commit."""

from __future__ import annotations

from django.dispatch import Signal

upload_waiting = Signal()
"""``upload``: stored and to be checked, inside the transaction that stored it."""

submission_created = Signal()
"""``submission``: stored with all its implementations, inside the transaction that stored it."""

submission_cancelled = Signal()
"""``submission``: cancelled; whatever is under way for it should stop."""

submission_changed = Signal()
"""``submission``: its visibility or its described facts changed."""
