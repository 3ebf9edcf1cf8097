"""Upstream's test in one box and the answer's goal function in another: the answer sees its arguments, and no more."""

from __future__ import annotations

import ast
import shutil
import threading
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from benchmark_tasks.domain.goals import Goal
from benchmark_tasks.domain.python_source import SourceError
from evaluator.sandbox.trees import link_tree
from evaluator.sandbox.types import RunCancelledError, SandboxError
from evaluator.testing import boxes, upstream_verdict
from evaluator.testing.logs import clean_log
from evaluator.testing.sealed import MAX_REASON_CHARACTERS, ending_text, outcome_of_ending
from evaluator.testing.types import CaseResult, Outcome, Verdict
from evaluator.testing.upstream_boxes import serve_box, test_box
from evaluator.testing.upstream_relay import Relay
from submissions.answers.splice import splice

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from evaluator.sandbox.types import BoxResult, BoxSpec, Sandbox
    from evaluator.testing.upstream_types import ModeChoice, UpstreamTask

GOODBYE_SECONDS = 3.0
"""How long the answer's box may take to end when no more calls come."""

_STUB = '''def {name}(*args, **kwargs):
    """Runs in another box."""
    import sys

    return sys.modules["lmr_board_remote"].call(__name__, args, kwargs)
'''


@dataclass(frozen=True, slots=True)
class RemoteRun:
    """A verdict, and what was noticed about the values that travelled."""

    verdict: Verdict
    obstacle: str
    changed_arguments: bool
    returned: frozenset[str]


def grade_remote(
    *,
    sandbox: Sandbox,
    task: UpstreamTask,
    tree: Path,
    choice: ModeChoice,
    scratch: Path,
    label: str,
    cancelled: Callable[[], bool] = lambda: False,
) -> Verdict:
    """Run the unit test against the goal function of ``tree``, by what the reference did when ``choice`` was made.

    Raises ``SandboxError`` for faults of ours and ``RunCancelledError``.
    """
    relay = Relay(copies_back=choice.copies_back, allowed=choice.returns)
    run = _run(sandbox=sandbox, task=task, tree=tree, relay=relay, scratch=scratch, label=label, cancelled=cancelled)
    return run.verdict


def run_reference(
    *, sandbox: Sandbox, task: UpstreamTask, scratch: Path, label: str, cancelled: Callable[[], bool]
) -> RemoteRun:
    """The same with the reference as the answer; everything that it does is taken as right."""
    relay = Relay(copies_back=True, allowed=None)
    tree = task.reference_repository
    return _run(sandbox=sandbox, task=task, tree=tree, relay=relay, scratch=scratch, label=label, cancelled=cancelled)


def _run(
    *,
    sandbox: Sandbox,
    task: UpstreamTask,
    tree: Path,
    relay: Relay,
    scratch: Path,
    label: str,
    cancelled: Callable[[], bool],
) -> RemoteRun:
    scratch.mkdir(parents=True, exist_ok=True)
    with test_tree(task, scratch) as testing, answer_tree(task, tree, scratch) as answering:
        test_spec, test_nonce = test_box(task, tree=testing, label=f"{label}-test", remote=True)
        goal_spec, goal_nonce = serve_box(task, tree=answering, label=f"{label}-goal")
        try:
            test_result, goal_result = _converse(sandbox, relay, test_spec, goal_spec, cancelled)
        finally:
            relay.close()
    if goal_result is not None:
        boxes.read_talk(goal_result, goal_spec, goal_nonce)
    if relay.tampering or (relay.lost and goal_result is not None):
        verdict = _stopped_verdict(task, relay, goal_result, goal_spec)
        return RemoteRun(verdict, "", relay.changed_arguments, frozenset(relay.returned))
    if test_result is None:
        raise SandboxError(f"box {test_spec.label} sent something else than frames before its test could run")
    talk = boxes.read_talk(test_result, test_spec, test_nonce)
    report: Any = talk.messages[-1] if talk.messages else None
    if not isinstance(report, dict) or report.get("kind") != "report":
        report = None
    verdict = upstream_verdict.judge(report, name=task.unit_test_file, result=test_result, spec=test_spec)
    return RemoteRun(
        verdict=_with_log(verdict, goal_result),
        obstacle=upstream_verdict.obstacle(report),
        changed_arguments=relay.changed_arguments,
        returned=frozenset(relay.returned),
    )


def _converse(
    sandbox: Sandbox, relay: Relay, test_spec: BoxSpec, goal_spec: BoxSpec, cancelled: Callable[[], bool]
) -> tuple[BoxResult | None, BoxResult | None]:
    """Both boxes' results; None for a box that was stopped because of the other one."""
    server = _Server(sandbox, relay, goal_spec, cancelled)
    server.start()
    test_result = None
    try:
        test_result = sandbox.run(
            test_spec, cancelled=lambda: relay.stopped.is_set() or cancelled(), dialogue=relay.test
        )
    except RunCancelledError:
        if not relay.stopped.is_set():
            raise
    finally:
        relay.test_has_ended()
        server.leave()
    return test_result, server.result()


