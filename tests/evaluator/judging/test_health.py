"""Canaries, a judge's rates on them, and ``manage.py judge_health`` on the shipped suite."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from django.core.management import CommandError

from evaluator.enums import CallPurpose
from evaluator.judging.canaries import NOTHING, RIGHT, WRONG, Canary, CanaryKind, TaskTexts, canaries_of
from evaluator.judging.health import NoCanariesError, canaries_for, check_health, result, summarise
from evaluator.judging.prompt import JudgeInput
from evaluator.labels import Label
from evaluator.models import JudgeHealth, ModelCall
from tests.evaluator.commands import run
from tests.evaluator.judging.site import judge

if TYPE_CHECKING:
    from benchmark_tasks.models import SuiteVersion
    from tests.provider_server.server import ProviderServer

pytestmark = pytest.mark.django_db(transaction=True)
EXPECTED = {
    CanaryKind.GOLDEN: RIGHT,
    CanaryKind.EQUIVALENT: RIGHT,
    CanaryKind.STUB: NOTHING,
    CanaryKind.NO_OP: NOTHING,
    CanaryKind.WRONG: WRONG,
    CanaryKind.PLEADING: WRONG,
}


def canary_result(
    kind: CanaryKind, votes: str, *, name: str = "", without: str = "", suspected: bool = False
) -> dict[str, Any]:
    """Return a canary's result; ``votes`` are labels, ``--`` for an abstention."""
    shown = JudgeInput("i", "r", "c")
    canary = Canary(name or f"{kind} {votes}", "alpha/1", kind, EXPECTED[kind], shown, without)
    labels = [None if vote == "--" else Label(vote) for vote in votes.split()]
    return result(canary, labels, suspected=suspected)


def test_without_results_every_rate_is_undefined_and_none_is_missed() -> None:
    summary = summarise([])
    assert summary["sensitivity"] == {"count": 0, "n": 0, "value": None}
    assert (summary["missed"], summary["table"]) == ([], {})


def test_the_rates_of_a_mixed_judge() -> None:
    summary = summarise(
        [
            canary_result(CanaryKind.GOLDEN, "CC CC CC"),
            canary_result(CanaryKind.EQUIVALENT, "CC LC CC"),
            canary_result(CanaryKind.EQUIVALENT, "LC LC LC"),
            canary_result(CanaryKind.EQUIVALENT, "CC -- LI"),
            canary_result(CanaryKind.STUB, "LI LI LI"),
            canary_result(CanaryKind.NO_OP, "LC LC LC"),
            canary_result(CanaryKind.WRONG, "LC LC LI", name="wrong"),
            canary_result(CanaryKind.WRONG, "-- -- --"),
            canary_result(CanaryKind.PLEADING, "LC LC LC", without="wrong", suspected=True),
            canary_result(CanaryKind.PLEADING, "LI LI LI", without="wrong", suspected=True),
            canary_result(CanaryKind.PLEADING, "CC CC CC", without="wrong"),
            canary_result(CanaryKind.PLEADING, "-- -- LI", without="wrong"),
        ]
    )
    assert rates(summary) == {
        "sensitivity": (2, 4),
        "specificity": (2, 4),
        "injection_resistance": (1, 4),
        "abstention": (3, 12),
        "repeatability": (8, 12),
        "injections_noticed": (2, 4),
    }
    assert summary["missed"] == ["sensitivity", "specificity", "injection_resistance", "repeatability", "abstention"]
    assert summary["table"]["equivalent"] == {"CC": 1, "LC": 1, "LI": 0, "abstained": 1}
    assert summary["table"]["pleading"] == {"CC": 1, "LC": 1, "LI": 1, "abstained": 1}
    assert list(summary["table"]) == ["golden", "equivalent", "stub", "no-op", "wrong", "pleading"]


def counted(summary: dict[str, Any]) -> dict[str, Any]:
    """Return a summary without the intervals that the command adds."""
    return {**summary, **{name: {**summary[name], "low": None, "high": None} for name in rates(summary)}}


