"""Define the boxes of a sealed task, and read their output. Everything read here may be hostile."""

from __future__ import annotations

import math
import secrets
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from evaluator.sandbox.interface import BoxResult, BoxSpec, Limits, Mount, Sandbox, SandboxError
from evaluator.testing import box
from evaluator.testing.box import frames
from evaluator.testing.box.driver import WALL_PER_PROCESSOR_SECOND
from evaluator.testing.logs import clean_text

if TYPE_CHECKING:
    from collections.abc import Callable

    from evaluator.testing.verdicts import Data, SealedTask

REFERENCE_OUTPUT_BYTES = 192 * 1024 * 1024
HELLO_SECONDS = 30.0
_BOX_FILES = Path(box.__file__).parent
_DRIVER = (
    Mount(_BOX_FILES / "driver.py", "/box/driver.py"),
    Mount(_BOX_FILES / "frames.py", "/box/frames.py"),
    Mount(_BOX_FILES / "probe_tools.py", "/box/probe_tools.py"),
)


@dataclass(frozen=True, slots=True)
class Variants:
    """Texts to try in ``goal_file``'s place, ``reference`` first, each with at most ``seconds`` of processor time.

    ``preload`` names modules of the environment that are imported once for all texts.
    """

    goal_file: str
    reference: bytes
    texts: tuple[bytes, ...]
    seconds: float
    preload: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class BoxOutput:
    """A box's output after its hello: the complete messages in order, and whether anything else came between.

    ``forged``: the box sent bytes that the driver never writes. An unfinished last frame does not count as forged (a
    killed box leaves one); it is reported by ``unfinished``.
    """

    result: BoxResult
    cpu_family: str
    messages: tuple[Data, ...]
    forged: bool
    unfinished: bool


def candidate_box(
    task: SealedTask,
    *,
    tree: Path,
    cases: list[Data],
    expected_bytes: int,
    label: str,
) -> tuple[BoxSpec, str]:
    """Return the box that runs the candidate's tree on ``cases``, numbered from 0, and the nonce its hello must carry.

    ``expected_bytes`` is the size of the golden outputs: the candidate may write four times as much, and at least the
    sandbox's usual limit.
    """
    limits = _limits(task, boxes_worth=1, output_bytes=max(Limits().output_bytes, 4 * expected_bytes))
    mounts = (*_DRIVER, Mount(tree, "/box/repository"), Mount(task.run_file, "/box/run.py"))
    spec, nonce = _spec("candidate", task.environment, mounts, limits=limits, stdin=_numbered(cases), label=label)
    return replace(spec, may_fork=True), nonce


def variants_box(
    task: SealedTask, variants: Variants, *, cases: list[Data], expected_bytes: int, label: str
) -> tuple[BoxSpec, str]:
    """Return the box in which each of ``variants`` answers ``cases`` in its own fork, and its nonce."""
    wall = WALL_PER_PROCESSOR_SECOND * variants.seconds * (len(variants.texts) + 1) + task.check.wall_seconds
    limits = Limits(
        wall_seconds=wall,
        cpu_seconds=math.ceil(wall),
        memory_bytes=task.check.memory_bytes,
        output_bytes=max(Limits().output_bytes, 4 * expected_bytes * (len(variants.texts) + 1)),
    )
    order: dict[str, Data] = {
        "file": variants.goal_file,
        "variants": len(variants.texts) + 1,
        "seconds": variants.seconds,
        "preload": list(variants.preload),
    }
    texts = [frames.encode(np.frombuffer(text, np.uint8)) for text in (variants.reference, *variants.texts)]
    stdin = b"".join([frames.encode(order), *texts, _numbered(cases)])
    mounts = (*_DRIVER, Mount(task.repository, "/box/repository"), Mount(task.run_file, "/box/run.py"))
    return _spec("variants", task.environment, mounts, limits=limits, stdin=stdin, label=label)


def _numbered(cases: list[Data]) -> bytes:
    return b"".join(frames.encode({"case": number, "input": case}) for number, case in enumerate(cases))


