"""Self-checks: whether the evaluator still repels attacks."""

from __future__ import annotations

from django.db import models

from evaluator.enums import AttackGroup, SelfCheckKind


class SelfCheck(models.Model):
    """One round of attacks on the configured evaluator. Shown on the status page.

    ``results`` is a list of ``{attack, group, protocol, expected, outcome, repelled}``. ``error`` explains why the
    round could not run at all, an infrastructure error that proves nothing; ``cause`` is the part that visitors see.
    """

    kind = models.CharField(max_length=10, choices=SelfCheckKind)
    sandbox = models.CharField(max_length=20, blank=True)
    environment_digest = models.CharField(max_length=80, blank=True)
    evaluator_version = models.CharField(max_length=20)
    results = models.JSONField(default=list, blank=True)
    error = models.TextField(blank=True)
    cause = models.CharField(max_length=200, blank=True)
    started = models.DateTimeField()
    finished = models.DateTimeField()

    class Meta:
        ordering = ["-finished", "-pk"]
        indexes = [models.Index(fields=["kind", "-finished"], name="newest_check_of_a_kind")]

    def __str__(self) -> str:
        return f"{self.kind} check of {self.finished:%Y-%m-%d %H:%M}"

    @property
    def repelled(self) -> int:
        """How many attacks and controls ended as expected."""
        return sum(bool(result["repelled"]) for result in self.results)

    @property
    def attacks(self) -> dict[str, tuple[int, int]]:
        """Protocol -> (number repelled, number run) of the attacks, without the controls."""
        counted: dict[str, tuple[int, int]] = {}
        for result in self.results:
            if result["group"] != AttackGroup.CONTROL:
                repelled, fired = counted.get(result["protocol"], (0, 0))
                counted[result["protocol"]] = repelled + bool(result["repelled"]), fired + 1
        return counted

    @property
    def ok(self) -> bool:
        """Whether the round ran and every attack was repelled."""
        return not self.error and bool(self.results) and self.repelled == len(self.results)
