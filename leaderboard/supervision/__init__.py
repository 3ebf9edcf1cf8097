"""Start, watch and stop all programs of an instance from one process. Imports no Django."""

from __future__ import annotations


class SupervisionError(Exception):
    """The instance cannot start; the message explains what must be changed."""
