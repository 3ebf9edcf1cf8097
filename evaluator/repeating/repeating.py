"""Repeat the test run of an answer from its receipt, on any machine, and report where the result differs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from benchmark_tasks.enums import Protocol
from benchmark_tasks.models import TaskRevision
from evaluator.outcomes import WITHOUT_TEST, Outcome
from evaluator.repeating.receipts import ReceiptError
from evaluator.sandbox.configuration import EVALUATOR_VERSION, configured_sandbox, is_comparable
from evaluator.testing.evaluate import candidate_tree
from evaluator.testing.graders import Grader, retried
from submissions.answers.contents import AnswerError, AnswerKind, RawAnswer
from submissions.answers.limited import apply_limited
from submissions.domain.uploads import files_of
from submissions.models import Implementation

if TYPE_CHECKING:
    from evaluator.repeating.receipts import Receipt, RunFacts, TaskFacts
    from evaluator.testing.verdicts import Verdict

_MOST_CASES: Final = 20


@dataclass(frozen=True, slots=True)
class Repeated:
    """Result of a repeated run. ``differences`` is empty where it matches the receipt.

    ``remarks`` are differing conditions that may explain a difference.
    """

    outcome: str
    passed: int
    cases: int
    private_passed: int
    private_total: int
    sandbox: str
    differences: tuple[str, ...]
    remarks: tuple[str, ...]


def repeat(receipt: Receipt) -> Repeated:
    """Measure the answer of ``receipt`` as a worker would; nothing is stored.

    Raises ReceiptError if it cannot be repeated here, ``SandboxError`` for infrastructure errors.
    """
    run = receipt.run
    if run is None or not run.outcome:
        raise ReceiptError("This answer's test run has not ended yet, so there is nothing to repeat.")
    if not receipt.answer.attempted or run.outcome in WITHOUT_TEST:
        raise ReceiptError(f"No test was run: the outcome is “{Outcome(run.outcome).words}”.")
    if receipt.answer.diff is None:
        raise ReceiptError("The receipt holds no code: its owner has not published it.")
    given, graded = _revisions(receipt.task)
    version = graded.suite_versions.select_related("seed_epoch").order_by("-number").first()
    if version is None:
        raise ReceiptError(f"No suite version here has {graded}.")
    answer = _applied(receipt, given)
    grader = Grader(graded, version.seed_epoch)
    sandbox = configured_sandbox()
    with candidate_tree(answer) as tree:
        verdict = retried(lambda: grader.grade(tree, label="repeat", sandbox=sandbox))
    private = [case.outcome == Outcome.PASSED for case in verdict.cases if not case.public]
    public = [case.outcome == Outcome.PASSED for case in verdict.cases if case.public]
    return Repeated(
        outcome=verdict.outcome.value,
        passed=sum(public),
        cases=len(public),
        private_passed=sum(private),
        private_total=len(private),
        sandbox=sandbox.name,
        differences=_differences(run, verdict),
        remarks=_remarks(run, grader, sandbox.name, (sum(private), len(private))),
    )


def _revisions(task: TaskFacts) -> tuple[TaskRevision, TaskRevision]:
    """Return the revision that was answered and the one whose tests decide; mostly they are the same."""
    known = TaskRevision.objects.filter(task__slug=task.task).select_related("task__suite", "task__paper", "category")
    given = known.filter(repository_hash=task.repository_digest).order_by("-number").first()
    graded = known.filter(grading_hash=task.grading_digest).order_by("-number").first()
    if given is None or graded is None:
        what = "tests" if given else "masked repository"
        raise ReceiptError(
            f"No suite here has {task.task} with the {what} of {task.suite} version {task.suite_version}. "
            "Import that version of the suite first (manage.py import_suite; manage.py setup for the shipped one)."
        )
    return given, graded


def _applied(receipt: Receipt, revision: TaskRevision) -> Implementation:
    """Return the answer as it was measured. Raises ReceiptError where its digest differs from the receipt's."""
    content = (receipt.answer.diff or "").encode()
    raw = RawAnswer(receipt.task.task, receipt.answer.trial, AnswerKind.DIFF, content, "the receipt")
    answer = Implementation(revision=revision, trial=receipt.answer.trial, attempted=True)
    try:
        answer.set_code(apply_limited(raw, files_of(revision)))
    except AnswerError as error:
        raise ReceiptError(f"The receipt's diff does not apply to the masked repository: {error}") from None
    if answer.digest != receipt.answer.digest:
        raise ReceiptError(
            f"The receipt's diff makes the answer {answer.digest[:12]}, but the measured answer is "
            f"{(receipt.answer.digest or 'none')[:12]}: the receipt was changed or is damaged."
        )
    return answer


def _differences(run: RunFacts, verdict: Verdict) -> tuple[str, ...]:
    found = []
    if verdict.outcome != run.outcome:
        found.append(f"outcome: stored “{Outcome(run.outcome).words}”, here “{verdict.outcome.words}”")
    stored = {(case.seed, case.number, case.name): case.outcome for case in run.cases}
    here = {(case.seed, case.index, case.name): case.outcome.value for case in verdict.cases if case.public}
    for key in [*stored, *(key for key in here if key not in stored)]:
        if stored.get(key) != here.get(key):
            seed, number, name = key
            what = f"test {name}" if name else f"seed {seed}, case {number}"
            found.append(f"{what}: stored {_words(stored.get(key))}, here {_words(here.get(key))}")
    more = len(found) - _MOST_CASES
    return tuple(found[:_MOST_CASES] + ([f"and {more} more"] if more > 0 else []))


def _words(outcome: str | None) -> str:
    return f"“{Outcome(outcome).words}”" if outcome in set(Outcome) else "nothing"


def _remarks(run: RunFacts, grader: Grader, sandbox: str, private: tuple[int, int]) -> tuple[str, ...]:
    found = []
    environment_digest = grader.environment_digest()
    if not is_comparable(run.evaluator, sealed=grader.revision.protocol == Protocol.SEALED):
        found.append(f"evaluator: stored with version {run.evaluator}, here {EVALUATOR_VERSION}")
    if run.sandbox and run.sandbox != sandbox:
        found.append(f"sandbox: stored in {run.sandbox}, here in {sandbox}")
    if run.environment_digest != environment_digest:
        found.append(f"environment: stored {run.environment_digest or 'unknown'}, here {environment_digest}")
    if private != (run.private_passed, run.private_total):
        # Private seeds differ between instances, so the pass count of a partly right answer may differ too.
        found.append(
            f"private test cases: stored {run.private_passed} of {run.private_total} passed, here {private[0]} of "
            f"{private[1]}; each instance has private seeds of its own"
        )
    return tuple(found)
