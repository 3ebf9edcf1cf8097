"""Which model id behaves in which way. ``MODELS`` says so in words; docs/development.md shows the same table."""

from __future__ import annotations

import re
import textwrap
from collections import Counter
from dataclasses import replace
from typing import Protocol

from tests.provider_server.agent import next_turn
from tests.provider_server.judge import ask_judge, judged
from tests.provider_server.knowledge import Knowledge, Known
from tests.provider_server.types import Answer, Failure, Outcome, Question, Wire
from tests.provider_server.wire import MISCHIEF

MODELS = {
    "right": "answers every lmr-mini task correctly, in a fence between explanations; with tools, as agent-solves",
    "wrong": "answers with wrong code",
    "mixed": "right for odd tasks, wrong for even ones",
    "refuses": "declines to answer",
    "empty": "answers nothing",
    "prose": "answers without code",
    "truncates": "runs into the token limit",
    "filtered": "is stopped by a content filter",
    "busy-N": "429 with Retry-After: 1 for the first N requests, then right",
    "quota": "no credit left",
    "down-N": "500 for the first N requests, then right",
    "wrong-key": "401 that echoes the key",
    "unknown-model": "404",
    "too-long": "the prompt does not fit",
    "rejects": "400",
    "slow-S": "right after S seconds; NAME+slow-S slows any other one",
    "breaks-once": "closes the connection at the first request of each prompt, then right",
    "judge-honest": "compares code only; judge-gullible believes comments, strings and names",
    "judge-HOW": "lenient, harsh, split, abstains, invalid, truncated, empty",
    "agent-HOW": "solves, wrong, wanders",
    **MISCHIEF,
}
SLOWED = re.compile(r"(?P<model>.*?)\+?slow-(?P<seconds>[0-9.]+)")


class Memory(Protocol):
    """What a behaviour may know of the past."""

    knowledge: Knowledge
    counts: Counter[str]


def behave(question: Question, key: str, memory: Memory) -> Outcome:
    """The answer of the model that the question names. ``memory.counts`` is changed by models that change."""
    slowed = SLOWED.fullmatch(question.model)
    if slowed:
        outcome = behave(replace(question, model=slowed["model"] or "right"), key, memory)
        return replace(outcome, seconds=float(slowed["seconds"])) if isinstance(outcome, Answer) else outcome
    model = question.model
    if model in MISCHIEF:
        return Wire(model)
    failure = _failure(question, key, memory)
    if failure is not None:
        return failure
    words = _words(model)
    if words is not None:
        return words
    if model.startswith("judge-") or (question.schema and "verdict" in question.schema.get("properties", {})):
        times = _count(memory, f"judged {model} {judged(question.text).get('candidate')}")
        return ask_judge(model.removeprefix("judge-"), question, memory.knowledge, times)
    task = memory.knowledge.task_of(question.text)
    if question.tools:
        return next_turn(_agent(model, task), task, question.steps)
    return Answer(solution(model, task))


def _agent(model: str, task: Known | None) -> str:
    """How a model behaves when it is given tools."""
    if model == "mixed":
        return "solves" if task is None or task.is_odd else "wrong"
    return model.removeprefix("agent-")


def _count(memory: Memory, what: str) -> int:
    """How often this happened before."""
    memory.counts[what] += 1
    return memory.counts[what] - 1


def _failure(question: Question, key: str, memory: Memory) -> Failure | Wire | None:
    model = question.model
    name, _, number = model.rpartition("-")
    fixed = {
        "quota": Failure("quota", "You exceeded your current quota."),
        "wrong-key": Failure("key", f"Incorrect API key provided: {key}.", {"WWW-Authenticate": f"Bearer {key}"}),
        "unknown-model": Failure("model", f"The model '{model}' does not exist or you do not have access to it."),
        "too-long": Failure("too_long", "This model's maximum context length is 128000 tokens.", param="messages"),
        "rejects": Failure("invalid", "Invalid request."),
    }
    if model in fixed:
        return fixed[model]
    if name in {"busy", "down"} and number.isdigit() and _count(memory, model) < int(number):
        wait = {"Retry-After": "1"} if name == "busy" else {}
        return Failure(name, "Rate limit reached." if wait else "The server had an error.", wait)
    if model == "breaks-once" and _count(memory, f"{model} {question.digest}") == 0:
        return Wire("breaks")
    return None


def _words(model: str) -> Answer | None:
    return {
        "refuses": Answer("I cannot help with that.", finish="refusal"),
        "empty": Answer(""),
        "prose": Answer("First one would compare the pairs, then take the logarithm. The paper has the details."),
        "truncates": Answer("```python\ndef half_of_an_answer(", finish="length"),
        "filtered": Answer("", finish="filter"),
    }.get(model)


def solution(model: str, task: Known | None) -> str:
    """An answer to a task in the model's manner of speaking."""
    if task is None:
        return "Ready. I stand in for a model, and know the tasks of lmr-mini only."
    wrong = model == "wrong" or (model == "mixed" and not task.is_odd)
    code = textwrap.dedent(task.wrong if wrong else task.golden)
    return (
        f"I follow the method section of the paper for `{task.goal_function}`.\n\n```python\n{code}```\n\n"
        "The names are those of the surrounding file, and nothing else has to change.\n"
    )
