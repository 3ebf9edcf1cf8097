"""A small task, and a scripted model that works on it: a list of replies takes the provider's place."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmark_tasks.domain.goals import Goal
from evaluator.generation.agent import AgentResult, run_agent
from evaluator.generation.agent_box import AgentLimits
from evaluator.generation.agent_workspace import AgentTask
from evaluator.providers.interface import Finish, Message, ModelReply, ModelRequest, TokenUsage, ToolUse
from evaluator.sandbox.interface import Sandbox
from tests.evaluator.sandbox.boxes import own

LABEL = own("agent-test")
STUB = '''"""Ranking."""

import numpy as np

from ranking.helpers import shift


def rank(scores):
    """Return the order, best first."""
    raise NotImplementedError
'''
BODY = "    return np.argsort(-shift(scores), kind='stable')\n"
GOLDEN = STUB.replace("    raise NotImplementedError\n", BODY)
FILES = {
    "ranking/goal.py": STUB,
    "ranking/helpers.py": "def shift(scores):\n    return scores - scores.max()\n",
    "tests/test_goal.py": "def test_rank():\n    assert True\n",
    "README.md": "# Ranking\n",
}
LIMITS = AgentLimits(seconds=120.0, command_seconds=20.0, memory_bytes=256 * 2**20, disk_bytes=32 * 2**20)
_ids = itertools.count(1)


def make_task(root: Path, **changed: Any) -> AgentTask:
    """Return the task, with its masked repository written below ``root``."""
    for name, text in FILES.items():
        path = root / "masked" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    facts: dict[str, Any] = {
        "goal": Goal("ranking/1", "ranking/goal.py", "rank"),
        "instruction": "Implement `rank`.",
        "repository": root / "masked",
        "paper_pdf": None,
        "paper_text": "Rank by score, best first.",
        "environment": "numpy",
        "inputs": "full",
    }
    return AgentTask(**(facts | changed))


def run(command: str) -> ToolUse:
    """Return a valid use of the tool."""
    return use({"command": command})


def use(arguments: Any, *, name: str = "bash") -> ToolUse:
    """Return a use of a tool, valid or not."""
    return ToolUse(id=f"call-{next(_ids)}", name=name, arguments=arguments, raw=str(arguments))


SUBMIT = run("submit")
SOLVE = run(f'sed -i "s/    raise NotImplementedError/{BODY.rstrip()}/" ranking/goal.py')


def reply(*uses: ToolUse, text: str = "", finish: Finish | None = None) -> ModelReply:
    """Return a turn of the model."""
    finish = finish or (Finish.TOOLS if uses else Finish.STOPPED)
    message = Message(role="assistant", text=text, tool_uses=uses, opaque=({"said": text},))
    return ModelReply(text, uses, finish, TokenUsage(10, 5), "scripted", "request", {}, message)


@dataclass
class Worked:
    """The result of a run, and the requests sent to the model."""

    requests: list[ModelRequest] = field(default_factory=list)
    _result: AgentResult | None = None

    @property
    def result(self) -> AgentResult:
        assert self._result is not None
        return self._result

    @property
    def changed(self) -> dict[str, bytes]:
        return dict(self.result.changes.changed)

    @property
    def observations(self) -> list[str]:
        return [step.observation for step in self.result.trajectory.steps]


def work(
    sandbox: Sandbox,
    task: AgentTask,
    *turns: ModelReply | ToolUse,
    limits: AgentLimits = LIMITS,
    cancelled: Callable[[], bool] = lambda: False,
    before: Callable[[int], None] = lambda _: None,
) -> Worked:
    """Run the agent with a scripted model that replies with ``turns``; a single tool use is a turn of its own."""
    worked = Worked()

    def ask(request: ModelRequest, *, step: int) -> ModelReply:
        worked.requests.append(request)
        before(step)
        turn = turns[step - 1]
        return turn if isinstance(turn, ModelReply) else reply(turn)

    worked._result = run_agent(ask=ask, sandbox=sandbox, task=task, limits=limits, label=LABEL, cancelled=cancelled)
    return worked
