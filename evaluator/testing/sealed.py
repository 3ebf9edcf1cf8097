"""Grade one candidate by the sealed protocol: it computes outputs, but never sees the expected ones.

See docs/design/verdicts.md. The candidate's tree runs in one box on the cases of the public seeds, and in another on
those of the private seeds. The boxes' outputs are compared here, outside, with the golden ones. Outcomes of a case:

``passed``, ``wrong_output``   by comparison; also ``wrong_output`` when the output is not plain data
``raised``                     the goal function or an import raised (``sys.exit`` too), or the process ended early
                               (``os._exit``, a signal) before it answered the case
``test_lacks``                 it failed with the error of a stand-in that lacks what it used (``probe_tools.STAND_IN``)
``timeout``, ``out_of_memory``, ``output_limit``   how the box ended before it answered the case
``tampering``                  only for messages that the driver cannot have written: invalid bytes, unknown kinds or
                               fields, case numbers out of order, repeated or unknown. Then nothing from that box is
                               trusted, and a maintainer inspects the answer.

If only private test cases fail, the run's outcome is ``wrong_output``, however they ended.

Infrastructure errors raise :class:`SandboxError` and are retried; they are never a verdict.
"""

from __future__ import annotations

import signal
from dataclasses import replace
from typing import TYPE_CHECKING

from evaluator.outcomes import Outcome
from evaluator.sandbox.interface import BoxResult, BoxSpec, Ending, SandboxError
from evaluator.testing import boxes
from evaluator.testing.box import frames
from evaluator.testing.box.probe_tools import STAND_IN
from evaluator.testing.comparison import compare
from evaluator.testing.golden import (
    GoldenCase,
    GoldenFolder,
    box_family,
    compute_golden,
)
from evaluator.testing.logs import clean_log, clean_text, error_text
from evaluator.testing.verdicts import CaseResult, Verdict

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from evaluator.sandbox.interface import Sandbox
    from evaluator.testing.verdicts import Check, Data, SealedTask

MAX_ERROR_CHARACTERS = 4000
MAX_REASON_CHARACTERS = 300
OUTCOME_OF_ENDING = {
    Ending.EXITED: Outcome.RAISED,
    Ending.SIGNALLED: Outcome.RAISED,
    Ending.WALL_TIMEOUT: Outcome.TIMEOUT,
    Ending.CPU_TIMEOUT: Outcome.TIMEOUT,
    Ending.OUT_OF_MEMORY: Outcome.OUT_OF_MEMORY,
    Ending.OUTPUT_LIMIT: Outcome.OUTPUT_LIMIT,
}
"""The way a box ended -> the outcome of the test cases that it had not answered."""
_COSTLY = frozenset({Outcome.TIMEOUT, Outcome.OUT_OF_MEMORY})
_FIELDS_BY_STATUS = {
    "ok": {"kind", "case", "status", "output"},
    "raised": {"kind", "case", "status", "error"},
    "unsupported_output": {"kind", "case", "status", "error"},
}


def grade(
    *,
    sandbox: Sandbox,
    task: SealedTask,
    candidate_tree: Path,
    private_seeds: tuple[int, ...],
    golden: GoldenFolder,
    label: str,
    cancelled: Callable[[], bool] = lambda: False,
) -> Verdict:
    """Run ``candidate_tree`` (the repository with the answer in it) and return the verdict.

    Boxes are labelled ``label`` plus a suffix. If the public box runs out of time or memory, the private seeds are not
    run, and their cases are missing from the verdict.

    Raises :class:`SandboxError` for infrastructure errors (:class:`~evaluator.testing.golden.GoldenError` when the
    reference fails) and :class:`~evaluator.sandbox.interface.RunCancelledError` when ``cancelled``.
    """
    seeds = tuple(dict.fromkeys((*task.check.public_seeds, *private_seeds)))
    expected = compute_golden(sandbox=sandbox, task=task, seeds=seeds, golden=golden, label=label, cancelled=cancelled)
    family = box_family(sandbox=sandbox, environment=task.environment, label=label, cancelled=cancelled)

    def run(seeds: tuple[int, ...], name: str) -> tuple[list[CaseResult], BoxResult]:
        cases = [(seed, case) for seed in seeds for case in expected[seed]]
        spec, nonce = boxes.candidate_box(
            task,
            tree=candidate_tree,
            cases=[case.case for _, case in cases],
            expected_bytes=sum(len(frames.encode(case.output)) for _, case in cases),
            label=f"{label}-{name}",
        )
        box_output = boxes.run_box(sandbox, spec, nonce, cancelled=cancelled, family=family)
        return _judge_box(box_output, spec, cases, task.check), box_output.result

    public, result = run(task.check.public_seeds, "public")
    private: list[CaseResult] = []
    if private_seeds and not any(case.outcome in _COSTLY for case in public):
        private, _ = run(private_seeds, "private")
    return _verdict(public, private, result)


