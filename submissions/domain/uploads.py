"""Receiving a bundle and saying everything that is wrong with it, before anything is queued."""

from __future__ import annotations

import hashlib
from dataclasses import asdict, dataclass, field, replace
from datetime import timedelta
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any

from django.db import transaction
from django.utils import timezone

from benchmark_tasks.domain.content import ContentMissingError, tree_path
from benchmark_tasks.domain.queries import current_version, goal_of, has_code, why_closed
from benchmark_tasks.models import Suite, SuiteVersion, TaskRevision
from submissions.answers.archives import is_packed
from submissions.answers.bundle import Bundle, BundleReading
from submissions.answers.check import TaskFiles, check_answers
from submissions.answers.intake import ArchiveLimits, ProblemList, refuse
from submissions.answers.limited import read_bundle_limited
from submissions.answers.tree_answers import answers_of, remarks_on
from submissions.answers.types import AppliedAnswer, BundleError, Manifest, Problem, Severity
from submissions.domain.audit import record
from submissions.domain.masked import closed_reason, index_of, tree_limits
from submissions.enums import Verb
from submissions.exceptions import SubmissionError
from submissions.models import Upload, User

if TYPE_CHECKING:
    from collections.abc import Mapping

    from django.core.files.uploadedfile import UploadedFile

    from submissions.answers.tree_index import TreeIndex

KEPT_FOR = timedelta(days=1)
"""How long an upload waits for its owner's decision."""

CHECKED_AT_ONCE = 4 * 1024 * 1024
"""Uploads of up to so many bytes are checked while their sender waits, larger ones beside the request."""


@dataclass(frozen=True, slots=True)
class CheckedBundle:
    """A bundle held against the suite it names. ``applied`` has one entry per (task slug, trial) that applies.

    ``bundle`` is there only when all of it reads; ``reading`` is what could be read.
    """

    problems: tuple[Problem, ...]
    reading: BundleReading | None = None
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
        """The same as plain data, for pages, for ``--json`` and for the database.

        ``suite_version`` is the version that the bundle was held against, ``manifest.suite_version`` what it says.
        """
        manifest = asdict(self.reading.manifest) if self.reading and self.reading.manifest else {}
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
        if self.reading is None:
            return []
        return [
            {
                "task": answer.task,
                "trial": answer.trial,
                "kind": answer.kind.value,
                "file": answer.file,
                "applies": (answer.task, answer.trial) in self.applied,
            }
            for answer in self.reading.answers
        ]


class BundleRefusedError(SubmissionError):
    """The bundle cannot be submitted; ``checked`` says everything that is wrong with it."""

    def __init__(self, checked: CheckedBundle) -> None:
        super().__init__("The bundle has problems and was not submitted.")
        self.checked = checked


def check_file(*, path: Path, described: Manifest | None = None) -> CheckedBundle:
    """Read the bundle at ``path`` in a limited process and hold it against its suite. Never raises for bad bundles.

    ``described`` stands in for ``submission.json`` where there is none (JSONL predictions, output trees).
    """
    try:
        index = _index(path, described)
        reading = read_bundle_limited(path, defaults=described, index=index, tree_limits=tree_limits())
    except BundleError as error:
        return CheckedBundle(problems=tuple(error.problems))
    problems = [*reading.problems, *reading.remarks]
    version = None
    applied: Mapping[tuple[str, int], AppliedAnswer] = {}
    # Without a suite's name, which is one of the problems then, there is nothing to hold the answers against.
    if reading.manifest is not None and reading.manifest.suite:
        version, problem = _find_version(reading.manifest)
        if problem and (reading.trees or not _has_manifest_file(path)):
            problem = replace(problem, file="")  # said in the form or by options: there is no such file to look at
        problems += [problem] if problem else []
    if version is not None:
        tasks = task_files(version)
        reading, remarks = _with_tree_answers(reading, tasks)
        tried = check_answers(reading.answers, tasks)
        applied = tried.applied
        problems += [*remarks, *tried.problems]
    return CheckedBundle(
        problems=_bounded(problems, reading.left_out),
        reading=reading,
        bundle=None if reading.problems else reading.bundle(),
        suite_version=version,
        applied=dict(applied),
    )


def _index(path: Path, described: Manifest | None) -> TreeIndex | None:
    """What an output tree is compared with: the masked repositories of the suite that ``described`` names.

    None where the file is none, or the suite takes no answers (which :func:`_find_version` says). Raises BundleError.
    """
    with path.open("rb") as stream:
        if described is None or not is_packed(stream.read(4)):
            return None
    version, _ = _find_version(described)
    try:
        return index_of(version) if version is not None else None
    except ContentMissingError:
        message = f"The files of the suite {described.suite!r} are missing here; an operator must import it again."
        raise BundleError([refuse(message)]) from None


