"""The machines that work for this instance."""

from __future__ import annotations

from django.db import models


class Host(models.Model):
    """A machine with workers: its code's version, what it can do, as it says itself, and its last sign of life.

    ``environments`` maps the environments that are ready there to their digests, ``unready`` those that are not to the
    reason. ``problem`` says why it cannot evaluate at all. Both reasons are for maintainers. Memory and disk are free
    MB, ``clock_off`` the seconds by which its clock is ahead of the database's.
    """

    name = models.CharField(max_length=100, unique=True)
    version = models.CharField(max_length=40, blank=True, default="", db_default="")
    pools = models.JSONField(default=list)
    sandbox = models.CharField(max_length=40, blank=True)
    problem = models.TextField(blank=True)
    environments = models.JSONField(default=dict)
    unready = models.JSONField(default=dict)
    family = models.CharField(max_length=100, blank=True)
    processors = models.PositiveSmallIntegerField(default=0)
    memory_mb = models.PositiveIntegerField(default=0)
    disk_mb = models.PositiveIntegerField(default=0)
    clock_off = models.FloatField(default=0.0)
    started = models.DateTimeField(auto_now_add=True)
    seen = models.DateTimeField()

    class Meta:
        ordering = ["name"]

    def __str__(self) -> str:
        return self.name

    @property
    def memory_bytes(self) -> int:
        """Free memory."""
        return self.memory_mb * 1024 * 1024

    @property
    def disk_bytes(self) -> int:
        """Free space where the data folder lies."""
        return self.disk_mb * 1024 * 1024
