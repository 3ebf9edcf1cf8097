"""Send notices by e-mail from a job, store users' choices, and make links that unsubscribe without signing in."""

from __future__ import annotations

import smtplib
from datetime import timedelta
from enum import Enum
from typing import TYPE_CHECKING, Final

import structlog
from allauth.account.models import EmailAddress
from django.conf import settings
from django.core import signing
from django.core.mail import EmailMessage, get_connection
from django.db import transaction
from django.db.models import Exists, F
from django.urls import reverse
from django.utils import timezone

from evaluator.queue.pushing import SITE, push_once
from leaderboard.models import MailChoice, Notice
from leaderboard.models.enums import NoticeKind
from submissions.models import User

if TYPE_CHECKING:
    from collections.abc import Collection
    from datetime import datetime

    from django.core.mail.backends.base import BaseEmailBackend

    from leaderboard.models.notices import NoticeQuerySet

log = structlog.get_logger(__name__)
_LEASE: Final = timedelta(minutes=10)
"""Lease of an e-mail. If its worker dies between sending and recording, the e-mail is sent again."""
_LONGEST_PAUSE: Final = timedelta(hours=6)
_MOST_AT_ONCE: Final = 100
_LONGEST_SUBJECT: Final = 150
_PERMANENT: Final = 500
"""Reply codes of a mail server from this number on are permanent errors."""
_SALT: Final = "leaderboard.notices.off"


def is_offered() -> bool:
    """Return whether this instance can send notices: it has a mail server, and a site address for links."""
    return bool(settings.EMAIL_CONFIGURED and settings.ENVIRONMENT.site_address)


def chosen(user: User) -> list[str]:
    """List the kinds of notices that ``user`` gets by e-mail."""
    return list(MailChoice.objects.filter(user=user).values_list("kind", flat=True))


def choose(*, user: User, kinds: Collection[str]) -> None:
    """Send ``user`` e-mails for these kinds of notices only; due e-mails of other kinds are dropped."""
    with transaction.atomic():
        MailChoice.objects.filter(user=user).exclude(kind__in=kinds).delete()
        MailChoice.objects.bulk_create([MailChoice(user=user, kind=kind) for kind in kinds], ignore_conflicts=True)
        Notice.objects.filter(recipient=user).exclude(kind__in=kinds).update(mail_due=None)


def turn_off(*, user: User, kind: str) -> None:
    """Stop e-mails to ``user`` for notices of ``kind``."""
    choose(user=user, kinds=[each for each in chosen(user) if each != kind])


def off_token(notice: Notice) -> str:
    """Return a token that unsubscribes from this kind of notice. It does not expire: e-mails may be read late."""
    return signing.dumps([notice.recipient_id, notice.kind], salt=_SALT, compress=True)


def read_off_token(token: str) -> tuple[User, NoticeKind] | None:
    """Return the user and the kind of notice in ``token``; None if this site did not make it."""
    try:
        user, kind = signing.loads(token, salt=_SALT)
    except signing.BadSignature:
        return None
    found = User.objects.filter(pk=user).first()
    return (found, NoticeKind(kind)) if found else None


def push_mails() -> None:
    """Queue a job that sends the due e-mails."""
    if is_offered() and _due().exists():
        push_once(SITE, "leaderboard.upkeep.jobs.mail_notices", job_id="mail-notices")


def send_due() -> int:
    """Send the due e-mails and return how many were sent.

    If the server is unavailable, the rest waits; each e-mail is retried with backoff. Only this call waits for the
    server, up to its time-out. An e-mail is given up only if the server refuses its address, its recipient has read the
    notice or may no longer read it, or the notice is removed for its age.
    """
    if not is_offered():
        return 0
    sent, connection = 0, get_connection()
    try:
        for notice in _due().named().select_related("recipient")[:_MOST_AT_ONCE]:
            if not _claim(notice):
                continue
            outcome = _try_to_send(notice, connection)
            sent += outcome is _Outcome.SENT
            if outcome is _Outcome.NO_SERVER:
                break
    finally:
        connection.close()
    return sent


class _Outcome(Enum):
    SENT, NOT_SENT, NO_SERVER = range(3)


def _try_to_send(notice: Notice, connection: BaseEmailBackend) -> _Outcome:
    address = _address(notice)
    if not address:
        _postpone(notice, None)
        return _Outcome.NOT_SENT
    try:
        connection.open()
        _send(notice, address, connection)
    except smtplib.SMTPRecipientsRefused as error:
        permanent = all(code >= _PERMANENT for code, _ in error.recipients.values())
        log.warning("notice_refused", notice=notice.pk, permanent=permanent)
        _postpone(notice, None if permanent else _next_try(notice))
        return _Outcome.NOT_SENT
    except (OSError, smtplib.SMTPException) as error:
        log.warning("mail_server_fails", notice=notice.pk, error=type(error).__name__)
        _postpone(notice, _next_try(notice))
        return _Outcome.NO_SERVER
    Notice.objects.filter(pk=notice.pk).update(mailed=timezone.now(), mail_due=None)
    return _Outcome.SENT


def _due() -> NoticeQuerySet:
    return Notice.objects.filter(mail_due__lte=timezone.now()).order_by("mail_due", "pk")


def _claim(notice: Notice) -> bool:
    """Claim an e-mail, so that no other worker sends it as well; false if another worker has claimed it."""
    waiting = Notice.objects.filter(pk=notice.pk, mail_due=notice.mail_due)
    return bool(waiting.update(mail_due=timezone.now() + _LEASE, mail_tries=F("mail_tries") + 1))


def _postpone(notice: Notice, until: datetime | None) -> None:
    Notice.objects.filter(pk=notice.pk).update(mail_due=until)


def _next_try(notice: Notice) -> datetime:
    return timezone.now() + min(timedelta(minutes=2 ** min(notice.mail_tries, 10)), _LONGEST_PAUSE)


def address_of(user: User) -> str:
    """Return the address for e-mails to ``user``: the primary one, once it is verified; empty without one."""
    primary = EmailAddress.objects.filter(user=user, primary=True, verified=True).first()
    return primary.email if primary else ""


def _address(notice: Notice) -> str:
    """Return the recipient's address if the notice is unread, may still be read, and is still wanted; else empty."""
    person = notice.recipient
    wanted = MailChoice.objects.filter(user=person, kind=notice.kind)
    readable = Notice.objects.shown_to(person).filter(Exists(wanted), pk=notice.pk, read=None)
    return address_of(person) if person.is_active and readable.exists() else ""


def _send(notice: Notice, address: str, connection: BaseEmailBackend) -> None:
    site = settings.ENVIRONMENT.site_address
    off = f"{site}{reverse('notice_off', args=[off_token(notice)])}"
    host = site.partition("://")[2].partition(":")[0]
    lines = (
        notice.text,
        f"{site}{notice.get_absolute_url()}",
        f"You get this because you chose e-mails for when {notice.get_kind_display()}.",
        f"Stop these e-mails: {off}",
        f"All your settings: {site}{reverse('notice_settings')}",
    )
    EmailMessage(
        subject=f"[{settings.SITE_NAME}] {notice.title}"[:_LONGEST_SUBJECT],
        body="\n\n".join(lines) + "\n",
        to=[address],
        headers={
            "Auto-Submitted": "auto-generated",
            "List-Unsubscribe": f"<{off}>",
            "List-Unsubscribe-Post": "List-Unsubscribe=One-Click",
            # The same for each attempt: mail programs then show duplicates once.
            "Message-ID": f"<notice-{notice.pk}@{host}>",
        },
        connection=connection,
    ).send()
