"""One audit's measurements: reference, stub, trivial answers, mutants, guessing, margins, environment. All in boxes."""

from __future__ import annotations

import ast
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from benchmark_tasks.domain.goals import Goal, find_goal
from benchmark_tasks.domain.python_source import SourceError
from benchmark_tasks.enums import Protocol
from evaluator.auditing.audit_result import AuditResult, MutantsResult, guessing
from evaluator.auditing.image_scan import scan_image
from evaluator.auditing.incomplete import is_module_of, missing_in, missing_in_text
from evaluator.auditing.margins import measure_margins
from evaluator.auditing.mutants import Mutant, mutants_of, sample
from evaluator.auditing.trivial import trivial_answers
from evaluator.sandbox.configuration import golden_folder
from evaluator.testing.golden import GoldenError, GoldenFolder, compute_golden
from evaluator.testing.graders import Grader, retried
from evaluator.testing.types import Outcome, Verdict
from submissions.answers.splice import splice
from submissions.answers.types import AnswerError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from evaluator.sandbox.types import Sandbox
    from evaluator.testing.golden import GoldenCase

LEAST_SECONDS = 2.0
TIMES_REFERENCE = 10


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
        """Everything that there is to find. Raises ``SandboxError`` for infrastructure errors that did not go away."""
        sealed = self.grader.revision.protocol == Protocol.SEALED
        mode, mode_why = ("", "") if sealed else self.grader.choose_mode(label=self.label)
        first = self._reference(self.grader)
        missing = missing_in(first, self.grader.reference_tree)
        if missing:
            return AuditResult((first,), mode=mode, mode_why=mode_why, missing=missing)
        golden = (first, self._reference(self.regrader))
        result = AuditResult(golden, mode=mode, mode_why=mode_why)
        if any(verdict.outcome is not Outcome.PASSED for verdict in golden):
            # Whatever else were tried would fail for the same reason, and say nothing.
            return result
        result = self._with_tries(result, max(LEAST_SECONDS, TIMES_REFERENCE * max(each.seconds for each in golden)))
        return self._with_numbers(result) if sealed else result

    def _reference(self, grader: Grader) -> Verdict:
        """The verdict on the reference, also where the sealed protocol has none because a module is missing."""
        try:
            return retried(lambda: grader.grade(self.grader.reference_tree, label=self.label))
        except GoldenError as error:
            if missing_in_text(str(error), self.grader.reference_tree) is None:
                raise
            return Verdict(Outcome.RAISED, (), "", 0.0, str(error))

    def _with_tries(self, result: AuditResult, seconds: float) -> AuditResult:
        """Add what became of the stub, trivial answers and mutants, and the search for a copy of the reference."""
        masked = (self.grader.masked_tree / self.goal.file).read_bytes()
        reference = (self.grader.reference_tree / self.goal.file).read_bytes()
        trivial = {each.name: each.source for each in trivial_answers(self.grader.revision.masked_source)}
        declared = {str(each["mutant"]): str(each["reason"]) for each in self.grader.revision.equivalent_mutants}
        golden = ""
        notes: tuple[str, ...] = ()
        try:
            golden = find_goal(reference, self.goal).text
        except SourceError as error:
            notes = (f"no mutants could be made: {error.about(f'the golden file for {self.goal.file}')}",)
        made = mutants_of(golden) if golden else []
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
            )
        )
        mutants = _mutants_result(made, tried=mutant_texts, passing=passing, declared=declared)
        return replace(result, mutants=mutants, image_scan=scan)

    def _placed(self, file: bytes, definitions: Mapping[str, str]) -> dict[str, bytes]:
        """``file`` with each definition in the goal's place, but those that nobody could submit: they prove nothing."""
        texts = {}
        for name, source in definitions.items():
            try:
                texts[name] = splice(file, self.goal, source.encode())
            except AnswerError:
                continue
        return texts

    def _imported(self, *files: bytes) -> list[str]:
        """Top-level modules that ``files`` and the probe import, but those of the repository itself."""
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
        """Add the guessing bound and the margins: from the reference's outputs alone."""
        task = self.grader.task
        private = self.grader.private_seeds
        golden = self._golden((*task.check.public_seeds, *private))
        # More outputs tell better how often each comes up; what has to be guessed are the private ones.
        more = {**golden, **self._golden(self.regrader.private_seeds)}
        return replace(
            result,
            guessing=guessing(
                [case.output for cases in more.values() for case in cases],
                private_cases=sum(len(golden[seed]) for seed in private),
                check=task.check,
            ),
            margins=retried(lambda: measure_margins(sandbox=self.sandbox, task=task, golden=golden, label=self.label)),
        )

    def _golden(self, seeds: tuple[int, ...]) -> dict[int, tuple[GoldenCase, ...]]:
        return retried(
            lambda: compute_golden(
                sandbox=self.sandbox,
                task=self.grader.task,
                seeds=seeds,
                golden=GoldenFolder(golden_folder()),
                label=self.label,
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
