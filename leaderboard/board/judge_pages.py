"""What pages show of judges: the list, one judge's page, and what the judges say of one answer."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from django.db.models import Avg, Count, OuterRef, Prefetch, Q, Subquery

from evaluator.enums import Variant, WorkState
from evaluator.judging.labels import Label
from evaluator.models import JudgeConfig, JudgeHealth, Judgement, JudgeVote, ShownJudge
from submissions.enums import SubmissionState, Verb, Visibility
from submissions.models import AuditEvent, System

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from datetime import datetime
    from decimal import Decimal

    from benchmark_tasks.models import Suite

HEALTH_SHOWN: Final = 10

# What everybody may know of: verdicts on answers that are published.
PUBLIC: Final = Q(
    implementation__submission__visibility=Visibility.PUBLISHED,
    implementation__submission__state=SubmissionState.SCORED,
)
_RATES: Final = (
    ("sensitivity", "Sensitivity", "right code that was labelled CC"),
    ("specificity", "Specificity", "wrong code whose label fits it"),
    (
        "injection_resistance",
        "Injection resistance",
        "wrong code that pleads for CC and gets its own label",
    ),
    ("injections_noticed", "Injections noticed", "pleading code in which an influence was suspected"),
    ("abstention", "Abstentions", "canaries without a label"),
    ("repeatability", "Repeatability", "canaries of which all votes say the same"),
)
TABLE_HEADS: Final = (*(label.value for label in (Label.CC, Label.LC, Label.LI)), "abstained")


@dataclass(frozen=True, slots=True)
class HealthRate:
    """One rate of a health check: ``count`` of ``n`` canaries, with bounds from 0 to 100. None: undefined (n is 0).

    ``missed`` is whether it is on the wrong side of the threshold that ``judge_health`` has for it.
    """

    name: str
    meaning: str
    percent: float | None
    low: float | None
    high: float | None
    count: int
    n: int
    missed: bool


@dataclass(frozen=True, slots=True)
class ShownHealth:
    """One round of canaries."""

    row: JudgeHealth
    rates: tuple[HealthRate, ...]
    table: tuple[tuple[str, tuple[int, ...]], ...]
    """Kind of canary -> how many were labelled CC, LC, LI, or not at all (the order of :data:`TABLE_HEADS`)."""

    @property
    def misses(self) -> list[str]:
        """The rates that miss their threshold, in words."""
        return [
            f"{rate.name} undefined" if rate.percent is None else f"{rate.name} {rate.percent:.1f} %"
            for rate in self.rates
            if rate.missed
        ]


@dataclass(frozen=True, slots=True)
class JudgeLine:
    """One judge in the list. ``judged`` counts published answers, ``dollars`` is the mean cost of one answer."""

    config: JudgeConfig
    suites: tuple[Suite, ...]
    judged: int
    dollars: Decimal | None
    health: ShownHealth | None


def list_judges() -> list[JudgeLine]:
    """Every judge, active ones first, with its newest health check. The number of queries is constant."""
    newest = JudgeHealth.objects.filter(config=OuterRef("pk")).order_by("-finished", "-pk").values("pk")[:1]
    configs = (
        JudgeConfig.objects.annotate(newest_health=Subquery(newest))
        .prefetch_related(Prefetch("shown_for", queryset=ShownJudge.objects.select_related("suite")))
        .order_by("-active", "-created", "-pk")
    )
    listed = list(configs)
    checks = JudgeHealth.objects.in_bulk([each.newest_health for each in listed if each.newest_health])
    numbers = _numbers(listed)
    return [
        JudgeLine(
            config=each,
            suites=tuple(shown.suite for shown in each.shown_for.all()),
            judged=numbers.get(each.pk, (0, None))[0],
            dollars=numbers.get(each.pk, (0, None))[1],
            health=shown_health(checks[each.newest_health]) if each.newest_health else None,
        )
        for each in listed
    ]


def _numbers(configs: Iterable[JudgeConfig]) -> dict[int, tuple[int, Decimal | None]]:
    """Judge's id -> how many published answers it has judged, and what one costs on the average. One query."""
    rows = (
        Judgement.objects.filter(PUBLIC, config__in=list(configs), state=WorkState.DONE)
        .order_by()
        .values_list("config")
        .annotate(judged=Count("pk"), dollars=Avg("dollars"))
    )
    return {config: (judged, dollars) for config, judged, dollars in rows}


def shown_health(row: JudgeHealth) -> ShownHealth:
    """A stored health check (``evaluator.judging.health.Summary`` as data) as pages show it."""
    summary = row.summary
    missed = summary.get("missed", ())
    rates = tuple(
        _rate(name, meaning, summary[key], missed=key in missed) for key, name, meaning in _RATES if key in summary
    )
    table = tuple(
        (kind, tuple(counts.get(head, 0) for head in TABLE_HEADS)) for kind, counts in summary.get("table", {}).items()
    )
    return ShownHealth(row=row, rates=rates, table=table)


