"""Models of runs, generations, judgements, re-evaluations and self-checks."""

from evaluator.models.checks import SelfCheck
from evaluator.models.environments import EnvironmentBuild
from evaluator.models.generation import AnswerRequest, Generation, ModelCall, Trajectory
from evaluator.models.hosts import Host
from evaluator.models.judging import JudgeConfig, JudgeHealth, Judgement, JudgeVote, ShownJudge
from evaluator.models.reevaluation import Reevaluation
from evaluator.models.runs import Attempt, TestRun

__all__ = [
    "AnswerRequest",
    "Attempt",
    "EnvironmentBuild",
    "Generation",
    "Host",
    "JudgeConfig",
    "JudgeHealth",
    "JudgeVote",
    "Judgement",
    "ModelCall",
    "Reevaluation",
    "SelfCheck",
    "ShownJudge",
    "TestRun",
    "Trajectory",
]