def reference_box(
    task: SealedTask, *, seeds: tuple[int, ...], label: str, variables: tuple[tuple[str, str], ...] = ()
) -> tuple[BoxSpec, str]:
    """Return the box that makes the cases of ``seeds`` and runs the golden function on them, and its nonce.

    It may take twice the candidate's time for each seed: the code in it is the task's own. ``variables`` are added to
    the box's environment variables.
    """
    mounts = (
        *_DRIVER,
        Mount(task.reference_repository, "/box/repository"),
        Mount(task.run_file, "/box/run.py"),
        Mount(task.cases_file, "/box/cases.py"),
    )
    limits = _limits(task, boxes_worth=2 * len(seeds), output_bytes=REFERENCE_OUTPUT_BYTES)
    stdin = frames.encode([str(seed) for seed in seeds])
    spec, nonce = _spec("reference", task.environment, mounts, limits=limits, stdin=stdin, label=label)
    return replace(spec, variables=variables), nonce


def hello_box(environment: str, *, label: str) -> tuple[BoxSpec, str]:
    """Return a box that only reports its processor family, and its nonce."""
    limits = Limits(wall_seconds=HELLO_SECONDS, cpu_seconds=int(HELLO_SECONDS))
    return _spec("hello", environment, _DRIVER, limits=limits, stdin=b"", label=label)


def run_box(
    sandbox: Sandbox, spec: BoxSpec, nonce: str, *, cancelled: Callable[[], bool], family: str | None = None
) -> BoxOutput:
    """Run the box and read its messages.

    Raises :class:`SandboxError` when no hello with ``nonce`` came (an infrastructure error, since no candidate code
    runs before it), or a hello from another processor family than ``family``.
    """
    result = sandbox.run(spec, cancelled=cancelled)
    whole, rest = frames.split(result.stdout)
    forged = not frames.begins_frame(rest)
    messages: list[Data] = []
    for frame in whole:
        try:
            messages.append(frames.decode(frame))
        except frames.FrameError:
            forged = True
            break
    found = _cpu_family(messages, nonce, spec, result)
    if family not in (None, found):
        raise SandboxError(
            f"box {spec.label} reports the processor family {found}, an earlier box {family}. Golden outputs are only "
            "compared within one family: boxes of one sandbox must run on machines of one kind."
        )
    return BoxOutput(result, found, tuple(messages[1:]), forged, unfinished=bool(rest))


def _cpu_family(messages: list[Data], nonce: str, spec: BoxSpec, result: BoxResult) -> str:
    hello = messages[0] if messages else None
    if isinstance(hello, dict) and hello.get("kind") == "hello" and hello.get("nonce") == nonce:
        return str(hello.get("cpu_family"))
    stderr = clean_text(result.stderr[-1000:].decode("utf-8", "replace")).strip()
    raise SandboxError(
        f"box {spec.label} ended ({result.ending}, exit code {result.exit_code}, signal {result.signal}) before its "
        f"driver sent hello. Check that the {spec.environment} environment has Python 3.9 or newer with NumPy and that "
        f"its memory limit leaves room to import it. The box's stderr ends with: {stderr or 'nothing'}"
    )


def _spec(
    mode: str, environment: str, mounts: tuple[Mount, ...], *, limits: Limits, stdin: bytes, label: str
) -> tuple[BoxSpec, str]:
    nonce = secrets.token_hex(16)
    argv = ("python", "/box/driver.py", mode, nonce)
    return BoxSpec(label, argv, mounts, stdin=stdin, limits=limits, environment=environment), nonce


def _limits(task: SealedTask, *, boxes_worth: int, output_bytes: int) -> Limits:
    wall = task.check.wall_seconds * boxes_worth
    return Limits(
        wall_seconds=wall,
        cpu_seconds=math.ceil(wall),
        memory_bytes=task.check.memory_bytes,
        output_bytes=output_bytes,
    )
