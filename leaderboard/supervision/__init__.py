"""One process that starts, watches and stops everything that an instance consists of. Imports no Django."""

from __future__ import annotations


class SupervisionError(Exception):
    """Something must be changed before the instance can start; the message says what."""
