"""Build the prompts sent to models: versioned files, filled with a task's material and cut to a token budget."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from functools import cache
from pathlib import Path
from string import Template
from typing import TYPE_CHECKING, Final

from evaluator.generation.paper_sections import LATER_PAGES, Section, cutting_order
from evaluator.generation.papers import Paper
from evaluator.providers.interface import Message, ModelRequest
from evaluator.providers.tokens import count

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from evaluator.providers.interface import EndpointSettings

VERSION: Final = "2026-11-5"
FULL: Final = "full"
PAPER_ONLY: Final = "paper_only"
PAPER_GOAL_FILE: Final = "paper_goal_file"

_FOLDER = Path(__file__).parent / "prompts"
# Tokens that providers add around each of the two messages.
_ENVELOPE: Final = 16
# Factor by which the expected size after a cut may be off; it ignores the text around the cut part.
_NEAR: Final = 1.25
_WHY: Final = "The prompt would not fit the model's context."
_BESIDE: Final = "may stand in the same block above it"
_ALONE: Final = "belong inside its body, since nothing beside it may change in this file"


class PromptTooLongError(Exception):
    """The parts that a prompt must have do not fit the budget. The message gives their size in tokens."""


@dataclass(frozen=True, slots=True)
class PromptTask:
    """Material of a prompt. Paths are relative to the repository; texts are the masked ones.

    ``class_name`` is empty for a function, and the goal itself where a class is masked. ``masked_source`` is the masked
    definition, ``retrieval_context`` further files (path, text) that the task names. With ``alone`` only the definition
    may change in its file, which is the unit test's.
    """

    slug: str
    instruction: str
    goal_file: str
    goal_function: str
    class_name: str
    goal_file_text: str
    masked_source: str
    retrieval_context: tuple[tuple[str, str], ...] = ()
    paper: Paper | None = None
    alone: bool = False


@dataclass(frozen=True, slots=True)
class Cut:
    """A part that was left out of a prompt, its size in tokens, and the reason."""

    part: str
    tokens: int
    why: str

    def as_data(self) -> dict[str, str | int]:
        """Return plain data."""
        return asdict(self)


NO_PAPER: Final = Cut("the paper", 0, "It is not available here.")


@dataclass(frozen=True, slots=True)
class Prompt:
    """A request, the parts left out of it, and its estimated tokens."""

    request: ModelRequest
    cuts: tuple[Cut, ...]
    tokens: int


@dataclass(frozen=True, slots=True)
class _Material:
    """A task's material that is still in the prompt, and the cuts so far."""

    sections: tuple[Section, ...]
    context: tuple[tuple[str, str], ...]
    cuts: tuple[Cut, ...] = ()


@cache
def prompt_text(name: str) -> str:
    """Read the prompt file ``name`` (``system.txt``), without its last line end. Raises OSError."""
    return (_FOLDER / name).read_text(encoding="utf-8").rstrip("\n")


def filled(name: str, fields: Mapping[str, str]) -> str:
    """Fill in ``$fields`` of the prompt file ``name``. Raises OSError, and KeyError for a missing field."""
    return Template(prompt_text(name)).substitute(fields)


@cache
def prompt_version() -> str:
    """Return the prompts' version with the beginning of their hash: ``2026-11-1.0a1b2c3d``."""
    digest = hashlib.sha256()
    for file in sorted(_FOLDER.glob("*.txt")):
        digest.update(f"{file.name}\0{file.read_text(encoding='utf-8')}\0".encode())
    return f"{VERSION}.{digest.hexdigest()[:8]}"


def delimited(name: str, text: str) -> str:
    """Put ``text`` between lines that cannot occur in it. They hold part of its hash, so equal texts look the same."""
    mark = hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:12]
    return f"[BEGIN {name} {mark}]\n{text.rstrip()}\n[END {name} {mark}]"


def input_budget(settings_: EndpointSettings) -> int:
    """Return a prompt's token limit: the context without the answer, less 5 %, since models count differently."""
    return max(0, int(settings_.context_tokens * 0.95) - settings_.max_output_tokens)


