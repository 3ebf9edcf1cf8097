"""Estimates: the tokens of a prompt and of an agent, and papers that are missing or unreadable."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from benchmark_tasks.domain.content import put_file
from benchmark_tasks.models import TaskRevision
from evaluator.generation.agent import BASH, first_tokens, opening, system_text
from evaluator.generation.agent_answers import agent_limits, agent_task
from evaluator.generation.estimating import AGENT_STEPS, STEP_TOKENS, EstimateRow, estimate
from evaluator.generation.orders import RunOrder
from evaluator.generation.papers import UNREADABLE
from evaluator.providers.interface import EndpointSettings
from evaluator.providers.tokens import count
from submissions.enums import Scaffold
from tests.evaluator.generation.pdfs import pdf_without_readable_text
from tests.submissions.endpoints.factories import EndpointFactory

if TYPE_CHECKING:
    from pathlib import Path

    from benchmark_tasks.models import SuiteVersion
    from submissions.models import Endpoint

pytestmark = pytest.mark.django_db


@pytest.fixture
def endpoint() -> Endpoint:
    """Return an endpoint with room for only 80 tokens: no prompt fits."""
    made: Endpoint = EndpointFactory(context_tokens=1200, max_output_tokens=1000)
    return made


def row(endpoint: Endpoint, version: SuiteVersion, scaffold: str = Scaffold.NONE) -> EstimateRow:
    [found] = estimate(endpoint=endpoint, order=RunOrder(version=version, scaffold=scaffold, tasks=["dpo/1"])).rows
    return found


def test_an_agent_is_estimated_even_if_a_prompt_is_too_long(lmr_mini: SuiteVersion, endpoint: Endpoint) -> None:
    by_prompt = row(endpoint, lmr_mini)
    assert (by_prompt.input_tokens, by_prompt.problem.split(" take ")[0]) == (0, "Instruction and code alone")
    revision = lmr_mini.revisions.get(task__slug="dpo/1")
    limits = agent_limits(EndpointSettings.of(endpoint), revision)
    task = agent_task(revision, inputs="full", environment="numpy")
    first = first_tokens(task, limits)
    counted = count(opening(task, limits).text) + count(f"{system_text()}{BASH.description}{BASH.parameters}")
    assert first == counted + 8 + 300
    expected = first * AGENT_STEPS + STEP_TOKENS * 105
    assert row(endpoint, lmr_mini, Scaffold.AGENT) == EstimateRow("dpo/1", expected, 600 * 15, by_prompt.dollars)


@pytest.mark.parametrize("scaffold", [Scaffold.NONE, Scaffold.AGENT])
def test_a_missing_paper_is_reported(lmr_mini: SuiteVersion, scaffold: str) -> None:
    endpoint = EndpointFactory(context_tokens=128_000, max_output_tokens=1000)
    found = row(endpoint, lmr_mini, scaffold)
    assert (found.without_paper, found.cuts) == (False, 0)
    TaskRevision.objects.filter(task__slug="dpo/1").update(paper_hash="")
    found = row(endpoint, lmr_mini, scaffold)
    assert (found.without_paper, found.cuts, found.problem) == (True, 0, "")


@pytest.mark.parametrize("scaffold", [Scaffold.NONE, Scaffold.AGENT])
def test_a_paper_without_readable_text_is_reported_with_the_reason(
    lmr_mini: SuiteVersion, scaffold: str, tmp_path: Path
) -> None:
    file = tmp_path / "paper.pdf"
    file.write_bytes(pdf_without_readable_text())
    TaskRevision.objects.filter(task__slug="dpo/1").update(paper_hash=put_file(file))
    for _ in range(2):
        found = row(EndpointFactory(context_tokens=128_000), lmr_mini, scaffold)
        assert (found.without_paper, found.paper_problem) == (True, UNREADABLE.format("PDF"))
    task = agent_task(lmr_mini.revisions.get(task__slug="dpo/1"), inputs="full", environment="numpy")
    assert (task.paper_text, task.paper_pdf) == ("", None)
