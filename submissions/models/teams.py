"""Teams, their members, and invitations to join."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models.functions import Lower
from django.urls import reverse

from submissions.enums import TeamRole
from submissions.models.links import InvitationLink


class Team(models.Model):
    """Accounts that own submissions, systems and endpoints together.

    ``daily_submissions`` is its own limit, set by a maintainer: submissions for it then count for it alone. Otherwise
    it has the instance's limit, and they count for their sender too. ``former`` members have seen its private results.
    """

    slug = models.SlugField(max_length=80, unique=True)
    name = models.CharField(max_length=80)
    daily_submissions = models.PositiveIntegerField(null=True, blank=True)
    former = models.ManyToManyField(settings.AUTH_USER_MODEL, related_name="former_teams")
    created = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["name", "pk"]
        constraints = [models.UniqueConstraint(Lower("name"), name="one_team_per_name")]

    def __str__(self) -> str:
        return self.name

    def get_absolute_url(self) -> str:
        return reverse("team", args=[self.slug])


class Membership(models.Model):
    """An account's role in a team."""

    team = models.ForeignKey(Team, on_delete=models.CASCADE, related_name="memberships")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="memberships")
    role = models.CharField(max_length=8, choices=TeamRole)
    joined = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["joined", "pk"]
        constraints = [models.UniqueConstraint(fields=["team", "user"], name="one_membership_per_team_and_user")]

    def __str__(self) -> str:
        return f"{self.user} in {self.team}"


class TeamInvitation(InvitationLink):
    """A link with which a signed-in user joins ``team`` with ``role``."""

    team = models.ForeignKey(Team, on_delete=models.CASCADE, related_name="invitations")
    role = models.CharField(max_length=8, choices=TeamRole, default=TeamRole.MEMBER)
    used_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.PROTECT, related_name="+"
    )