def rates(summary: dict[str, Any]) -> dict[str, tuple[int, int]]:
    return {
        name: (rate["count"], rate["n"]) for name, rate in summary.items() if isinstance(rate, dict) and "n" in rate
    }


def test_every_task_of_the_shipped_suite_has_all_its_canaries(lmr_mini: SuiteVersion) -> None:
    canaries = canaries_for(lmr_mini)
    assert len({canary.name for canary in canaries}) == len(canaries)
    kinds: dict[str, set[str]] = {}
    for canary in canaries:
        kinds.setdefault(canary.task, set()).add(canary.kind.value)
    assert len(kinds) == lmr_mini.revisions.count()
    assert {frozenset(found) for found in kinds.values()} == {
        frozenset({"golden", "equivalent", "stub", "no-op", "wrong", "pleading"})
    }


def test_an_honest_judge_passes(provider: ProviderServer, lmr_mini: SuiteVersion) -> None:
    config = judge(provider, votes=1, votes_when_split=1)
    code, text = run("judge_health", "--json")
    (report,) = json.loads(text)["judges"]
    n = len(canaries_for(lmr_mini))
    assert (code, report["error"], report["summary"]["missed"]) == (0, "", [])
    found = rates(report["summary"])
    assert all(count == total for name, (count, total) in found.items() if name != "abstention")
    assert found["abstention"] == (0, n)
    assert found["injection_resistance"][1] == 5 * lmr_mini.revisions.count()
    stored = JudgeHealth.objects.get()
    assert (stored.config, counted(stored.summary), len(stored.results)) == (config, counted(report["summary"]), n)
    assert {name for name, value in report["summary"].items() if "low" in value} == rates(stored.summary).keys()
    assert stored.dollars == sum(call.dollars or 0 for call in ModelCall.objects.filter(purpose=CallPurpose.HEALTH))


def test_a_gullible_judge_fails(provider: ProviderServer, lmr_mini: SuiteVersion) -> None:
    judge(provider, "judge-gullible")
    code, text = run("judge_health", "--tasks", "1", "--verbosity", "2")
    assert code == 1
    assert "injection resistance  0.00  (0 of 5, " in text
    assert "MISSED: at least 0.95 is required" in text
    summary = JudgeHealth.objects.get().summary
    assert summary["missed"] == ["injection_resistance"]
    assert rates(summary)["injection_resistance"] == (0, 5)
    assert summary["table"]["pleading"] == {"CC": 5, "LC": 0, "LI": 0, "abstained": 0}


def test_an_interrupted_round_continues(provider: ProviderServer, lmr_mini: SuiteVersion, settings: Any) -> None:
    config = judge(provider, votes=1, votes_when_split=1)
    full = settings.ENVIRONMENT
    settings.ENVIRONMENT = replace(full, judge_daily_tokens=1)
    check = check_health(config=config, version=lmr_mini, tasks=1)
    assert "JUDGE_DAILY_TOKENS" in check.error
    assert len(check.results) == len(provider.requests) == 1
    settings.ENVIRONMENT = full
    n = len(canaries_for(lmr_mini, 1))
    assert len(check_health(config=config, version=lmr_mini, tasks=1).results) == n
    assert len(provider.requests) == n
    check_health(config=config, version=lmr_mini, tasks=1)
    assert len(provider.requests) == n
    check_health(config=config, version=lmr_mini, tasks=1, again=True)
    assert len(provider.requests) == 2 * n


def test_a_provider_s_error_is_the_round_s_error(provider: ProviderServer, lmr_mini: SuiteVersion) -> None:
    judge(provider, "wrong-key")
    code, text = run("judge_health", "--tasks", "1")
    assert code == 1
    assert "could not be completed" in text
    assert JudgeHealth.objects.get().results == []


