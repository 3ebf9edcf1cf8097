"""``manage.py evaluate``: one task and one model, from the command line."""

from __future__ import annotations

import io
import json
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest
from django.core.management import CommandError, call_command

from evaluator.enums import WorkState
from evaluator.models import AnswerRequest, Judgement, ModelCall
from submissions.domain.operators import OPERATOR
from submissions.enums import Kind, SubmissionState, Visibility
from submissions.models import AuditEvent, Endpoint, Submission, User
from tests.evaluator.judging.site import judge
from tests.provider_server.types import Answer, Call, Failure
from tests.submissions.factories import ImplementationFactory, SubmissionFactory

if TYPE_CHECKING:
    from benchmark_tasks.models import SuiteVersion
    from evaluator.sandbox.interface import Sandbox
    from tests.provider_server.server import ProviderServer

pytestmark = pytest.mark.django_db(transaction=True)
KEY = "sk-a-secret-of-somebody"


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)


def run(server: ProviderServer, model: str, *more: str, task: str = "dpo/1") -> tuple[int, str, str]:
    """Run the command; return its exit code, stdout and stderr."""
    out, err = io.StringIO(), io.StringIO()
    with pytest.raises(SystemExit) as end:
        call_command(
            "evaluate", "--suite", "lmr-mini", "--task", task, "--provider", "openai", "--model", model,
            "--base-url", server.url, *more, stdout=out, stderr=err,
        )  # fmt: skip
    assert isinstance(end.value.code, int)
    return end.value.code, out.getvalue(), err.getvalue()


@pytest.mark.bubblewrap
def test_a_right_answer_passes_and_is_judged(
    lmr_mini: SuiteVersion, provider: ProviderServer, real_sandbox: Sandbox
) -> None:
    config = judge(provider, votes=1, votes_when_split=1)
    # Another user's answer, which this command must not judge.
    theirs = SubmissionFactory(suite_version=lmr_mini, state=SubmissionState.SCORED)
    waits = ImplementationFactory(submission=theirs, revision=lmr_mini.revisions.get(task__slug="eda/1"))
    Judgement.objects.create(implementation=waits, config=config)
    code, output, errors = run(provider, "right", "--json")
    assert Judgement.objects.get(implementation=waits).state == WorkState.QUEUED
    found: dict[str, Any] = json.loads(output)
    assert (code, errors) == (0, "")
    assert (found["state"], found["taken"], found["outcome"]) == ("scored", "code", "passed")
    assert found["answer"].startswith("def preference_objective(policy, reference, config):\n")
    assert [(each["judge"], each["label"]) for each in found["judges"]] == [(config.slug, "CC")]
    submission = Submission.objects.exclude(pk=theirs.pk).get()
    assert (submission.kind, submission.visibility) == (Kind.CALIBRATION, Visibility.PRIVATE)
    assert {received.key for received in provider.requests if received.model == "right"} == {KEY}
    # Neither endpoint nor key is kept.
    assert Endpoint.objects.get() == config.endpoint


@pytest.mark.bubblewrap
def test_the_output_lists_other_changes_and_has_no_control_characters(
    lmr_mini: SuiteVersion, provider: ProviderServer, real_sandbox: Sandbox
) -> None:
    helper = "def log_sigmoid(x):\n    return 0.0 * x\n"
    goal = "def preference_objective(policy, reference, config):\n    # \x1b[2K fine\n    return 1\n"
    provider.script("shadows", Answer(f"```python\n{helper}\n\n{goal}```"))
    found = json.loads(run(provider, "shadows", "--json")[1])
    assert found["answer"] == goal
    assert found["other_changes"].startswith("diff --git a/preferences/objective.py b/preferences/objective.py\n")
    assert "+def log_sigmoid(x):\n+    return 0.0 * x\n" in found["other_changes"]
    code, output, _ = run(provider, "shadows")
    lines, usage = output.splitlines(), ModelCall.objects.latest("pk")
    assert (code, "\x1b" in output) == (0, False)
    assert lines[0] == "answer:    code. Taken from the fenced block."
    for line in (
        "besides:   what else the answer changes",
        "+    return 0.0 * x",
        "    # \u2039U+001B\u203a[2K fine",
        f"tokens:    {usage.input_tokens:,} in, {usage.output_tokens:,} out",
    ):
        assert line in lines
    assert lines[-2].startswith("outcome:   raised ")
    assert lines[-1] == "verdict:   not judged: no judge is configured (see docs/judging.md)"


@pytest.mark.parametrize("name", ["DPO/1", "09-DPO/01"])
def test_tasks_are_named_as_in_bundles(lmr_mini: SuiteVersion, provider: ProviderServer, name: str) -> None:
    assert run(provider, "wrong-key", task=name)[0] == 2
    assert AnswerRequest.objects.get().implementation.revision.task.slug == "dpo/1"


