"""What a run is expected to cost, from the real prompts, before anybody is asked anything."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from benchmark_tasks.domain.queries import runnable_revisions_of
from evaluator.generation.prompt_tasks import prompt_task
from evaluator.generation.prompting import PromptTooLongError, build_prompt, input_budget
from evaluator.generation.tokens import counted_with
from evaluator.providers.types import EndpointSettings
from submissions.enums import Scaffold

if TYPE_CHECKING:
    from decimal import Decimal

    from evaluator.generation.generating import RunOrder
    from submissions.models import Endpoint

AGENT_STEPS: Final = 15
"""How many steps an agent usually takes here. Each one sends the whole conversation so far again."""

STEP_TOKENS: Final = 600
"""By how much the conversation usually grows with each step."""


@dataclass(frozen=True, slots=True)
class EstimateRow:
    """One task, all trials: ``output_tokens`` is a bound where the model is asked once. ``problem`` says why it is
    not asked, ``cuts`` how many parts do not fit the model and are left out.
    """

    task: str
    input_tokens: int
    output_tokens: int
    dollars: Decimal | None
    cuts: int = 0
    problem: str = ""


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
    steps, which is a guess and said so; its limits are what bounds it.
    """
    wanted = set(order.tasks)
    budget = input_budget(EndpointSettings.of(endpoint))
    rows = []
    for revision in runnable_revisions_of(order.version):
        if wanted and revision.task.slug not in wanted:
            continue
        try:
            prompt = build_prompt(prompt_task(revision), inputs=order.inputs, input_budget=budget)
        except PromptTooLongError as error:
            rows.append(EstimateRow(revision.task.slug, 0, 0, endpoint.cost(0, 0), problem=str(error)))
            continue
        tokens, bound = _tokens(prompt.tokens, order.scaffold, endpoint.max_output_tokens)
        tokens, bound = tokens * order.trials, bound * order.trials
        rows.append(EstimateRow(revision.task.slug, tokens, bound, endpoint.cost(tokens, bound), cuts=len(prompt.cuts)))
    total = endpoint.cost(sum(row.input_tokens for row in rows), sum(row.output_tokens for row in rows))
    return Estimate(rows=tuple(rows), dollars=total, counted_with=counted_with())


def _tokens(prompt: int, scaffold: str, answer: int) -> tuple[int, int]:
    if scaffold == Scaffold.NONE:
        return prompt, answer
    growth = STEP_TOKENS * AGENT_STEPS * (AGENT_STEPS - 1) // 2
    return prompt * AGENT_STEPS + growth, min(answer, STEP_TOKENS) * AGENT_STEPS
