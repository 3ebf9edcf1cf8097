"""Draw the facts of made-up submissions. The same seed and number always give the same facts, whatever the total."""

from __future__ import annotations

import json
import random
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cache
from typing import Final, NamedTuple, TypeVar

from evaluator.labels import Label
from evaluator.outcomes import Outcome
from submissions.enums import Inputs, Kind, SubmissionState, Visibility

Choice = TypeVar("Choice")

SYSTEMS_OF_TEN: Final = (0, 1, 2, 3, 4, 4, 4, 5, 5)
"""Places of the systems of nine in ten submissions: some are submitted once, some three times."""
KNOWN_SYSTEMS: Final = 40
"""Systems that get every tenth submission between them: they have many."""
BUSY_ACCOUNTS: Final = 5
"""Accounts that own every tenth of the other systems between them."""
JUDGED_OF_TEN: Final = 3
"""Place of the submission of every ten whose answers are judged."""
YEARS: Final = timedelta(days=730)
_MODELS: Final = ("Aster", "Birch", "Cedar", "Dahlia", "Elm", "Fern", "Gorse", "Hazel", "Iris", "Juniper")
_SCAFFOLDS: Final = ("none", "none", "none", "OpenHands 0.33", "SWE-agent 1.0", "Aider 0.60")
UNFINISHED_AMONG: Final = 5_000
"""Some of so many submissions are unfinished and none of the others: a queue does not grow with a site's age."""
_FINISHED: Final = {SubmissionState.SCORED: 0.96, SubmissionState.CANCELLED: 0.04}
_STATES: Final = {
    **_FINISHED,
    SubmissionState.SCORED: 0.94,
    SubmissionState.HELD: 0.01,
    SubmissionState.QUEUED: 0.007,
    SubmissionState.RUNNING: 0.003,
}
_VISIBILITIES: Final = {
    Visibility.PUBLISHED: 0.36,
    Visibility.PRIVATE: 0.56,
    Visibility.WITHDRAWN: 0.05,
    Visibility.HIDDEN: 0.03,
}
_INPUTS: Final = {Inputs.FULL: 0.8, Inputs.PAPER_ONLY: 0.12, Inputs.PAPER_GOAL_FILE: 0.08}
_FAILURES: Final = {
    Outcome.WRONG_OUTPUT: 0.6,
    Outcome.RAISED: 0.22,
    Outcome.NOT_ATTEMPTED: 0.08,
    Outcome.BAD_PATCH: 0.05,
    Outcome.TIMEOUT: 0.05,
}
_LABELS: Final = {
    # Whether the tests pass -> the judge's labels; an empty one is an abstention.
    True: {Label.CC.value: 0.7, Label.LC.value: 0.25, Label.LI.value: 0.04, "": 0.01},
    False: {Label.LI.value: 0.7, Label.LC.value: 0.25, Label.CC.value: 0.04, "": 0.01},
}
_BODY: Final = '''def {function}(first, second=None, *, scale={scale}):
    """Answer to {task}."""
    if second is None:
        second = first
    weights = [scale * value for value in first]
    total = sum(weights) or 1.0
    return [value / total for value in second]
'''


@dataclass(frozen=True, slots=True)
class SystemFacts:
    """A system by its number: slug, name and other public facts, and the number of the account that owns it."""

    slug: str
    name: str
    backbone: str
    scaffold: str
    organisation: str
    account: int


def system_of(submission: int) -> int:
    """Return the number of the system of a submission."""
    block, place = divmod(submission, 10)
    if place == len(SYSTEMS_OF_TEN):
        return block % KNOWN_SYSTEMS
    return KNOWN_SYSTEMS + block * (max(SYSTEMS_OF_TEN) + 1) + SYSTEMS_OF_TEN[place]


def system_facts(number: int) -> SystemFacts:
    """Return the facts of a system."""
    model, scaffold = _MODELS[number % len(_MODELS)], _SCAFFOLDS[number % len(_SCAFFOLDS)]
    account = number // 10 % BUSY_ACCOUNTS if number % 10 == 0 else BUSY_ACCOUNTS + number // 3
    backbone = f"{model} {1 + number // 10 % 9}"
    name = f"{backbone} {'plain' if scaffold == 'none' else scaffold.split()[0]} {number}"
    return SystemFacts(f"load-{number}", name, backbone, scaffold, f"Laboratory {number % 60}", account)


