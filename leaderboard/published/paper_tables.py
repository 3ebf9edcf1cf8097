"""What the LMR-BENCH paper prints in its Tables 2 and 3, and our remarks on each run. No Django here.

Source: the paper's section 4.2 (Table 2), section 5.2 (Table 3) and Appendix I (the judge's model).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from leaderboard.published.labels import LabelShares
from leaderboard.published.records import Inputs, Printed
from leaderboard.published.upstream_texts import Agent

JUDGE_MODEL: Final = "GPT-4.1"

GENERAL_REMARKS: Final = (
    (
        "Every answer has one human label, and every annotator had papers of their own: "
        "agreement between humans cannot be computed."
    ),
    "Where upstream's files and the paper differ, the number shown is the one counted from the files.",
)

MODEL_NAMES: Final = {
    "gpt4o": ("GPT-4o", "OpenAI"),
    "gpt4.1": ("GPT-4.1", "OpenAI"),
    "o4mini": ("o4-mini", "OpenAI"),
    "claude3.7": ("Claude 3.7", "Anthropic"),
}
"""Backbone and vendor by upstream's folder name."""


@dataclass(frozen=True, slots=True)
class ReportedRun:
    """A run that upstream reports: its key in the result files, what the paper prints of it, and our remarks."""

    agent: Agent
    model: str
    inputs: Inputs
    printed: Printed | None
    remarks: tuple[str, ...] = ()


def run_slug(agent: Agent, model: str, inputs: Inputs = Inputs.FULL) -> str:
    """The slug of a reported run; ``model`` is upstream's folder name."""
    scaffold = "no-agent" if agent is Agent.NONE else "openhands"
    reduced = "" if inputs is Inputs.FULL else f"-{inputs.replace('_', '-')}"
    return f"{scaffold}-{MODEL_NAMES[model][0].lower().replace(' ', '-')}{reduced}"


_TESTS_TOTAL_ONLY = "Unit tests: only the total was published; which tasks passed is not known."
_OWN_JUDGE = "Judge: GPT-4.1 was the judge as well, so it rated its own answers."
_EXCHANGED = "the paper's rows of GPT-4.1 and o4-mini without agent are exchanged."
_ONLY_TOTALS = "Setup: only totals were published; no task of this run can be opened."
_RATER_NOT_NAMED = "Judge: Table 3 does not say who gave the labels; they are read as the judge's, as in Table 2."
_REDUCED = (_ONLY_TOTALS, _RATER_NOT_NAMED)


def _table_2(tests: float, judge: LabelShares, human: LabelShares) -> Printed:
    return Printed(table="Table 2", tests=tests, judge=judge, human=human)


def _table_3(tests: float, judge: LabelShares) -> Printed:
    return Printed(table="Table 3", tests=tests, judge=judge, human=None)


REPORTED_RUNS: Final = (
    ReportedRun(
        Agent.NONE,
        "gpt4o",
        Inputs.FULL,
        _table_2(39.3, LabelShares(17.9, 10.7, 71.4), LabelShares(25.0, 14.3, 60.7)),
        (_TESTS_TOTAL_ONLY,),
    ),
    ReportedRun(
        Agent.NONE,
        "gpt4.1",
        Inputs.FULL,
        _table_2(42.9, LabelShares(7.1, 28.6, 64.3), LabelShares(32.1, 28.6, 39.3)),
        (
            _OWN_JUDGE,
            "Judge: 27 of its 28 answers are prose that ends in the label's number, not the JSON asked for.",
            f"Humans: the paper prints 32.1 / 28.6 / 39.3, the files give 35.7 / 32.1 / 32.1; {_EXCHANGED}",
        ),
    ),
    ReportedRun(
        Agent.NONE,
        "o4mini",
        Inputs.FULL,
        _table_2(42.9, LabelShares(25.0, 21.4, 53.6), LabelShares(35.7, 32.1, 32.1)),
        (
            _TESTS_TOTAL_ONLY,
            f"Humans: the paper prints 35.7 / 32.1 / 32.1, the files give 32.1 / 28.6 / 39.3; {_EXCHANGED}",
        ),
    ),
    ReportedRun(
        Agent.OPENHANDS,
        "gpt4o",
        Inputs.FULL,
        _table_2(25.0, LabelShares(7.1, 7.1, 85.7), LabelShares(21.4, 17.9, 60.7)),
        (
            "Setup: the agent's log names OpenHands 0.33.0, at most 50 steps, and the model gpt-4o-2024-08-06.",
            "Judge: the paper prints 7.1 / 7.1 / 85.7, the files give 3.6 / 10.7 / 85.7.",
        ),
    ),
    ReportedRun(
        Agent.OPENHANDS,
        "gpt4.1",
        Inputs.FULL,
        _table_2(32.1, LabelShares(17.9, 14.3, 67.9), LabelShares(32.1, 25.0, 42.9)),
        (
            "Unit tests: the paper prints 32.1, the files give 35.7.",
            "Unit tests: 2 tasks count as failed although their tests never ran.",
            _OWN_JUDGE,
        ),
    ),
    ReportedRun(
        Agent.OPENHANDS,
        "o4mini",
        Inputs.FULL,
        _table_2(35.7, LabelShares(35.7, 14.3, 50.0), LabelShares(39.3, 21.4, 39.3)),
        ("Unit tests: 6 tasks count as failed although their tests never ran.",),
    ),
    ReportedRun(
        Agent.OPENHANDS,
        "claude3.7",
        Inputs.FULL,
        None,
        ("Setup: not in the paper; upstream's repository holds its unit test results and nothing else.",),
    ),
    ReportedRun(Agent.OPENHANDS, "gpt4o", Inputs.PAPER_ONLY, _table_3(21.4, LabelShares(10.7, 7.1, 82.1)), _REDUCED),
    ReportedRun(
        Agent.OPENHANDS,
        "gpt4.1",
        Inputs.PAPER_ONLY,
        _table_3(32.1, LabelShares(28.6, 14.3, 57.1)),
        (*_REDUCED, _OWN_JUDGE),
    ),
    ReportedRun(Agent.OPENHANDS, "o4mini", Inputs.PAPER_ONLY, _table_3(39.3, LabelShares(46.4, 3.6, 50.0)), _REDUCED),
    ReportedRun(
        Agent.OPENHANDS, "gpt4o", Inputs.PAPER_GOAL_FILE, _table_3(25.0, LabelShares(3.6, 7.1, 89.3)), _REDUCED
    ),
    ReportedRun(
        Agent.OPENHANDS,
        "gpt4.1",
        Inputs.PAPER_GOAL_FILE,
        _table_3(28.6, LabelShares(7.1, 14.3, 78.6)),
        (*_REDUCED, _OWN_JUDGE),
    ),
    ReportedRun(
        Agent.OPENHANDS, "o4mini", Inputs.PAPER_GOAL_FILE, _table_3(39.3, LabelShares(42.9, 17.9, 39.3)), _REDUCED
    ),
)
