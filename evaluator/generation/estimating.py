"""What a run is expected to cost, from the real prompts, before anybody is asked anything."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from benchmark_tasks.domain.queries import runnable_revisions_of
from evaluator.generation.prompt_tasks import prompt_task, why_unreadable
from evaluator.generation.prompting import NO_PAPER, PromptTooLongError, build_prompt, input_budget
from evaluator.providers.tokens import counted_with
from evaluator.providers.types import EndpointSettings
from submissions.enums import Scaffold

if TYPE_CHECKING:
    from decimal import Decimal

    from benchmark_tasks.models import TaskRevision
    from evaluator.generation.orders import RunOrder
    from submissions.models import Endpoint

AGENT_STEPS: Final = 15
"""How many steps an agent usually takes here. Each one sends the whole conversation so far again."""

STEP_TOKENS: Final = 600
"""By how much the conversation usually grows with each step."""


@dataclass(frozen=True, slots=True)
class EstimateRow:
    """One task, all trials: ``output_tokens`` is a bound where the model is asked once. ``problem`` says why it is
    not asked, ``cuts`` how many parts do not fit the model and are left out; ``without_paper``: none is available,
    and ``paper_problem`` says why if there is a file.
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
    """All tasks of a run. ``dollars`` is ``None`` where the endpoint has no prices."""

    rows: tuple[EstimateRow, ...]
    dollars: Decimal | None
    counted_with: str

    @property
    def input_tokens(self) -> int:
        """Of all tasks and trials."""
        return sum(row.input_tokens for row in self.rows)

    @property
    def output_tokens(self) -> int:
        """Of all tasks and trials."""
        return sum(row.output_tokens for row in self.rows)

    def as_data(self) -> dict[str, Any]:
        """The totals, as they are kept with the run."""
        return {
            "input_tokens": self.input_tokens,
            "output_tokens": self.output_tokens,
            "dollars": None if self.dollars is None else str(self.dollars),
            "counted_with": self.counted_with,
        }


def estimate(*, endpoint: Endpoint, order: RunOrder) -> Estimate:
    """The expected tokens and cost of ``order`` on ``endpoint``.

    Standard prompting: the prompts' tokens, and for each answer as many as it may have. An agent: a usual number of
    steps from what it is told at first, which is a guess and said so; its limits are what bounds it.
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
    """An agent reads paper and code from files, so that nothing is cut for it."""
    # Loaded on first use, as the tokenizer is: web processes would have to load the sandboxes for it.
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