def test_a_forbidden_address_stops_the_command_before_anything_is_stored(lmr_mini: SuiteVersion, settings: Any) -> None:
    settings.ENVIRONMENT = replace(settings.ENVIRONMENT, endpoint_networks=[])
    usual = {"suite": "lmr-mini", "task": "dpo/1", "provider": "openai", "model": "right"}
    before = AuditEvent.objects.count()
    with pytest.raises(CommandError) as refused:
        call_command("evaluate", **usual, base_url="http://127.0.0.1:8000/v1")
    assert str(refused.value) == (
        "http://127.0.0.1:8000/v1: This site calls public addresses with https:// on port 443 or 8443, and those that "
        "it allows. To allow this one, write this line into .env or set the variable: ENDPOINT_NETWORKS=127.0.0.1/32"
    )
    assert (Submission.objects.count(), Endpoint.objects.count(), AuditEvent.objects.count()) == (0, 0, before)
    assert not User.objects.filter(username=OPERATOR).exists()


def test_an_error_that_a_person_must_fix_ends_the_command(lmr_mini: SuiteVersion, provider: ProviderServer) -> None:
    code, output, errors = run(provider, "wrong-key")
    assert (code, output) == (2, "")
    assert errors == "Stopped: The provider refused the key (HTTP 401). Enter it again, or use another one.\n"
    assert Submission.objects.get().state == SubmissionState.CANCELLED
    assert not Endpoint.objects.exists()


def test_the_error_of_a_refused_parameter_names_the_option_that_replaces_it(
    lmr_mini: SuiteVersion, provider: ProviderServer
) -> None:
    azure = ("--base-url", provider.url_of("azure"))
    code, _, errors = run(provider, "prose", *azure)
    assert code == 2
    assert errors == (
        "Stopped: The provider refused the request (HTTP 400 unsupported_parameter). Choose the endpoint’s other "
        "“Name of the output limit”. The provider’s words: “Unsupported parameter: 'max_tokens' is not supported with "
        "this model. Use 'max_completion_tokens' instead”. Here: --output-limit.\n"
    )
    code, output, errors = run(provider, "prose", *azure, "--output-limit", "max_completion_tokens", "--json")
    assert (code, errors, json.loads(output)["taken"]) == (0, "", "unparsable")


@pytest.mark.bubblewrap
def test_omit_strict_leaves_strict_out_of_an_agents_tool(
    lmr_mini: SuiteVersion, provider: ProviderServer, real_sandbox: Sandbox
) -> None:
    provider.script("mine", Answer("", (Call("bash", '{"command": "submit"}'),)))
    run(provider, "mine", "--agent", "--omit-strict", "--json")
    assert "strict" not in provider.requests[0].body["tools"][0]["function"]


def test_a_long_wait_is_printed_once(
    lmr_mini: SuiteVersion, provider: ProviderServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    provider.script("mine", Failure("busy", "x", {"Retry-After": "7200"}))
    pauses = iter(range(4))

    def pause(_: object) -> None:
        if next(pauses) == 3:
            raise KeyboardInterrupt

    monkeypatch.setattr("evaluator.management.commands.evaluate.evaluate_or_wait", pause)
    code, _, errors = run(provider, "mine")
    lines = errors.splitlines()
    assert (code, len(lines), lines[1]) == (130, 2, "Interrupted; nothing more is requested or measured.")
    until = datetime.fromisoformat(
        lines[0].removeprefix("The provider asks to wait. The next request is sent after ").replace(" UTC.", "+00:00")
    )
    assert 7100 < (until - datetime.now(UTC)).total_seconds() <= 7200
    assert len(provider.requests) == 1


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"suite": "lmr-maxi"}, "There is no suite 'lmr-maxi'. Known: lmr-bench, lmr-mini."),
        ({"task": "dpo/9"}, "lmr-mini v1 has no task 'dpo/9'. Tasks: dpo/1, "),
        ({"task": "01-DPO/9"}, "lmr-mini v1 has no task 'dpo/9'. Tasks: dpo/1, "),
        ({"base_url": "ftp://example.org"}, "An address begins with https://"),
        (
            {"base_url": "http://[::1]:8000/v1"},
            "To allow this one, write this line into .env or set the variable: ENDPOINT_NETWORKS=127.0.0.0/8,::1/128",
        ),
        ({"key_variable": "NOBODY_SET_THIS"}, "The environment variable NOBODY_SET_THIS is empty"),
    ],
)
def test_wrong_arguments_are_refused_with_the_reason(
    lmr_mini: SuiteVersion, provider: ProviderServer, changed: dict[str, str], message: str
) -> None:
    usual = {"suite": "lmr-mini", "task": "dpo/1", "provider": "openai", "model": "right", "base_url": provider.url}
    arguments = {**usual, **changed}
    with pytest.raises(CommandError) as refused:
        call_command("evaluate", *(f"--{name.replace('_', '-')}={value}" for name, value in arguments.items()))
    assert message in str(refused.value)
    assert (Submission.objects.count(), Endpoint.objects.count()) == (0, 0)


@pytest.mark.parametrize(
    ("option", "value", "message"),
    [
        ("--temperature", "nan", "nan is not from 0 to 2"),
        ("--max-output-tokens", "-5", "-5 is not from 1 to 10,000,000"),
    ],
)
def test_numbers_out_of_range_are_named(option: str, value: str, message: str) -> None:
    usual = ["--suite", "lmr-mini", "--task", "dpo/1", "--provider", "openai", "--model", "right"]
    with pytest.raises(CommandError, match=message):
        call_command("evaluate", *usual, f"{option}={value}")
