"""Receiving a bundle and saying everything that is wrong with it, before anything is queued."""

from __future__ import annotations

import hashlib
from dataclasses import asdict, dataclass, field
from datetime import timedelta
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any

from django.db import transaction
from django.utils import timezone

from benchmark_tasks.domain.content import tree_path
from benchmark_tasks.domain.queries import current_version, goal_of
from benchmark_tasks.enums import AuditState
from benchmark_tasks.models import Suite, SuiteVersion, TaskRevision
from submissions.answers.bundle import Bundle
from submissions.answers.check import TaskFiles, check_bundle
from submissions.answers.limited import parse_bundle_limited
from submissions.answers.types import AppliedAnswer, BundleError, Manifest, Problem, Severity
from submissions.domain.audit import record
from submissions.enums import Verb
from submissions.exceptions import SubmissionError
from submissions.models import Upload, User

if TYPE_CHECKING:
    from django.core.files.uploadedfile import UploadedFile


KEPT_FOR = timedelta(days=1)
"""How long an upload waits for its owner's decision."""


@dataclass(frozen=True, slots=True)
class CheckedBundle:
    """A bundle held against the suite it names. ``applied`` has one entry per (task slug, trial) that applies."""

    problems: tuple[Problem, ...]
    bundle: Bundle | None = None
    suite_version: SuiteVersion | None = None
    applied: dict[tuple[str, int], AppliedAnswer] = field(default_factory=dict)

    @property
    def acceptable(self) -> bool:
        """Whether it may be submitted: bad answers are the submitter's risk, refusals are not."""
        return self.bundle is not None and all(p.severity != Severity.REFUSE for p in self.problems)

    def require(self) -> tuple[Bundle, SuiteVersion]:
        """The bundle and its suite version, if it may be submitted. Raises :class:`BundleRefusedError`."""
        if self.bundle is None or self.suite_version is None or not self.acceptable:
            raise BundleRefusedError(self)
        return self.bundle, self.suite_version

    def report(self) -> dict[str, Any]:
        """The same as plain data, for pages, for ``--json`` and for the database."""
        manifest = asdict(self.bundle.manifest) if self.bundle else {}
        return {
            "acceptable": self.acceptable,
            "digest": self.bundle.digest if self.bundle else "",
            "suite": self.suite_version.suite.slug if self.suite_version else manifest.get("suite", ""),
            "suite_version": self.suite_version.number if self.suite_version else None,
            "manifest": manifest | {"links": list(manifest.get("links", ()))},
            "answers": self._answers(),
            "problems": [asdict(problem) for problem in self.problems],
        }

    def _answers(self) -> list[dict[str, Any]]:
        if self.bundle is None:
            return []
        return [
            {
                "task": answer.task,
                "trial": answer.trial,
                "kind": answer.kind.value,
                "file": answer.file,
                "applies": (answer.task, answer.trial) in self.applied,
            }
            for answer in self.bundle.answers
        ]


class BundleRefusedError(SubmissionError):
    """The bundle cannot be submitted; ``checked`` says everything that is wrong with it."""

    def __init__(self, checked: CheckedBundle) -> None:
        super().__init__("The bundle has problems and was not submitted.")
        self.checked = checked


def check_file(*, path: Path, described: Manifest | None = None) -> CheckedBundle:
    """Read the bundle at ``path`` in a limited process and hold it against its suite. Never raises for bad bundles.

    ``described`` stands in for ``submission.json`` where the bundle has none (JSONL predictions).
    """
    try:
        bundle = parse_bundle_limited(path, defaults=described)
    except BundleError as error:
        return CheckedBundle(problems=tuple(error.problems))
    version, problem = _find_version(bundle.manifest)
    if version is None:
        return CheckedBundle(problems=(problem,) if problem else (), bundle=bundle)
    tried = check_bundle(bundle, task_files(version))
    problems = (problem, *tried.problems) if problem else tried.problems
    return CheckedBundle(problems=problems, bundle=bundle, suite_version=version, applied=dict(tried.applied))


