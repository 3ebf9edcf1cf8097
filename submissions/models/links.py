"""Base of invitations that are accepted by opening a link."""

from __future__ import annotations

from django.conf import settings
from django.db import models


class InvitationLink(models.Model):
    """A link that one signed-in user may accept once, until it expires. Only a digest of its secret is stored."""

    secret_digest = models.CharField(max_length=64, unique=True)
    note = models.CharField(max_length=200, blank=True)
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    created = models.DateTimeField(auto_now_add=True)
    expires = models.DateTimeField()
    used = models.DateTimeField(null=True, blank=True)
    revoked = models.DateTimeField(null=True, blank=True)

    class Meta:
        abstract = True
        ordering = ["-created", "-pk"]

    def __str__(self) -> str:
        return self.note or f"invitation {self.pk}"
