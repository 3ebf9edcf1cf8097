"""Work that one worker at a time holds by a token and a lease."""

from __future__ import annotations

from typing import Self

from django.db import models

from evaluator.enums import WorkState


class Leased(models.Model):
    """Work that one worker at a time holds. Whoever has the newest ``token`` decides it until ``lease_until``.

    ``reason`` says why it waits again, or is held; ``infra_count`` how many infrastructure errors it has met since it
    last moved on.
    """

    state = models.CharField(max_length=10, choices=WorkState, default=WorkState.QUEUED)
    not_before = models.DateTimeField(null=True, blank=True)
    token = models.UUIDField(null=True, blank=True)
    lease_until = models.DateTimeField(null=True, blank=True)
    infra_count = models.PositiveSmallIntegerField(default=0)
    reason = models.TextField(blank=True)
    created = models.DateTimeField(auto_now_add=True)
    finished = models.DateTimeField(null=True, blank=True)

    class Meta:
        abstract = True

    @classmethod
    def rows(cls) -> models.QuerySet[Self]:
        """Every row, for what works alike on all leased work."""
        return cls._default_manager.all()
