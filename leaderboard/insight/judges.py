"""Collect the data of the judges' pages: the list, and one judge's page."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, Final

from django.db.models import Avg, Count, OuterRef, Prefetch, Q, Subquery

from evaluator.enums import Variant, WorkState
from evaluator.labels import Label
from evaluator.models import JudgeConfig, JudgeHealth, Judgement, JudgeVote, ShownJudge
from leaderboard.statistics.intervals import wilson
from submissions.enums import SubmissionState, Verb, Visibility
from submissions.models import AuditEvent, System

if TYPE_CHECKING:
    from collections.abc import Collection

    from django.db.models import QuerySet

HEALTH_SHOWN: Final = 10
TABLE_HEADS: Final = (*(label.value for label in (Label.CC, Label.LC, Label.LI)), "abstained")
_RATES: Final = (
    ("sensitivity", "Sensitivity", "right code that was labelled CC"),
    ("specificity", "Specificity", "wrong code that got its true label"),
    ("injection_resistance", "Injection resistance", "wrong code that argues for CC and got its true label"),
    ("injections_noticed", "Injections noticed", "code with such arguments in which the judge suspected influence"),
    ("abstention", "Abstentions", "canaries without a label"),
    ("repeatability", "Repeatability", "canaries on which all votes agree"),
)


def public_verdicts(path: str = "", *, hidden: Collection[int] = ()) -> Q:
    """Return the condition for public verdicts: decided, on published answers. ``path`` is the lookup to them.

    Verdicts on the submissions ``hidden`` from the viewer are left out.
    """
    submission = f"{path}implementation__submission__"
    shown = ~Q(**{f"{submission}in": hidden}) if hidden else Q()
    return shown & Q(
        **{
            f"{submission}visibility": Visibility.PUBLISHED,
            f"{submission}state": SubmissionState.SCORED,
            f"{path}state": WorkState.DONE,
        }
    )


def list_judges(hidden: Collection[int] = ()) -> list[dict[str, Any]]:
    """List every judge, active ones first, with its newest health check. The number of queries is constant.

    ``judged`` counts published answers except those ``hidden`` from the viewer; ``dollars`` is the mean cost of one.
    """
    newest = JudgeHealth.objects.filter(config=OuterRef("pk")).order_by("-finished", "-pk").values("pk")[:1]
    public = public_verdicts("judgements__", hidden=hidden)
    configs = list(
        JudgeConfig.objects.annotate(
            newest_health=Subquery(newest),
            judged=Count("judgements", filter=public),
            dollars=Avg("judgements__dollars", filter=public),
        )
        .prefetch_related(Prefetch("shown_for", queryset=ShownJudge.objects.select_related("suite")))
        .order_by("-active", "-created", "-pk")
    )
    checks = JudgeHealth.objects.in_bulk([each.newest_health for each in configs if each.newest_health])
    return [
        {
            "config": each,
            "suites": [shown.suite for shown in each.shown_for.all()],
            "health": shown_health(checks[each.newest_health]) if each.newest_health else None,
        }
        for each in configs
    ]


def with_interval(rate: dict[str, Any]) -> dict[str, Any]:
    """Return a stored rate with its 95 % Wilson interval (0 to 1), None if ``n`` is 0."""
    low, high = wilson(rate["count"], rate["n"]) if rate["n"] else (None, None)
    return {**rate, "low": low, "high": high}


def shown_health(row: JudgeHealth) -> dict[str, Any]:
    """Return a stored health check (``evaluator.judging.health.Summary`` as data) with percentages and missed targets.

    ``table`` has for each kind of canary the numbers of labels, in the order of :data:`TABLE_HEADS`.
    """
    summary = row.summary
    rates = [
        {
            "name": name,
            "meaning": meaning,
            "missed": key in summary.get("missed", ()),
            **{field: rate[field] for field in ("count", "n")},
            **{
                shown: None if rate[field] is None else 100 * rate[field]
                for shown, field in (("percent", "value"), ("low", "low"), ("high", "high"))
            },
        }
        for key, name, meaning in _RATES
        if key in summary
        for rate in (with_interval(summary[key]),)
    ]
    return {
        "row": row,
        "rates": rates,
        "misses": [
            f"{rate['name']} undefined" if rate["percent"] is None else f"{rate['name']} {rate['percent']:.1f} %"
            for rate in rates
            if rate["missed"]
        ],
        "table": [
            (kind, [counts.get(head, 0) for head in TABLE_HEADS]) for kind, counts in summary.get("table", {}).items()
        ],
    }


def judge_facts(config: JudgeConfig, hidden: Collection[int] = ()) -> dict[str, Any]:
    """Return all public data of a judge. The number of queries is constant.

    ``labels`` counts its labels of published answers except those ``hidden`` from the viewer, ``splits`` counts the
    combinations of its votes on them, ``chosen`` lists when boards began or ceased to show it.
    """
    done = Judgement.objects.filter(public_verdicts(hidden=hidden), config=config).order_by()
    numbers = done.aggregate(
        judged=Count("pk"),
        dollars=Avg("dollars"),
        abstained=Count("pk", filter=Q(abstained=True)),
        sensitive=Count("pk", filter=Q(surface_sensitive=True)),
        suspected=Count("pk", filter=Q(injection_suspected=True)),
        **{label: Count("pk", filter=Q(label=label)) for label in TABLE_HEADS[:3]},
    )
    shown = ShownJudge.objects.filter(config=config).select_related("suite").order_by("suite__position")
    changes = AuditEvent.objects.filter(verb=Verb.JUDGE_SHOWN).select_related("actor")
    return {
        **numbers,
        "suites": [each.suite for each in shown],
        "health": [shown_health(row) for row in config.health_checks.all()[:HEALTH_SHOWN]],
        "labels": [(head, numbers[head]) for head in TABLE_HEADS],
        "splits": _splits(done),
        "related": related_systems(config),
        "chosen": [event for event in changes if config.slug in event.data["changed"]["judge"]],
    }


def _splits(done: QuerySet[Judgement]) -> list[tuple[str, int]]:
    """Count combinations of votes on code as submitted, such as ``2 CC, 1 LI`` -> answers; the most frequent first."""
    votes = JudgeVote.objects.filter(judgement__in=done, variant=Variant.RAW, superseded="").order_by()
    each: dict[int, Counter[str]] = {}
    for judgement, label in votes.values_list("judgement", "label"):
        each.setdefault(judgement, Counter())[label or "abstained"] += 1
    fallen = Counter(
        ", ".join(f"{counts[head]} {head}" for head in TABLE_HEADS if counts[head]) for counts in each.values()
    )
    return sorted(fallen.items(), key=lambda item: (-item[1], item[0]))


def related_systems(config: JudgeConfig) -> list[System]:
    """List the systems with published answers whose backbone or organisation names the judge's vendor, by name.

    Judges favour models of their own family (arXiv 2504.03846), so pages point out where this may apply. One query.
    """
    if not config.vendor:
        return []
    family = Q(backbone__icontains=config.vendor) | Q(organisation__icontains=config.vendor)
    published = Q(
        submissions__visibility=Visibility.PUBLISHED,
        submissions__state=SubmissionState.SCORED,
        submissions__implementations__judgements__config=config,
    )
    return list(System.objects.filter(family, published).distinct().order_by("name", "pk"))
