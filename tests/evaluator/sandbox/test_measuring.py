"""What is counted of boxes, with a sandbox whose boxes are scripted. Its programs' seconds are exact."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from evaluator.sandbox.box import LocalSandbox
from evaluator.sandbox.interface import BoxResult, BoxSpec, Dialogue, Ending, SandboxError
from evaluator.sandbox.measuring import Measured
from tests.measures import counted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from evaluator.sandbox.box_names import BoxName

SPEC = BoxSpec(label="one", argv=("python", "-c", ""), mounts=())


def result(seconds: float) -> BoxResult:
    return BoxResult(
        Ending.EXITED, 0, None, b"", b"", stderr_truncated=False, wall_seconds=seconds, peak_memory_bytes=1
    )


class Scripted(LocalSandbox):
    """Forks boxes whose label is ``forked``, and cannot start those whose label is ``broken``."""

    name = "scripted"

    def forks(self) -> Path | None:
        return self._wanted_state_dir / "forks"

    def _fork(self, spec: BoxSpec, cancelled: Callable[[], bool]) -> BoxResult | None:
        return result(8.0) if spec.label == "forked" else None

    @property
    def _boxes(self) -> Path:
        return self._wanted_state_dir / "boxes"

    def environment_digest(self, environment: str) -> str:
        return environment

    def _host_errors(self, what: str) -> AbstractContextManager[None]:
        return nullcontext()

    def _run(self, name: BoxName, spec: BoxSpec, cancelled: Callable[[], bool], dialogue: Dialogue | None) -> BoxResult:
        if spec.label == "broken":
            raise SandboxError("no")
        return result(2.0)

    def _running(self) -> Iterable[str]:
        return ()

    def _remove(self, name: str) -> None:
        raise AssertionError(name)


class MeasuredScripted(Measured, Scripted):
    pass


def counts(way: str) -> tuple[float, ...]:
    names = ("box_run_seconds_count", "box_run_seconds_sum", "box_start_seconds_count")
    return tuple(counted(name, "scripted", way) for name in names)


def test_boxes_count_by_the_way_they_were_started(tmp_path: Path) -> None:
    sandbox = MeasuredScripted(tmp_path)
    before = counts("fresh"), counts("forked")
    for label in ("forked", "one", "two"):
        sandbox.run(BoxSpec(label=label, argv=SPEC.argv, mounts=()))
    with pytest.raises(SandboxError):
        sandbox.run(BoxSpec(label="broken", argv=SPEC.argv, mounts=()))
    fresh, forked = (
        tuple(new - old for new, old in zip(counts(way), olds, strict=True))
        for way, olds in zip(("fresh", "forked"), before, strict=True)
    )
    assert (fresh, forked) == ((2, 4.0, 2), (1, 8.0, 1))


def test_fork_servers_are_counted_by_each_sweep(tmp_path: Path) -> None:
    sandbox = MeasuredScripted(tmp_path)
    (tmp_path / "forks").mkdir()
    for number in range(2):
        (tmp_path / "forks" / f"forks-0a-{number}.lock").touch()
    assert sandbox.reap(keep=lambda _: True) == 0
    assert counted("fork_servers", "scripted") == 2
    (tmp_path / "forks" / "forks-0a-0.lock").unlink()
    sandbox.reap(keep=lambda _: True)
    assert counted("fork_servers", "scripted") == 1
