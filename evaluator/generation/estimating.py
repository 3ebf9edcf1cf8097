"""Estimate a run's cost from the real prompts, before any request is sent."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from benchmark_tasks.domain.queries import runnable_revisions_of
from evaluator.generation.prompt_tasks import prompt_task, why_unreadable
from evaluator.generation.prompting import NO_PAPER, PromptTooLongError, build_prompt, input_budget
from evaluator.providers.interface import EndpointSettings
from evaluator.providers.tokens import counted_with
from submissions.enums import Scaffold

if TYPE_CHECKING:
    from decimal import Decimal

    from benchmark_tasks.models import TaskRevision
    from evaluator.generation.orders import RunOrder
    from submissions.models import Endpoint

AGENT_STEPS: Final = 15
"""How many steps an agent usually takes here. Each one resends the whole conversation so far."""

STEP_TOKENS: Final = 600
"""How many tokens each step usually adds to the conversation."""


@dataclass(frozen=True, slots=True)
class EstimateRow:
    """One task, all trials. ``output_tokens`` is an upper bound for standard prompting. ``problem`` explains why the
    task is left out, ``cuts`` counts the parts left out because they do not fit the model. ``without_paper``: no paper
    is available; ``paper_problem`` gives the reason if there is a file.
    """

    task: str
    input_tokens: int
    output_tokens: int
    dollars: Decimal | None
    cuts: int = 0
    problem: str = ""
    without_paper: bool = False
    paper_problem: str = ""


@dataclass(frozen=True, slots=True)
class Estimate:
    """Estimate for all tasks of a run. ``dollars`` is ``None`` where the endpoint has no prices."""

    rows: tuple[EstimateRow, ...]
    dollars: Decimal | None
    counted_with: str

    @property
    def input_tokens(self) -> int:
        """Sum over all tasks and trials."""
        return sum(row.input_tokens for row in self.rows)

    @property
    def output_tokens(self) -> int:
        """Sum over all tasks and trials."""
        return sum(row.output_tokens for row in self.rows)

    def as_data(self) -> dict[str, Any]:
        """Return the totals, as they are stored with the run."""
        return {
            "input_tokens": self.input_tokens,
            "output_tokens": self.output_tokens,
            "dollars": None if self.dollars is None else str(self.dollars),
            "counted_with": self.counted_with,
        }


def estimate(*, endpoint: Endpoint, order: RunOrder) -> Estimate:
    """Estimate the tokens and cost of ``order`` on ``endpoint``.

    Standard prompting counts the prompts' tokens and, for each answer, the most that it may have. For an agent, the
    estimate is a usual number of steps that start from its first request; this is a guess and labelled as one. Only
    the run's limits bound an agent's cost.
    """
    wanted = set(order.tasks)
    row_of = _agent_row if order.scaffold == Scaffold.AGENT else _prompt_row
    rows = tuple(
        row_of(endpoint, order, revision)
        for revision in runnable_revisions_of(order.version)
        if not wanted or revision.task.slug in wanted
    )
    total = endpoint.cost(sum(row.input_tokens for row in rows), sum(row.output_tokens for row in rows))
    return Estimate(rows=rows, dollars=total, counted_with=counted_with())


def _prompt_row(endpoint: Endpoint, order: RunOrder, revision: TaskRevision) -> EstimateRow:
    budget = input_budget(EndpointSettings.of(endpoint))
    try:
        prompt = build_prompt(prompt_task(revision), inputs=order.inputs, input_budget=budget)
    except PromptTooLongError as error:
        return EstimateRow(revision.task.slug, 0, 0, endpoint.cost(0, 0), problem=str(error))
    tokens, bound = prompt.tokens * order.trials, endpoint.max_output_tokens * order.trials
    without_paper = NO_PAPER in prompt.cuts
    return EstimateRow(
        revision.task.slug,
        tokens,
        bound,
        endpoint.cost(tokens, bound),
        cuts=len(prompt.cuts) - without_paper,
        without_paper=without_paper,
        paper_problem=why_unreadable(revision) if without_paper else "",
    )


def _agent_row(endpoint: Endpoint, order: RunOrder, revision: TaskRevision) -> EstimateRow:
    """Estimate a task for an agent. It reads paper and code from files, so nothing is cut."""
    # Imported here, like the tokenizer: at the top it would load the sandboxes into web processes.
    from evaluator.generation.agent import first_tokens
    from evaluator.generation.agent_answers import agent_limits, agent_task

    task = agent_task(revision, inputs=order.inputs, environment=revision.environment)
    first = first_tokens(task, agent_limits(EndpointSettings.of(endpoint), revision))
    growth = STEP_TOKENS * AGENT_STEPS * (AGENT_STEPS - 1) // 2
    tokens = (first * AGENT_STEPS + growth) * order.trials
    output = min(endpoint.max_output_tokens, STEP_TOKENS) * AGENT_STEPS * order.trials
    return EstimateRow(
        revision.task.slug,
        tokens,
        output,
        endpoint.cost(tokens, output),
        without_paper=not (task.paper_text or task.paper_pdf),
        paper_problem=why_unreadable(revision),
    )
