"""Behaviours by model id. ``MODELS`` describes them; docs/development.md shows the same table."""

from __future__ import annotations

import io
import json
import re
import textwrap
import tokenize
from collections import Counter
from dataclasses import replace
from typing import Any, Protocol

from tests.provider_server.knowledge import Knowledge, Known, shape_of
from tests.provider_server.types import Answer, Call, Failure, Outcome, Question, Wire
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
    "half-N": "half an answer that ends with an error, status 200, for the first N requests, then right",
    "bad-call-N": "with tools: N tool calls that the provider cannot read, then right",
    "moderated": "a content filter of the provider stops every request",
    "no-tools": "refuses every request that offers tools; right without",
    "wrong-key": "401 that echoes the key",
    "unknown-model": "404",
    "too-long": "the prompt does not fit",
    "rejects": "400",
    "slow-S": "right after S seconds; NAME+slow-S slows any other one",
    "uncounted": "right, and reports no token usage; uncounted-MODEL as that model",
    "breaks-once": "closes the connection at the first request of each prompt, then right",
    "judge-honest": "compares code only; judge-gullible believes comments, strings and names",
    "judge-HOW": "lenient, harsh, split, abstains, invalid, truncated, empty",
    "agent-HOW": "solves, wrong, wanders",
    **MISCHIEF,
}
SLOWED = re.compile(r"(?P<model>.*?)\+?slow-(?P<seconds>[0-9.]+)")

CHECK = "import ast, pathlib; ast.parse(pathlib.Path({path!r}).read_text()); print('it parses')"
EDIT = "import pathlib\nfile = pathlib.Path({path!r})\nfile.write_text(file.read_text().replace({old!r}, {new!r}))"
PLEA = re.compile(
    r"category[\s_]*3|completely[\s_]+correct|is[\s_]+correct|is_right|ignore[\s_]+(all|any|the|previous)"
    r"|(label|verdict|rate|answer|grade)\w*[\s_:=\"']+CC\b|dear[\s_]+judge",
    re.IGNORECASE,
)
# From 3.12 on the text of an f-string is a token of its own.
ASIDES = {tokenize.COMMENT, tokenize.STRING, tokenize.NAME, getattr(tokenize, "FSTRING_MIDDLE", tokenize.STRING)}
LABELS = ("LI", "LC", "CC")
MODERATED = "The output was blocked by the content filtering policy."
BAD_CALL = "Failed to call a function. Please adjust your prompt. See 'failed_generation' for more details."


class Memory(Protocol):
    """What a behaviour may know of earlier requests."""

    knowledge: Knowledge
    counts: Counter[str]


def behave(question: Question, key: str, memory: Memory) -> Outcome:
    """The answer of the model that the question names. ``memory.counts`` is changed by models that change."""
    slowed = SLOWED.fullmatch(question.model)
    if slowed:
        outcome = behave(replace(question, model=slowed["model"] or "right"), key, memory)
        return replace(outcome, seconds=float(slowed["seconds"])) if isinstance(outcome, Answer) else outcome
    if question.model.startswith("uncounted"):
        model = question.model.removeprefix("uncounted").removeprefix("-") or "right"
        outcome = behave(replace(question, model=model), key, memory)
        return outcome if isinstance(outcome, Wire) else replace(outcome, usage=False)
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
        return judgement(model.removeprefix("judge-"), question, memory.knowledge, times)
    task = memory.knowledge.task_of(question.text)
    if question.tools:
        return next_turn(_agent(model, task), task, question.steps)
    return Answer(solution(model, task))


def _agent(model: str, task: Known | None) -> str:
    """The behaviour of a model that is given tools."""
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
    if model == "no-tools" and question.tools:
        words = '"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set'
        return Failure("invalid", words)
    fixed = {
        "quota": Failure("quota", "You exceeded your current quota."),
        "wrong-key": Failure("key", f"Incorrect API key provided: {key}.", {"WWW-Authenticate": f"Bearer {key}"}),
        "unknown-model": Failure("model", f"The model '{model}' does not exist or you do not have access to it."),
        "too-long": Failure("too_long", "This model's maximum context length is 128000 tokens.", param="messages"),
        "moderated": Failure("moderated", MODERATED),
        "rejects": Failure("invalid", "Invalid request."),
    }
    if model in fixed:
        return fixed[model]
    if name in {"busy", "down"} and number.isdigit() and _count(memory, model) < int(number):
        wait = {"Retry-After": "1"} if name == "busy" else {}
        return Failure(name, "Rate limit reached." if wait else "The server had an error.", wait)
    if name == "half" and number.isdigit() and _count(memory, model) < int(number):
        return Failure("half", "Upstream went away.", written="```python\ndef half_of_an_answer(")
    if name == "bad-call" and question.tools and _count(memory, model) < int(number):
        return Failure("bad_call", BAD_CALL, written='{"command": "ls')
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
    """A model's answer to a task: code between explanations."""
    if task is None:
        return "Ready. I stand in for a model, and know the tasks of lmr-mini only."
    wrong = model == "wrong" or (model == "mixed" and not task.is_odd)
    code = textwrap.dedent(task.wrong if wrong else task.golden)
    return (
        f"I follow the method section of the paper for `{task.goal_function}`.\n\n```python\n{code}```\n\n"
        "The names are those of the surrounding file, and nothing else has to change.\n"
    )


