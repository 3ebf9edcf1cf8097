"""News from this room for the higher ones. Receivers only queue work after commit."""

from __future__ import annotations

from django.dispatch import Signal

submission_scored = Signal()
"""``submission``: every test run of it is done. Sent after commit."""

reconciled = Signal()
"""Sent after each sweep, so that higher rooms can catch up on news they missed."""
