"""API tokens, with which programs act for a user."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.utils import timezone

from submissions.enums import Scope


class ApiToken(models.Model):
    """A program's permissions to act for its owner, and their expiry.

    The secret is shown once and only its SHA-256 is stored: with 256 random bits it cannot be guessed. ``hint`` is its
    beginning, which identifies it in lists. ``last_used`` is exact to a minute.
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
        """Return whether it has expired."""
        return self.expires <= timezone.now()

    @property
    def scope_labels(self) -> list[str]:
        """Return the labels of its permissions."""
        return [Scope(scope).label for scope in self.scopes]
