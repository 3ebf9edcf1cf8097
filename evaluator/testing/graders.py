"""How a task revision is graded, whatever its protocol: what audits, runs and attacks call alike."""

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
from evaluator.sandbox.task_environments import environment_of
from evaluator.sandbox.types import SandboxError, SandboxUnavailableError
from evaluator.testing.boxes import HELLO_SECONDS, Variants
from evaluator.testing.golden import GoldenError, GoldenFolder
from evaluator.testing.sealed import grade, grade_variants
from evaluator.testing.types import Check, Rule, SealedTask
from evaluator.testing.upstream import grade_upstream
from evaluator.testing.upstream_boxes import (
    DEFAULT_MEMORY_BYTES,
    DEFAULT_WALL_SECONDS,
    UpstreamTask,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from benchmark_tasks.models import SeedEpoch, TaskRevision
    from evaluator.outcomes import Outcome
    from evaluator.sandbox.types import Sandbox
    from evaluator.testing.types import Verdict


TRIES = 3
_Found = TypeVar("_Found")
OUTSIDE_SECONDS = 1800.0
"""What grading may take outside of its boxes: copying trees, starting containers, comparing."""


@dataclass(frozen=True)
class Grader:
    """Grades candidates' trees by the tests of ``revision``, with the private seeds of ``epoch``."""

    revision: TaskRevision
    epoch: SeedEpoch

    @property
    def environment(self) -> str:
        """The environment that the tests run in. Raises ``SandboxError`` when a task of upstream's has none."""
        return environment_of(self.revision) if self._is_upstream else self.revision.environment

    @property
    def _is_upstream(self) -> bool:
        return self.revision.protocol == Protocol.UPSTREAM

    @property
    def masked_tree(self) -> Path:
        """The masked repository, as candidates get it. Read-only."""
        return tree_path(self.revision.repository_hash)

    @property
    def reference_tree(self) -> Path:
        """The same with the golden file in the goal file's place. Read-only, and never in a candidate's box."""
        return tree_path(self.revision.grading_hash) / "reference"

    @cached_property
    def task(self) -> SealedTask:
        """The sealed task in its pure form: files and check as the content store holds them."""
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
        """The upstream task in its pure form. Raises ``SandboxError`` when it has no environment."""
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
        """Whether a sealed task of an overlay has a unit test of the suite's authors that may run beside it."""
        revision = self.revision
        return bool(not self._is_upstream and revision.unit_test_file) and not revision.overlay.get("upstream_reasons")

    @property
    def runs_upstream_test(self) -> bool:
        """Whether the audit found that it runs here, with the reference in it."""
        return self.has_upstream_test and bool(self.revision.audit.get("upstream", {}).get("runs"))

    @cached_property
    def private_seeds(self) -> tuple[int, ...]:
        """The seeds of this epoch that nobody is shown; upstream's tests have none."""
        if self._is_upstream:
            return ()
        count, public = self.task.check.private_seed_count, self.task.check.public_seeds
        return private_seeds(self.epoch.key, self.revision.task.slug, count, public_seeds=public)

    @property
    def most_seconds(self) -> float:
        """How long :meth:`grade` can take while every box keeps to its own limit."""
        if self._is_upstream:
            return self.upstream_task.wall_seconds + OUTSIDE_SECONDS
        check = self.task.check
        seeds = len(check.public_seeds) + len(self.private_seeds)
        beside = self.upstream_task.wall_seconds if self.runs_upstream_test else 0.0
        # The reference gets twice the time for each seed; the answer has a public and a private box.
        return HELLO_SECONDS + (2 * seeds + 2) * check.wall_seconds + beside + OUTSIDE_SECONDS

    def environment_digest(self) -> str:
        """What a submission is pinned to when it is measured here now. Raises ``SandboxError``."""
        return configured_sandbox().environment_digest(self.environment)

    def grade(
        self,
        tree: Path,
        *,
        label: str,
        cancelled: Callable[[], bool] = lambda: False,
        private: bool = True,
        sandbox: Sandbox | None = None,
    ) -> Verdict:
        """Grade the repository ``tree`` with an answer in it; without ``private`` by the public seeds alone.

        Raises ``SandboxError`` for infrastructure errors and ``RunCancelledError``.
        """
        sandbox = sandbox or configured_sandbox()
        if self._is_upstream:
            return self.grade_by_upstream_test(tree, sandbox=sandbox, label=label, cancelled=cancelled)
        return grade(
            sandbox=sandbox,
            task=self.task,
            candidate_tree=tree,
            private_seeds=self.private_seeds if private else (),
            golden=GoldenFolder(golden_folder()),
            label=label,
            cancelled=cancelled,
        )

    def grade_by_upstream_test(
        self,
        tree: Path,
        *,
        label: str,
        cancelled: Callable[[], bool] = lambda: False,
        sandbox: Sandbox | None = None,
    ) -> Verdict:
        """What the suite's own unit test says of ``tree``, even if a sealed test decides. Raises as :meth:`grade`."""
        sandbox = sandbox or configured_sandbox()
        return grade_upstream(sandbox=sandbox, task=self.upstream_task, tree=tree, label=label, cancelled=cancelled)

    def grade_goal_files(
        self, texts: Sequence[bytes], *, label: str, seconds: float, preload: Sequence[str] = ()
    ) -> list[Outcome]:
        """The outcome of each of ``texts`` in the goal file's place, with at most ``seconds`` of processor time each.

        For an audit's many tries: under the sealed protocol they share a box, which imports ``preload`` once, and get
        no more than ten times the time that the reference takes there. Raises ``SandboxError`` for infrastructure
        errors.
        """
        sandbox = configured_sandbox()
        if self._is_upstream:
            with writable_copy(self.masked_tree) as tree:
                task = self.upstream_task.limited(seconds)
                outcomes = []
                for text in texts:
                    (tree / self.revision.goal_file).write_bytes(text)
                    verdict = retried(lambda: grade_upstream(sandbox=sandbox, task=task, tree=tree, label=label))
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
            )
        )


def check_from_settings(stored: dict[str, Any]) -> Check:
    """The typed check of what the importer validated and stored (``check`` in info.json)."""
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
    """What ``measure`` returns; tried a few times, since an infrastructure error says nothing of what is measured."""
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
    """A copy of a stored tree in a scratch folder, for an answer to be put into; removed afterwards."""
    folder = Path(mkdtemp(prefix="tree-", dir=scratch_folder()))
    try:
        shutil.copytree(tree, folder, copy_function=shutil.copyfile, symlinks=True, dirs_exist_ok=True)
        for path in (folder, *(found for found in folder.rglob("*") if found.is_dir())):
            path.chmod(0o755)
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
