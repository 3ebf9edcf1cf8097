"""What the pages of model endpoints show. No key comes this far."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.db.models import Count

from evaluator.models import Generation
from submissions.domain import endpoints

if TYPE_CHECKING:
    from django.db.models import QuerySet

    from submissions.models import Endpoint, User

SHOWN_RUNS = 25


def own_endpoints(user: User) -> QuerySet[Endpoint]:
    """The user's endpoints by name, with the number of their ``runs``."""
    return endpoints.visible_to(user).annotate(runs=Count("generations"))


def runs_on(endpoint: Endpoint) -> QuerySet[Generation]:
    """The newest runs on ``endpoint``, with what a list shows of them at hand."""
    runs = Generation.objects.filter(endpoint=endpoint)
    return runs.select_related("submission__system", "submission__suite_version__suite")[:SHOWN_RUNS]


def endpoint_facts(endpoint: Endpoint) -> list[tuple[str, str]]:
    """What was said of an endpoint beside address, model and key, as label and text."""
    facts = [
        ("Temperature", "" if endpoint.temperature is None else f"{endpoint.temperature:g}"),
        ("Top-p", "" if endpoint.top_p is None else f"{endpoint.top_p:g}"),
        ("Reasoning effort", endpoint.effort),
        ("Longest answer", f"{endpoint.max_output_tokens:,} tokens"),
        ("Context", f"{endpoint.context_tokens:,} tokens"),
        ("Requests", f"{endpoint.requests_at_once} at once, {endpoint.request_seconds:,} s each at most"),
        ("A run’s limits", "; ".join(run_limits(endpoint))),  # noqa: RUF001 - as pages write it
    ]
    if endpoint.price_input is not None and endpoint.price_output is not None:
        prices = f"US $ {money(endpoint.price_input)} in, {money(endpoint.price_output)} out, per million tokens"
        facts.append(("Prices", prices))
    return [(label, text) for label, text in facts if text]


def run_limits(limited: Endpoint | Generation) -> list[str]:
    """The limits of a run in words: tokens, dollars, time."""
    limits = []
    if limited.run_tokens is not None:
        limits.append(f"{limited.run_tokens:,} tokens")
    if limited.run_dollars is not None:
        limits.append(f"US $ {money(limited.run_dollars)}")
    limits.append(duration(limited.run_seconds))
    return limits


def money(dollars: object) -> str:
    """Dollars with at least two decimals, and as many of four as say something."""
    text = f"{dollars:.4f}"
    return text.removesuffix("00")


def duration(seconds: float) -> str:
    """Seconds as hours and minutes, or minutes, or seconds."""
    whole = round(seconds)
    hours, minutes = whole // 3600, whole % 3600 // 60
    if hours:
        return f"{hours} h {minutes} min" if minutes else f"{hours} h"
    return f"{minutes} min" if minutes else f"{whole} s"
