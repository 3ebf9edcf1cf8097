"""News from this room for the higher ones. Receivers only queue work after commit."""

from __future__ import annotations

from django.dispatch import Signal

case_closed = Signal()
"""``case``: it got its last label, was decided, voided or reopened: its final label may be another. After commit."""

task_flagged = Signal()
"""``revision``: its test or golden function was found bad, or such a flag was lifted. Sent after commit."""
