"""News from this room for the higher ones. Receivers only queue work after commit."""

from __future__ import annotations

from django.dispatch import Signal

submission_scored = Signal()
"""``submission``: every test run of it is done. Sent after commit."""

measured_again = Signal()
"""``reevaluation_id``: one of its test runs ended. Sent at once: the sweep finds what is missed."""

submission_reevaluated = Signal()
"""``submission``: a re-evaluation of it was applied. Sent inside the transaction that does so, so that its board row
changes in the same moment as its outcomes.
"""

implementation_rated = Signal()
"""``implementation``: a judge has decided on it, by a label or an abstention. Sent after commit."""

revision_audited = Signal()
"""``revision``: it was audited, and its audit state may be another one. Sent after commit."""

trajectory_read_again = Signal()
"""``submission_id``: a trajectory of it was read again by a newer reader, so that its answers may have other tokens and
cost. Sent inside the transaction that stores them.
"""

reconciled = Signal()
"""Sent after each sweep, so that higher rooms can catch up on news they missed."""
