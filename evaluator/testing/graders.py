"""Grade answers to a task revision under either protocol, for audits, runs and attacks alike."""

from __future__ import annotations

import shutil
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path, PurePosixPath
from tempfile import mkdtemp
from typing import TYPE_CHECKING, Any, TypeVar

from benchmark_tasks.domain.content import tree_path
from benchmark_tasks.domain.queries import goal_of
from benchmark_tasks.domain.seeds import private_seeds
from benchmark_tasks.enums import Protocol
from evaluator.sandbox.configuration import (
    configured_sandbox,
    environment_list,
    golden_folder,
    scratch_folder,
)
from evaluator.sandbox.interface import SandboxError, SandboxUnavailableError
from evaluator.sandbox.task_environments import environment_of
from evaluator.testing.boxes import HELLO_SECONDS, Variants
from evaluator.testing.golden import GoldenError, GoldenFolder
from evaluator.testing.sealed import grade, grade_variants
from evaluator.testing.upstream import grade_upstream
from evaluator.testing.upstream_boxes import (
    DEFAULT_MEMORY_BYTES,
    DEFAULT_WALL_SECONDS,
    UpstreamTask,
)
from evaluator.testing.verdicts import Check, Rule, SealedTask

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from benchmark_tasks.models import SeedEpoch, TaskRevision
    from evaluator.outcomes import Outcome
    from evaluator.sandbox.interface import Sandbox
    from evaluator.testing.verdicts import Verdict


TRIES = 3
_Found = TypeVar("_Found")
OUTSIDE_SECONDS = 1800.0
"""Time that grading may take outside its boxes: copying trees, starting containers, comparing."""


@dataclass(frozen=True)
class Grader:
    """Grades candidates' trees with the tests of ``revision`` and the private seeds of ``epoch``.

    ``cancelled`` is called about twice a second; if it returns true, grading ends with ``RunCancelledError``.
    """

    revision: TaskRevision
    epoch: SeedEpoch
    cancelled: Callable[[], bool] = lambda: False

    @property
    def environment(self) -> str:
        """The environment that the tests run in. Raises ``SandboxError`` when an upstream task has none."""
        return environment_of(self.revision) if self._is_upstream else self.revision.environment

    @property
    def _is_upstream(self) -> bool:
        return self.revision.protocol == Protocol.UPSTREAM

    @property
    def masked_tree(self) -> Path:
        """The masked repository that candidates get. Read-only."""
        return tree_path(self.revision.repository_hash)

    @property
    def reference_tree(self) -> Path:
        """The masked repository with the golden file in the goal file's place. Never mounted in a candidate's box."""
        return tree_path(self.revision.grading_hash) / "reference"

    @cached_property
    def task(self) -> SealedTask:
        """The sealed task as plain data: files and check from the content store."""
        revision = self.revision
        return SealedTask(
            name=revision.task.slug,
            repository=self.masked_tree,
            grading=tree_path(revision.grading_hash),
            check=check_from_settings(revision.check_settings),
            environment=revision.environment,
            grading_hash=revision.grading_hash,
        )

    @cached_property
    def upstream_task(self) -> UpstreamTask:
        """The upstream task as plain data. Raises ``SandboxError`` when it has no environment."""
        revision = self.revision
        entry = environment_list().entry(self.environment)
        return UpstreamTask(
            goal=goal_of(revision),
            repository=self.masked_tree,
            grading=tree_path(revision.grading_hash),
            repository_name=PurePosixPath(revision.task.paper.repository_folder).name,
            unit_test_file=revision.unit_test_file,
            search_path=tuple(revision.overlay.get("upstream_path", ())),
            environment=entry.name,
            wall_seconds=entry.wall_seconds or DEFAULT_WALL_SECONDS,
            memory_bytes=entry.memory_mb * 2**20 if entry.memory_mb else DEFAULT_MEMORY_BYTES,
        )

    @property
    def has_upstream_test(self) -> bool:
        """Whether an overlay's sealed task has a unit test of the suite's authors that may run beside it."""
        revision = self.revision
        return bool(not self._is_upstream and revision.unit_test_file) and not revision.overlay.get("upstream_reasons")

    @property
    def runs_upstream_test(self) -> bool:
        """Whether the audit found that this test runs here and passes the reference."""
        return self.has_upstream_test and bool(self.revision.audit.get("upstream", {}).get("runs"))

    @cached_property
    def private_seeds(self) -> tuple[int, ...]:
        """This epoch's private seeds, which are never shown; upstream's tests have none."""
        if self._is_upstream:
            return ()
        count, public = self.task.check.private_seed_count, self.task.check.public_seeds
        return private_seeds(self.epoch.key, self.revision.task.slug, count, public_seeds=public)

    @property
    def most_seconds(self) -> float:
        """How long :meth:`grade` can take while every box keeps within its limit."""
        if self._is_upstream:
            return self.upstream_task.wall_seconds + OUTSIDE_SECONDS
        check = self.task.check
        seeds = len(check.public_seeds) + len(self.private_seeds)
        beside = self.upstream_task.wall_seconds if self.runs_upstream_test else 0.0
        # The reference gets twice the time per seed; the answer has a public and a private box.
        return HELLO_SECONDS + (2 * seeds + 2) * check.wall_seconds + beside + OUTSIDE_SECONDS

    def environment_digest(self) -> str:
        """Return the environment digest that a submission measured now is pinned to. Raises ``SandboxError``."""
        return configured_sandbox().environment_digest(self.environment)

    def grade(
        self,
        tree: Path,
        *,
        label: str,
        private: bool = True,
        sandbox: Sandbox | None = None,
    ) -> Verdict:
        """Grade the repository ``tree``, which holds an answer; without ``private`` by the public seeds alone.

        Raises ``SandboxError`` for infrastructure errors and ``RunCancelledError``.
        """
        sandbox = sandbox or configured_sandbox()
        if self._is_upstream:
            return self.grade_by_upstream_test(tree, sandbox=sandbox, label=label)
        return grade(
            sandbox=sandbox,
            task=self.task,
            candidate_tree=tree,
            private_seeds=self.private_seeds if private else (),
            golden=GoldenFolder(golden_folder()),
            label=label,
            cancelled=self.cancelled,
        )

    def grade_by_upstream_test(self, tree: Path, *, label: str, sandbox: Sandbox | None = None) -> Verdict:
        """Grade ``tree`` by the suite's own unit test, even if a sealed test decides. Raises like :meth:`grade`."""
        sandbox = sandbox or configured_sandbox()
        return self._grade_upstream(self.upstream_task, tree, sandbox=sandbox, label=label)

    def _grade_upstream(self, task: UpstreamTask, tree: Path, *, sandbox: Sandbox, label: str) -> Verdict:
        return grade_upstream(sandbox=sandbox, task=task, tree=tree, label=label, cancelled=self.cancelled)

    def grade_goal_files(
        self, texts: Sequence[bytes], *, label: str, seconds: float, preload: Sequence[str] = ()
    ) -> list[Outcome]:
        """Return the outcome of each of ``texts`` in the goal file's place.

        For an audit's many tries. Each text gets at most ``seconds`` of processor time. Under the sealed protocol they
        share a box, which imports ``preload`` once, and get at most ten times the reference's time there. Raises
        ``SandboxError`` for infrastructure errors.
        """
        sandbox = configured_sandbox()
        if self._is_upstream:
            with writable_copy(self.masked_tree) as tree:
                task = self.upstream_task.limited(seconds)
                outcomes = []
                for text in texts:
                    (tree / self.revision.goal_file).write_bytes(text)
                    verdict = retried(lambda: self._grade_upstream(task, tree, sandbox=sandbox, label=label))
                    outcomes.append(verdict.outcome)
                return outcomes
        goal_file = self.revision.goal_file
        reference = (self.reference_tree / goal_file).read_bytes()
        return retried(
            lambda: grade_variants(
                sandbox=sandbox,
                task=self.task,
                variants=Variants(goal_file, reference, tuple(texts), seconds, tuple(preload)),
                private_seeds=self.private_seeds,
                golden=GoldenFolder(golden_folder()),
                label=label,
                cancelled=self.cancelled,
            )
        )


