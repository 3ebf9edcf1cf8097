"""Golden cases: inputs from ``cases(seed)`` and the golden function's outputs, both made in the reference box.

They are stored where no candidate's box can read them.
"""

from __future__ import annotations

import hashlib
import os
import secrets
import time
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from evaluator.sandbox.interface import Ending, Sandbox, SandboxError
from evaluator.testing import boxes
from evaluator.testing.box import frames
from evaluator.testing.logs import clean_text, error_text

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from evaluator.testing.verdicts import Data, SealedTask

UNUSED_DAYS: Final = 30
"""Days after which an unused entry is deleted: its grading content, seed or environment is obsolete, or its task is
seldom answered. One run of the reference makes it again."""

_STORED_FORMAT = 2
_DAY: Final = 24 * 3600.0
_SWEPT: Final = ".swept"
_families: dict[tuple[str, str], str] = {}


class GoldenError(SandboxError):
    """The reference box produced no golden outputs. The cause is the task or this machine, never the candidate."""


class GoldenFolder:
    """Stores golden bytes in files, written atomically. Losing one costs a run of the reference box."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def get(self, key: str) -> bytes | None:
        """Return the file's content, if any, and set its modification time to now, as the time of last use."""
        try:
            content = (self._folder / key).read_bytes()
            os.utime(self._folder / key)
        except FileNotFoundError:
            return None
        return content

    def put(self, key: str, value: bytes) -> None:
        """Write the file atomically."""
        self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        draft = self._folder / f"{key}.{secrets.token_hex(4)}"
        draft.write_bytes(value)
        os.replace(draft, self._folder / key)  # noqa: PTH105 - the atomic one


def sweep_golden(folder: Path) -> int:
    """Once a day, remove entries unused for ``UNUSED_DAYS``, and return how many files were removed."""
    now = time.time()
    mark = folder / _SWEPT
    if not folder.is_dir() or (mark.exists() and now - mark.stat().st_mtime < _DAY):
        return 0
    mark.touch()
    swept = 0
    for path in folder.iterdir():
        with suppress(FileNotFoundError):  # another sweep, or the rename of a draft
            if now - path.stat().st_mtime > UNUSED_DAYS * _DAY:
                path.unlink()
                swept += 1
    return swept


