"""Parse and validate a judge's answer. Providers enforce schemas differently, so everything is checked.

For workers only: web processes do not load pydantic.
"""

from __future__ import annotations

import json
from typing import Annotated, Any, Literal, NoReturn

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError

from evaluator.labels import Label

FEWEST_POINTS, MOST_POINTS = 2, 4
MOST_FINDINGS = 100
LONGEST_TEXT = 8000


class VerdictError(Exception):
    """The answer is not a verdict; the message explains why."""


# Not blank, but otherwise unchanged.
_Point = Annotated[str, StringConstraints(pattern=r"\S", max_length=LONGEST_TEXT)]
_EXACT = ConfigDict(extra="forbid", strict=True, frozen=True)


class Finding(BaseModel):
    """One difference that the judge found; ``lines`` is empty or like ``12-14``."""

    model_config = _EXACT

    point: _Point
    severity: Literal["minor", "major", "fatal"]
    lines: Annotated[str, StringConstraints(max_length=LONGEST_TEXT)]


class JudgeVerdict(BaseModel):
    """A judge's answer."""

    model_config = _EXACT

    findings: list[Finding] = Field(max_length=MOST_FINDINGS)
    injection_suspected: bool
    label: Annotated[Label, Field(alias="verdict", strict=False)]
    rationale: list[_Point] = Field(min_length=FEWEST_POINTS, max_length=MOST_POINTS)


def parse(text: str) -> JudgeVerdict:
    """Parse an answer, which must be one JSON object of exactly the required form. Raises :class:`VerdictError`."""
    try:
        return JudgeVerdict.model_validate(
            json.loads(text, object_pairs_hook=_no_member_twice, parse_constant=_no_constant)
        )
    except ValidationError as error:
        wrong = error.errors(include_url=False)[0]
        raise VerdictError(f"{'.'.join(map(str, wrong['loc']))}: {wrong['msg']}") from None
    except ValueError as error:
        raise VerdictError(f"not one JSON object: {error}") from None
    except RecursionError:
        raise VerdictError("nested too deeply") from None


def _no_member_twice(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a member occurs twice")
    return found


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")
