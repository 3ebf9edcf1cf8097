"""Signals of this room for higher ones. Receivers only queue work after commit."""

from __future__ import annotations

from django.dispatch import Signal

submission_scored = Signal()
"""``submission``: all its test runs are done. Sent after commit."""

measured_again = Signal()
"""``reevaluation_id``: one of its test runs ended. Sent at once: the sweep covers lost signals."""

submission_reevaluated = Signal()
"""``submission``: a re-evaluation of it was applied. Sent inside that transaction, so that its board row changes
together with its outcomes.
"""

implementation_rated = Signal()
"""``implementation``: a judge has decided on it, with a label or an abstention. Sent after commit."""

revision_audited = Signal()
"""``revision``: it was audited, so its audit state may have changed. Sent after commit."""

trajectory_read_again = Signal()
"""``submission_id``: one of its trajectories was read again by a newer reader, so its answers' tokens and cost may have
changed. Sent inside the transaction that stores them.
"""

reconciled = Signal()
"""Sent after each sweep, so that higher rooms can make up for lost signals."""
