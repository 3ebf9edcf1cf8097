"""From a checked bundle to a stored submission with an implementation for every task and trial."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from django.core.files.base import ContentFile, File
from django.db import IntegrityError, transaction
from django.utils.text import slugify

from submissions.answers.types import Problem, RawAnswer, Severity
from submissions.domain import quotas
from submissions.domain.access import may_manage
from submissions.domain.audit import record
from submissions.domain.publishing import CODE_LICENCES
from submissions.domain.taking import take
from submissions.domain.uploads import CheckedBundle, check_file
from submissions.enums import Inputs, Kind, Source, SubmissionState, Verb
from submissions.exceptions import NotAllowedError, WrongStateError
from submissions.models import Implementation, Submission, System, Upload, User
from submissions.signals import submission_cancelled, submission_created

if TYPE_CHECKING:
    from benchmark_tasks.models import SuiteVersion, TaskRevision
    from submissions.answers.bundle import Bundle
    from submissions.answers.types import Manifest


@dataclass(frozen=True, slots=True)
class Submitted:
    """``created`` is false when the same person had submitted the same bundle before.

    ``remarks`` say what of an output tree was left aside.
    """

    submission: Submission
    created: bool
    remarks: tuple[Problem, ...] = ()


def submit(*, owner: User, path: Path, described: Manifest | None = None, publish_licence: str = "") -> Submitted:
    """Check the bundle at ``path`` and queue its evaluation.

    ``publish_licence`` is consent, given beforehand, to publish as soon as it is scored. Raises
    ``BundleRefusedError`` and :class:`~submissions.exceptions.QuotaExceededError`.
    """
    if publish_licence and publish_licence not in CODE_LICENCES:
        msg = f"{publish_licence!r} is not one of the offered licences: {', '.join(CODE_LICENCES)}."
        raise NotAllowedError(msg)
    checked = check_file(path=path, described=described)
    bundle, version = checked.require()
    if publish_licence and bundle.manifest.kind == Kind.CALIBRATION and not owner.is_staff:
        msg = "Calibration samples are published by maintainers only; submit this one without consent to publish."
        raise NotAllowedError(msg)
    existing = _existing(owner, bundle, version)
    if existing:
        return Submitted(existing, created=False)
    try:
        with transaction.atomic():
            quotas.require(owner)
            submission = _new_submission(owner, bundle, version, publish_licence)
            with path.open("rb") as stream:
                submission.bundle.save(f"{bundle.digest}.bundle", File(stream), save=False)
            submission.save()
            _store_answers(submission, bundle, checked)
            record(verb=Verb.SUBMITTED, subject=submission, actor=owner, data={"digest": submission.bundle_digest})
            submission_created.send(sender=Submission, submission=submission)
    except IntegrityError:
        # Two identical uploads at the same moment: the database let one through.
        existing = _existing(owner, bundle, version)
        if existing is None:
            raise
        return Submitted(existing, created=False)
    remarks = tuple(problem for problem in checked.problems if problem.severity is Severity.REMARK)
    return Submitted(submission, created=True, remarks=remarks)


def submit_upload(*, upload: Upload, described: Manifest | None, publish_licence: str = "") -> Submitted:
    """Submit a bundle that was uploaded and checked before; the upload is removed when it became a submission.

    Raises as :func:`submit`, and :class:`WrongStateError` where the upload has just been submitted or discarded.
    """
    path = Path(upload.file.path)
    try:
        submitted = submit(owner=upload.owner, path=path, described=described, publish_licence=publish_licence)
    except FileNotFoundError:
        if path.exists():
            raise
        msg = "This file was submitted or discarded in another window just now. My submissions shows what became of it."
        raise WrongStateError(msg) from None
    upload.file.delete(save=False)
    upload.delete()
    return submitted


def cancel(*, submission: Submission, actor: User) -> None:
    """Stop what is queued or under way and give the quota back. Raises for strangers and for ended submissions."""
    if not may_manage(actor, submission):
        msg = "Only the owner of a submission or a maintainer may cancel it."
        raise NotAllowedError(msg)
    with transaction.atomic():
        mine = Submission.objects.filter(pk=submission.pk)
        # A held submission was stopped by a fault of ours, whatever it had used by then.
        unused = mine.filter(state__in=[SubmissionState.QUEUED, SubmissionState.HELD])
        used = mine.filter(state__in=[SubmissionState.RUNNING, SubmissionState.GENERATING])
        if not unused.update(state=SubmissionState.CANCELLED) and not used.update(
            state=SubmissionState.CANCELLED, cancelled_after_start=True
        ):
            msg = "Only a submission that is being generated, queued, running or held can be cancelled."
            raise WrongStateError(msg)
        submission.refresh_from_db()
        record(verb=Verb.CANCELLED, subject=submission, actor=actor)
        submission_cancelled.send(sender=Submission, submission=submission)


def submitted_before(upload: Upload) -> Submission | None:
    """The owner's submission of the same content, on the suite version that ``upload`` was checked against."""
    report = upload.report
    same = Submission.objects.filter(
        owner=upload.owner,
        suite_version__suite__slug=report.get("suite", ""),
        suite_version__number=report.get("suite_version"),
        bundle_digest=report.get("digest") or None,
    )
    return same.exclude(state=SubmissionState.CANCELLED).first()


