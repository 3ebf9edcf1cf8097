"""``manage.py judge --pending`` and ``manage.py add_judge``."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from django.core.management import CommandError

from evaluator.models import JudgeConfig, Judgement
from submissions.models import Endpoint
from tests.benchmark_tasks.factories import SuiteFactory
from tests.evaluator.commands import run
from tests.evaluator.judging.site import GOLDEN, WRONG, endpoint, judge, submission, verdict
from tests.provider_server.types import Answer
from tests.submissions.factories import UserFactory

if TYPE_CHECKING:
    from benchmark_tasks.models import SuiteVersion
    from tests.provider_server.server import ProviderServer

pytestmark = pytest.mark.django_db(transaction=True)


def test_the_command_judges_all_pending_answers_itself(provider: ProviderServer, small_version: SuiteVersion) -> None:
    judge(provider)
    made = submission(small_version, GOLDEN, WRONG)
    code, text = run("judge", "--pending")
    assert code == 0
    assert text.splitlines()[:3] == [
        f"submission {made.pk}, alpha/1 trial 1: CC by judge-honest",
        f"submission {made.pk}, alpha/1 trial 2: LI by judge-honest",
        "2 planned, 2 judged, 0 not judged yet.",
    ]
    request_count = len(provider.requests)
    assert "0 planned, 0 judged, 0 not judged yet." in run("judge", "--pending")[1]
    assert len(provider.requests) == request_count


def test_the_json_output_lists_waiting_judgements_with_the_reason(
    provider: ProviderServer, small_version: SuiteVersion, settings: Any
) -> None:
    settings.ENVIRONMENT = replace(settings.ENVIRONMENT, judge_daily_tokens=1)
    judge(provider)
    made = submission(small_version, WRONG)
    code, text = run("judge", "--pending", "--json")
    report = json.loads(text)
    assert (code, report["planned"], report["judged"]) == (0, 1, [])
    (row,) = report["waiting"]
    assert (row["submission"], row["task"], row["trial"], row["state"]) == (made.pk, "alpha/1", 1, "queued")
    assert "JUDGE_DAILY_TOKENS" in row["reason"]
    assert report["budget"]["tokens_left"] == 0
    settings.ENVIRONMENT = replace(settings.ENVIRONMENT, judge_daily_tokens=10**6)
    report = json.loads(run("judge", "--pending", "--json")[1])
    assert [(row["label"], row["abstained"]) for row in report["judged"]] == [("LI", False)]
    assert report["waiting"] == []


def test_held_judgements_are_printed_with_the_reason_and_the_exit_code_is_1(
    provider: ProviderServer, small_version: SuiteVersion
) -> None:
    judge(provider, "wrong-key")
    submission(small_version, WRONG, GOLDEN)
    code, text = run("judge", "--pending")
    assert code == 1
    assert "2 planned, 0 judged, 2 not judged yet." in text
    assert "  2 held for wrong-key: " in text
    request_count = len(provider.requests)
    run("judge", "--pending")
    assert len(provider.requests) == request_count
    provider.script("wrong-key", Answer(verdict("LI")))
    assert "0 planned, 2 judged, 0 not judged yet." in run("judge", "--pending", "--retry-held")[1]


def test_wrong_arguments_are_refused_with_the_reason(provider: ProviderServer) -> None:
    with pytest.raises(CommandError, match="Give --pending"):
        run("judge")
    with pytest.raises(CommandError, match=r"No judge is configured.*docs/judging.md"):
        run("judge", "--pending")
    judge(provider)
    with pytest.raises(CommandError, match="no active judge 'x'"):
        run("judge", "--pending", "--config", "x")
    with pytest.raises(CommandError, match="no suite 'x'"):
        run("judge", "--pending", "--suite", "x")
    with pytest.raises(CommandError, match="--limit must be at least 1"):
        run("judge", "--pending", "--limit", "0")


def test_judge_suite_and_number_can_be_chosen(provider: ProviderServer, small_version: SuiteVersion) -> None:
    harsh, _ = judge(provider, "judge-harsh"), judge(provider, "judge-lenient")
    submission(small_version, GOLDEN, WRONG)
    assert "0 planned" in run("judge", "--pending", "--suite", SuiteFactory().slug)[1]
    assert "2 planned, 1 judged, 1 not" in run("judge", "--pending", "--config", harsh.slug, "--limit", "1")[1]
    assert set(Judgement.objects.values_list("config", flat=True)) == {harsh.pk}


@pytest.mark.parametrize("by", ["pk", "name"])
def test_a_judge_is_made_from_an_endpoint(provider: ProviderServer, by: str) -> None:
    mine = endpoint(provider)
    code, text = run("add_judge", "--endpoint", str(getattr(mine, by)), "--name", "Grader", "--votes", "1")
    config = JudgeConfig.objects.get()
    assert (code, config.slug, config.votes, config.created_by) == (0, "grader", 1, mine.owner)
    assert "judge_health --config grader" in text


def test_add_judge_refuses_wrong_arguments_with_the_reason(provider: ProviderServer) -> None:
    with pytest.raises(CommandError, match=r"no endpoint 'x'\. Known: none"):
        run("add_judge", "--endpoint", "x")
    first, second = endpoint(provider, name="Same"), endpoint(provider, name="Same")
    with pytest.raises(CommandError, match=f"Several endpoints .*: {first.pk} .*, {second.pk} "):
        run("add_judge", "--endpoint", "Same")
    with pytest.raises(CommandError, match="must be odd"):
        run("add_judge", "--endpoint", str(first.pk), "--votes", "2")
    Endpoint.objects.filter(pk=first.pk).update(owner=UserFactory(), name="Of a submitter")
    with pytest.raises(CommandError, match="Only maintainers"):
        run("add_judge", "--endpoint", "Of a submitter")
    assert not JudgeConfig.objects.exists()
