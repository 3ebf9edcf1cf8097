"""What a job may be: a call of one of our own job functions. The queue carries hints, never code."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from rq.job import Job

if TYPE_CHECKING:
    from collections.abc import Callable

JOB_MODULES: Final = ("evaluator.jobs", "leaderboard.jobs")
"""The rooms' modules of job functions, by name only: imports point one way, and a worker loads them when it must."""


class UnknownJobError(Exception):
    """A job names something else than a function of :data:`JOB_MODULES`: somebody else wrote it into Redis."""


class KnownJob(Job):
    """A job that calls nothing but the functions of :data:`JOB_MODULES`.

    The JSON serializer alone would let whoever can write to Redis call any importable function with any arguments
    (``os.system``), since RQ imports the name that a job carries, and the names of its callbacks.
    """

    @property
    def func(self) -> Callable[..., Any]:
        """The function to call. Raises :class:`UnknownJobError`."""
        module, _, name = str(self.func_name).rpartition(".")
        function = getattr(import_module(module), name, None) if module in JOB_MODULES else None
        if self.instance is not None or function is None or function.__module__ != module:
            msg = f"{str(self.func_name)[:80]!r} is no job of this site"
            raise UnknownJobError(msg)
        known: Callable[..., Any] = function
        return known

    @property
    def success_callback(self) -> None:
        """None: our jobs have no callbacks."""

    @property
    def failure_callback(self) -> None:
        """None: our jobs have no callbacks."""

    @property
    def stopped_callback(self) -> None:
        """None: our jobs have no callbacks."""
