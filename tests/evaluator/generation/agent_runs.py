"""A task small enough to read, and a scripted model that works on it: the far edge is a list of replies."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from evaluator.generation.agent import run_agent
from evaluator.generation.agent_types import AgentLimits, AgentResult, AgentTask, StoredStep
from evaluator.providers.types import Finish, Message, ModelReply, ModelRequest, ToolUse, Usage
from evaluator.sandbox.types import Sandbox
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
    """The task, with its masked repository written below ``root``."""
    for name, text in FILES.items():
        path = root / "masked" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    facts: dict[str, Any] = {
        "slug": "ranking/1",
        "instruction": "Implement `rank`.",
        "goal_file": "ranking/goal.py",
        "goal_function": "rank",
        "class_name": "",
        "repository": root / "masked",
        "paper_pdf": None,
        "paper_text": "Rank by score, best first.",
        "environment": "numpy",
        "inputs": "full",
    }
    return AgentTask(**(facts | changed))


def use(tool: str, **arguments: Any) -> ToolUse:
    """One call of a tool."""
    return ToolUse(id=f"call-{next(_ids)}", name=tool, arguments=arguments, raw=str(arguments))


def run(command: str, seconds: int = 10) -> ToolUse:
    return use("run", command=command, seconds=seconds)


def read(path: str, first: int = 0, last: int = 0) -> ToolUse:
    return use("read", path=path, first_line=first, last_line=last)


def edit(path: str, old: str, new: str) -> ToolUse:
    return use("edit", path=path, old=old, new=new)


FINISH = ToolUse(id="call-finish", name="finish", arguments={"summary": "Done."})
SOLVE = edit("ranking/goal.py", "    raise NotImplementedError\n", BODY)


def reply(*uses: ToolUse, text: str = "", finish: Finish | None = None) -> ModelReply:
    """A turn of the model."""
    finish = finish or (Finish.TOOLS if uses else Finish.STOPPED)
    message = Message(role="assistant", text=text, tool_uses=uses, opaque=({"said": text},))
    return ModelReply(text, uses, finish, Usage(10, 5), "scripted", "request", {}, message)


@dataclass
class Script:
    """A model that gives these replies, each turn its own, and keeps what it was asked."""

    turns: Sequence[ModelReply]
    asked: list[int] = field(default_factory=list)
    requests: list[ModelRequest] = field(default_factory=list)
    before: Callable[[int], None] = lambda _: None

    def __call__(self, request: ModelRequest, *, step: int) -> ModelReply:
        self.asked.append(step)
        self.requests.append(request)
        self.before(step)
        return self.turns[step - 1]


@dataclass
class Worked:
    """What a run gave."""

    result: AgentResult
    steps: list[StoredStep]
    script: Script

    @property
    def observations(self) -> list[str]:
        return [observation for step in self.steps for observation in step.observations]


def work(
    sandbox: Sandbox,
    task: AgentTask,
    *turns: ModelReply | ToolUse,
    limits: AgentLimits = LIMITS,
    replay: Sequence[StoredStep] = (),
    cancelled: Callable[[], bool] = lambda: False,
    before: Callable[[int], None] = lambda _: None,
) -> Worked:
    """Let a scripted model work; a tool use alone is a turn of its own."""
    script = Script([turn if isinstance(turn, ModelReply) else reply(turn) for turn in turns], before=before)
    steps: list[StoredStep] = []
    result = run_agent(
        ask=script,
        sandbox=sandbox,
        task=task,
        limits=limits,
        label=LABEL,
        cancelled=cancelled,
        replay=replay,
        stored=steps.append,
    )
    return Worked(result, steps, script)