def _has_manifest_file(path: Path) -> bool:
    """Whether it is an archive, which says itself what it answers; predictions do not."""
    with path.open("rb") as stream:
        return is_packed(stream.read(4))


def _with_tree_answers(reading: BundleReading, tasks: Mapping[str, TaskFiles]) -> tuple[BundleReading, list[Problem]]:
    """``reading`` with an answer for each goal that an output tree changes, and what is to be said about them."""
    if not reading.trees:
        return reading, []
    problems: list[Problem] = []
    answers = list(reading.answers)
    for folder in reading.trees:
        of_paper = {slug: task for slug, task in tasks.items() if slug.rpartition("/")[0] == folder.paper}
        made, remarks = answers_of(folder, of_paper)
        answers += made
        problems += [*remarks, *remarks_on(made)]
    answers.sort(key=lambda answer: (answer.task, answer.trial))
    if not answers:
        nothing = refuse("No goal is changed in any of these repositories, so there is nothing to submit.")
        return replace(reading, problems=(*reading.problems, nothing)), [*problems, nothing]
    return replace(reading, answers=tuple(answers)), problems


def _bounded(problems: list[Problem], left_out: int) -> tuple[Problem, ...]:
    """At most as many as one report lists, refusals first; all of them where each bad answer is stored with its own."""
    refusals = [problem for problem in problems if problem.severity == Severity.REFUSE]
    if not refusals:
        return tuple(problems)
    listed = ProblemList(ArchiveLimits().problems)
    listed.extend([*refusals, *(problem for problem in problems if problem.severity != Severity.REFUSE)])
    listed.left_out += left_out
    return tuple(listed.all())


def task_files(version: SuiteVersion) -> dict[str, TaskFiles]:
    """The goal and the masked repository of every task of ``version``, by slug, and why some take no answers."""
    return {revision.task.slug: _files_of(revision) for revision in version.revisions.select_related("task")}


def _files_of(revision: TaskRevision) -> TaskFiles:
    if revision.runnable:
        return TaskFiles(goal=goal_of(revision), repository=tree_path(revision.repository_hash))
    return TaskFiles(goal=goal_of(revision), repository=Path(), closed=closed_reason(revision))


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
    closed = why_closed(version)
    if closed:
        return (version if has_code(version) else None), refuse(closed)
    if manifest.suite_version not in {None, version.number}:
        return version, refuse(
            f"The bundle was made for version {manifest.suite_version} of {manifest.suite!r}; the current version is "
            f"{version.number}. Download the current task kit, or leave suite_version out."
        )
    return version, None


def receive(*, owner: User, file: UploadedFile[Any], described: Manifest | None, fields: dict[str, Any]) -> Upload:
    """Store an uploaded file, check it, and keep the report beside it. ``fields`` are the form's, kept as typed.

    A large one is only stored: :func:`submissions.domain.checking.go_on` checks it.
    """
    digest = hashlib.sha256()
    for chunk in file.chunks():
        digest.update(chunk)
    upload = Upload(
        owner=owner,
        name=Path(file.name or "bundle").name.replace("\0", "")[:200],
        size=file.size or 0,
        digest=digest.hexdigest(),
        fields=fields,
    )
    file.seek(0)
    # The name on disk is ours: a submitted name never becomes a path.
    upload.file.save(f"{upload.digest}.bundle", file, save=False)
    is_small = upload.size <= CHECKED_AT_ONCE
    if is_small:
        upload.report = check_file(path=Path(upload.file.path), described=described).report()
    upload.checked = is_small
    with transaction.atomic():
        upload.save()
        record(verb=Verb.UPLOADED, subject=upload, actor=owner, data={"digest": upload.digest, "size": upload.size})
    return upload


def check_again(*, upload: Upload, described: Manifest | None, fields: dict[str, Any]) -> Upload:
    """Check a stored upload anew, with other ``fields`` beside it; the file need not be sent again."""
    upload.fields = fields
    upload.checked, upload.checking_since, upload.report = False, None, {}
    upload.save(update_fields=["fields", "report", "checked", "checking_since"])
    if upload.size <= CHECKED_AT_ONCE:
        check_stored(upload=upload, described=described)
    return upload


def check_stored(*, upload: Upload, described: Manifest | None) -> None:
    """Check a stored upload and keep the report, unless the upload was discarded or given other fields meanwhile."""
    began = upload.checking_since
    upload.report = check_file(path=Path(upload.file.path), described=described).report()
    upload.checked = True
    Upload.objects.filter(pk=upload.pk, checking_since=began).update(report=upload.report, checked=True)


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