def task_files(version: SuiteVersion) -> dict[str, TaskFiles]:
    """The goal and the masked repository of every task of ``version``, by slug, and why some take no answers."""
    return {revision.task.slug: _files_of(revision) for revision in version.revisions.select_related("task")}


def _files_of(revision: TaskRevision) -> TaskFiles:
    if revision.runnable:
        return TaskFiles(goal=goal_of(revision), repository=tree_path(revision.repository_hash))
    closed = "; ".join(revision.not_runnable_reasons) or "it failed its audit"
    return TaskFiles(goal=goal_of(revision), repository=Path(), closed=closed)


def _find_version(manifest: Manifest) -> tuple[SuiteVersion | None, Problem | None]:
    """The version that the manifest means, or why it cannot be answered."""

    def refuse(message: str) -> Problem:
        return Problem(severity=Severity.REFUSE, message=message, file="submission.json")

    known = list(Suite.objects.values_list("slug", flat=True))
    if manifest.suite not in known:
        nearest = get_close_matches(manifest.suite, known, n=1)
        hint = f" Did you mean {nearest[0]!r}?" if nearest else f" Known suites: {', '.join(known)}."
        return None, refuse(f"There is no suite {manifest.suite!r}.{hint}")
    version = current_version(Suite.objects.get(slug=manifest.suite))
    if version is None:
        return None, refuse(f"The suite {manifest.suite!r} has no version yet.")
    revisions = list(version.revisions.all())
    if not any(revision.runnable for revision in revisions):
        return None, refuse(
            f"The suite {manifest.suite!r} has no runnable task on this site, so it takes no submissions. "
            "Its page says how an operator adds its code."
        )
    if any(revision.runnable and revision.audit_state == AuditState.UNAUDITED for revision in revisions):
        return version, refuse(
            f"The tasks of {manifest.suite!r} are being audited; submissions open when that is done. "
            "Operators: manage.py audit_tasks."
        )
    if manifest.suite_version not in {None, version.number}:
        return version, refuse(
            f"The bundle was made for version {manifest.suite_version} of {manifest.suite!r}; the current version is "
            f"{version.number}. Download the current task kit, or leave suite_version out."
        )
    return version, None


def receive(*, owner: User, file: UploadedFile[Any], described: Manifest | None, fields: dict[str, Any]) -> Upload:
    """Store an uploaded file, check it, and keep the report beside it. ``fields`` are the form's, kept as typed."""
    digest = hashlib.sha256()
    for chunk in file.chunks():
        digest.update(chunk)
    upload = Upload(
        owner=owner,
        name=Path(file.name or "bundle").name[:200],
        size=file.size or 0,
        digest=digest.hexdigest(),
        fields=fields,
    )
    file.seek(0)
    # The name on disk is ours: a submitted name never becomes a path.
    upload.file.save(f"{upload.digest}.bundle", file, save=False)
    upload.report = check_file(path=Path(upload.file.path), described=described).report()
    with transaction.atomic():
        upload.save()
        record(verb=Verb.UPLOADED, subject=upload, actor=owner, data={"digest": upload.digest, "size": upload.size})
    return upload


def check_again(*, upload: Upload, described: Manifest | None, fields: dict[str, Any]) -> Upload:
    """Check a stored upload anew, with other ``fields`` beside it; the file need not be sent again."""
    upload.fields = fields
    upload.report = check_file(path=Path(upload.file.path), described=described).report()
    upload.save(update_fields=["fields", "report"])
    return upload


def discard(*, upload: Upload) -> None:
    """Delete an upload that was not submitted, and its file."""
    upload.file.delete(save=False)
    upload.delete()


def sweep() -> int:
    """Discard uploads that were left lying for :data:`KEPT_FOR`, and say how many."""
    left = list(Upload.objects.filter(created__lt=timezone.now() - KEPT_FOR))
    for upload in left:
        discard(upload=upload)
    return len(left)
