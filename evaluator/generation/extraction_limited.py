"""Extraction as workers do it: a model's words are foreign, and no reader is worth a worker that never comes back."""

from __future__ import annotations

import base64
import json
from dataclasses import asdict
from typing import Any, Final

from benchmark_tasks.domain.goals import Goal
from evaluator.generation.extraction import Extracted, NoAnswerError, extract
from evaluator.generation.limited_child import ChildError, ChildLimits, answer, ask

LIMITS: Final = ChildLimits(cpu_seconds=20, wall_seconds=60.0)


def extract_limited(
    text: str, *, goal: Goal, masked_file: bytes, alone: bool = False, limits: ChildLimits = LIMITS
) -> Extracted:
    """:func:`extract` in a child process with limits; what is too involved for them holds no answer.

    Raises NoAnswerError.
    """
    given = {"text": text, "goal": asdict(goal), "masked": base64.b64encode(masked_file).decode(), "alone": alone}
    try:
        found = ask(__name__, json.dumps(given).encode(), limits)
    except ChildError:
        raise NoAnswerError("The answer is too involved to find the code in it.") from None
    if "nothing" in found:
        raise NoAnswerError(found["nothing"])
    return Extracted(found["source"], found["note"])


def serve(limits_text: str) -> None:
    """The child."""
    answer(limits_text, _extract)


def _extract(data: bytes) -> dict[str, Any]:
    given = json.loads(data)
    try:
        found = extract(
            given["text"],
            goal=Goal(**given["goal"]),
            masked_file=base64.b64decode(given["masked"]),
            alone=given["alone"],
        )
    except NoAnswerError as error:
        return {"nothing": error.note}
    return {"source": found.source, "note": found.note}