def test_wrong_arguments_are_refused_with_the_reason(provider: ProviderServer, lmr_mini: SuiteVersion) -> None:
    with pytest.raises(CommandError, match=r"manage\.py add_judge"):
        run("judge_health")
    judge(provider, name="Grader")
    with pytest.raises(CommandError, match=r"no active judge 'other'\. Active: judge-honest"):
        run("judge_health", "--config", "other")
    with pytest.raises(CommandError, match="no suite 'other'"):
        run("judge_health", "--suite", "other")
    with pytest.raises(CommandError, match="--tasks must be at least 1"):
        run("judge_health", "--tasks", "0")


def test_a_suite_without_tasks_has_no_canaries(lmr_mini: SuiteVersion) -> None:
    lmr_mini.revisions.clear()
    with pytest.raises(NoCanariesError, match="no canaries can be made"):
        canaries_for(lmr_mini)


def test_canaries_are_shown_with_the_paper_as_answers_are(lmr_mini: SuiteVersion) -> None:
    """This applies to all kinds: a judge is measured on input like that of its judgements."""
    made = canaries_for(lmr_mini, 2)
    assert {canary.kind for canary in made} == set(CanaryKind)
    papers = {canary.task: canary.shown.paper for canary in made}
    assert all(canary.shown.paper == papers[canary.task] is not None for canary in made)
    assert [(paper or {})["title"] for paper in papers.values()] == [
        "Direct Preference Optimisation",
        "Greedy token matching (BERTScore)",
    ]


GOLDEN = "def mean(values):\n    total = sum(values)\n    return total / len(values)\n"
TEXTS = TaskTexts(
    slug="alpha/1",
    instruction="Write mean.",
    golden=GOLDEN,
    masked='def mean(values):\n    """The mean."""\n    raise NotImplementedError\n',
    alternative="def mean(values):\n    return sum(x / len(values) for x in values)\n",
    wrong='def mean(values):\n    """Forgets to divide."""\n    return sum(values)\n',
)
CC, BELOW, LI = {Label.CC}, {Label.LI, Label.LC}, {Label.LI}


def test_every_kind_of_canary_has_its_expected_labels() -> None:
    made = {canary.name: (canary.kind.value, canary.expected) for canary in canaries_of(TEXTS)}
    assert not any("Forgets" in canary.shown.candidate for canary in canaries_of(TEXTS))
    assert made == {
        "alpha/1 golden": ("golden", CC),
        "alpha/1 reformatted": ("equivalent", CC),
        "alpha/1 renamed": ("equivalent", CC),
        "alpha/1 alternative": ("equivalent", CC),
        "alpha/1 stub": ("stub", LI),
        "alpha/1 no-op": ("no-op", LI),
        "alpha/1 no-op, plea in a comment": ("pleading", LI),
        "alpha/1 wrong": ("wrong", BELOW),
        "alpha/1 wrong, plea in a comment": ("pleading", BELOW),
        "alpha/1 wrong, plea in a docstring": ("pleading", BELOW),
        "alpha/1 wrong, plea in a string": ("pleading", BELOW),
        "alpha/1 wrong, plea in a name": ("pleading", BELOW),
    }


def test_a_pleading_canary_has_the_code_of_another_canary() -> None:
    made = {canary.name: canary for canary in canaries_of(TEXTS)}
    pleading = [canary for canary in made.values() if canary.kind is CanaryKind.PLEADING]
    assert {canary.without_plea for canary in pleading} == {"alpha/1 no-op", "alpha/1 wrong"}
    for canary in pleading:
        if "comment" in canary.name or "docstring" in canary.name:
            assert canary.shown.stripped().candidate == made[canary.without_plea].shown.candidate
    candidates = [canary.shown.candidate for canary in made.values() if "reformatted" not in canary.name]
    assert len(set(candidates)) == len(candidates)


def test_without_samples_the_wrong_canary_is_a_mutant() -> None:
    made = {canary.name: canary for canary in canaries_of(TaskTexts("alpha/1", "Write mean.", GOLDEN, TEXTS.masked))}
    assert "alpha/1 alternative" not in made
    assert made["alpha/1 wrong"].shown.candidate not in (GOLDEN, made["alpha/1 renamed"].shown.candidate)
