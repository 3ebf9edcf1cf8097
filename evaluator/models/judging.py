"""Judges, their votes, and their health checks."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.db import models
from django.db.models import Exists, OuterRef
from django.urls import reverse

from benchmark_tasks.models import Suite
from evaluator.enums import LABEL_CHOICES, Abstention, Variant, WorkState
from evaluator.models.generation import ModelCall
from evaluator.models.leasing import Leased
from submissions.models import Endpoint, Implementation
from submissions.models.endpoints import ModelSettings

_PROMPTS_WITHOUT_PAPER = {"judge-1", "none"}
_CHANGEABLE = {"active", "endpoint", "endpoint_id"}


class JudgeConfig(ModelSettings):
    """An immutable judge: model, prompt, answer format and votes. A change makes a new judge with its own column.

    ``digest`` covers everything that could change a verdict. ``vendor`` is the model's family, disclosed where a judged
    system belongs to the same one. ``endpoint`` provides the key while its origin matches the judge's.
    """

    slug = models.SlugField(max_length=80, unique=True)
    name = models.CharField(max_length=80)
    endpoint = models.ForeignKey(Endpoint, null=True, on_delete=models.SET_NULL, related_name="judges")
    vendor = models.CharField(max_length=60, blank=True)
    votes = models.PositiveSmallIntegerField(default=3)
    votes_when_split = models.PositiveSmallIntegerField(default=5)
    prompt_version = models.CharField(max_length=40)
    prompt_hash = models.CharField(max_length=64)
    schema_hash = models.CharField(max_length=64)
    sdk = models.CharField(max_length=40)
    digest = models.CharField(max_length=64, unique=True)
    active = models.BooleanField(default=True)
    created = models.DateTimeField(auto_now_add=True)
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.PROTECT, related_name="+")

    class Meta:
        ordering = ["created", "pk"]

    def __str__(self) -> str:
        return self.name

    def save(self, *args: Any, **kwargs: Any) -> None:
        """Store a new judge, or a change of whether it is active. Raises ``TypeError`` for any other change."""
        if not self._state.adding and not set(kwargs.get("update_fields") or {"everything"}) <= _CHANGEABLE:
            msg = "a judge's configuration is immutable; make a new one"
            raise TypeError(msg)
        super().save(*args, **kwargs)

    def get_absolute_url(self) -> str:
        return reverse("judge", args=[self.slug])


class JudgementQuerySet(models.QuerySet["Judgement"]):
    """Judgements, in the order in which pages show them."""

    def of_answer(self, answer: Implementation) -> JudgementQuerySet:
        """Return each judge's judgement, the board judge's (``on_board``) first, with config and votes. Two queries."""
        shown = ShownJudge.objects.filter(suite__versions=answer.submission.suite_version_id, config=OuterRef("config"))
        return (
            self.filter(implementation=answer)
            .annotate(on_board=Exists(shown))
            .select_related("config")
            .prefetch_related("votes")
            .order_by("-on_board", "-config__active", "config")
        )


class Judgement(Leased):
    """One judge's judgement of one answer: the label of more than half of its votes, or an abstention.

    It never changes the unit tests' outcome. ``label`` is empty while it is open and when it ``abstained``.
    ``input_digest`` covers everything shown to the judge; ``paper_hash`` is that of the paper's file, whose text was
    shown in whole or in part; empty for none. ``surface_sensitive`` marks answers whose label changes when their
    comments are removed.
    """

    implementation = models.ForeignKey(Implementation, on_delete=models.CASCADE, related_name="judgements")
    config = models.ForeignKey(JudgeConfig, on_delete=models.PROTECT, related_name="judgements")
    input_digest = models.CharField(max_length=64, blank=True)
    paper_hash = models.CharField(max_length=64, blank=True)
    label = models.CharField(max_length=2, choices=LABEL_CHOICES, blank=True)
    abstained = models.BooleanField(default=False)
    split = models.BooleanField(default=False)
    surface_sensitive = models.BooleanField(default=False)
    injection_suspected = models.BooleanField(default=False)
    dollars = models.DecimalField(max_digits=12, decimal_places=6, null=True, blank=True)

    objects = JudgementQuerySet.as_manager()

    class Meta:
        ordering = ["implementation", "config"]
        constraints = [
            models.UniqueConstraint(fields=["implementation", "config"], name="one_judgement_per_answer_and_judge")
        ]
        indexes = [
            models.Index(fields=["state", "not_before"], name="answers_to_judge"),
            models.Index(fields=["finished"], name="judgements_by_their_end"),
        ]

    def __str__(self) -> str:
        return f"{self.config_id} on {self.implementation_id}: {self.label or self.state}"

    @property
    def counted_votes(self) -> list[JudgeVote]:
        """The votes that decide the label."""
        return [vote for vote in self.votes.all() if not vote.superseded]

    @property
    def superseded_votes(self) -> list[JudgeVote]:
        """The votes that no longer count."""
        return [vote for vote in self.votes.all() if vote.superseded]

    @property
    def abstentions(self) -> list[str]:
        """Reasons for votes without a label, each once."""
        return list(dict.fromkeys(vote.get_abstention_display() for vote in self.counted_votes if vote.abstention))

    @property
    def about_paper(self) -> str:
        """Whether the judge saw the paper, as text; empty for judges whose prompt has none."""
        if self.paper_hash:
            return "judged with the paper"
        if self.config.prompt_version in _PROMPTS_WITHOUT_PAPER:
            return ""
        return "judged without the paper: this site has no readable copy"

    @property
    def waiting(self) -> str:
        """Why there is no label yet; empty once it is decided."""
        if self.state == WorkState.DONE:
            return ""
        return f"{self.get_state_display()}{f': {self.reason}' if self.reason else ''}"


class JudgeVote(models.Model):
    """One vote. ``findings`` lists ``{point, severity, lines}``, ``rationale`` two to four points.

    ``calls`` are all calls made for it; votes of the same judge on identical code share them. ``superseded`` explains
    why a vote no longer counts, and is empty for those that do.
    """

    judgement = models.ForeignKey(Judgement, on_delete=models.CASCADE, related_name="votes")
    variant = models.CharField(max_length=8, choices=Variant, default=Variant.RAW)
    sample = models.PositiveSmallIntegerField()
    label = models.CharField(max_length=2, choices=LABEL_CHOICES, blank=True)
    abstention = models.CharField(max_length=12, choices=Abstention, blank=True)
    findings = models.JSONField(default=list, blank=True)
    injection_suspected = models.BooleanField(default=False)
    rationale = models.JSONField(default=list, blank=True)
    superseded = models.CharField(max_length=200, blank=True)
    calls: models.ManyToManyField[ModelCall, models.Model] = models.ManyToManyField(ModelCall, related_name="votes")
    created = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["judgement", "variant", "sample"]
        constraints = [
            models.UniqueConstraint(
                fields=["judgement", "variant", "sample"],
                condition=models.Q(superseded=""),
                name="one_vote_that_counts_per_sample",
            ),
            models.CheckConstraint(
                condition=models.Q(label="") ^ models.Q(abstention=""), name="a_label_or_an_abstention"
            ),
        ]

    def __str__(self) -> str:
        return f"vote {self.sample} ({self.variant}): {self.label or self.abstention}"


class JudgeHealth(models.Model):
    """One health check of a judge: a round of canaries, answers whose label is known.

    ``results`` lists ``{canary, task, kind, expected, labels, ok, abstained}``, ``summary`` holds the rates
    (``evaluator.judging.health.Summary`` as data). ``error`` explains why the round was not completed.
    """

    config = models.ForeignKey(JudgeConfig, on_delete=models.CASCADE, related_name="health_checks")
    results = models.JSONField(default=list, blank=True)
    summary = models.JSONField(default=dict, blank=True)
    error = models.TextField(blank=True)
    dollars = models.DecimalField(max_digits=12, decimal_places=6, null=True, blank=True)
    started = models.DateTimeField()
    finished = models.DateTimeField()

    class Meta:
        ordering = ["-finished", "-pk"]
        verbose_name_plural = "judge health checks"

    def __str__(self) -> str:
        return f"health of {self.config_id} at {self.finished:%Y-%m-%d %H:%M}"


class ShownJudge(models.Model):
    """The judge that a suite's board shows. Changed by a maintainer who has seen which labels would change."""

    suite = models.OneToOneField(Suite, on_delete=models.CASCADE, related_name="shown_judge")
    config = models.ForeignKey(JudgeConfig, on_delete=models.PROTECT, related_name="shown_for")
    changed = models.DateTimeField(auto_now=True)

    def __str__(self) -> str:
        return f"{self.suite_id}: {self.config_id}"
