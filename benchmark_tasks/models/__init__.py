"""Database models of the catalogue."""

from benchmark_tasks.models.catalogue import (
    Category,
    Paper,
    SeedEpoch,
    Suite,
    SuiteVersion,
    Task,
    TaskRevision,
)

__all__ = ["Category", "Paper", "SeedEpoch", "Suite", "SuiteVersion", "Task", "TaskRevision"]
