"""Numbered names for factories."""

from __future__ import annotations

import factory


def numbered(prefix: str = "") -> factory.Sequence:
    """``prefix`` with 10001, 10002, …: numbers of one length, because many lists are ordered by such a name.

    With ``paper-9`` and ``paper-10`` the order of two papers depends on how many tests ran before.
    """
    return factory.Sequence(lambda number: f"{prefix}{number + 10_001}")
