"""``manage.py reevaluate``: measure scored submissions again after their test conditions changed."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from django.core.management.base import CommandError

from benchmark_tasks.domain.queries import current_version
from benchmark_tasks.models import Suite
from evaluator.enums import ReevaluationState
from evaluator.management.shared import OneForWrongArguments, evaluate_or_wait
from evaluator.models import Reevaluation
from evaluator.reevaluation import planning, reevaluating
from evaluator.reevaluation.reevaluating import differences
from evaluator.sandbox.task_environments import OfferedHere
from submissions.exceptions import SubmissionError

if TYPE_CHECKING:
    from argparse import ArgumentParser

    from evaluator.reevaluation.planning import PlannedReevaluation

EXIT_HELD = 2


class Command(OneForWrongArguments):
    """Plan and print re-evaluations, and start them unless it is a dry run."""

    help = (
        "Measure scored submissions again whose grading content, seed epoch, environment or evaluator is outdated. "
        "Exit codes: 0 done or queued, 1 wrong arguments, 2 held."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare which submissions, and what to do with them."""
        parser.add_argument("--submission", type=int, nargs="+", default=[], metavar="NUMBER", help="these submissions")
        parser.add_argument("--suite", default="", help="all of this suite (its slug)")
        parser.add_argument(
            "--task", default="", help="all with answers to it: lmr-mini/dpo/1, or with --suite lmr-mini dpo/1"
        )
        parser.add_argument("--new-epoch", action="store_true", help="first draw new private seeds for the suite")
        parser.add_argument("--reason", default="", help="published beside the difference; required unless --dry-run")
        parser.add_argument("--dry-run", action="store_true", help="only print what would be measured again, and why")
        parser.add_argument("--wait", action="store_true", help="evaluate in this process, with or without workers")
        parser.add_argument("--json", action="store_true", help="print one JSON object")

    def handle(self, *args: Any, **options: Any) -> None:  # noqa: ARG002 - Django's signature
        """Check all options, plan and print; then start, perhaps wait, and print the difference."""
        self.quiet: bool = options["json"]
        _check(options)
        try:
            submissions, task = planning.choose(
                suite=options["suite"], task=options["task"], submissions=options["submission"]
            )
        except planning.WrongChoiceError as error:
            raise CommandError(str(error)) from None
        new_epoch = self._new_epoch(options) if options["new_epoch"] else None
        offered = OfferedHere()
        plans = planning.plan(
            submissions,
            offered=offered,
            task=task,
            new_seeds=options["new_epoch"] and options["dry_run"],
        )
        result: dict[str, Any] = {
            "new_epoch": new_epoch,
            "planned": [_as_data(each) for each in plans],
            "problems": offered.problems,
        }
        self._print_plans(plans, offered.problems)
        if not options["dry_run"]:
            started = self._start([each for each in plans if each.needed], options["reason"])
            joined = _under_way(plans) if options["wait"] else []
            if options["wait"]:
                self._wait([*joined, *started])
            result["joined"] = [self._outcome(pk) for pk in joined]
            result["started"] = [self._outcome(pk) for pk in started]
        if self.quiet:
            self.stdout.write(json.dumps(result))
        ended = [*result.get("joined", []), *result.get("started", [])]
        if any(each["state"] == ReevaluationState.HELD for each in ended):
            raise SystemExit(EXIT_HELD)

    def _new_epoch(self, options: dict[str, Any]) -> int | None:
        suite = Suite.objects.get(slug=options["suite"])
        current = current_version(suite)
        if options["dry_run"] and current is not None:
            version = planning.with_new_seeds(current)
            self._print(f"{version} with seed epoch {version.seed_epoch.number} would be made. Then:")
            return None
        try:
            version = reevaluating.new_epoch(suite=suite, actor=None)
        except SubmissionError as error:
            raise CommandError(str(error)) from None
        self._print(f"{version} has seed epoch {version.seed_epoch.number}.")
        return version.seed_epoch.number

    def _print_plans(self, plans: list[PlannedReevaluation], problems: list[str]) -> None:
        for problem in problems:
            self.stderr.write(f"Not compared: {problem}")
        for each in plans:
            for line in _lines(each):
                self._print(line)
        needed = [each for each in plans if each.needed]
        under_way = sum(each.under_way for each in plans)
        runs = sum(len(each.runs) for each in needed)
        if needed:
            self._print(f"{len(needed)} of {len(plans)} submissions, {runs} answers to be measured again.")
        elif under_way:
            self._print(
                f"Nothing to start: {under_way} of {len(plans)} scored submissions are being re-evaluated already."
            )
        else:
            self._print(f"Nothing to do: {len(plans)} scored submissions were checked.")

    def _start(self, plans: list[PlannedReevaluation], reason: str) -> list[int]:
        started = []
        for each in plans:
            try:
                started.append(reevaluating.start(planned=each, reason=reason, actor=None).pk)
            except SubmissionError as error:
                self.stderr.write(str(error))
        return started

    def _wait(self, reevaluations: list[int]) -> None:
        """Evaluate the runs here; wait for those held by workers."""
        running = Reevaluation.objects.filter(pk__in=reevaluations, state=ReevaluationState.RUNNING).order_by("pk")
        while waiting := list(running.values_list("submission_id", flat=True)):
            evaluate_or_wait(waiting)

    def _outcome(self, pk: int) -> dict[str, Any]:
        ended = Reevaluation.objects.select_related("submission").get(pk=pk)
        difference = differences([ended]).get(pk)
        text = difference.text if difference else ended.held_reason
        self._print(f"submission {ended.submission_id}: {ended.get_state_display()}. {text}".rstrip())
        return {
            "reevaluation": ended.pk,
            "submission": ended.submission_id,
            "state": ended.state,
            "held_reason": ended.held_reason,
            "difference": asdict(difference) if difference else {},
        }

    def _print(self, line: str) -> None:
        if not self.quiet:
            self.stdout.write(line)


