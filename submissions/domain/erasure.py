"""Erase a person's account; what others rely on stays, without the person's name."""

from __future__ import annotations

from django.db import models, transaction

from submissions.domain import endpoints, teams
from submissions.domain.audit import record
from submissions.domain.maintainers import set_maintainer
from submissions.domain.operators import OPERATOR
from submissions.domain.organisations import end_all
from submissions.domain.submitting import cancel
from submissions.enums import UNFINISHED, Verb
from submissions.exceptions import NotAllowedError
from submissions.models import Endpoint, Submission, User
from submissions.signals import account_erased


def erase(*, user: User, actor: User | None) -> None:
    """Erase an account: its name, addresses, password, tokens, endpoints with keys, uploads and notices.

    Submissions, labels and decisions stay under ``deleted:NUMBER``, since published numbers rest on them; unfinished
    submissions are cancelled. What belongs to a team stays as it is. Raises :class:`NotAllowedError` for the operator's
    account and while a judge uses an endpoint of this one, and ``WrongStateError`` for the only maintainer and for a
    team's only owner who is not its only member.
    """
    if user.username == OPERATOR:
        raise NotAllowedError(f"{OPERATOR} is the account of the command line and no person's.")
    with transaction.atomic():
        if user.is_staff:
            set_maintainer(user=user, maintains=False)
        teams.leave_all(user=user)
        for submission in Submission.objects.filter(owner=user, team=None, state__in=UNFINISHED):
            cancel(submission=submission, actor=user)
        end_all(account=user, actor=actor)
        for endpoint in user.endpoints.filter(team=None):
            endpoints.delete(endpoint=endpoint, actor=user)
        for relation in User._meta.related_objects:  # noqa: SLF001 - Django's documented API
            if relation.on_delete is models.CASCADE and relation.related_model is not Endpoint:
                relation.related_model._base_manager.filter(**{relation.field.name: user}).delete()  # noqa: SLF001 - the same
        user.former_teams.clear()
        user.groups.clear()
        user.user_permissions.clear()
        # No account can have this name: signing up refuses the colon.
        user.username, user.email = f"deleted:{user.pk}", ""
        user.first_name = user.last_name = ""
        user.is_active = False
        user.set_unusable_password()  # which ends all sessions
        user.save()
        account_erased.send(sender=User, user=user)
        record(verb=Verb.ERASED, subject=user, actor=actor)
