"""Auditing task revisions: does the unit test tell right from wrong? (DESIGN, section 4, "Audit")."""

from __future__ import annotations

import shutil
from pathlib import Path
from tempfile import mkdtemp
from typing import TYPE_CHECKING

from django.conf import settings

from benchmark_tasks.domain.queries import current_version, goal_of, revisions_of
from benchmark_tasks.domain.seeds import private_seeds
from benchmark_tasks.enums import AuditState
from benchmark_tasks.models import Suite, TaskRevision
from evaluator.domain.claims import job_label
from evaluator.domain.configuration import configured_sandbox, golden_folder, sealed_task
from evaluator.domain.golden import FileGoldenStore
from evaluator.grading.trivial import AuditResult, audit
from submissions.answers.splice import splice

if TYPE_CHECKING:
    from collections.abc import Iterable

    from benchmark_tasks.models import SeedEpoch
    from evaluator.grading.types import SealedTask


def waiting(suites: Iterable[Suite] | None = None, *, again: bool = False) -> list[tuple[TaskRevision, SeedEpoch]]:
    """Revisions to audit, each with the epoch of its private seeds: runnable, in the newest version of their suite, and
    not audited yet (or with ``again``, all of them).
    """
    versions = [current_version(suite) for suite in (Suite.objects.all() if suites is None else suites)]
    return [
        (revision, version.seed_epoch)
        for version in versions
        if version
        for revision in revisions_of(version)
        if not revision.not_runnable_reasons and (again or revision.audit_state == AuditState.UNAUDITED)
    ]


def audit_revision(revision: TaskRevision, epoch: SeedEpoch) -> AuditResult:
    """Audit ``revision`` in real boxes and store what was found. Raises ``SandboxError`` for faults of ours.

    The public seeds and the current private ones are used, so the golden function is tried on several seeds.
    """
    task = sealed_task(revision)
    scratch = Path(mkdtemp(prefix="audit-", dir=_scratch_folder()))
    scratch.chmod(0o755)
    try:
        result = audit(
            sandbox=configured_sandbox(),
            task=task,
            goal_source=revision.masked_source,
            build_tree=lambda source: _tree_with(revision, task, source, scratch),
            private_seeds=private_seeds(
                epoch.key, revision.task.slug, task.check.private_seed_count, public_seeds=task.check.public_seeds
            ),
            golden=FileGoldenStore(golden_folder()),
            label=job_label(),
        )
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    state = AuditState.PASSED if result.passed else AuditState.FAILED
    TaskRevision.objects.filter(pk=revision.pk).update(audit_state=state, audit=_as_data(result))
    revision.refresh_from_db()
    return result


def _scratch_folder() -> Path:
    folder = Path(settings.DATA_DIR) / "work"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def _tree_with(revision: TaskRevision, task: SealedTask, source: str, scratch: Path) -> Path:
    """A copy of the masked repository with ``source`` as the goal's definition."""
    tree = Path(mkdtemp(dir=scratch))
    shutil.copytree(task.repository, tree, dirs_exist_ok=True, copy_function=shutil.copyfile)
    for folder in (tree, *(path for path in tree.rglob("*") if path.is_dir())):
        folder.chmod(0o755)
    goal_file = tree / revision.goal_file
    goal_file.write_bytes(splice(goal_file.read_bytes(), goal_of(revision), source.encode()))
    return tree


def _as_data(result: AuditResult) -> dict[str, object]:
    return {
        "golden": {"outcome": result.golden.outcome.value, "cases": len(result.golden.cases)},
        "stub": result.stub.value,
        "trivial": [{"answer": name, "outcome": outcome.value} for name, outcome in result.trivial],
        "reasons": list(result.reasons),
    }
