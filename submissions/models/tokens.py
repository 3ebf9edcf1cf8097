"""Tokens by which programs act for a person."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.utils import timezone

from submissions.enums import Scope


class ApiToken(models.Model):
    """What a program may do for its owner, and until when.

    The secret is shown once and stored as its SHA-256 only: it has 256 random bits, so nobody can try them all.
    ``hint`` is its beginning, by which people recognise it in lists. ``last_used`` is exact to a minute.
    """

    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="api_tokens")
    name = models.CharField(max_length=80)
    digest = models.CharField(max_length=64, unique=True, editable=False)
    hint = models.CharField(max_length=12)
    scopes = models.JSONField(default=list)
    created = models.DateTimeField(auto_now_add=True)
    expires = models.DateTimeField()
    last_used = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["-created", "-pk"]
        constraints = [models.UniqueConstraint(fields=["owner", "name"], name="one_token_per_owner_and_name")]

    def __str__(self) -> str:
        return f"{self.name} ({self.hint}…)"

    @property
    def expired(self) -> bool:
        """Whether its time is over."""
        return self.expires <= timezone.now()

    @property
    def scope_labels(self) -> list[str]:
        """What it may do, in words."""
        return [Scope(scope).label for scope in self.scopes]