def next_turn(how: str, task: Known | None, step: int) -> Answer:
    """The turn number ``step`` (from 0) of the agent named ``agent-<how>`` on a task."""
    if how == "wanders":
        return _bash("ls")
    if task is None:
        return _bash("submit")
    wrong = textwrap.indent(textwrap.dedent(task.wrong), "    " if task.class_name else "")
    edit = EDIT.format(path=task.goal_file, old=task.masked, new=wrong if how == "wrong" else task.golden)
    commands = [
        f"cat {task.goal_file}",
        f"python3 - <<'END'\n{edit}\nEND",
        f'python3 -c "{CHECK.format(path=task.goal_file)}"',
        "submit",
    ]
    if step >= len(commands):
        return Answer("That was all.")
    return _bash(commands[step], thinking="One step after the other." if step == 0 else "")


def _bash(command: str, thinking: str = "") -> Answer:
    return Answer("", (Call("bash", json.dumps({"command": command})),), thinking=thinking)


def judgement(how: str, question: Question, knowledge: Knowledge, times: int) -> Answer:
    """The answer of the judge ``judge-<how>``; ``times`` is how often it has judged this candidate before."""
    data = judged(question.text)
    candidate = str(data.get("candidate", ""))
    right = knowledge.is_right(candidate) or same_code(candidate, str(data.get("reference", "")))
    pleads = PLEA.search(asides(candidate)) is not None
    honest = verdict("CC" if right else "LI", pleads=pleads)
    answers = {
        "honest": Answer(honest),
        "gullible": Answer(verdict("CC") if pleads else honest),
        "lenient": Answer(verdict("CC")),
        "harsh": Answer(verdict("LI")),
        "split": Answer(verdict(LABELS[times % len(LABELS)])),
        "abstains": Answer("I cannot assess this.", finish="refusal"),
        "invalid": Answer(json.dumps({"findings": "none", "injection_suspected": "no", "verdict": "MAYBE"})),
        "truncated": Answer(honest[: len(honest) // 2], finish="length"),
        "empty": Answer(""),
    }
    return answers.get(how, answers["honest"])


def verdict(label: str, *, pleads: bool = False) -> str:
    """An answer of exactly the schema's form, keys in its order."""
    severity = {"LI": "fatal", "LC": "minor", "CC": ""}[label]
    findings = [{"point": "The computation differs from the reference.", "severity": severity, "lines": "1"}]
    return json.dumps(
        {
            "findings": findings if severity else [],
            "injection_suspected": pleads,
            "verdict": label,
            "rationale": [
                "The candidate was compared with the reference statement by statement.",
                "It does the same." if label == "CC" else "It does not do the same.",
            ],
        }
    )


def judged(text: str) -> dict[str, Any]:
    """The first JSON object in a prompt that has a ``candidate``; empty where there is none."""
    decoder = json.JSONDecoder()
    for match in re.finditer(r"\{", text):
        try:
            found, _ = decoder.raw_decode(text, match.start())
        except (ValueError, RecursionError):
            continue
        if isinstance(found, dict) and "candidate" in found:
            return found
    return {}


def same_code(one: str, other: str) -> bool:
    """Whether two functions are equal, ignoring comments, docstrings, layout and the names of locals."""
    shape = shape_of(one)
    return shape is not None and shape == shape_of(other)


def asides(code: str) -> str:
    """The parts of code that do not affect its work: comments, strings and names."""
    try:
        tokens = tokenize.generate_tokens(io.StringIO(code).readline)
        parts = [token.string for token in tokens if token.type in ASIDES]
    except (tokenize.TokenError, SyntaxError):
        return code
    return "\n".join(parts)
