"""What was measured, with what, and how well the measuring itself works."""

from evaluator.models.checks import SelfCheck
from evaluator.models.environments import EnvironmentBuild
from evaluator.models.reevaluation import Reevaluation
from evaluator.models.runs import Attempt, TestRun

__all__ = ["Attempt", "EnvironmentBuild", "Reevaluation", "SelfCheck", "TestRun"]