def check_from_settings(stored: dict[str, Any]) -> Check:
    """Return the typed form of the check that the importer validated and stored (``check`` in info.json)."""
    comparison = stored.get("comparison") or {}
    return Check(
        public_seeds=tuple(stored["public_seeds"]),
        private_seed_count=int(stored["private_seeds"]),
        default_rule=Rule(**comparison.get("default", {})),
        output_rules=tuple((name, Rule(**rule)) for name, rule in sorted(comparison.get("outputs", {}).items())),
        wall_seconds=float(stored.get("wall_seconds", 30)),
        memory_bytes=int(stored.get("memory_mb", 512)) * 1024 * 1024,
    )


def retried(measure: Callable[[], _Found]) -> _Found:
    """Call ``measure`` up to ``TRIES`` times and return its result: infrastructure errors are retried."""
    for _ in range(TRIES - 1):
        try:
            return measure()
        except (GoldenError, SandboxUnavailableError):
            raise
        except SandboxError:
            continue
    return measure()


@contextmanager
def writable_copy(tree: Path) -> Iterator[Path]:
    """Copy a stored tree to a scratch folder, for an answer to be added; remove it afterwards."""
    folder = Path(mkdtemp(prefix="tree-", dir=scratch_folder()))
    try:
        shutil.copytree(tree, folder, copy_function=_copy_readable, symlinks=True, dirs_exist_ok=True)
        for path in (folder, *(found for found in folder.rglob("*") if found.is_dir())):
            path.chmod(0o755)
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _copy_readable(source: str, target: str) -> None:
    """Copy a file so that forked boxes link it instead of copying it again. Other users cannot enter its folders."""
    shutil.copyfile(source, target)
    Path(target).chmod(0o644)