def golden_key(grading_hash: str, seed: int, environment_digest: str, cpu_family: str) -> str:
    """Hash what golden outputs depend on (64 hexadecimal characters). The box's own driver reports ``cpu_family``."""
    parts = (_STORED_FORMAT, grading_hash, seed, environment_digest, cpu_family)
    return hashlib.sha256("\0".join(map(str, parts)).encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class GoldenCase:
    """One case of a seed: its number within the seed, its input, and the golden function's outputs."""

    index: int
    case: dict[str, Data]
    output: dict[str, Data]


def box_family(*, sandbox: Sandbox, environment: str, label: str, cancelled: Callable[[], bool]) -> str:
    """Return the processor and BLAS family of this sandbox's boxes, from one box per process and environment."""
    known = (sandbox.name, sandbox.environment_digest(environment))
    if known not in _families:
        spec, nonce = boxes.hello_box(environment, label=f"{label}-hello")
        _families[known] = boxes.run_box(sandbox, spec, nonce, cancelled=cancelled).cpu_family
    return _families[known]


def compute_golden(
    *,
    sandbox: Sandbox,
    task: SealedTask,
    seeds: tuple[int, ...],
    golden: GoldenFolder,
    label: str,
    cancelled: Callable[[], bool] = lambda: False,
) -> dict[int, tuple[GoldenCase, ...]]:
    """Return the golden test cases of every seed, from the store or else from one reference box.

    Stored entries are checked; a damaged one is computed again. Raises :class:`GoldenError` when the reference box
    fails, :class:`SandboxError` when it cannot run.
    """
    family = box_family(sandbox=sandbox, environment=task.environment, label=label, cancelled=cancelled)
    digest = sandbox.environment_digest(task.environment)
    keys = {seed: golden_key(task.grading_hash, seed, digest, family) for seed in seeds}
    found = {seed: _load(golden.get(key)) for seed, key in keys.items()}
    missing = tuple(seed for seed, cases in found.items() if cases is None)
    if missing:
        fresh = run_reference(
            sandbox=sandbox, task=task, seeds=missing, label=label, cancelled=cancelled, family=family
        )
        for seed, cases in fresh.items():
            golden.put(keys[seed], _dump(cases))
            found[seed] = cases
    return {seed: cases for seed, cases in found.items() if cases is not None}


def run_reference(
    *,
    sandbox: Sandbox,
    task: SealedTask,
    seeds: tuple[int, ...],
    label: str,
    cancelled: Callable[[], bool],
    family: str | None = None,
    variables: tuple[tuple[str, str], ...] = (),
) -> dict[int, tuple[GoldenCase, ...]]:
    """Compute the golden test cases of ``seeds`` in one reference box, ignoring the store.

    ``variables`` are added to its environment. Raises like :func:`compute_golden`, and :class:`SandboxError` for a box
    of another processor family.
    """
    spec, nonce = boxes.reference_box(task, seeds=seeds, label=f"{label}-golden", variables=variables)
    box_output = boxes.run_box(sandbox, spec, nonce, cancelled=cancelled, family=family)
    made: dict[int, list[GoldenCase]] = {seed: [] for seed in seeds}
    for message in box_output.messages:
        seed, case = _read_golden(message, task, seeds)
        made[seed].append(case)
    complete = box_output.result.ending is Ending.EXITED and box_output.result.exit_code == 0 and all(made.values())
    if not complete or box_output.forged or box_output.unfinished:
        raise GoldenError(
            f"task {task.name}: the reference box ended with {box_output.result.ending} "
            f"(exit code {box_output.result.exit_code}) before all of its seeds {list(seeds)} were answered. Its "
            "stderr ends with: "
            f"{clean_text(box_output.result.stderr[-1000:].decode('utf-8', 'replace')) or 'nothing'}"
        )
    return {seed: tuple(cases) for seed, cases in made.items()}


def _read_golden(message: Data, task: SealedTask, seeds: tuple[int, ...]) -> tuple[int, GoldenCase]:
    if not isinstance(message, dict) or message.get("kind") != "golden":
        raise GoldenError(f"task {task.name}: the reference failed: {_failure_text(message)}")
    case = _as_case([message.get("index"), message.get("case"), message.get("output")])
    seed = next((seed for seed in seeds if str(seed) == message.get("seed")), None)
    if case is None or seed is None:
        raise GoldenError(
            f"task {task.name}: run(case) of {task.run_file.name} must return a dict of outputs for the golden "
            f"function, and cases(seed) of {task.cases_file.name} dicts"
        )
    return seed, case


def _failure_text(message: Data) -> str:
    error = message.get("error") if isinstance(message, dict) else None
    if not isinstance(message, dict) or not isinstance(error, dict) or set(error) != {"type", "message", "traceback"}:
        return "it sent an unknown message"
    return f"seed {message.get('seed')}: {error_text(error)}"


def _dump(cases: tuple[GoldenCase, ...]) -> bytes:
    # The count comes first, so that an entry truncated between two messages is detected.
    return b"".join([frames.encode(len(cases)), *(frames.encode([c.index, c.case, c.output]) for c in cases)])


def _load(stored: bytes | None) -> tuple[GoldenCase, ...] | None:
    if not stored:
        return None
    whole, _ = frames.split(stored)
    try:
        values = [frames.decode(frame) for frame in whole]
    except frames.FrameError:
        return None
    cases = [case for case in map(_as_case, values[1:]) if case is not None]
    return tuple(cases) if cases and values[0] == len(cases) else None


def _as_case(stored: Data) -> GoldenCase | None:
    if not isinstance(stored, list) or len(stored) != 3:
        return None
    index, case, output = stored
    if not isinstance(index, int) or not isinstance(case, dict) or not isinstance(output, dict):
        return None
    return GoldenCase(index, case, output)
