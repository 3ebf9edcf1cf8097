"""Builds of the environments that tasks run in."""

from __future__ import annotations

from django.db import models

from evaluator.enums import BuildState


class EnvironmentBuild(models.Model):
    """One build of the environment ``name`` for ``sandbox`` from ``source_digest``; the newest one counts.

    ``source_digest`` covers everything that the build used (Dockerfile and repository, or package list), so an
    unchanged source is not built again. ``log`` is the end of the build's output, ``image`` its result.
    """

    name = models.CharField(max_length=80, db_index=True)
    sandbox = models.CharField(max_length=20)
    source_digest = models.CharField(max_length=64)
    state = models.CharField(max_length=10, choices=BuildState)
    image = models.CharField(max_length=200, blank=True)
    log = models.TextField(blank=True)
    seconds = models.FloatField(null=True, blank=True)
    created = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["-created", "-pk"]

    def __str__(self) -> str:
        return f"{self.name} for {self.sandbox}: {self.state}"
