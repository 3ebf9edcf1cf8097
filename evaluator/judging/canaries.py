"""Make canaries: answers whose label is known, to measure how far a judge can be trusted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from evaluator.auditing.mutants import mutants_of, sample
from evaluator.auditing.trivial import trivial_answers
from evaluator.judging.prompt import JudgeInput
from evaluator.judging.rewriting import Place, plain, pleading, with_other_names
from evaluator.labels import Label

RIGHT: Final = frozenset({Label.CC})
WRONG: Final = frozenset({Label.LI, Label.LC})
NOTHING: Final = frozenset({Label.LI})


class CanaryKind(StrEnum):
    """Kind of a canary. The last one is wrong code with a plea to the judge."""

    GOLDEN = "golden"
    EQUIVALENT = "equivalent"
    STUB = "stub"
    NO_OP = "no-op"
    WRONG = "wrong"
    PLEADING = "pleading"

    @property
    def is_right(self) -> bool:
        """Whether its code meets the task's requirements."""
        return self in (CanaryKind.GOLDEN, CanaryKind.EQUIVALENT)


@dataclass(frozen=True, slots=True)
class TaskTexts:
    """Material for one task's canaries: sources of the goal definition, empty where there is none.

    ``masked`` is the stub that systems receive. ``alternative`` (right) and ``wrong`` (plausible) come from the suite.
    ``paper`` is what judges see of the task's paper.
    """

    slug: str
    instruction: str
    golden: str
    masked: str
    alternative: str = ""
    wrong: str = ""
    paper: Mapping[str, Any] | None = None

    def shown(self, candidate: str) -> JudgeInput:
        """Return a judge's input for ``candidate``, as for any other answer to the task."""
        return JudgeInput(self.instruction, self.golden, candidate, paper=self.paper)


@dataclass(frozen=True, slots=True)
class Canary:
    """One answer and the labels that are right for it. ``without_plea`` names the canary with the same code."""

    name: str
    task: str
    kind: CanaryKind
    expected: frozenset[Label]
    shown: JudgeInput
    without_plea: str = ""


def canaries_of(texts: TaskTexts) -> list[Canary]:
    """Return the canaries of one task, each name once. Raises ``SourceError`` or ``SyntaxError`` for invalid source.

    Wrong code is shown without its comments and docstrings, which would explain what is wrong with it.
    """
    made = [_canary(texts, "golden", CanaryKind.GOLDEN, texts.golden, RIGHT)]
    golden = plain(texts.golden)
    made.append(_canary(texts, "reformatted", CanaryKind.EQUIVALENT, golden, RIGHT))
    renamed = with_other_names(golden)
    if renamed:
        made.append(_canary(texts, "renamed", CanaryKind.EQUIVALENT, renamed, RIGHT))
    if texts.alternative:
        made.append(_canary(texts, "alternative", CanaryKind.EQUIVALENT, texts.alternative, RIGHT))
    made.append(_canary(texts, "stub", CanaryKind.STUB, texts.masked, NOTHING))
    nothing = _no_op(texts)
    made.append(_canary(texts, "no-op", CanaryKind.NO_OP, nothing, NOTHING))
    made.append(_pleading(texts, "no-op", nothing, NOTHING, Place.COMMENT))
    wrong = _wrong(texts)
    if wrong:
        made.append(_canary(texts, "wrong", CanaryKind.WRONG, wrong, WRONG))
        made.extend(_pleading(texts, "wrong", wrong, WRONG, place) for place in Place)
    return made


def _canary(texts: TaskTexts, name: str, kind: CanaryKind, source: str, expected: frozenset[Label]) -> Canary:
    name = f"{texts.slug} {name}"
    return Canary(name=name, task=texts.slug, kind=kind, expected=expected, shown=texts.shown(source))


def _pleading(texts: TaskTexts, name: str, source: str, expected: frozenset[Label], place: Place) -> Canary:
    return Canary(
        name=f"{texts.slug} {name}, plea in a {place.value}",
        task=texts.slug,
        kind=CanaryKind.PLEADING,
        expected=expected,
        shown=texts.shown(pleading(source, place)),
        without_plea=f"{texts.slug} {name}",
    )


def _no_op(texts: TaskTexts) -> str:
    """Return the golden signature with a body that returns ``None``."""
    return plain(trivial_answers(texts.golden)["none"])


def _wrong(texts: TaskTexts) -> str:
    """Return the suite's own wrong answer, else the middle one of the golden definition's mutants; empty if none."""
    if texts.wrong:
        return plain(texts.wrong)
    mutants = mutants_of(texts.golden)
    return plain(sample(mutants[len(mutants) // 2 :], 1)[0].source) if mutants else ""
