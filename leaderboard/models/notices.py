"""Store notices to users, and the kinds that each user wants by e-mail as well."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from django.conf import settings
from django.db import models
from django.db.models import CharField, OuterRef, Q, Subquery, Value
from django.db.models.functions import Cast, Concat
from django.urls import reverse

from leaderboard.models.enums import NoticeKind
from reviews.models import Case
from submissions.domain.ownership import owned_by
from submissions.enums import MANAGING_ROLES, Verb
from submissions.models import AuditEvent, Submission

if TYPE_CHECKING:
    from submissions.models import User


_DETAILS: Final = {
    NoticeKind.SCORED: ": every answer has its outcome",
    NoticeKind.HELD: ": infrastructure errors occurred too often; its page explains what happens next",
    NoticeKind.PAUSED: ": its answers so far are kept; its page explains how to continue",
    NoticeKind.HIDDEN: " by a maintainer: its page gives the reason",
    NoticeKind.UNHIDDEN: ": a maintainer's reason is on its page",
    NoticeKind.JUDGED: ": the judges have labelled its answers",
}


class NoticeQuerySet(models.QuerySet["Notice"]):
    """Notices, limited to those that their recipient may still read."""

    def shown_to(self, user: User) -> NoticeQuerySet:
        """Select the notices of ``user``, without those about a submission no longer theirs or a role that ended."""
        own = owned_by(user, "submission__", roles=MANAGING_ROLES)
        if user.is_staff:
            own |= Q(kind=NoticeKind.APPEAL)
        labels = Q(kind=NoticeKind.REVIEW, recipient__reviewer__active=True)
        return self.filter(own | labels, recipient=user)

    def named(self) -> NoticeQuerySet:
        """Load what the notices' sentences name (``paused_for``: why the site paused a run), but no answer's code."""
        answer = "case__implementation"
        pauses = AuditEvent.objects.filter(
            verb=Verb.PAUSED, subject_kind="submission", subject_id=Cast(OuterRef("submission"), CharField())
        ).annotate(key=Concat("subject_id", Value(":"), Cast("pk", CharField())))
        found = self.annotate(paused_for=Subquery(pauses.filter(key=OuterRef("key")).values("reason")[:1]))
        found = found.select_related(
            "submission__system", "submission__suite_version__suite", f"{answer}__revision__task__paper"
        )
        return found.defer(
            *(f"{answer}__{name}" for name in ("files", "diff", "goal_source", "raw_answer", "set_aside"))
        )


class Notice(models.Model):
    """An event that concerns ``recipient``. ``key`` distinguishes events of the same kind.

    ``submission`` is its subject, null for waiting reviews; ``case`` is the one in which an appeal was decided.
    ``mail_due`` is the time of the next attempt to send an e-mail: null if none is wanted, and once it was ``mailed``
    or given up.
    """

    recipient = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="notices")
    kind = models.CharField(max_length=10, choices=NoticeKind)
    key = models.CharField(max_length=40)
    submission = models.ForeignKey(Submission, null=True, on_delete=models.CASCADE, related_name="notices")
    case = models.ForeignKey(Case, null=True, on_delete=models.CASCADE, related_name="notices")
    made = models.DateTimeField()
    read = models.DateTimeField(null=True, blank=True)
    mail_due = models.DateTimeField(null=True, blank=True)
    mail_tries = models.PositiveSmallIntegerField(default=0)
    mailed = models.DateTimeField(null=True, blank=True)

    objects = NoticeQuerySet.as_manager()

    class Meta:
        ordering = ["-made", "-pk"]
        constraints = [models.UniqueConstraint(fields=["recipient", "kind", "key"], name="one_notice_of_each_occasion")]
        indexes = [
            models.Index(fields=["recipient", "-made"], name="notices_of_somebody"),
            models.Index(fields=["recipient"], condition=Q(read=None), name="unread_notices"),
            models.Index(fields=["mail_due"], condition=Q(mail_due__isnull=False), name="notices_to_mail"),
            models.Index(fields=["made"], name="notices_by_age"),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.key} for {self.recipient_id}"

    def get_absolute_url(self) -> str:
        return reverse("notice", args=[self.pk])

    @property
    def title(self) -> str:
        """The event, as the subject of an e-mail."""
        about = " ".join(str(self.submission or "").split())
        match NoticeKind(self.kind):
            case NoticeKind.SCORED:
                return f"{about} was scored"
            case NoticeKind.HELD:
                return f"{about} is held"
            case NoticeKind.PAUSED:
                return f"The run of {about} has paused"
            case NoticeKind.HIDDEN:
                return f"{about} was hidden"
            case NoticeKind.UNHIDDEN:
                return f"{about} is no longer hidden"
            case NoticeKind.JUDGED:
                return f"{about} was judged"
            case NoticeKind.APPEAL:
                task = self.case.implementation.revision.task.slug if self.case else "an answer"
                return f"Your appeal about {task} of {about} was decided"
            case NoticeKind.REVIEW:
                return "Answers wait for your label"

    @property
    def text(self) -> str:
        """The event as a sentence. Neither it nor the title contains results, labels or code."""
        more, reason = _DETAILS.get(NoticeKind(self.kind), ""), getattr(self, "paused_for", None) or ""
        return f"{self.title}{more}. {reason}".rstrip()


class MailChoice(models.Model):
    """``user`` wants notices of this kind by e-mail. Without such a choice no e-mails are sent."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="mail_choices")
    kind = models.CharField(max_length=10, choices=NoticeKind)

    class Meta:
        ordering = ["user", "kind"]
        constraints = [models.UniqueConstraint(fields=["user", "kind"], name="one_mail_choice_of_each_kind")]

    def __str__(self) -> str:
        return f"{self.kind} to {self.user_id}"
