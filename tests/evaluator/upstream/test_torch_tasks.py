"""Upstream's tests with PyTorch in real boxes: a function and an optimizer."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from evaluator.outcomes import Outcome
from evaluator.sandbox.types import BoxSpec, Limits, Mount
from evaluator.testing import box
from evaluator.testing.upstream import Mode, choose_mode, grade_upstream
from tests.evaluator.torch_environment import TORCH
from tests.evaluator.upstream.tasks import STUB, answer_tree, golden_text, load_task, masked_text, passes_upstream

if TYPE_CHECKING:
    from evaluator.sandbox.types import Sandbox
    from evaluator.testing.upstream import ModeChoice, UpstreamTask

PASSED, WRONG = Outcome.PASSED, Outcome.WRONG_OUTPUT
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
    expected = {name: outcome for name, (_, outcome) in answers.items()}
    assert outcomes(task, choice, texts, torch_sandbox, tmp_path) == expected
    for name, text in texts.items():
        tree = answer_tree(task, tmp_path, text)
        assert passes_upstream(task, tree, tmp_path, packages=str(torch_packages)) is (expected[name] is PASSED), name


@pytest.mark.docker
def test_in_docker(torch_docker: Sandbox, tmp_path: Path) -> None:
    folder = "01-PairLoss"
    task, choice = prepared(folder, torch_docker, tmp_path)
    body, expected = TASKS[folder][1]["wrong"]
    texts = {"golden": golden_text(task), "wrong": masked_text(task).replace(STUB, body)}
    assert outcomes(task, choice, texts, torch_docker, tmp_path) == {"golden": PASSED, "wrong": expected}


LIES = {
    "__main__.TestSignMomentum.check": "import sys\n        sys.modules['__main__'].TestSignMomentum.check = print",
    "torch.testing._comparison.TensorLikePair.compare": (
        "from torch.testing import _comparison\n        _comparison.TensorLikePair.compare = lambda self: None"
    ),
    "Linear.named_parameters": (
        "import sys\n        frame = sys._getframe()\n        while 'layer' not in frame.f_locals:\n"
        "            frame = frame.f_back\n        frame.f_locals['layer'].named_parameters = lambda: iter(())\n"
        f"        {TASKS['04-SignMomentum'][1]['right'][0]}"
    ),
}
LOOKS_INTO_THE_MODEL = (
    "            optimizer.step()\n        logging.info('Test Passed' + str([*layer.named_parameters()]))\n"
)


@pytest.mark.bubblewrap
@pytest.mark.parametrize(("replaced", "body"), LIES.items(), ids=LIES)
def test_what_an_answer_replaces_is_noticed(replaced: str, body: str, torch_sandbox: Sandbox, tmp_path: Path) -> None:
    task, choice = prepared("04-SignMomentum", torch_sandbox, tmp_path)
    tree = answer_tree(task, tmp_path, masked_text(task).replace(STUB, body))
    test = tree / task.unit_test_file
    text = test.read_text().replace("            optimizer.step()\n", LOOKS_INTO_THE_MODEL)
    (tree / task.unit_test_file).write_text(text)
    verdict = grade_upstream(
        sandbox=torch_sandbox, task=task, tree=tree, choice=choice, scratch=tmp_path / "scratch", label="lie"
    )
    assert verdict.outcome is Outcome.TAMPERING
    assert verdict.reason == f"unit_test_1.py: what the test compares with was replaced: {replaced}"


CHECK = """
import sys
sys.path.insert(0, "/box")
import torch
import frames
from payloads import Packer, PayloadError, Unpacker

def sent(value):
    return Unpacker().unpack(frames.decode(frames.encode(Packer().pack(value))))

for dtype in ("float16", "float32", "float64", "bfloat16", "complex64", "bool", "uint8", "int64"):
    tensor = torch.arange(6).reshape(2, 3).to(getattr(torch, dtype)).t()
    found = sent(tensor)
    assert found.dtype is tensor.dtype and found.shape == tensor.shape and torch.equal(found, tensor), dtype
assert sent(torch.tensor(3.5)).item() == 3.5 and sent(torch.empty(0, 2)).shape == (0, 2)
leaf = torch.ones(2, requires_grad=True)
assert sent(leaf).requires_grad and not sent(leaf * 2).requires_grad
assert sent(torch.nn.Parameter(torch.ones(2))).requires_grad
for fact in (torch.Size([2, 3]), torch.float32, torch.device("cpu")):
    assert sent(fact) == fact and type(sent(fact)) is type(fact)
for other in (torch.nn.Linear(1, 1), torch.ones(2).to_sparse(), torch.Generator()):
    try:
        Packer().pack(other)
    except PayloadError:
        continue
    raise AssertionError(other)

kept = torch.zeros(3, requires_grad=True)
packer = Packer()
raw = frames.encode(packer.pack([kept]))
there = Unpacker()
(received,) = there.unpack(frames.decode(raw))
with torch.no_grad():
    received += 5
answer = Packer(there.things)
payload = answer.pack(received)
changes = answer.changes(frames.decode(raw)["things"])
here = Unpacker(packer.things)
assert here.unpack(frames.decode(frames.encode(payload))) is kept
here.restore(frames.decode(frames.encode(changes)))
assert kept.tolist() == [5.0, 5.0, 5.0]
print("all")
"""


@pytest.mark.bubblewrap
def test_tensors(torch_sandbox: Sandbox, tmp_path: Path) -> None:
    (tmp_path / "check.py").write_text(CHECK)
    sources = Path(box.__file__).parent
    result = torch_sandbox.run(
        BoxSpec(
            "tensors",
            ("python", "/box/check.py"),
            (
                Mount(tmp_path / "check.py", "/box/check.py"),
                Mount(sources / "frames.py", "/box/frames.py"),
                Mount(sources / "payloads.py", "/box/payloads.py"),
            ),
            limits=Limits(wall_seconds=240, cpu_seconds=120, memory_bytes=2**31),
            environment=TORCH,
        )
    )
    assert (result.stdout, result.exit_code) == (b"all\n", 0), result.stderr.decode()
