"""Judges are made by maintainers, once each, and never changed."""

from __future__ import annotations

from typing import Any

import pytest

from evaluator.enums import WorkState
from evaluator.judging.configs import active_configs, add_judge, retire, stale
from evaluator.judging.judgements import plan_judgements
from evaluator.judging.prompt import PROMPT_HASH, PROMPT_VERSION, SCHEMA_HASH
from evaluator.models import JudgeConfig, Judgement, ShownJudge
from submissions.enums import Verb
from submissions.exceptions import NotAllowedError, SubmissionError, WrongStateError
from submissions.models import AuditEvent, Endpoint
from tests.benchmark_tasks.factories import SuiteVersionFactory
from tests.submissions.factories import ImplementationFactory, SubmissionFactory, UserFactory, with_answers

pytestmark = pytest.mark.django_db


def endpoint(**fields: Any) -> Endpoint:
    described = {"name": "Mine", "provider": "openai", "api": "chat", "base_url": "https://models.example/v1"}
    owner = {} if "owner" in fields else {"owner": UserFactory(is_staff=True)}
    return Endpoint.objects.create(**{**described, "model": "grader-2026-01-01", **owner, **fields})


def made(of: Endpoint, **fields: Any) -> JudgeConfig:
    return add_judge(actor=of.owner, endpoint=of, **fields)


def test_a_judge_copies_its_endpoint_and_records_its_prompt_and_votes() -> None:
    mine = endpoint(effort="high", temperature=0.5, max_output_tokens=4096, price_input=1, price_output=2)
    config = made(mine, name="Strict Judge", vendor="Example")
    assert (config.slug, config.name, config.vendor, config.active) == ("strict-judge", "Strict Judge", "Example", True)
    assert (config.model, config.effort, config.temperature) == ("grader-2026-01-01", "high", 0.5)
    assert (config.max_output_tokens, config.votes, config.votes_when_split) == (4096, 3, 5)
    assert (config.prompt_version, config.prompt_hash, config.schema_hash) == (PROMPT_VERSION, PROMPT_HASH, SCHEMA_HASH)
    assert config.sdk.startswith("openai ")
    assert config.created_by == mine.owner
    event = AuditEvent.objects.get(verb=Verb.JUDGE_ADDED)
    assert (event.actor, event.subject_text) == (mine.owner, "Strict Judge")


@pytest.mark.parametrize("name", ["owner", "other"])
def test_only_maintainers_make_judges_and_only_of_their_own_endpoints(name: str) -> None:
    mine = endpoint(owner=UserFactory())
    actor = mine.owner if name == "owner" else UserFactory(is_staff=True)
    with pytest.raises(NotAllowedError):
        add_judge(actor=actor, endpoint=mine)
    assert not JudgeConfig.objects.exists()


def test_the_same_settings_are_the_same_judge() -> None:
    mine = endpoint()
    first = made(mine)
    assert made(mine, name="Another name") == first
    assert AuditEvent.objects.filter(verb=Verb.JUDGE_ADDED).count() == 1
    retire(config=first, actor=mine.owner)
    again = made(mine)
    assert (again, again.active) == (first, True)


@pytest.mark.parametrize(
    "change", [{"model": "grader-2026-02-02"}, {"base_url": "https://elsewhere.example/v1"}, {"temperature": 0.0}]
)
def test_a_setting_that_could_change_a_verdict_makes_another_judge(change: dict[str, Any]) -> None:
    mine = endpoint()
    first = made(mine)
    Endpoint.objects.filter(pk=mine.pk).update(**change)
    mine.refresh_from_db()
    second = made(mine)
    assert second.digest != first.digest
    assert JudgeConfig.objects.count() == 2
    assert second.slug != first.slug


def test_votes_and_prompt_make_another_judge_and_prices_do_not(monkeypatch: pytest.MonkeyPatch) -> None:
    mine = endpoint()
    first = made(mine)
    assert made(mine, votes=1) != first
    mine.price_input = 5
    mine.save()
    assert made(mine) == first
    monkeypatch.setattr("evaluator.judging.configs.PROMPT_HASH", "0" * 64)
    assert made(mine) != first
    assert stale(first).startswith("This judge was made for the prompt judge-2,")


@pytest.mark.parametrize(("votes", "split"), [(2, 5), (5, 3), (3, 17), (-1, 5)])
def test_numbers_of_votes_that_cannot_decide_are_refused(votes: int, split: int) -> None:
    with pytest.raises(SubmissionError, match="odd"):
        made(endpoint(), votes=votes, votes_when_split=split)


def test_the_first_judge_is_shown_on_every_suite_that_it_judges() -> None:
    """This does not depend on how many answers to another suite come first."""
    config = made(endpoint())
    versions = [SuiteVersionFactory(tasks=1), SuiteVersionFactory(tasks=1)]
    ShownJudge.objects.all().delete()
    for version in versions:
        with_answers(SubmissionFactory(suite_version=version), 9)
    assert plan_judgements(config=config) == 18
    assert set(ShownJudge.objects.values_list("suite", "config")) == {(each.suite_id, config.pk) for each in versions}


def test_a_judge_cannot_be_changed() -> None:
    config = made(endpoint())
    config.model = "other"
    with pytest.raises(TypeError):
        config.save()


def test_a_retired_judge_keeps_finished_judgements_and_open_ones_are_cancelled() -> None:
    mine = endpoint()
    config = made(mine)
    for state in (WorkState.DONE, WorkState.QUEUED, WorkState.RUNNING, WorkState.HELD):
        Judgement.objects.create(implementation=ImplementationFactory(), config=config, state=state)
    with pytest.raises(NotAllowedError):
        retire(config=config, actor=UserFactory())
    assert retire(config=config, actor=mine.owner) == 3
    assert list(active_configs()) == []
    assert sorted(Judgement.objects.values_list("state", flat=True)) == ["cancelled"] * 3 + ["done"]
    assert AuditEvent.objects.filter(verb=Verb.JUDGE_RETIRED, actor=mine.owner).count() == 1
    with pytest.raises(WrongStateError):
        retire(config=config, actor=mine.owner)