class _Server(threading.Thread):
    """Runs the answer's box beside the test's."""

    def __init__(self, sandbox: Sandbox, relay: Relay, spec: BoxSpec, cancelled: Callable[[], bool]) -> None:
        super().__init__(name=spec.label, daemon=True)
        self._sandbox, self._relay, self._spec, self._cancelled = sandbox, relay, spec, cancelled
        self._dismissed = threading.Event()
        self._result: BoxResult | None = None
        self._error: Exception | None = None

    def run(self) -> None:
        """The thread's work."""
        try:
            self._result = self._sandbox.run(
                self._spec,
                cancelled=lambda: self._dismissed.is_set() or self._relay.tampering or self._cancelled(),
                dialogue=self._relay.goal,
            )
        except Exception as error:  # noqa: BLE001 - raised again where the box is waited for
            self._error = error
            if not isinstance(error, RunCancelledError):
                self._relay.stopped.set()
        finally:
            self._relay.goal_has_ended()

    def leave(self) -> None:
        """Wait for the box's end, and after a while bring it about."""
        self.join(GOODBYE_SECONDS)
        self._dismissed.set()
        self.join()

    def result(self) -> BoxResult | None:
        """How the box ended; None when it had to be stopped. Raises what its sandbox raised, and RunCancelledError."""
        if self._error is not None and (self._cancelled() or not isinstance(self._error, RunCancelledError)):
            raise self._error
        return self._result


def _stopped_verdict(task: UpstreamTask, relay: Relay, result: BoxResult | None, spec: BoxSpec) -> Verdict:
    """The verdict where the answer's box, and not the test, decided the end."""
    name = PurePosixPath(task.unit_test_file).name
    outcome, error = Outcome.TAMPERING, "the answer's box sent bytes that its driver does not write"
    if result is not None and not relay.tampering:
        outcome, error = outcome_of_ending(result.ending), ending_text(result, spec)
    case = CaseResult(None, 0, True, outcome, error=error, name=name)
    log = clean_log(result.stderr, truncated=result.stderr_truncated) if result else ""
    seconds = result.wall_seconds if result else 0.0
    return Verdict(outcome, (case,), log, seconds, reason=f"{name}: {error}"[:MAX_REASON_CHARACTERS])


def _with_log(verdict: Verdict, result: BoxResult | None) -> Verdict:
    """The verdict with what the answer printed in its own box behind the test's log."""
    if result is None or not result.stderr:
        return verdict
    printed = clean_log(result.stderr, truncated=result.stderr_truncated)
    both = f"{verdict.log}\nPrinted by the answer in its own box:\n{printed}"
    return replace(verdict, log=clean_log(both.encode()))


@contextmanager
def test_tree(task: UpstreamTask, scratch: Path) -> Iterator[Path]:
    """The reference repository with its unit test, in which the goal function is only a stub.

    Raises :class:`SandboxError` when the reference has no such function at module level.
    """
    goal = Goal(task.name, task.goal_file, task.goal_function, task.class_name)
    with TemporaryDirectory(prefix="test-", dir=scratch) as folder:
        tree = _linked_copy(task.reference_repository, Path(folder) / "tree")
        file = tree / task.goal_file
        try:
            text = splice(file.read_bytes(), goal, _STUB.format(name=task.goal_function).encode())
        except (OSError, SourceError) as error:
            raise SandboxError(f"{task.name}: {task.goal_file} cannot be given a stub: {error}") from error
        file.unlink()
        file.write_bytes(text)
        _open_to_all(Path(folder))
        yield tree


@contextmanager
def answer_tree(task: UpstreamTask, source: Path, scratch: Path) -> Iterator[Path]:
    """The repository with the answer in it, without its tests, their logs, and the files that only the test names."""
    with TemporaryDirectory(prefix="answer-", dir=scratch) as folder:
        tree = _linked_copy(source, Path(folder) / "tree")
        test = PurePosixPath(task.unit_test_file)
        hidden = _named_only_by(tree, test)
        if len(test.parts) > 1:
            shutil.rmtree(tree / test.parent)
        else:
            (tree / test).unlink(missing_ok=True)
        for name in hidden:
            (tree / name).unlink(missing_ok=True)
        _open_to_all(Path(folder))
        yield tree


def _named_only_by(tree: Path, test: PurePosixPath) -> list[PurePosixPath]:
    """Files outside the test's folder whose names stand in the test, and in no other source file."""
    texts = _strings_of(tree / test)
    files = [PurePosixPath(path.relative_to(tree)) for path in tree.rglob("*") if path.is_file()]
    outside = [file for file in files if len(test.parts) == 1 or test.parent not in file.parents]
    data = [file for file in outside if file.suffix != ".py" and any(text.endswith(file.name) for text in texts)]
    sources = [(tree / file).read_bytes() for file in outside if file.suffix == ".py" and file != test] if data else []
    return [file for file in data if not any(file.name.encode() in source for source in sources)]


def _strings_of(path: Path) -> set[str]:
    try:
        tree = ast.parse(path.read_bytes())
    except (OSError, SyntaxError, ValueError):
        return set()
    constants = (node.value for node in ast.walk(tree) if isinstance(node, ast.Constant))
    return {value for value in constants if isinstance(value, str) and value}


def _linked_copy(source: Path, target: Path) -> Path:
    """A copy that shares the files' content where it can; files must be replaced in it, never written."""
    link_tree(source, target, bytecode=True)
    _open_to_all(target)
    return target


def _open_to_all(folder: Path) -> None:
    """A box's user must be able to pass; what must stay private is not in here."""
    folder.chmod(0o755)
