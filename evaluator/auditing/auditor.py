"""Audit a task revision: does its unit test distinguish right answers from wrong ones? (docs/design/verdicts.md)."""

from __future__ import annotations

import ast
import hmac
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any

from django.conf import settings
from django.utils import timezone

from benchmark_tasks.domain.content import ContentMissingError
from benchmark_tasks.domain.goals import Goal, find_goal
from benchmark_tasks.domain.known_answers import digest_of, known_answers
from benchmark_tasks.domain.python_source import SourceError
from benchmark_tasks.domain.queries import goal_of
from benchmark_tasks.enums import Protocol
from benchmark_tasks.models import SeedEpoch, TaskRevision
from evaluator.auditing.audit_result import AuditResult, MutantsResult, TriedAnswer, guessing
from evaluator.auditing.deciding import code_digest
from evaluator.auditing.image_scan import scan_image
from evaluator.auditing.margins import measure_margins
from evaluator.auditing.mutants import Mutant, fingerprint, mutants_of, sample
from evaluator.auditing.trivial import trivial_answers
from evaluator.outcomes import Outcome
from evaluator.queue.processes import job_label
from evaluator.sandbox.configuration import EVALUATOR_VERSION, configured_sandbox, golden_folder
from evaluator.sandbox.interface import SandboxError
from evaluator.sandbox.missing_modules import Missing, is_module_of, missing_in_text
from evaluator.sandbox.task_environments import what_to_add
from evaluator.testing.golden import GoldenError, GoldenFolder, compute_golden
from evaluator.testing.graders import Grader, retried, writable_copy
from evaluator.testing.verdicts import Verdict
from submissions.answers.contents import AnswerError
from submissions.answers.splice import splice

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from evaluator.sandbox.interface import Sandbox
    from evaluator.testing.golden import GoldenCase


LEAST_SECONDS = 2.0
TIMES_REFERENCE = 10


def measure(
    revision: TaskRevision, epoch: SeedEpoch, *, cancelled: Callable[[], bool] = lambda: False
) -> tuple[AuditResult, dict[str, Any]]:
    """Return an audit's findings on ``revision``, and the conditions of the audit. Nothing is stored.

    The reference must pass twice: with the public and current private seeds, and with other seeds derived for this
    purpose; everything else uses the former. Raises ``SandboxError`` for infrastructure errors, and
    ``RunCancelledError`` soon after ``cancelled`` returns true.
    """
    started = monotonic()
    grader = Grader(revision, epoch, cancelled)
    sandbox = configured_sandbox()
    facts = {
        "sandbox": sandbox.name,
        "environment": grader.environment,
        "environment_digest": grader.environment_digest(),
        "evaluator_version": EVALUATOR_VERSION,
        "code": code_digest(),
        "answers_digest": digest_of(known_answers(revision)),
    }
    auditor = Auditor(
        grader=grader,
        regrader=Grader(revision, _other_seeds(epoch), cancelled),
        sandbox=sandbox,
        goal=goal_of(revision),
        label=job_label(),
        mutant_limit=settings.ENVIRONMENT.audit_mutants,
    )
    try:
        result = auditor.audit()
    except ContentMissingError as error:
        raise SandboxError(f"{error} Import the suite again.") from error
    if result.missing:
        facts["add"] = what_to_add(revision, result.missing)
    return result, {**facts, "made": timezone.now().isoformat(), "seconds": round(monotonic() - started, 1)}


def _other_seeds(epoch: SeedEpoch) -> SeedEpoch:
    """Return an epoch that is never stored: its private seeds follow from ``epoch`` but differ from its own."""
    key = hmac.digest(epoch.key.encode(), b"audit", "sha256").hex()
    return SeedEpoch(suite_id=epoch.suite_id, number=epoch.number, key=key)


