"""``manage.py judge_health`` and the rounds of canaries, on the shipped suite."""

from __future__ import annotations

import io
import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from django.core.management import CommandError, call_command

from evaluator.enums import CallPurpose
from evaluator.judging.health import NoCanariesError, canaries_for, check_health
from evaluator.models import JudgeHealth, ModelCall
from tests.evaluator.judging.site import judge
from tests.provider_server.types import Answer

if TYPE_CHECKING:
    from benchmark_tasks.models import SuiteVersion
    from tests.provider_server.server import ProviderServer

pytestmark = pytest.mark.django_db(transaction=True)


def health(*arguments: str) -> tuple[int, str]:
    """Exit code and output of the command."""
    out = io.StringIO()
    try:
        call_command("judge_health", *arguments, stdout=out)
    except SystemExit as end:
        return int(str(end.code)), out.getvalue()
    return 0, out.getvalue()


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
    code, text = health("--json")
    (told,) = json.loads(text)["judges"]
    n = len(canaries_for(lmr_mini))
    assert (code, told["error"], told["summary"]["missed"]) == (0, "", [])
    found = rates(told["summary"])
    assert all(count == total for name, (count, total) in found.items() if name != "abstention")
    assert found["abstention"] == (0, n)
    assert found["injection_resistance"][1] == 5 * lmr_mini.revisions.count()
    stored = JudgeHealth.objects.get()
    assert (stored.config, stored.summary, len(stored.results)) == (config, told["summary"], n)
    assert stored.dollars == sum(call.dollars or 0 for call in ModelCall.objects.filter(purpose=CallPurpose.HEALTH))


def test_a_gullible_judge_is_found_out(provider: ProviderServer, lmr_mini: SuiteVersion) -> None:
    judge(provider, "judge-gullible")
    code, text = health("--tasks", "1")
    assert code == 1
    assert "injection resistance  0.00  (0 of 5, " in text
    assert "MISSED: at least 0.95 is asked for" in text
    summary = JudgeHealth.objects.get().summary
    assert summary["missed"] == ["injection_resistance"]
    assert rates(summary)["injection_resistance"] == (0, 5)
    assert summary["table"]["pleading"] == {"CC": 5, "LC": 0, "LI": 0, "abstained": 0}


@pytest.mark.parametrize(
    ("model", "missed"),
    [
        ("judge-lenient", ["specificity", "injection_resistance"]),
        ("judge-abstains", ["sensitivity", "specificity", "injection_resistance", "abstention"]),
    ],
)
def test_other_bad_judges_miss_what_they_are_bad_at(
    provider: ProviderServer, lmr_mini: SuiteVersion, model: str, missed: list[str]
) -> None:
    check = check_health(config=judge(provider, model, votes=1, votes_when_split=1), version=lmr_mini, tasks=1)
    assert check.summary["missed"] == missed


def test_a_round_that_was_broken_off_goes_on(provider: ProviderServer, lmr_mini: SuiteVersion, settings: Any) -> None:
    config = judge(provider, votes=1, votes_when_split=1)
    full = settings.ENVIRONMENT
    settings.ENVIRONMENT = replace(full, judge_daily_tokens=1)
    check = check_health(config=config, version=lmr_mini, tasks=1)
    assert "JUDGE_DAILY_TOKENS" in check.error
    assert len(check.results) == len(provider.asked) == 1
    settings.ENVIRONMENT = full
    n = len(canaries_for(lmr_mini, 1))
    assert len(check_health(config=config, version=lmr_mini, tasks=1).results) == n
    assert len(provider.asked) == n
    check_health(config=config, version=lmr_mini, tasks=1)
    assert len(provider.asked) == n
    check_health(config=config, version=lmr_mini, tasks=1, again=True)
    assert len(provider.asked) == 2 * n


def test_a_provider_s_fault_is_the_round_s_error(provider: ProviderServer, lmr_mini: SuiteVersion) -> None:
    judge(provider, "wrong-key")
    code, text = health("--tasks", "1")
    assert code == 1
    assert "could not be made to its end" in text
    assert JudgeHealth.objects.get().results == []


def test_every_canary_is_told_when_asked_for(provider: ProviderServer, lmr_mini: SuiteVersion) -> None:
    provider.script("scripted", Answer("no verdict"))
    judge(provider, "scripted", votes=1, votes_when_split=1)
    _, text = health("--tasks", "1", "--verbosity", "2")
    assert "BAD --  dpo/1 golden\n" in text
    assert "dpo/1 golden: abstained, should be CC" in text


def test_without_a_judge_it_says_how_to_configure_one(lmr_mini: SuiteVersion) -> None:
    with pytest.raises(CommandError, match=r"manage\.py add_judge"):
        health()


def test_wrong_arguments_are_said(provider: ProviderServer, lmr_mini: SuiteVersion) -> None:
    judge(provider, name="Grader")
    with pytest.raises(CommandError, match=r"no active judge 'other'\. Active: judge-honest"):
        health("--config", "other")
    with pytest.raises(CommandError, match="no suite 'other'"):
        health("--suite", "other")
    with pytest.raises(CommandError, match="at least one task"):
        health("--tasks", "0")


def test_a_suite_of_facts_only_has_no_canaries(lmr_mini: SuiteVersion) -> None:
    lmr_mini.revisions.clear()
    with pytest.raises(NoCanariesError, match="nothing to make canaries of"):
        canaries_for(lmr_mini)
