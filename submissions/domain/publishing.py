"""Publish, withdraw, hide and correct submissions; each action records a public audit event."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.db import IntegrityError, transaction
from django.utils import timezone

from submissions.domain.access import may_manage
from submissions.domain.audit import history, record
from submissions.domain.entitlement import lock, use_name
from submissions.domain.ownership import manages
from submissions.enums import Kind, SubmissionState, Verb, Visibility
from submissions.exceptions import NotAllowedError, WrongStateError
from submissions.models import Submission, System, User
from submissions.signals import submission_changed

if TYPE_CHECKING:
    from collections.abc import Mapping

CODE_LICENCES = {
    "CC-BY-4.0": "Creative Commons Attribution 4.0",
    "MIT": "MIT",
    "Apache-2.0": "Apache 2.0",
    "AGPL-3.0-or-later": "GNU AGPL 3.0 or later",
}
"""Licences for the shown code, SPDX identifier to name."""

_CANNOT_BE = {
    Verb.PUBLISHED: "published",
    Verb.WITHDRAWN: "withdrawn",
    Verb.HIDDEN: "hidden",
    Verb.UNHIDDEN: "shown again",
}

CORRECTABLE = ("name", "backbone", "scaffold", "organisation", "weights", "knowledge_cutoff", "links")


_ALLOWED_FROM = {
    Verb.PUBLISHED: [Visibility.PRIVATE, Visibility.WITHDRAWN],
    Verb.WITHDRAWN: [Visibility.PUBLISHED],
    Verb.HIDDEN: [Visibility.PRIVATE, Visibility.PUBLISHED, Visibility.WITHDRAWN],
    Verb.UNHIDDEN: [Visibility.HIDDEN],
}


def publish(*, submission: Submission, actor: User, code_licence: str, consent: bool) -> None:
    """Publish a scored submission on the board, with its code shown under ``code_licence``.

    Raises :class:`NotAllowedError` without consent, for users other than owners and maintainers, and for calibration
    samples of non-maintainers; :class:`WrongStateError` unless it is scored and private or withdrawn.
    """
    _require_manager(actor, submission)
    _publish(submission, actor, code_licence, consent=consent)


def publish_if_consented(*, submission: Submission) -> bool:
    """Publish a newly scored submission if its sender consented when submitting; return whether it was published.

    The consent holds even if the sender has left the team that owns the submission.
    """
    if not submission.publish_when_scored or submission.visibility != Visibility.PRIVATE:
        return False
    _publish(submission, submission.owner, submission.code_licence, consent=True)
    return True


def _publish(submission: Submission, actor: User, code_licence: str, *, consent: bool) -> None:
    if not consent or code_licence not in CODE_LICENCES:
        msg = "Publishing needs your consent to show the code, and one of the offered licences for it."
        raise NotAllowedError(msg)
    if submission.kind == Kind.CALIBRATION and not actor.is_staff:
        msg = "Calibration samples are published by maintainers only. To be listed, submit with kind 'ranked'."
        raise NotAllowedError(msg)
    with transaction.atomic():
        scored = Submission.objects.filter(pk=submission.pk, state=SubmissionState.SCORED).update(
            code_licence=code_licence, published_at=timezone.now()
        )
        if not scored:
            msg = "Only a scored submission can be published. Wait until every task has an outcome."
            raise WrongStateError(msg)
        _move(submission, Visibility.PUBLISHED, verb=Verb.PUBLISHED, actor=actor)


def withdraw(*, submission: Submission, actor: User, reason: str) -> None:
    """Withdraw a published submission from the board. Raises :class:`NotAllowedError`, :class:`WrongStateError`."""
    _require_manager(actor, submission)
    _require_reason(reason, "it is shown in place of the submission.")
    with transaction.atomic():
        _move(submission, Visibility.WITHDRAWN, verb=Verb.WITHDRAWN, actor=actor, reason=reason)


def hide(*, submission: Submission, actor: User, reason: str) -> None:
    """Hide a submission, with a public reason, regardless of its owner."""
    _require_maintainer(actor, reason)
    with transaction.atomic():
        _move(submission, Visibility.HIDDEN, verb=Verb.HIDDEN, actor=actor, reason=reason)


def unhide(*, submission: Submission, actor: User, reason: str) -> None:
    """Undo :func:`hide`: restore the visibility that its owner had set, published, withdrawn or private."""
    _require_maintainer(actor, reason)
    # published_at is not used, since withdrawing keeps it, and unhiding must not undo a withdrawal.
    newest = history(submission).filter(verb__in=[Verb.PUBLISHED, Verb.WITHDRAWN]).first()
    before = Visibility(newest.verb) if newest else Visibility.PRIVATE
    with transaction.atomic():
        _move(submission, before, verb=Verb.UNHIDDEN, actor=actor, reason=reason)


def correct_system(*, submission: Submission, actor: User, changes: Mapping[str, object], reason: str) -> None:
    """Correct the description of the system. Old and new values stay in the public history.

    A new organisation is confirmed, or self-declared, as if it were submitted; a maintainer corrects another's system
    in the name of its owner. Raises :class:`NotAllowedError` for fields other than :data:`CORRECTABLE` and without a
    reason, and :class:`~submissions.exceptions.OrganisationRefusedError`.
    """
    _require_manager(actor, submission)
    unknown = sorted(set(changes) - set(CORRECTABLE))
    if unknown:
        msg = f"{', '.join(unknown)} cannot be corrected; only {', '.join(CORRECTABLE)} can."
        raise NotAllowedError(msg)
    _require_reason(reason, "corrections and their reasons are public.")
    owner = submission.system.owner
    user = owner if actor.is_staff and owner and manages(owner, submission.system) else actor
    with transaction.atomic():
        lock(user)
        system = System.objects.select_for_update(of=("self",), no_key=True).get(pk=submission.system_id)
        new_facts, used = dict(changes), system.confirmation
        if changes.get("organisation", system.organisation) != system.organisation:
            used = use_name(account=user, name=str(changes["organisation"]))
            new_facts["organisation"] = used.organisation.name if used else changes["organisation"]
        changed = {
            name: [getattr(system, name), new] for name, new in new_facts.items() if getattr(system, name) != new
        }
        if not changed and used == system.confirmation:
            return
        try:
            with transaction.atomic():
                for name, (_, new) in changed.items():
                    setattr(system, name, new)
                system.confirmation = used
                # Saved, not updated: all rows of the system follow, not this submission's alone.
                system.save(update_fields=[*changed, "confirmation"])
        except IntegrityError:
            msg = "Another system of this owner already has that name, backbone and scaffold; choose another name."
            raise NotAllowedError(msg) from None
        record(verb=Verb.CORRECTED, subject=submission, actor=actor, reason=reason, data={"changed": changed})
        submission.refresh_from_db()
        submission_changed.send(sender=Submission, submission=submission)


def _require_manager(actor: User, submission: Submission) -> None:
    if not may_manage(actor, submission):
        msg = "Only the owner of a submission or a maintainer may do this."
        raise NotAllowedError(msg)


def _require_maintainer(actor: User, reason: str) -> None:
    if not actor.is_staff:
        msg = "Only maintainers may hide submissions or show them again."
        raise NotAllowedError(msg)
    _require_reason(reason, "it is public.")


def _require_reason(reason: str, why: str) -> None:
    if not reason.strip():
        msg = f"Give a reason: {why}"
        raise NotAllowedError(msg)


def _move(submission: Submission, to: Visibility, *, verb: Verb, actor: User, reason: str = "") -> None:
    """Change the visibility by conditional update, record it, and send a signal."""
    rows = Submission.objects.filter(pk=submission.pk, visibility__in=_ALLOWED_FROM[verb])
    moved = rows.update(visibility=to, visibility_reason=reason)
    submission.refresh_from_db()
    if not moved:
        msg = f"This submission is {submission.get_visibility_display()}, so it cannot be {_CANNOT_BE[verb]}."
        raise WrongStateError(msg)
    record(verb=verb, subject=submission, actor=actor, reason=reason)
    submission_changed.send(sender=Submission, submission=submission)
