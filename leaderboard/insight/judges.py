"""Collect the data of the judges' pages: the list, and one judge's page."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final

from django.db.models import Count, Exists, OuterRef, Prefetch, Q, Subquery, Sum

from evaluator.enums import Variant, WorkState
from evaluator.labels import Label
from evaluator.models import JudgeConfig, JudgeHealth, Judgement, JudgeVote, ShownJudge
from leaderboard.board.blocks import counted_in_blocks
from leaderboard.board.rows import is_public, visible_entries
from leaderboard.statistics.intervals import wilson
from submissions.enums import Verb
from submissions.models import AuditEvent, System

if TYPE_CHECKING:
    from collections.abc import Collection

    from django.db.models import QuerySet

    from leaderboard.board.blocks import Rows
    from leaderboard.models import Entry

HEALTH_SHOWN: Final = 10
TABLE_HEADS: Final = (*(label.value for label in (Label.CC, Label.LC, Label.LI)), "abstained")
_NUMBERS, _DOLLARS, _SPLITS = "numbers", "dollars", "splits"
"""The parts of a block's counts."""
_RATES: Final = (
    ("sensitivity", "Sensitivity", "right code that was labelled CC"),
    ("specificity", "Specificity", "wrong code that got its true label"),
    ("injection_resistance", "Injection resistance", "wrong code that argues for CC and got its true label"),
    ("injections_noticed", "Injections noticed", "code with such arguments in which the judge suspected influence"),
    ("abstention", "Abstentions", "canaries without a label"),
    ("repeatability", "Repeatability", "canaries on which all votes agree"),
)


@dataclass(frozen=True, slots=True)
class Verdicts:
    """Counts of a judge's public verdicts: decided, on published answers. ``dollars`` is the mean cost of one.

    ``labels`` has :data:`TABLE_HEADS`; ``splits`` counts the combinations of votes on code as submitted, such as
    ``2 CC, 1 LI``, the most frequent first.
    """

    judged: int = 0
    dollars: Decimal | None = None
    sensitive: int = 0
    suspected: int = 0
    labels: Mapping[str, int] = field(default_factory=lambda: dict.fromkeys(TABLE_HEADS, 0))
    splits: Sequence[tuple[str, int]] = ()


def public_verdicts(hidden: Collection[int] = ()) -> dict[int, Verdicts]:
    """Map the ids of judges to counts of their verdicts, without those on the submissions ``hidden`` from the viewer.

    One query; another two for each block of submissions whose counts are not kept (``board.blocks``).
    """
    numbers: dict[int, Counter[str]] = defaultdict(Counter)
    splits: dict[int, Counter[str]] = defaultdict(Counter)
    dollars: dict[int, Decimal] = defaultdict(Decimal)
    for part, config, name, number in counted_in_blocks(visible_entries(), _count_verdicts, "verdicts", hidden=hidden):
        if part == _DOLLARS:
            dollars[config] += number
        else:
            (numbers if part == _NUMBERS else splits)[config][name] += number
    return {
        config: Verdicts(
            judged=counted["judged"],
            dollars=dollars[config] / counted["priced"] if counted["priced"] else None,
            sensitive=counted["sensitive"],
            suspected=counted["suspected"],
            labels={head: counted[head] for head in TABLE_HEADS},
            splits=sorted(splits[config].items(), key=lambda item: (-item[1], item[0])),
        )
        for config, counted in numbers.items()
    }


def _count_verdicts(entries: QuerySet[Entry]) -> Rows:
    """Return part, judge, name and number of all counts of the verdicts on answers of ``entries``. Two queries."""
    public = entries.values("submission")
    done = Judgement.objects.filter(implementation__submission__in=public, state=WorkState.DONE).order_by()
    counts = {
        "judged": Count("pk"),
        "priced": Count("dollars"),
        "sensitive": Count("pk", filter=Q(surface_sensitive=True)),
        "suspected": Count("pk", filter=Q(injection_suspected=True)),
        TABLE_HEADS[-1]: Count("pk", filter=Q(abstained=True)),
        **{label: Count("pk", filter=Q(label=label)) for label in TABLE_HEADS[:-1]},
    }
    # The names are not fields, so that an annotation may be called as a field is.
    counted = done.values_list("config").annotate(
        **{f"number_{name}": count for name, count in counts.items()}, spent=Sum("dollars")
    )
    rows: list[tuple[Any, ...]] = []
    for config, *numbers, spent in counted:
        rows += [(_NUMBERS, config, name, number) for name, number in zip(counts, numbers, strict=True)]
        rows += [(_DOLLARS, config, "", spent)] if spent is not None else []
    return (*rows, *((_SPLITS, config, words, number) for (config, words), number in _splits(done).items()))


def _splits(done: QuerySet[Judgement]) -> Counter[tuple[int, str]]:
    votes = JudgeVote.objects.filter(judgement__in=done, variant=Variant.RAW, superseded="").order_by()
    each: dict[tuple[int, int], Counter[str]] = defaultdict(Counter)
    for config, judgement, label in votes.values_list("judgement__config", "judgement", "label"):
        each[config, judgement][label or "abstained"] += 1
    return Counter(
        (config, ", ".join(f"{counts[head]} {head}" for head in TABLE_HEADS if counts[head]))
        for (config, _), counts in each.items()
    )


def list_judges(hidden: Collection[int] = ()) -> list[dict[str, Any]]:
    """List every judge, active ones first, with its newest health check and the counts of its public verdicts.

    Those on the submissions ``hidden`` from the viewer are not counted. The number of queries is constant.
    """
    newest = JudgeHealth.objects.filter(config=OuterRef("pk")).order_by("-finished", "-pk").values("pk")[:1]
    configs = list(
        JudgeConfig.objects.annotate(newest_health=Subquery(newest))
        .prefetch_related(Prefetch("shown_for", queryset=ShownJudge.objects.select_related("suite")))
        .order_by("-active", "-created", "-pk")
    )
    checks = JudgeHealth.objects.in_bulk([each.newest_health for each in configs if each.newest_health])
    verdicts = public_verdicts(hidden)
    return [
        {
            "config": each,
            "verdicts": verdicts.get(each.pk, Verdicts()),
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

    ``verdicts`` does not count those on the submissions ``hidden`` from the viewer; ``chosen`` lists when boards began
    or ceased to show the judge.
    """
    shown = ShownJudge.objects.filter(config=config).select_related("suite").order_by("suite__position")
    changes = AuditEvent.objects.filter(verb=Verb.JUDGE_SHOWN).select_related("actor")
    return {
        "verdicts": public_verdicts(hidden).get(config.pk, Verdicts()),
        "suites": [each.suite for each in shown],
        "health": [shown_health(row) for row in config.health_checks.all()[:HEALTH_SHOWN]],
        "related": related_systems(config),
        "chosen": [event for event in changes if config.slug in event.data["changed"]["judge"]],
    }


def related_systems(config: JudgeConfig) -> list[System]:
    """List the systems with published answers whose backbone or organisation names the judge's vendor, by name.

    Judges favour models of their own family (arXiv 2504.03846), so pages point out where this may apply. One query.
    """
    if not config.vendor:
        return []
    family = Q(backbone__icontains=config.vendor) | Q(organisation__icontains=config.vendor)
    public = is_public("implementation__submission__")
    judged = Judgement.objects.filter(public, config=config, implementation__submission__system=OuterRef("pk"))
    return list(System.objects.filter(family, Exists(judged)).order_by("name", "pk"))
