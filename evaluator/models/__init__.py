"""What was measured."""

from evaluator.models.runs import Attempt, TestRun

__all__ = ["Attempt", "TestRun"]
