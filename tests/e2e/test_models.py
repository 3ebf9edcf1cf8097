"""Models in a real browser: registering and testing an endpoint, runs with and without an agent, and a judge."""

from __future__ import annotations

import re
import time
from collections import Counter
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from tests.e2e.conftest import publish, sign_up
from tests.provider_server.server import ProviderServer

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Page

    from tests.e2e.conftest import Instance

pytestmark = [pytest.mark.e2e, pytest.mark.usefixtures("audited")]

KEY = "sk-the-herons-secret"
SCORED_MS = 300_000
JUDGED_SECONDS = 180
MAKE_JUDGE = """
from submissions.domain.operators import local_operator
from submissions.domain.endpoints import add
add(owner=local_operator(), key="sk-judge", described={{"name": "Judge's", "provider": "openai", "api": "chat",
    "base_url": {url!r}, "model": "judge-honest", "price_input": 1, "price_output": 2}})
"""


@pytest.fixture(scope="module")
def provider() -> Iterator[ProviderServer]:
    with ProviderServer() as server:
        yield server


# Otherwise later submissions would be sent to a judge whose server is gone.
RETIRE_JUDGE = """
from submissions.domain.operators import local_operator
from evaluator.judging.configs import retire
from evaluator.models import JudgeConfig
retire(config=JudgeConfig.objects.get(slug="judge-honest"), actor=local_operator())
"""


@pytest.fixture(scope="module")
def judge(instance: Instance, provider: ProviderServer) -> Iterator[None]:
    """A judge with one vote, made by an operator."""
    instance.printed("shell", "-c", MAKE_JUDGE.format(url=provider.url))
    output = instance.printed("add_judge", "--endpoint", "Judge's", "--votes", "1", "--votes-when-split", "1")
    assert output.startswith("judge-honest: judge-honest, 1 votes, 1 when they differ.")
    yield
    instance.printed("shell", "-c", RETIRE_JUDGE)


def register(page: Page, provider: ProviderServer, name: str, model: str) -> None:
    """Fill in the form; ends on the endpoint's page."""
    page.goto("/endpoints/new/")
    for field, value in {"name": name, "base_url": provider.url, "model": model, "key": KEY}.items():
        page.locator(f"[name={field}]").fill(value)
    page.locator("[name=api]").select_option("chat")
    for field in ("price_input", "price_output"):
        page.locator(f"[name={field}]").fill("2")
    page.locator("main form button[type=submit]").last.click()
    page.wait_for_url(re.compile(r"/endpoints/\d+/$"))
    assert KEY not in page.content()


def start_run(page: Page) -> None:
    """Estimate and start the run of the filled form; ends on the submission's page once it is scored."""
    page.get_by_role("button", name="Show the estimate").click()
    expect(page.locator("#estimate .big")).to_contain_text("US $")
    page.get_by_role("button", name="Start", exact=True).click()
    page.wait_for_url(re.compile(r"/submissions/\d+/"))
    expect(page.locator("#live .state")).to_have_text("scored", timeout=SCORED_MS)


def prompts_sent(provider: ProviderServer, model: str) -> Counter[str]:
    """Count how often each prompt was sent to ``model``."""
    return Counter(received.prompt for received in provider.requests if received.model == model)


def test_all_tasks_by_standard_prompting(page: Page, instance: Instance, provider: ProviderServer, judge: None) -> None:
    sign_up(page, "heron")
    register(page, provider, "Local", "right")
    page.get_by_role("button", name="Test").click()
    expect(page.locator("#check")).to_contain_text("It answered with a tool call", timeout=60_000)

    page.get_by_role("button", name="Start a run").click()
    page.locator("[name=system]").fill("Heron Prompted")
    start_run(page)
    expect(page.locator("#asking")).to_contain_text("9 of 9 answered")
    expect(page.locator("table.answers .outcome.passed")).to_have_count(9)
    # The test of the connection, and each task once.
    assert sorted(prompts_sent(provider, "right").values()) == [1] * 10

    page.get_by_role("link", name="dpo/1", exact=True).last.click()
    deadline = time.monotonic() + JUDGED_SECONDS
    # The section is missing until the judgement is planned, and then shows "not judged yet" first.
    verdict = page.locator("#judges ~ section.verdict", has_text="correct")
    while not verdict.count() and time.monotonic() < deadline:
        page.wait_for_timeout(1000)
        page.reload()
    expect(verdict).to_have_count(1)
    page.get_by_role("link", name="Heron Prompted, submission").first.click()
    page.locator("#asking summary").click()
    page.get_by_role("link", name="1 call", exact=True).first.click()
    page.locator("main a[href*='/calls/']").last.click()
    expect(page.locator("main")).to_contain_text("right")
    assert KEY not in page.content()

    page.goto("/my/")
    page.get_by_role("link", name="Heron Prompted").first.click()
    publish(page)
    page.goto("/board/lmr-mini/")
    expect(page.locator("table.board tr", has_text="Heron Prompted")).to_contain_text("9 of 9")


def test_three_tasks_by_an_agent(page: Page, instance: Instance, provider: ProviderServer) -> None:
    sign_up(page, "ibis")
    register(page, provider, "Agent", "agent-solves")
    page.get_by_role("button", name="Start a run").click()
    page.locator("[name=scaffold]").select_option("agent")
    page.get_by_text("Only some tasks").click()
    for task in ("dpo/1", "simcse/1", "eda/1"):
        page.locator(f"[name=tasks][value='{task}']").check()
    page.locator("[name=system]").fill("Ibis Agent")
    start_run(page)
    expect(page.locator("table.answers .outcome.passed")).to_have_count(3)
    sent = prompts_sent(provider, "agent-solves")
    assert set(sent.values()) == {1}
    page.locator("table.answers").get_by_role("link", name="simcse/1", exact=True).click()
    page.get_by_role("link", name="The agent’s actions, step by step").click()
    for action in ("read", "edit", "run", "finish"):
        expect(page.locator("main")).to_contain_text(action)