def _under_way(plans: list[PlannedReevaluation]) -> list[int]:
    """Return the re-evaluations under way, for whose submissions nothing was planned."""
    busy = [each.submission.pk for each in plans if each.under_way]
    found = Reevaluation.objects.filter(submission__in=busy, state__in=planning.UNDER_WAY)
    return list(found.order_by("pk").values_list("pk", flat=True))


def _check(options: dict[str, Any]) -> None:
    """Raise ``CommandError`` for conflicting options, before anything is done."""
    if bool(options["submission"]) == bool(options["suite"] or options["task"]):
        raise CommandError("Give either --submission, or one or both of --suite and --task.")
    if options["new_epoch"] and not options["suite"]:
        raise CommandError("A new seed epoch belongs to a suite: give --suite with --new-epoch.")
    if not options["dry_run"] and not options["reason"].strip():
        raise CommandError("Give a --reason: it is published beside the difference. Or use --dry-run first.")


def _lines(planned: PlannedReevaluation) -> list[str]:
    """Return one plan as text."""
    head = f"submission {planned.submission.pk}, {planned.submission}"
    if planned.under_way:
        return [f"{head}: is being re-evaluated already"]
    lines = []
    if planned.runs:
        lines.append(f"{head}: {len(planned.runs)} to be measured again, {planned.kept} kept")
        lines += [f"  {why}: {count}" for why, count in planned.reasons]
    elif not planned.moves:
        lines.append(f"{head}: nothing to do")
    if planned.moves:
        lines += [] if lines else [f"{head}: nothing to be measured again"]
        lines.append(f"  moves to version {planned.target.number}")
    lines += [f"  stays on version {planned.target.number}: {text}; submit again" for text in planned.stale]
    return lines


def _as_data(planned: PlannedReevaluation) -> dict[str, Any]:
    return {
        "submission": planned.submission.pk,
        "from_version": planned.submission.suite_version.number,
        "to_version": planned.target.number,
        "under_way": planned.under_way,
        "kept": planned.kept,
        "stale": list(planned.stale),
        "runs": [
            {
                "task": run.graded_revision.task.slug,
                "trial": run.implementation.trial,
                "why": run.supersedes_reason.split("; "),
            }
            for run in planned.runs
        ],
    }
