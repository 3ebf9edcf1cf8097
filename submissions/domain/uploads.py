"""Receiving a bundle, and listing everything that is wrong with it, before anything is queued."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass, field, replace
from datetime import timedelta
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any

from django.db import transaction
from django.utils import timezone

from benchmark_tasks.domain.content import ContentMissingError, tree_path
from benchmark_tasks.domain.queries import current_version, goal_of, has_code, why_closed
from benchmark_tasks.domain.references import golden_file
from benchmark_tasks.models import Suite, SuiteVersion, TaskRevision
from submissions.answers.archives import is_packed
from submissions.answers.bundle import Bundle, BundleReading
from submissions.answers.check import BundleRequest
from submissions.answers.intake import ArchiveLimits, ProblemList, refuse
from submissions.answers.limited import check_packed, unpack
from submissions.answers.protection import TaskFiles
from submissions.answers.types import AppliedAnswer, BundleError, Manifest, Problem, Severity
from submissions.domain.audit import record
from submissions.domain.masked import closed_reason, index_of, tree_limits
from submissions.domain.media import scratch_place
from submissions.enums import Verb
from submissions.exceptions import SubmissionError
from submissions.models import Upload, User
from submissions.signals import upload_waiting

if TYPE_CHECKING:
    from django.core.files.uploadedfile import UploadedFile

    from submissions.answers.tree_index import TreeIndex

KEPT_FOR = timedelta(days=1)
"""How long an upload waits for its owner's decision."""


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


class StaleCheckError(SubmissionError):
    """The tasks of the suite changed after the file was checked against them."""

    def __init__(self) -> None:
        super().__init__("The tasks of this suite have changed since the file was checked; it must be checked again.")


def check_file(*, path: Path, described: Manifest | None = None) -> CheckedBundle:
    """Check the bundle at ``path`` in a limited process, against the suite it names. Never raises for bad bundles.

    ``described`` stands in for ``submission.json`` where there is none (JSONL predictions, output trees).
    """
    try:
        return checked_bundle(check_kept(path=path, described=described))
    except BundleError as error:
        return CheckedBundle(problems=tuple(error.problems))


def check_kept(*, path: Path, described: Manifest | None) -> bytes:
    """What the limited process finds in the bundle at ``path``, in a form that :func:`checked_bundle` reads later.

    Raises BundleError where it cannot be read at all, or checking it takes too much.
    """
    with path.open("rb") as stream:
        is_archive = is_packed(stream.read(4))
    # As they are now: a change while the file is being checked makes the check a stale one.
    versions = _open_versions()
    about: dict[str, Any] = {
        "is_archive": is_archive,
        "tasks": {slug: _fingerprint(version) for slug, version in versions.items()},
        "missing": [],
    }
    tasks = {}
    for slug, version in versions.items():
        try:
            tasks[slug] = task_files(version)
        except ContentMissingError:
            about["missing"].append(slug)
    request = BundleRequest(
        tasks=tasks,
        defaults=described,
        index=_index(described) if described is not None and is_archive else None,
        tree_limits=tree_limits(),
    )
    return f"{json.dumps(about)}\n".encode() + check_packed(path, request, scratch=scratch_place())


def checked_bundle(kept: bytes) -> CheckedBundle:
    """What :func:`check_kept` found, held against the suite as it is now.

    Raises BundleError where it could not be read, and :class:`StaleCheckError` where tasks have changed since.
    """
    about, _, found = kept.partition(b"\n")
    facts = json.loads(about)
    reading, tried = unpack(found)
    problems = [*reading.problems, *reading.remarks]
    version = None
    # Without a suite's name, which is one of the problems then, there is nothing to hold the answers against.
    if reading.manifest is not None and reading.manifest.suite:
        version, problem = _find_version(reading.manifest)
        if problem and (reading.is_tree or not facts["is_archive"]):
            problem = replace(problem, file="")  # said in the form or by options: there is no such file to look at
        problems += [problem] if problem else []
    if version is not None and facts["tasks"].get(version.suite.slug) != _fingerprint(version):
        raise StaleCheckError
    if version is not None and version.suite.slug in facts["missing"]:
        problems.append(_missing(version.suite.slug))
    problems += tried.problems
    return CheckedBundle(
        problems=_bounded(problems, reading.left_out),
        reading=reading,
        bundle=None if reading.problems else reading.bundle(),
        suite_version=version,
        applied=dict(tried.applied),
    )


