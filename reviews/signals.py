"""News from this room for the higher ones. Receivers only queue work after commit."""

from __future__ import annotations

from django.dispatch import Signal

case_settled = Signal()
"""``case``: it was settled, voided or reopened, so its answer's final label may be another one. Sent after commit."""

task_flagged = Signal()
"""``revision``: its test or golden function was found bad, or such a flag was lifted. Sent after commit."""
