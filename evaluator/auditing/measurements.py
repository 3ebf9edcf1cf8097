"""One audit's measurements: golden, stub, trivial answers, mutants, guessing, margins and the environment, in boxes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from benchmark_tasks.domain.goals import Goal, find_goal
from benchmark_tasks.domain.python_source import SourceError
from benchmark_tasks.enums import Protocol
from evaluator.auditing.audit_result import AuditResult, MutantsResult
from evaluator.auditing.guessing import Guessing, guessing
from evaluator.auditing.image_scan import ImageScan, scan_image
from evaluator.auditing.incomplete import missing_in, missing_in_text
from evaluator.auditing.margins import Margins, measure_margins
from evaluator.auditing.mutants import Mutant, mutants_of, sample
from evaluator.auditing.trivial import trivial_answers
from evaluator.sandbox.configuration import golden_folder
from evaluator.sandbox.types import Sandbox, SandboxError, SandboxUnavailableError
from evaluator.testing.golden import GoldenError, compute_golden
from evaluator.testing.golden_store import FileGoldenStore
from evaluator.testing.graders import Grader, writable_copy
from evaluator.testing.types import Outcome, Verdict
from submissions.answers.splice import splice
from submissions.answers.types import AnswerError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from benchmark_tasks.domain.goals import FoundGoal
    from evaluator.testing.golden import GoldenCase

LEAST_SECONDS = 2.0
TIMES_GOLDEN = 10
TRIES = 3
_Found = TypeVar("_Found")


@dataclass(frozen=True)
class Auditor:
    """Tries answers out on one task: ``grader`` has the current private seeds, ``regrader`` others."""

    grader: Grader
    regrader: Grader
    sandbox: Sandbox
    goal: Goal
    label: str
    mutant_limit: int

    def audit(self) -> AuditResult:
        """Everything that there is to find. Raises ``SandboxError`` for faults of ours that did not go away."""
        sealed = self.grader.revision.protocol == Protocol.SEALED
        mode, mode_why = ("", "") if sealed else self.grader.choose_mode(label=self.label)
        first = self._reference(self.grader)
        missing = missing_in(first, self.grader.reference_tree)
        if missing:
            return AuditResult((first,), mode=mode, mode_why=mode_why, missing=missing)
        golden = (first, self._reference(self.regrader))
        if any(verdict.outcome is not Outcome.PASSED for verdict in golden):
            # Whatever else were tried would fail for the same reason, and say nothing.
            return AuditResult(golden, mode=mode, mode_why=mode_why)
        limit = max(LEAST_SECONDS, TIMES_GOLDEN * max(verdict.seconds for verdict in golden))
        stub = self._try(self.grader.masked_tree, limit).outcome
        trivial = tuple(self._trivial(limit))
        mutants, scan, notes = self._with_golden_definition(limit)
        guessed, margins = self._numbers() if sealed else (None, None)
        return AuditResult(
            golden, stub, trivial, mutants, guessed, margins, scan, mode=mode, mode_why=mode_why, notes=notes
        )

    def _reference(self, grader: Grader) -> Verdict:
        """The verdict on the reference, also where the sealed protocol has none because a module is missing."""
        try:
            return _patiently(lambda: grader.grade(self.grader.reference_tree, label=self.label))
        except GoldenError as error:
            if missing_in_text(str(error), self.grader.reference_tree) is None:
                raise
            return Verdict(Outcome.RAISED, (), "", 0.0, str(error))

    def _try(self, tree: Path, limit: float) -> Verdict:
        return _patiently(lambda: self.grader.grade(tree, label=self.label, limit_seconds=limit))

    def _trivial(self, limit: float) -> Iterator[tuple[str, Outcome]]:
        with writable_copy(self.grader.masked_tree) as tree:
            goal_file = tree / self.goal.file
            masked = goal_file.read_bytes()
            for answer in trivial_answers(self.grader.revision.masked_source):
                try:
                    goal_file.write_bytes(splice(masked, self.goal, answer.source.encode()))
                except AnswerError:
                    # What nobody could submit proves nothing.
                    continue
                yield answer.name, self._try(tree, limit).outcome

    def _with_golden_definition(self, limit: float) -> tuple[MutantsResult | None, ImageScan | None, tuple[str, ...]]:
        try:
            found = find_goal((self.grader.reference_tree / self.goal.file).read_bytes(), self.goal)
        except SourceError as error:
            note = f"no mutants could be made: {error.about(f'the golden file for {self.goal.file}')}"
            return None, None, (note,)
        mutants = self._mutants(found, limit)
        scan = _patiently(
            lambda: scan_image(
                sandbox=self.sandbox,
                environment=self.grader.environment,
                repository=self.grader.masked_tree,
                goal_name=self.goal.function.rpartition(".")[2],
                golden=found.text,
                label=self.label,
            )
        )
        return mutants, scan, ()

    def _mutants(self, found: FoundGoal, limit: float) -> MutantsResult:
        declared = {str(each["mutant"]): str(each["reason"]) for each in self.grader.revision.equivalent_mutants}
        made = mutants_of(found.text)
        equivalent = [mutant for mutant in made if mutant.id in declared]
        tried = sample([mutant for mutant in made if mutant.id not in declared], self.mutant_limit)
        with writable_copy(self.grader.reference_tree) as tree:
            survivors = [mutant for mutant in tried if not self._kills(tree, found, mutant, limit)]
            refuted = [mutant for mutant in equivalent if self._kills(tree, found, mutant, limit)]
        return MutantsResult(
            made=len(made),
            killed=len(tried) - len(survivors),
            survivors=tuple(survivors),
            equivalent=tuple((mutant, declared[mutant.id]) for mutant in equivalent if mutant not in refuted),
            refuted=tuple(mutant.id for mutant in refuted),
            unknown=tuple(sorted(declared.keys() - {mutant.id for mutant in made})),
        )

    def _kills(self, tree: Path, found: FoundGoal, mutant: Mutant, limit: float) -> bool:
        lines = found.source.lines
        text = "".join([*lines[: found.first_line - 1], mutant.source, *lines[found.last_line :]])
        (tree / self.goal.file).write_bytes(found.source.mark + text.encode())
        return self._try(tree, limit).outcome is not Outcome.PASSED

    def _numbers(self) -> tuple[Guessing, Margins]:
        """The guessing bound and the margins: from golden outputs alone."""
        task = self.grader.task
        private = self.grader.private_seeds
        golden = self._golden((*task.check.public_seeds, *private))
        # More outputs tell better how often each comes up; what has to be guessed are the private ones.
        more = {**golden, **self._golden(self.regrader.private_seeds)}
        guessed = guessing(
            [case.output for cases in more.values() for case in cases],
            private_cases=sum(len(golden[seed]) for seed in private),
            check=task.check,
        )
        margins = _patiently(lambda: measure_margins(sandbox=self.sandbox, task=task, golden=golden, label=self.label))
        return guessed, margins

    def _golden(self, seeds: tuple[int, ...]) -> dict[int, tuple[GoldenCase, ...]]:
        return _patiently(
            lambda: compute_golden(
                sandbox=self.sandbox,
                task=self.grader.task,
                seeds=seeds,
                golden=FileGoldenStore(golden_folder()),
                label=self.label,
            )
        )


def _patiently(measure: Callable[[], _Found]) -> _Found:
    """What ``measure`` returns; a fault of ours is tried again a few times, since it must never count as a kill."""
    for _ in range(TRIES - 1):
        try:
            return measure()
        except (GoldenError, SandboxUnavailableError):
            raise
        except SandboxError:
            continue
    return measure()
