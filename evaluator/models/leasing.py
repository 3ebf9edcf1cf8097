"""Base model of work that one worker at a time holds by a token and a lease."""

from __future__ import annotations

from typing import Self

from django.db import models

from evaluator.enums import WorkState


class Leased(models.Model):
    """Work held by one worker at a time. The holder of the newest ``token`` decides it until ``lease_until``.

    ``reason`` explains why it waits again or is held; ``infra_count`` counts its infrastructure errors since it last
    made progress.
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
        """Return every row in no order, for code that handles all leased work alike."""
        return cls._default_manager.order_by()
