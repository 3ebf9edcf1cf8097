"""News from this room for the higher ones. Receivers only queue work after commit."""

from __future__ import annotations

from django.dispatch import Signal

case_settled = Signal()
"""``case``: it was labelled, settled, voided or reopened: its answer's final label may have changed. After commit."""

task_flagged = Signal()
"""``revision``: its test or golden function was found bad, or such a flag was lifted. Sent after commit."""