def _existing(owner: User, bundle: Bundle, version: SuiteVersion) -> Submission | None:
    same = Submission.objects.filter(owner=owner, suite_version=version, bundle_digest=bundle.digest)
    return same.exclude(state=SubmissionState.CANCELLED).first()


def _new_submission(owner: User, bundle: Bundle, version: SuiteVersion, publish_licence: str) -> Submission:
    manifest = bundle.manifest
    return Submission(
        owner=owner,
        system=system_of(owner, manifest),
        suite_version=version,
        inputs=Inputs(manifest.inputs),
        source=Source.BUNDLE,
        kind=Kind(manifest.kind),
        trials=max((answer.trial for answer in bundle.answers), default=1),
        notes=manifest.notes,
        bundle_digest=bundle.digest,
        code_licence=publish_licence,
        publish_when_scored=bool(publish_licence),
    )


def _store_answers(submission: Submission, bundle: Bundle, checked: CheckedBundle) -> None:
    """An implementation for every task and trial, also where there is no answer."""
    answers = {(answer.task, answer.trial): answer for answer in bundle.answers}
    errors = {(p.task, p.file): p for p in checked.problems if p.severity == Severity.BAD_ANSWER}
    for revision in submission.suite_version.revisions.select_related("task"):
        for trial in range(1, submission.trials + 1):
            answer = answers.get((revision.task.slug, trial))
            implementation = _implementation(submission, revision, trial, answer, checked, errors)
            if answer is not None and answer.trajectory is not None:
                # Stored under a name of ours; the submitted one is only shown.
                name = f"{bundle.digest[:16]}-{revision.pk}-{trial}.trajectory"
                implementation.trajectory.save(name, ContentFile(answer.trajectory), save=False)
            implementation.save()


def _implementation(
    submission: Submission,
    revision: TaskRevision,
    trial: int,
    answer: RawAnswer | None,
    checked: CheckedBundle,
    errors: dict[tuple[str, str], Problem],
) -> Implementation:
    implementation = Implementation(submission=submission, revision=revision, trial=trial)
    if answer is None:
        return implementation
    implementation.attempted = True
    implementation.raw_answer = answer.content.decode("utf-8", errors="replace").replace(
        "\x00", "\N{REPLACEMENT CHARACTER}"
    )
    implementation.usage = json.loads(json.dumps(answer.usage))
    implementation.set_aside = [asdict(aside) for aside in answer.aside]
    applied = checked.applied.get((answer.task, trial))
    if applied is None:
        problem = errors.get((answer.task, answer.file))
        implementation.answer_error = {
            "message": problem.message if problem else "The answer could not be applied.",
            "file": answer.file,
            "line": problem.line if problem else None,
        }
    else:
        take(implementation, applied)
    return implementation


def system_of(owner: User, manifest: Manifest) -> System:
    """The owner's system of that name, backbone and scaffold; made on first use, filled where it was empty."""
    system = System.objects.filter(
        owner=owner,
        name__iexact=manifest.system,
        backbone__iexact=manifest.backbone,
        scaffold__iexact=manifest.scaffold,
    ).first()
    if system is None:
        return System.objects.create(
            slug=_free_slug(manifest.system),
            name=manifest.system,
            backbone=manifest.backbone,
            scaffold=manifest.scaffold,
            organisation=manifest.organisation,
            links=list(manifest.links),
            owner=owner,
        )
    if manifest.organisation and not system.organisation:
        system.organisation = manifest.organisation
    system.links = list(dict.fromkeys([*system.links, *manifest.links]))[:10]
    system.save(update_fields=["organisation", "links"])
    return system


def _free_slug(name: str) -> str:
    base = slugify(name)[:100] or "system"
    taken = set(System.objects.filter(slug__startswith=base).values_list("slug", flat=True))
    if base not in taken:
        return base
    return next(slug for number in range(2, len(taken) + 3) if (slug := f"{base}-{number}") not in taken)
