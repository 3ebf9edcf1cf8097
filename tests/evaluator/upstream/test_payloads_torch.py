"""Tensors on their way, where PyTorch is: in one box."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from evaluator.sandbox.types import BoxSpec, Limits, Mount
from evaluator.testing import box
from tests.evaluator.torch_environment import TORCH

if TYPE_CHECKING:
    from evaluator.sandbox.types import Sandbox

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