@dataclass(frozen=True)
class Auditor:
    """Tries answers to one task: ``grader`` has the current private seeds, ``regrader`` others."""

    grader: Grader
    regrader: Grader
    sandbox: Sandbox
    goal: Goal
    label: str
    mutant_limit: int

    def audit(self) -> AuditResult:
        """Run all checks. Raises ``SandboxError`` for persistent infrastructure errors."""
        sealed = self.grader.revision.protocol == Protocol.SEALED
        first = self._reference(self.grader)
        missing = missing_in(first, self.grader.reference_tree)
        if missing:
            return AuditResult((first,), missing=missing)
        golden = (first, self._reference(self.regrader))
        result = AuditResult(golden)
        if any(verdict.outcome is not Outcome.PASSED for verdict in golden):
            # Everything else would fail for the same reason, so it would show nothing.
            return result
        result = self._with_known_answers(result)
        result = self._with_tries(result, max(LEAST_SECONDS, TIMES_REFERENCE * max(each.seconds for each in golden)))
        return self._with_upstream_test(self._with_numbers(result)) if sealed else result

    def _reference(self, grader: Grader) -> Verdict:
        """Return the verdict on the reference; also where a missing module leaves the sealed protocol without one."""
        try:
            return retried(lambda: grader.grade(self.grader.reference_tree, label=self.label))
        except GoldenError as error:
            if missing_in_text(str(error), self.grader.reference_tree) is None:
                raise
            return Verdict(Outcome.RAISED, (), "", 0.0, str(error))

    def _with_known_answers(self, result: AuditResult) -> AuditResult:
        """Add the outcomes of the answers that ship with the task, graded like submissions."""
        masked = (self.grader.masked_tree / self.goal.file).read_bytes()
        tried = []
        answers = known_answers(self.grader.revision)
        with writable_copy(self.grader.masked_tree) if answers else nullcontext(Path()) as tree:
            for answer in answers:
                try:
                    text = splice(masked, self.goal, answer.source.encode())
                except AnswerError as error:
                    tried.append(TriedAnswer(answer, Outcome.BAD_PATCH, str(error)))
                    continue
                (tree / self.goal.file).write_bytes(text)
                verdict = retried(lambda: self.grader.grade(tree, label=f"{self.label}-answer"))
                tried.append(TriedAnswer(answer, verdict.outcome, verdict.reason))
        return replace(result, answers=tuple(tried))

    def _with_tries(self, result: AuditResult, seconds: float) -> AuditResult:
        """Add the results of stub, trivial answers and mutants, and the search for a copy of the reference."""
        masked = (self.grader.masked_tree / self.goal.file).read_bytes()
        reference = (self.grader.reference_tree / self.goal.file).read_bytes()
        trivial = trivial_answers(self.grader.revision.masked_source)
        golden = ""
        notes: tuple[str, ...] = ()
        try:
            golden = find_goal(reference, self.goal).text
        except SourceError as error:
            notes = (f"no mutants could be made: {error.about(f'the golden file for {self.goal.file}')}",)
        made = mutants_of(golden) if golden else []
        names = {fingerprint(each.id): each.id for each in made}
        declared = {
            names.get(fingerprint(each["mutant"]), each["mutant"]): str(each["reason"])
            for each in self.grader.revision.equivalent_mutants
        }
        chosen = sample([each for each in made if each.id not in declared], self.mutant_limit)
        chosen += [each for each in made if each.id in declared]
        trivial_texts = self._placed(masked, trivial)
        mutant_texts = self._placed(reference, {each.id: each.source for each in chosen})
        outcomes = iter(
            self.grader.grade_goal_files(
                [masked, *trivial_texts.values(), *mutant_texts.values()],
                label=self.label,
                seconds=seconds,
                preload=self._imported(masked, reference),
            )
        )
        result = replace(
            result, stub=next(outcomes), trivial=tuple(zip(trivial_texts, outcomes, strict=False)), notes=notes
        )
        if not golden:
            return result
        passing = {name for name, outcome in zip(mutant_texts, outcomes, strict=True) if outcome is Outcome.PASSED}
        scan = retried(
            lambda: scan_image(
                sandbox=self.sandbox,
                environment=self.grader.environment,
                repository=self.grader.masked_tree,
                goal_name=self.goal.function.rpartition(".")[2],
                golden=golden,
                label=self.label,
                cancelled=self.grader.cancelled,
            )
        )
        mutants = _mutants_result(made, tried=mutant_texts, passing=passing, declared=declared)
        return replace(result, mutants=mutants, image_scan=scan)

    def _with_upstream_test(self, result: AuditResult) -> AuditResult:
        """Add whether the suite's own unit test runs here beside the sealed one: it must pass with the reference."""
        if not self.grader.has_upstream_test:
            return result
        try:
            verdict = retried(
                lambda: self.grader.grade_by_upstream_test(self.grader.reference_tree, label=f"{self.label}-upstream")
            )
        except SandboxError as error:
            return replace(result, upstream_trial=f"it could not be tried: {error.public}")
        passed = verdict.outcome is Outcome.PASSED
        trial = "" if passed else f"the reference does not pass it ({verdict.outcome.words}: {verdict.reason})"
        return replace(result, upstream_trial=trial)

    def _placed(self, file: bytes, definitions: Mapping[str, str]) -> dict[str, bytes]:
        """Put each definition in the goal's place in ``file``; skip those that could not be submitted."""
        texts = {}
        for name, source in definitions.items():
            try:
                texts[name] = splice(file, self.goal, source.encode())
            except AnswerError:
                continue
        return texts

    def _imported(self, *files: bytes) -> list[str]:
        """Return top-level modules that ``files`` and the probe import, except the repository's own."""
        if self.grader.revision.protocol != Protocol.SEALED:
            return []
        names = set()
        for text in (*files, self.grader.task.run_file.read_bytes()):
            for node in ast.walk(ast.parse(text)):
                if isinstance(node, ast.Import):
                    names |= {alias.name.partition(".")[0] for alias in node.names}
                elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                    names.add(node.module.partition(".")[0])
        return sorted(name for name in names if not is_module_of(self.grader.masked_tree, name))

    def _with_numbers(self, result: AuditResult) -> AuditResult:
        """Add the guessing bound and the margins, from the reference's outputs alone."""
        task = self.grader.task
        private = self.grader.private_seeds
        golden = self._golden((*task.check.public_seeds, *private))
        # More outputs give a better estimate of their frequencies; only the private ones must be guessed.
        more = {**golden, **self._golden(self.regrader.private_seeds)}
        return replace(
            result,
            guessing=guessing(
                [case.output for cases in more.values() for case in cases],
                private_cases=sum(len(golden[seed]) for seed in private),
                check=task.check,
            ),
            margins=retried(
                lambda: measure_margins(
                    sandbox=self.sandbox,
                    task=task,
                    golden=golden,
                    label=self.label,
                    cancelled=self.grader.cancelled,
                )
            ),
        )

    def _golden(self, seeds: tuple[int, ...]) -> dict[int, tuple[GoldenCase, ...]]:
        return retried(
            lambda: compute_golden(
                sandbox=self.sandbox,
                task=self.grader.task,
                seeds=seeds,
                golden=GoldenFolder(golden_folder()),
                label=self.label,
                cancelled=self.grader.cancelled,
            )
        )


def _mutants_result(
    made: list[Mutant], *, tried: Iterable[str], passing: set[str], declared: Mapping[str, str]
) -> MutantsResult:
    counted = [name for name in tried if name not in declared]
    return MutantsResult(
        made=len(made),
        killed=sum(name not in passing for name in counted),
        survivors=tuple(each for each in made if each.id in passing and each.id not in declared),
        equivalent=tuple((each, declared[each.id]) for each in made if each.id in passing and each.id in declared),
        refuted=tuple(name for name in tried if name in declared and name not in passing),
        unknown=tuple(sorted(declared.keys() - {each.id for each in made})),
    )


def missing_in(verdict: Verdict, repository: Path) -> Missing | None:
    """Return what kept the reference from running, by its ``verdict``; None if it ran or stopped for another reason.

    A missing module of the ``repository`` itself is an error of the test.
    """
    if verdict.outcome is Outcome.PASSED:
        return None
    return missing_in_text(
        "\n".join([verdict.reason, *(case.error for case in verdict.cases), verdict.log]), repository
    )