def grade_variants(
    *,
    sandbox: Sandbox,
    task: SealedTask,
    variants: boxes.Variants,
    private_seeds: tuple[int, ...],
    golden: GoldenFolder,
    label: str,
    cancelled: Callable[[], bool] = lambda: False,
) -> list[Outcome]:
    """Return the outcome of each variant of the goal file on the cases of all seeds, in as few boxes as possible.

    Variants share a box, so they must not be submitted texts: only the audit's own. Variants that had no turn because
    the box was stopped get another box. Raises like :func:`grade`.
    """
    seeds = tuple(dict.fromkeys((*task.check.public_seeds, *private_seeds)))
    expected = compute_golden(sandbox=sandbox, task=task, seeds=seeds, golden=golden, label=label, cancelled=cancelled)
    cases = [(seed, case) for seed in seeds for case in expected[seed]]
    size = sum(len(frames.encode(case.output)) for _, case in cases)
    at_once = max(1, boxes.REFERENCE_OUTPUT_BYTES // (4 * size))
    outcomes: list[Outcome] = []
    while len(outcomes) < len(variants.texts):
        batch = replace(variants, texts=variants.texts[len(outcomes) :][:at_once])
        spec, nonce = boxes.variants_box(
            task, batch, cases=[case.case for _, case in cases], expected_bytes=size, label=f"{label}-variants"
        )
        box_output = boxes.run_box(sandbox, spec, nonce, cancelled=cancelled)
        found = [_outcome(_judge_box(each, spec, cases, task.check)) for each in _outputs_of_variants(box_output)]
        if found[:1] != [Outcome.PASSED]:
            raise SandboxError(f"box {spec.label}: the reference does not pass beside its variants ({found[:1]})")
        # A box may be stopped for one variant while the next one runs already: only the first one certainly caused it.
        outcomes += found[1:] or [OUTCOME_OF_ENDING[box_output.result.ending]]
    return outcomes


def _outputs_of_variants(box_output: boxes.BoxOutput) -> Iterator[boxes.BoxOutput]:
    """Yield the messages of each finished variant, as if it had its own box."""
    messages: list[Data] = []
    for message in box_output.messages:
        if isinstance(message, dict) and message.get("kind") == "ended":
            ending = Ending.WALL_TIMEOUT if message["timeout"] else Ending.EXITED
            yield replace(
                box_output, result=replace(box_output.result, ending=ending), messages=tuple(messages), unfinished=False
            )
            messages = []
        else:
            messages.append(message)


def _outcome(judged: list[CaseResult]) -> Outcome:
    return next((case.outcome for case in judged if case.outcome is not Outcome.PASSED), Outcome.PASSED)


def _judge_box(
    box_output: boxes.BoxOutput, spec: BoxSpec, cases: list[tuple[int, GoldenCase]], check: Check
) -> list[CaseResult]:
    answers = _read_answers(box_output, len(cases))
    if answers is None:
        error = "the box sent bytes that the driver does not write; nothing from it is trusted"
        return [CaseResult(seed, case.index, True, Outcome.TAMPERING, error=error) for seed, case in cases]
    judged = [_judge_case(seed, case, answer, check) for (seed, case), answer in zip(cases, answers, strict=False)]
    outcome = OUTCOME_OF_ENDING[box_output.result.ending]
    error = ending_text(box_output.result, spec)
    for seed, case in cases[len(answers) :]:
        judged.append(CaseResult(seed, case.index, True, outcome, error=error))
        error = "not reached"
    return judged


def _read_answers(box_output: boxes.BoxOutput, count: int) -> list[dict[str, Data]] | None:
    """Return the answers to the first cases, in order, or None when a message cannot be the driver's."""
    answers: list[dict[str, Data]] = []
    for message in box_output.messages:
        if len(answers) == count or not isinstance(message, dict) or not _answers(message, len(answers)):
            return None
        answers.append(message)
    late = box_output.unfinished and len(answers) == count
    return None if box_output.forged or late else answers


def _answers(message: dict[str, Data], number: int) -> bool:
    """Return whether this is an answer to case ``number`` in the driver's form. Any field may hold an array."""
    kind, case, status, error = (message.get(field) for field in ("kind", "case", "status", "error"))
    if not isinstance(kind, str) or kind != "output" or type(case) is not int or case != number:
        return False
    if not isinstance(status, str) or set(message) != _FIELDS_BY_STATUS.get(status):
        return False
    return status == "ok" or (isinstance(error, dict) and set(error) == {"type", "message", "traceback"})


def _judge_case(seed: int, case: GoldenCase, answer: dict[str, Data], check: Check) -> CaseResult:
    if answer["status"] == "ok":
        difference = compare(case.output, answer["output"], check)
        outcome = Outcome.WRONG_OUTPUT if difference else Outcome.PASSED
        return CaseResult(seed, case.index, True, outcome, difference=clean_text(difference))
    text = clean_text(error_text(answer["error"]))[:MAX_ERROR_CHARACTERS]
    if STAND_IN in text:
        return CaseResult(seed, case.index, True, Outcome.TEST_LACKS, error=text)
    if answer["status"] == "raised":
        return CaseResult(seed, case.index, True, Outcome.RAISED, error=text)
    return CaseResult(seed, case.index, True, Outcome.WRONG_OUTPUT, difference=f"the output is not plain data: {text}")


def ending_text(result: BoxResult, spec: BoxSpec) -> str:
    """Describe how the box ended before it had answered everything."""
    limits = spec.limits
    if result.ending is Ending.SIGNALLED:
        return f"the process was killed by {_signal_name(result.signal)} before all cases were answered"
    return {
        Ending.EXITED: f"the process ended early, with exit code {result.exit_code}, before all cases were answered",
        Ending.WALL_TIMEOUT: f"stopped after {limits.wall_seconds:g} seconds",
        Ending.CPU_TIMEOUT: f"stopped after {limits.cpu_seconds} seconds of processor time",
        Ending.OUT_OF_MEMORY: f"used more than {limits.memory_bytes // 2**20} MiB of memory",
        Ending.OUTPUT_LIMIT: f"sent more than {limits.output_bytes // 2**20} MiB of output",
    }[result.ending]


def _signal_name(number: int | None) -> str:
    try:
        return signal.Signals(number or 0).name
    except ValueError:
        return f"signal {number}"


def _verdict(public: list[CaseResult], private: list[CaseResult], public_result: BoxResult) -> Verdict:
    """Combine the test cases. Of ``private``, which are judged like ``public``, only the outcomes are kept.

    If the public test cases pass, outcome, reason and time reveal only how many private ones passed. Otherwise an
    answer could report their inputs, bit by bit, through the way in which it fails. The outcome of each is in
    ``cases``, for operators who read the database.
    """
    failing = next((case for case in public if case.outcome is not Outcome.PASSED), None)
    passed = sum(case.outcome is Outcome.PASSED for case in private)
    outcome, reason = Outcome.PASSED, ""
    if failing is not None:
        outcome, reason = failing.outcome, _reason(failing)
    elif passed < len(private):
        outcome, reason = Outcome.WRONG_OUTPUT, f"{passed} of {len(private)} private test cases passed"
    return Verdict(
        outcome=outcome,
        cases=(
            *public,
            *(CaseResult(None, number, False, c.outcome) for number, c in enumerate(private)),
        ),
        log=clean_log(public_result.stderr, truncated=public_result.stderr_truncated),
        seconds=public_result.wall_seconds,
        reason=reason,
    )


def _reason(failing: CaseResult) -> str:
    first_line = (failing.error or failing.difference).partition("\n")[0]
    return f"seed {failing.seed}, case {failing.index}: {first_line}"[:MAX_REASON_CHARACTERS]