def build_prompt(task: PromptTask, *, inputs: str, input_budget: int) -> Prompt:
    """Build the prompt for ``task`` in at most ``input_budget`` tokens (:func:`evaluator.providers.tokens.count`).

    ``inputs`` follows the paper's Table 3: ``full`` has the paper as JSON, the goal's whole file and the other files
    that the task names; ``paper_goal_file`` leaves those out; ``paper_only`` has no code but the definition's
    first lines, since an answer must fit its callers. What does not fit is left out in this order: the references,
    appendices, sections from the back, files, then what describes the method, and the abstract. Each cut is stated in
    the prompt.

    Raises PromptTooLongError, and ValueError for other ``inputs``.
    """
    if inputs not in (FULL, PAPER_ONLY, PAPER_GOAL_FILE):
        raise ValueError(f"unknown inputs {inputs!r}")
    if task.paper is None:
        missing: tuple[Cut, ...] = (NO_PAPER,)
    else:
        missing = (Cut(LATER_PAGES, 0, task.paper.cut),) if task.paper.cut else ()
    material = _Material(
        sections=task.paper.sections if task.paper else (),
        context=task.retrieval_context if inputs == FULL else (),
        cuts=missing,
    )
    system = prompt_text("system.txt")
    prompt = _prompt(task, inputs, material, system)
    steps = _cutting_order(material)
    # Counting a long prompt takes time: it is counted again only when the cuts may be enough.
    expected = prompt.tokens
    while prompt.tokens > input_budget:
        step = next(steps, None)
        if step is None:
            raise PromptTooLongError(
                f"Instruction and code alone take {prompt.tokens:,} tokens; the model has room for {input_budget:,}."
            )
        material, saved = _without(material, step)
        expected -= saved
        if expected <= _NEAR * input_budget or not (material.sections or material.context):
            prompt = _prompt(task, inputs, material, system)
            expected = prompt.tokens
    return prompt


def _prompt(task: PromptTask, inputs: str, material: _Material, system: str) -> Prompt:
    is_class = task.class_name == task.goal_function
    is_method = bool(task.class_name) and not is_class
    form = "Write the method alone, or inside its class with nothing else in it." if is_method else ""
    text = filled(
        "answer.txt",
        {
            "material": "\n\n".join(_parts(task, inputs, material)),
            "instruction": task.instruction.strip(),
            "missing": _missing(material.cuts),
            "kind": "the class" if is_class else "the method" if is_method else "the function",
            "goal": f"{task.class_name}.{task.goal_function}" if is_method else task.goal_function,
            "place": f" of `{task.goal_file}`",
            "signature": delimited("SIGNATURE", signature_lines(task.masked_source)),
            "form": form,
            "beside": _ALONE if task.alone else _BESIDE,
        },
    )
    request = ModelRequest(system=system, messages=(Message(role="user", text=text),))
    return Prompt(request=request, cuts=material.cuts, tokens=count(system) + count(text) + 2 * _ENVELOPE)


def _parts(task: PromptTask, inputs: str, material: _Material) -> Iterator[str]:
    if task.paper is None:
        yield "The paper is not available."
    else:
        shown = replace(task.paper, sections=material.sections)
        yield "The paper, as its PDF reads (JSON):\n\n" + delimited("PAPER", _paper_json(shown))
    if inputs != PAPER_ONLY:
        yield f"The file `{task.goal_file}`, in which the definition is masked:\n\n" + delimited(
            "FILE", task.goal_file_text
        )
    for path, text in material.context:
        yield f"The file `{path}` of the same repository, for reference:\n\n" + delimited("FILE", text)


def _paper_json(paper: Paper) -> str:
    data = paper.as_data()
    return json.dumps({key: data[key] for key in ("title", "sections")}, ensure_ascii=False, indent=1)


def _missing(cuts: Sequence[Cut]) -> str:
    # Without a paper, the prompt states that in the paper's place.
    listed = "\n".join(f"- {cut.part}" for cut in cuts if cut != NO_PAPER)
    if not listed:
        return ""
    return f"Left out of the material for its length:\n{listed}\n"


def signature_lines(masked_source: str) -> str:
    """Return the definition's first lines: decorators, and the header up to its colon."""
    lines = masked_source.strip("\n").split("\n")
    depth = 0
    has_begun = False
    for number, line in enumerate(lines):
        code = line.split("#")[0]
        has_begun = has_begun or code.lstrip().startswith(("def ", "class ", "async "))
        depth += sum(code.count(mark) for mark in "([{") - sum(code.count(mark) for mark in ")]}")
        if has_begun and depth <= 0 and code.rstrip().endswith(":"):
            return "\n".join(lines[: number + 1])
    return lines[0]


def _cutting_order(material: _Material) -> Iterator[Section | tuple[str, str]]:
    """Yield sections and files, the most dispensable first."""
    first, last = cutting_order(material.sections)
    yield from first
    yield from reversed(material.context)
    yield from last


def _without(material: _Material, step: Section | tuple[str, str]) -> tuple[_Material, int]:
    """Return the material without one part, and roughly how many tokens that saves."""
    if isinstance(step, Section):
        size = count(json.dumps(asdict(step), ensure_ascii=False, indent=1))
        cut = Cut(part=f"section of the paper: {step.name}", tokens=size, why=_WHY)
        kept = tuple(section for section in material.sections if section is not step)
        return replace(material, sections=kept, cuts=(*material.cuts, cut)), size
    path, text = step
    size = count(text)
    cut = Cut(part=f"file: {path}", tokens=size, why=_WHY)
    files = tuple(file for file in material.context if file is not step)
    return replace(material, context=files, cuts=(*material.cuts, cut)), size
