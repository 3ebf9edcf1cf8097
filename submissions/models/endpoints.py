"""Model endpoints: address and key of a model's server, settings, and limits of a run."""

from __future__ import annotations

from decimal import Decimal

from django.conf import settings
from django.db import models
from django.urls import reverse

from submissions.enums import Api, EndpointCheck, OutputLimit, Provider
from submissions.models.teams import Team


class ModelSettings(models.Model):
    """Settings that a request to a model needs, besides the key. Prices are US dollars per million tokens.

    ``output_limit`` and ``omit_strict`` select the parameters that the server accepts.
    """

    provider = models.CharField(max_length=12, choices=Provider)
    api = models.CharField(max_length=12, choices=Api)
    base_url = models.CharField(max_length=300)
    model = models.CharField(max_length=120)
    temperature = models.FloatField(null=True, blank=True)
    effort = models.CharField(max_length=12, blank=True)
    max_output_tokens = models.PositiveIntegerField(default=8192)
    output_limit = models.CharField(max_length=24, choices=OutputLimit, blank=True)
    omit_strict = models.BooleanField(default=False)
    price_input = models.DecimalField(max_digits=10, decimal_places=4, null=True, blank=True)
    price_output = models.DecimalField(max_digits=10, decimal_places=4, null=True, blank=True)

    class Meta:
        abstract = True

    def cost(self, input_tokens: int, output_tokens: int) -> Decimal | None:
        """Return the cost of these tokens in US dollars; ``None`` if the prices are unknown."""
        return cost_of(input_tokens, output_tokens, self.price_input, self.price_output)


class Endpoint(ModelSettings):
    """A model that its owner may use, or the members of ``team``. Limits apply to one run.

    ``reports_usage`` is whether the provider reported token usage with its newest reply; ``None`` before the first.

    ``sealed_key`` is the key, encrypted for this row and this origin (``submissions.endpoints.sealing``); it is never
    shown again. ``not_before`` is when the provider accepts requests again (``Retry-After``), for every run on it.
    ``context_tokens`` is the most that the model can read, its answer included.
    """

    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="endpoints")
    team = models.ForeignKey(Team, null=True, blank=True, on_delete=models.PROTECT, related_name="endpoints")
    name = models.CharField(max_length=80)
    sealed_key = models.TextField(blank=True, editable=False)
    keep_key = models.BooleanField(default=False)
    top_p = models.FloatField(null=True, blank=True)
    context_tokens = models.PositiveIntegerField(default=128_000)
    requests_at_once = models.PositiveSmallIntegerField(default=2)
    request_seconds = models.PositiveIntegerField(default=300)
    run_tokens = models.PositiveBigIntegerField(null=True, blank=True)
    run_dollars = models.DecimalField(max_digits=10, decimal_places=4, null=True, blank=True)
    run_seconds = models.PositiveIntegerField(default=6 * 3600)
    reports_usage = models.BooleanField(null=True, blank=True, editable=False)
    not_before = models.DateTimeField(null=True, blank=True)
    check_state = models.CharField(max_length=8, choices=EndpointCheck, default=EndpointCheck.NONE)
    check_message = models.TextField(blank=True)
    checked = models.DateTimeField(null=True, blank=True)
    created = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["name", "pk"]
        constraints = [
            models.UniqueConstraint(
                fields=["owner", "name"], condition=models.Q(team=None), name="one_endpoint_per_owner_and_name"
            ),
            models.UniqueConstraint(fields=["team", "name"], name="one_endpoint_per_team_and_name"),
        ]

    def __str__(self) -> str:
        return f"{self.name} ({self.model})"

    def get_absolute_url(self) -> str:
        return reverse("endpoint", args=[self.pk])

    @property
    def has_key(self) -> bool:
        """Return whether a key is stored; local models often need none."""
        return bool(self.sealed_key)

    @property
    def limits_by_estimate(self) -> bool:
        """Return whether limits in tokens and dollars use an estimate, since the provider reports no usage."""
        return self.reports_usage is False


def cost_of(
    input_tokens: int | None, output_tokens: int | None, price_input: Decimal | None, price_output: Decimal | None
) -> Decimal | None:
    """Return the cost of tokens at prices per million, in US dollars; ``None`` if a price or token count is unknown.

    At a price of 0 the token count may be unknown.
    """
    read, written = _part(input_tokens, price_input), _part(output_tokens, price_output)
    return None if read is None or written is None else (read + written) / Decimal(1_000_000)


def _part(tokens: int | None, price: Decimal | None) -> Decimal | None:
    if price is None or (tokens is None and price):
        return None
    return (tokens or 0) * price
