"""Upstream's tests with PyTorch in real boxes: a function and an optimizer."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from evaluator.outcomes import Outcome
from evaluator.testing.upstream import grade_upstream
from tests.conftest import IN_FULL
from tests.evaluator.torch_environment import TORCH
from tests.evaluator.upstream.tasks import STUB, answer_tree, golden_text, load_task, masked_text, passes_upstream

if TYPE_CHECKING:
    from evaluator.sandbox.interface import Sandbox
    from evaluator.testing.upstream_boxes import UpstreamTask

PASSED, WRONG = Outcome.PASSED, Outcome.WRONG_OUTPUT
MEMORY = 2048 * 1024 * 1024

# task: its answers: what replaces the stub, and the outcome
TASKS: dict[str, dict[str, tuple[str, Outcome]]] = {
    "01-PairLoss": {
        "right": (
            ("gaps = chosen - rejected\n    return F.softplus(-beta * gaps), gaps.mean()"),
            PASSED,
        ),
        "wrong": ("gaps = chosen - rejected\n    return F.softplus(beta * gaps), gaps.mean()", WRONG),
    },
    "04-SignMomentum": {
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
}


def prepared(folder: str, tmp_path: Path) -> UpstreamTask:
    """The task, with the limits that PyTorch needs."""
    return replace(load_task(folder, tmp_path, environment=TORCH), memory_bytes=MEMORY, wall_seconds=120.0)


def outcomes(task: UpstreamTask, texts: dict[str, str], sandbox: Sandbox, tmp_path: Path) -> dict[str, Outcome]:
    return {
        name: grade_upstream(sandbox=sandbox, task=task, tree=answer_tree(task, tmp_path, text), label="answer").outcome
        for name, text in texts.items()
    }


@pytest.mark.bubblewrap
@pytest.mark.parametrize("folder", ["01-PairLoss", pytest.param("04-SignMomentum", marks=pytest.mark.smoke)])
def test_in_bubblewrap(folder: str, torch_sandbox: Sandbox, tmp_path: Path, torch_packages: Path) -> None:
    task = prepared(folder, tmp_path)
    answers = TASKS[folder]
    texts = {name: masked_text(task).replace(STUB, body) for name, (body, _) in answers.items()}
    expected = {name: outcome for name, (_, outcome) in answers.items()}
    if IN_FULL:
        # Another right answer. Each one starts PyTorch twice, which takes seconds.
        texts["golden"], expected["golden"] = golden_text(task), PASSED
    assert outcomes(task, texts, torch_sandbox, tmp_path) == expected
    for name, text in texts.items():
        tree = answer_tree(task, tmp_path, text)
        assert passes_upstream(task, tree, tmp_path, packages=str(torch_packages)) is (expected[name] is PASSED), name


@pytest.mark.docker
def test_in_docker(torch_docker: Sandbox, tmp_path: Path) -> None:
    folder = "01-PairLoss"
    task = prepared(folder, tmp_path)
    body, expected = TASKS[folder]["wrong"]
    texts = {"golden": golden_text(task), "wrong": masked_text(task).replace(STUB, body)}
    assert outcomes(task, texts, torch_docker, tmp_path) == {"golden": PASSED, "wrong": expected}


LIES = {
    "__main__.TestSignMomentum.check": "import sys\n        sys.modules['__main__'].TestSignMomentum.check = print",
    "torch.testing._comparison.TensorLikePair.compare": (
        "from torch.testing import _comparison\n        _comparison.TensorLikePair.compare = lambda self: None"
    ),
    "Linear.named_parameters": (
        "import sys\n        frame = sys._getframe()\n        while 'layer' not in frame.f_locals:\n"
        "            frame = frame.f_back\n        frame.f_locals['layer'].named_parameters = lambda: iter(())\n"
        f"        {TASKS['04-SignMomentum']['right'][0]}"
    ),
}
LOOKS_INTO_THE_MODEL = (
    "            optimizer.step()\n        logging.info('Test Passed' + str([*layer.named_parameters()]))\n"
)


@pytest.mark.bubblewrap
@pytest.mark.parametrize(("replaced", "body"), LIES.items(), ids=LIES)
def test_an_answers_replacement_is_noticed(replaced: str, body: str, torch_sandbox: Sandbox, tmp_path: Path) -> None:
    task = prepared("04-SignMomentum", tmp_path)
    tree = answer_tree(task, tmp_path, masked_text(task).replace(STUB, body))
    test = tree / task.unit_test_file
    text = test.read_text().replace("            optimizer.step()\n", LOOKS_INTO_THE_MODEL)
    (tree / task.unit_test_file).write_text(text)
    verdict = grade_upstream(sandbox=torch_sandbox, task=task, tree=tree, label="lie")
    assert verdict.outcome is Outcome.TAMPERING
    assert verdict.reason == f"unit_test_1.py: comparison functions of the test were replaced: {replaced}"
