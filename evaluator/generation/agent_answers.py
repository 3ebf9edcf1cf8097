"""An agent's answer: the model works in a box, step by step, and every step is stored before the next is asked for."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from django.conf import settings

from benchmark_tasks.domain.content import file_path, tree_path
from benchmark_tasks.domain.queries import goal_of, revisions_of
from evaluator.enums import AnswerTaken
from evaluator.generation.agent import run_agent, trajectory_of
from evaluator.generation.agent_answer import as_answer
from evaluator.generation.agent_types import AgentLimits, AgentTask, StoredStep
from evaluator.generation.answers import Answer, dollars_of, order_for
from evaluator.generation.prompt_tasks import paper_of
from evaluator.models import AnswerRequest
from evaluator.providers.calling import CallRejectedError, call
from evaluator.queue.claims import job_label
from evaluator.queue.storable import storable
from evaluator.sandbox.configuration import configured_sandbox, environment_list
from evaluator.testing.graders import Grader
from evaluator.testing.scratch import scratch_folder
from submissions.answers.limited import apply_limited
from submissions.answers.types import AnswerError, Problem
from submissions.domain.uploads import files_of

if TYPE_CHECKING:
    import uuid
    from collections.abc import Callable, Iterable

    from benchmark_tasks.domain.goals import Goal
    from benchmark_tasks.models import TaskRevision
    from evaluator.generation.agent_types import AgentResult, Ask
    from evaluator.generation.papers import Paper
    from evaluator.providers.types import EndpointSettings, ModelClient, ModelReply, ModelRequest
    from submissions.trajectories.steps import Trajectory


def answer_by_agent(
    question: AnswerRequest,
    token: uuid.UUID,
    client: ModelClient,
    *,
    within: Callable[[], None],
    stop: Callable[[], bool],
) -> Answer:
    """Let the model work on the task, from where an earlier try was broken off.

    Raises what :func:`evaluator.providers.calling.call` raises, ``RunCancelledError`` and ``SandboxError``.
    """
    revision = question.implementation.revision

    def ask(request: ModelRequest, *, step: int) -> ModelReply:
        within()
        return call(client, order_for(question, token, request, step=step), stop=stop)[1]

    def store(step: StoredStep) -> None:
        question.agent_steps = [*question.agent_steps, storable(step.as_data())]
        AnswerRequest.objects.filter(pk=question.pk, token=token).update(agent_steps=question.agent_steps)

    try:
        result = _work(question, client, ask, store, stop)
    except CallRejectedError as error:
        if not error.too_long:
            raise
        # The conversation outgrew the model. What its box held is gone; what it did is kept in the steps.
        note = f"The conversation grew longer than the model reads. {error}"
        wrong = {"message": note, "file": "the agent's repository", "line": None}
        return Answer(AnswerTaken.LIMIT, note, error=wrong, trajectory=_so_far(question, note))
    answer = _read(result, question, revision)
    answer.trajectory = _with_costs(result.trajectory, question)
    return answer


def _work(
    question: AnswerRequest,
    client: ModelClient,
    ask: Ask,
    store: Callable[[StoredStep], None],
    stop: Callable[[], bool],
) -> AgentResult:
    return run_agent(
        ask=ask,
        sandbox=configured_sandbox(),
        task=_task(question),
        limits=_limits(client.settings, question.implementation.revision),
        label=f"{job_label()}-ask-{question.pk}",
        cancelled=stop,
        replay=_done(question),
        stored=store,
        scratch=scratch_folder(),
    )


def _done(question: AnswerRequest) -> list[StoredStep]:
    return [StoredStep.from_data(data) for data in question.agent_steps]


def _so_far(question: AnswerRequest, ending: str) -> Trajectory:
    return _with_costs(trajectory_of(_done(question), ending), question)


def _task(question: AnswerRequest) -> AgentTask:
    revision = question.implementation.revision
    paper = paper_of(revision)
    return AgentTask(
        slug=revision.task.slug,
        instruction=revision.instruction,
        goal_file=revision.goal_file,
        goal_function=revision.goal_function,
        class_name=revision.class_name,
        repository=tree_path(revision.repository_hash),
        paper_pdf=file_path(revision.paper_hash) if revision.paper_hash else None,
        paper_text=_text(paper) if paper else "",
        environment=Grader(revision, question.implementation.submission.suite_version.seed_epoch).environment,
        inputs=question.generation.inputs,
        unit_test_file=revision.unit_test_file,
    )


def _text(paper: Paper) -> str:
    """The paper as plain text, beside the PDF in the agent's box."""
    sections = [f"{section.number} {section.heading}".strip() + f"\n\n{section.text}" for section in paper.sections]
    return "\n\n".join([paper.title, *sections])


def _limits(given: EndpointSettings, revision: TaskRevision) -> AgentLimits:
    usual = AgentLimits(
        steps=settings.ENVIRONMENT.agent_steps,
        context_tokens=given.context_tokens,
        max_output_tokens=given.max_output_tokens,
    )
    known = {entry.name: entry for entry in environment_list().entries}
    entry = known.get(revision.environment)
    # Frameworks such as PyTorch need more than the usual box has.
    return replace(usual, memory_bytes=entry.memory_mb * 2**20) if entry and entry.memory_mb else usual


def _read(result: AgentResult, request: AnswerRequest, revision: TaskRevision) -> Answer:
    task = files_of(revision)
    raw, remarks = as_answer(result, task=task, others=_other_goals(revision, request))
    aside = [_remark(each) for each in remarks]
    if raw is None:
        taken = AnswerTaken.EMPTY if result.finished else AnswerTaken.LIMIT
        note = f"The goal is as it was masked. {result.ending}".strip()
        wrong = {"message": note, "file": "the agent's repository", "line": None}
        return Answer(taken, note, error=wrong, aside=aside)
    note = f"Taken from the agent's repository. {result.ending}".strip()
    answer = Answer(AnswerTaken.CODE, note, text=raw.content.decode("utf-8", errors="replace"), aside=aside)
    try:
        answer.applied = apply_limited(raw, task)
    except AnswerError as error:
        answer.error = {"message": error.message, "file": raw.file, "line": error.line}
    return answer


def _other_goals(revision: TaskRevision, request: AnswerRequest) -> Iterable[Goal]:
    """Goals of the same paper that stay as they are masked."""
    of_version = revisions_of(request.implementation.submission.suite_version)
    return [goal_of(each) for each in of_version.filter(task__paper=revision.task.paper).exclude(pk=revision.pk)]


def _remark(problem: Problem) -> dict[str, str]:
    return {"message": problem.message, "file": problem.file, "diff": ""}


def _with_costs(trajectory: Trajectory, request: AnswerRequest) -> Trajectory:
    """The same with what its calls cost, as far as that is known."""
    dollars = dollars_of(request)
    return trajectory if dollars is None else replace(trajectory, dollars=dollars)
