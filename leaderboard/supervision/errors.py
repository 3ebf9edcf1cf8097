"""What keeps an instance from starting, said for the person who starts it."""

from __future__ import annotations


class SupervisionError(Exception):
    """Something must be changed before the instance can start; the message says what."""
