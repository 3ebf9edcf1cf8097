"""Upstream's tests with PyTorch in real boxes: a function, an optimizer, a goal in its own test."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from evaluator.testing.types import Outcome
from evaluator.testing.upstream import Mode, choose_mode, grade_upstream
from tests.evaluator.torch_environment import TORCH
from tests.evaluator.upstream.tasks import STUB, answer_tree, golden_text, load_task, masked_text, passes_upstream

if TYPE_CHECKING:
    from pathlib import Path

    from evaluator.sandbox.types import Sandbox
    from evaluator.testing.upstream import ModeChoice, UpstreamTask

PASSED, WRONG, RAISED = Outcome.PASSED, Outcome.WRONG_OUTPUT, Outcome.RAISED
MEMORY = 2048 * 1024 * 1024

# task: its mode, then answers: what replaces the stub, and the outcome
TASKS: dict[str, tuple[Mode, dict[str, tuple[str, Outcome]]]] = {
    "01-PairLoss": (
        Mode.REMOTE,
        {
            "right": (
                ("gaps = chosen - rejected\n    return F.softplus(-beta * gaps), gaps.mean()"),
                PASSED,
            ),
            "wrong": ("gaps = chosen - rejected\n    return F.softplus(beta * gaps), gaps.mean()", WRONG),
        },
    ),
    "04-SignMomentum": (
        Mode.IN_PROCESS,
        {
            "right": (
                (
                    "for group in self.param_groups:\n"
                    "            for p in group['params']:\n"
                    "                mean = self.state[p].get('mean', 0 * p)\n"
                    "                self.state[p]['mean'] = group['beta'] * mean + (1 - group['beta']) * p.grad\n"
                    "                p.sub_(group['lr'] * torch.sign(self.state[p]['mean']))"
                ),
                PASSED,
            ),
            "wrong": (
                (
                    "for group in self.param_groups:\n"
                    "            for p in group['params']:\n"
                    "                p.sub_(group['lr'] * p.grad)"
                ),
                WRONG,
            ),
        },
    ),
    "05-Contrast": (
        Mode.IN_PROCESS,
        {
            "right": (
                (
                    "expert, amateur = expert.log_softmax(-1), amateur.log_softmax(-1)\n"
                    "    found = expert - amateur\n"
                    "    found[expert.exp() < alpha * expert.exp().max()] = -float('inf')\n"
                    "    return found"
                ),
                PASSED,
            ),
            "wrong": ("return expert - amateur", WRONG),
        },
    ),
}


def prepared(folder: str, sandbox: Sandbox, tmp_path: Path) -> tuple[UpstreamTask, ModeChoice]:
    """The task, and the mode that is chosen for it; in remote mode the golden file has then passed."""
    task = replace(load_task(folder, tmp_path, environment=TORCH), memory_bytes=MEMORY, wall_seconds=120.0)
    choice = choose_mode(sandbox=sandbox, task=task, scratch=tmp_path / "scratch", label="mode")
    assert choice.mode is TASKS[folder][0], choice
    return task, choice


def outcomes(
    task: UpstreamTask, choice: ModeChoice, texts: dict[str, str], sandbox: Sandbox, tmp_path: Path
) -> dict[str, Outcome]:
    return {
        name: grade_upstream(
            sandbox=sandbox,
            task=task,
            tree=answer_tree(task, tmp_path, text),
            choice=choice,
            scratch=tmp_path / "scratch",
            label="answer",
        ).outcome
        for name, text in texts.items()
    }


@pytest.mark.bubblewrap
@pytest.mark.parametrize("folder", TASKS)
def test_in_bubblewrap(folder: str, torch_sandbox: Sandbox, tmp_path: Path, torch_packages: Path) -> None:
    task, choice = prepared(folder, torch_sandbox, tmp_path)
    answers = TASKS[folder][1]
    texts = {name: masked_text(task).replace(STUB, body) for name, (body, _) in answers.items()}
    texts["masked"] = masked_text(task)
    expected = {name: outcome for name, (_, outcome) in answers.items()}
    expected["masked"] = RAISED
    if choice.mode is Mode.IN_PROCESS:
        texts["golden"], expected["golden"] = golden_text(task), PASSED
    assert outcomes(task, choice, texts, torch_sandbox, tmp_path) == expected
    for name, text in texts.items():
        tree = answer_tree(task, tmp_path, text)
        assert passes_upstream(task, tree, tmp_path, packages=str(torch_packages)) is (expected[name] is PASSED), name


@pytest.mark.docker
@pytest.mark.parametrize("folder", ["01-PairLoss", "04-SignMomentum"])
def test_in_docker(folder: str, torch_docker: Sandbox, tmp_path: Path) -> None:
    task, choice = prepared(folder, torch_docker, tmp_path)
    body, expected = TASKS[folder][1]["wrong"]
    texts = {"golden": golden_text(task), "wrong": masked_text(task).replace(STUB, body)}
    assert outcomes(task, choice, texts, torch_docker, tmp_path) == {"golden": PASSED, "wrong": expected}
