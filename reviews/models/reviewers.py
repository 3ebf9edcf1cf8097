"""Reviewers, their conflicts of interest, and invitations."""

from __future__ import annotations

import uuid

from django.conf import settings
from django.db import models

from reviews.enums import Role
from submissions.models import InvitationLink, System


class Reviewer(models.Model):
    """An annotator or adjudicator, shown by ``pseudonym`` unless ``shows_name``.

    ``user`` is null for reviewers without an account here. ``conflicts_confirmed`` is set when the reviewer confirms
    the list of conflicts, and unset when the list or the affiliation changes. ``keys_off`` disables the labelling
    page's keys.
    """

    user = models.OneToOneField(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.PROTECT, related_name="reviewer"
    )
    identifier = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    pseudonym = models.CharField(max_length=60, unique=True)
    name = models.CharField(max_length=120, blank=True)
    shows_name = models.BooleanField(default=False)
    affiliation = models.CharField(max_length=160, blank=True)
    expertise = models.TextField(blank=True)
    is_annotator = models.BooleanField(default=False)
    is_adjudicator = models.BooleanField(default=False)
    active = models.BooleanField(default=True)
    conflicts_confirmed = models.BooleanField(default=False)
    keys_off = models.BooleanField(default=False)
    joined = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["pseudonym"]

    def __str__(self) -> str:
        return self.public_name

    @property
    def roles(self) -> list[Role]:
        """Return the reviewer's roles."""
        return [role for role in Role if getattr(self, f"is_{role.value}")]

    @property
    def public_name(self) -> str:
        """Return the name shown on pages."""
        return self.name if self.shows_name and self.name else self.pseudonym


class Conflict(models.Model):
    """A system or organisation (exactly one of them) whose answers a reviewer must not label."""

    reviewer = models.ForeignKey(Reviewer, on_delete=models.CASCADE, related_name="conflicts")
    system = models.ForeignKey(System, null=True, blank=True, on_delete=models.CASCADE, related_name="+")
    organisation = models.CharField(max_length=160, blank=True)

    class Meta:
        ordering = ["pk"]
        constraints = [
            models.CheckConstraint(
                condition=models.Q(system__isnull=True) ^ models.Q(organisation=""), name="system_or_organisation"
            ),
            models.UniqueConstraint(
                fields=["reviewer", "system"], condition=models.Q(system__isnull=False), name="one_conflict_per_system"
            ),
            models.UniqueConstraint(
                fields=["reviewer", "organisation"],
                condition=~models.Q(organisation=""),
                name="one_conflict_per_organisation",
            ),
        ]

    def __str__(self) -> str:
        return self.system.name if self.system else self.organisation


class Invitation(InvitationLink):
    """A link that makes the signed-in user who opens it a reviewer."""

    annotator = models.BooleanField(default=True)
    adjudicator = models.BooleanField(default=False)
    used_by = models.ForeignKey(Reviewer, null=True, blank=True, on_delete=models.PROTECT, related_name="invitations")

    @property
    def roles(self) -> list[Role]:
        """Return the roles that it gives."""
        return [role for role in Role if getattr(self, role.value)]
