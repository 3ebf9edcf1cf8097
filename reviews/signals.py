"""Signals for the apps that build on this one. Receivers only queue work, after commit."""

from __future__ import annotations

from django.dispatch import Signal

case_closed = Signal()
"""``case`` got its last label, or was decided, voided or reopened; its final label may differ. Sent after commit."""

task_flagged = Signal()
"""The test or golden function of ``revision`` was flagged as bad, or a flag was lifted. Sent after commit."""

case_triggered = Signal()
"""``case`` got a reason to be reviewed, its first or a further one. Sent after commit."""