def _index(described: Manifest) -> TreeIndex | None:
    """What an output tree is compared with: the masked repositories of the suite that ``described`` names.

    None where the suite takes no answers (which :func:`_find_version` says). Raises BundleError.
    """
    version, _ = _find_version(described)
    try:
        return index_of(version) if version is not None else None
    except ContentMissingError:
        raise BundleError([_missing(described.suite)]) from None


def _missing(suite: str) -> Problem:
    return refuse(f"The files of the suite {suite!r} are missing here; an operator must import it again.")


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
    """What answers are tried on, for every task of ``version`` by slug, and why some take no answers.

    Raises ContentMissingError.
    """
    return {
        revision.task.slug: files_of(revision)
        if revision.runnable
        else TaskFiles(goal=goal_of(revision), repository=Path(), closed=closed_reason(revision))
        for revision in version.revisions.select_related("task")
    }


def files_of(revision: TaskRevision) -> TaskFiles:
    """What an answer to ``revision`` is tried on. Raises ContentMissingError."""
    repository = tree_path(revision.repository_hash)
    return TaskFiles(goal=goal_of(revision), repository=repository, reference=golden_file(revision))


def _open_versions() -> dict[str, SuiteVersion]:
    """The current version of every suite that has a runnable task, by the suite's slug."""
    versions = {suite.slug: current_version(suite) for suite in Suite.objects.all()}
    return {slug: version for slug, version in versions.items() if version and has_code(version)}


def _fingerprint(version: SuiteVersion) -> str:
    """Changes whenever answers would have to be checked again: with the version, and with what takes answers."""
    revisions = version.revisions.order_by("pk")
    described = json.dumps([version.pk, *([revision.pk, closed_reason(revision)] for revision in revisions)])
    return hashlib.sha256(described.encode()).hexdigest()


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
    """Store an uploaded file for :mod:`submissions.domain.checking`. ``fields`` are the form's, kept as typed."""
    digest = hashlib.sha256()
    for chunk in file.chunks():
        digest.update(chunk)
    upload = Upload(
        owner=owner,
        name=Path(file.name or "bundle").name.replace("\0", "")[:200],
        size=file.size or 0,
        digest=digest.hexdigest(),
        fields=fields,
        described=_plain(described),
        checked=False,
    )
    file.seek(0)
    # The name on disk is ours: a submitted name never becomes a path.
    upload.file.save(f"{upload.digest}.bundle", file, save=False)
    try:
        with transaction.atomic():
            upload.save()
            record(verb=Verb.UPLOADED, subject=upload, actor=owner, data={"digest": upload.digest, "size": upload.size})
            upload_waiting.send(sender=Upload, upload=upload)
    except BaseException:
        upload.file.delete(save=False)
        raise
    return upload


def check_again(*, upload: Upload, described: Manifest | None, fields: dict[str, Any]) -> Upload:
    """Have a stored upload checked anew, with other ``fields`` beside it; the file need not be sent again."""
    upload.fields, upload.described = fields, _plain(described)
    return recheck(upload=upload)


def recheck(*, upload: Upload) -> Upload:
    """Have a stored upload checked anew as it is."""
    upload.checked, upload.checking_since, upload.tries, upload.report = False, None, 0, {}
    upload.result.delete(save=False)
    with transaction.atomic():
        upload.save(update_fields=["fields", "described", "report", "result", "checked", "checking_since", "tries"])
        upload_waiting.send(sender=Upload, upload=upload)
    return upload


def _plain(described: Manifest | None) -> dict[str, Any] | None:
    return asdict(described) | {"links": list(described.links)} if described else None


def described_by_upload(upload: Upload) -> Manifest | None:
    """What the form said about the file when it was sent or last described anew."""
    given = upload.described
    return Manifest(**{**given, "links": tuple(given["links"])}) if given else None


def discard(*, upload: Upload) -> None:
    """Delete an upload that was not submitted, and its files."""
    upload.delete()
    upload.file.delete(save=False)
    upload.result.delete(save=False)


def sweep() -> int:
    """Discard uploads that were left lying for :data:`KEPT_FOR`, and return how many."""
    left = list(Upload.objects.filter(created__lt=timezone.now() - KEPT_FOR))
    for upload in left:
        discard(upload=upload)
    return len(left)
