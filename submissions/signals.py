"""Signals for the apps that build on this one. Receivers only queue work, after commit."""

from __future__ import annotations

from django.dispatch import Signal

upload_waiting = Signal()
"""``upload`` was stored and needs a check; sent inside the transaction that stored it."""

submission_created = Signal()
"""``submission`` was stored with all its implementations; sent inside the transaction that stored it."""

submission_cancelled = Signal()
"""``submission`` was cancelled; work in progress for it should stop."""

submission_changed = Signal()
"""The visibility or the description of ``submission`` changed."""

team_changed = Signal()
"""Somebody joined ``team``, or something was handed over to it; sent inside the transaction."""

account_erased = Signal()
"""``user`` is being erased; sent inside the transaction. Receivers erase what they keep of the person."""