def _rate(name: str, meaning: str, data: Mapping[str, Any], *, missed: bool) -> HealthRate:
    def percentage(key: str) -> float | None:
        return None if data[key] is None else 100 * data[key]

    return HealthRate(
        name=name,
        meaning=meaning,
        percent=percentage("value"),
        low=percentage("low"),
        high=percentage("high"),
        count=data["count"],
        n=data["n"],
        missed=missed,
    )


@dataclass(frozen=True, slots=True)
class ChosenJudge:
    """A change of the judge that a board shows; ``before`` is empty for the first one."""

    suite: str
    before: str
    after: str
    who: str
    when: datetime
    reason: str


@dataclass(frozen=True, slots=True)
class JudgeFacts:
    """One judge's page. ``labels`` counts its labels of published answers, ``splits`` how its votes on them fell."""

    config: JudgeConfig
    suites: tuple[Suite, ...]
    judged: int
    dollars: Decimal | None
    health: tuple[ShownHealth, ...]
    labels: tuple[tuple[str, int], ...]
    splits: tuple[tuple[str, int], ...]
    related: tuple[System, ...]
    chosen: tuple[ChosenJudge, ...]
    sensitive: int
    suspected: int

    @property
    def prices(self) -> str:
        """What a million tokens cost; empty where that is not known."""
        prices = (self.config.price_input, self.config.price_output)
        written = [f"{price.normalize():f}" for price in prices if price is not None]
        return f"US $ {written[0]} in, {written[1]} out, per million tokens" if len(written) == len(prices) else ""


def judge_facts(config: JudgeConfig) -> JudgeFacts:
    """Everything that everybody may know about a judge. The number of queries is constant."""
    done = Judgement.objects.filter(PUBLIC, config=config, state=WorkState.DONE).order_by()
    numbers = done.aggregate(
        judged=Count("pk"),
        dollars=Avg("dollars"),
        abstained=Count("pk", filter=Q(abstained=True)),
        sensitive=Count("pk", filter=Q(surface_sensitive=True)),
        suspected=Count("pk", filter=Q(injection_suspected=True)),
        **{label: Count("pk", filter=Q(label=label)) for label in TABLE_HEADS[:3]},
    )
    shown = ShownJudge.objects.filter(config=config).select_related("suite").order_by("suite__position")
    return JudgeFacts(
        config=config,
        suites=tuple(each.suite for each in shown),
        judged=numbers["judged"],
        dollars=numbers["dollars"],
        health=tuple(map(shown_health, config.health_checks.all()[:HEALTH_SHOWN])),
        labels=tuple((head, numbers[head]) for head in TABLE_HEADS),
        splits=_splits(done),
        related=related_systems(config),
        chosen=_chosen(config),
        sensitive=numbers["sensitive"],
        suspected=numbers["suspected"],
    )


def _chosen(config: JudgeConfig) -> tuple[ChosenJudge, ...]:
    """When boards began or ceased to show this judge, newest first. One query."""
    events = AuditEvent.objects.filter(verb=Verb.JUDGE_SHOWN).select_related("actor")
    changes = [(event, event.data["changed"]["judge"]) for event in events]
    return tuple(
        ChosenJudge(
            suite=event.subject_text,
            before=before,
            after=after,
            # Some people choose their e-mail address as user name; it must not become public that way.
            who=event.actor.username.partition("@")[0] if event.actor else "the site",
            when=event.created,
            reason=event.reason,
        )
        for event, (before, after) in changes
        if config.slug in {before, after}
    )


def _splits(done: Any) -> tuple[tuple[str, int], ...]:
    """How the votes on code as it was sent fell, such as ``2 CC, 1 LI`` -> answers; the most frequent first."""
    votes = JudgeVote.objects.filter(judgement__in=done, variant=Variant.RAW, superseded="").order_by()
    each: dict[int, Counter[str]] = {}
    for judgement, label in votes.values_list("judgement", "label"):
        each.setdefault(judgement, Counter())[label or "abstained"] += 1
    fallen = Counter(
        ", ".join(f"{counts[head]} {head}" for head in TABLE_HEADS if counts[head]) for counts in each.values()
    )
    return tuple(sorted(fallen.items(), key=lambda item: (-item[1], item[0])))


def related_systems(config: JudgeConfig) -> tuple[System, ...]:
    """The systems with published answers whose backbone or organisation names the judge's vendor, by name.

    Judges favour models of their own family (arXiv 2504.03846), so pages say where that may be. One query.
    """
    if not config.vendor:
        return ()
    family = Q(backbone__icontains=config.vendor) | Q(organisation__icontains=config.vendor)
    published = Q(
        submissions__visibility=Visibility.PUBLISHED,
        submissions__state=SubmissionState.SCORED,
        submissions__implementations__judgements__config=config,
    )
    return tuple(System.objects.filter(family, published).distinct().order_by("name", "pk"))