class SubmissionFacts(NamedTuple):
    """What is drawn for a submission. Times are after ``created``; ``ended`` is when its last test run ended."""

    state: SubmissionState
    visibility: Visibility
    inputs: Inputs
    kind: Kind
    created: datetime
    ended: datetime
    outcomes: list[Outcome]
    labels: list[str]
    """The judge's label of each answer; empty for an abstention. No labels if it is not judged."""


def drawing(seed: int, submission: int) -> random.Random:
    """Return the source of all that is drawn for a submission."""
    return random.Random(f"{seed}/{submission}")  # noqa: S311 - figures to look at, no secrets


def submission_facts(chance: random.Random, submission: int, *, tasks: int, now: datetime) -> SubmissionFacts:
    """Draw the facts of a submission with answers to so many ``tasks``, sent in the two years before ``now``."""
    state = _drawn(chance, _STATES if submission < UNFINISHED_AMONG else _FINISHED)
    visibility = _drawn(chance, _VISIBILITIES) if state == SubmissionState.SCORED else Visibility.PRIVATE
    unfinished = state in {SubmissionState.QUEUED, SubmissionState.RUNNING}
    created = now - (timedelta(minutes=chance.randrange(5, 180)) if unfinished else YEARS * chance.random())
    skill = chance.betavariate(2, 3)
    outcomes = [
        Outcome.PASSED if chance.random() < skill * (0.6 + 0.8 * (place % 7) / 6) else _drawn(chance, _FAILURES)
        for place in range(tasks)
    ]
    is_judged = submission % 10 == JUDGED_OF_TEN and state == SubmissionState.SCORED
    labels = [_drawn(chance, _LABELS[each == Outcome.PASSED]) for each in outcomes] if is_judged else []
    return SubmissionFacts(
        state=state,
        visibility=visibility,
        inputs=_drawn(chance, _INPUTS),
        kind=Kind.CALIBRATION if chance.random() < 0.005 else Kind.RANKED,
        created=created,
        ended=created + timedelta(seconds=chance.randrange(60, 280)),
        outcomes=outcomes,
        labels=labels,
    )


def _drawn(chance: random.Random, shares: dict[Choice, float]) -> Choice:
    """Draw a key of ``shares``, which add up to one."""
    rest = chance.random()
    for choice, share in shares.items():
        rest -= share
        if rest < 0:
            return choice
    return choice


def task_files(*, task: str, file: str, function: str) -> tuple[dict[str, bytes], dict[str, bytes]]:
    """Return the masked repository of a task of which only facts are known, and the files that grade it."""
    golden = _BODY.format(function=function, task=task, scale="1.0").encode()
    return {file: f"def {function}(*args):\n    ...\n".encode()}, {f"reference/{file}": golden}


class Code(NamedTuple):
    """The code of an answer: the goal function, the difference to the masked file, and the changed files as JSON."""

    source: str
    diff: str
    files: str


def code_of(*, task: str, file: str, function: str, scale: str) -> Code:
    """Return the code of an answer; ``scale``, a number as text, is what distinguishes answers to a task."""
    source = _BODY.format(function=function, task=task, scale=scale)
    head, *body = source.splitlines()
    added = "".join(f"+{line}\n" for line in body)
    removed = f"-def {function}(*args):\n-    ...\n"
    diff = f"--- a/{file}\n+++ b/{file}\n@@ -1,2 +1,{len(body) + 1} @@\n{removed}+{head}\n{added}"
    return Code(source, diff, json.dumps({file: source}))


@cache
def cases_of(outcome: Outcome) -> str:
    """Return the cases of a test run as JSON: three public ones and a private one."""
    if outcome in {Outcome.NOT_ATTEMPTED, Outcome.BAD_PATCH}:
        return "[]"
    failing = outcome.value if outcome != Outcome.PASSED else ""
    public = [_case(seed, outcome=Outcome.PASSED.value if seed < 2 else failing or outcome.value) for seed in range(3)]
    return json.dumps([*public, _case(None, outcome=outcome.value)])


def _case(seed: int | None, *, outcome: str) -> dict[str, object]:
    wrong = outcome == Outcome.WRONG_OUTPUT
    return {
        "seed": seed, "index": 0, "public": seed is not None, "outcome": outcome, "name": "",
        "difference": "values differ by up to 0.25" if wrong and seed is not None else "",
        "error": "ValueError: shapes differ" if outcome == Outcome.RAISED and seed is not None else "",
    }  # fmt: skip
