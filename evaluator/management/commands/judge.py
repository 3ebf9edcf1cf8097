"""``manage.py judge --pending``: judge waiting answers in this process."""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING, Any

from django.core.management.base import BaseCommand, CommandError

from benchmark_tasks.management.suites import suite_named
from evaluator.enums import WorkState
from evaluator.judging import judge_budget, judgements
from evaluator.management.shared import judges
from submissions.domain.operators import local_operator

if TYPE_CHECKING:
    from argparse import ArgumentParser

    from benchmark_tasks.models import Suite
    from evaluator.models import JudgeConfig, Judgement


class Command(BaseCommand):
    """Queue every answer that an active judge has not judged, and judge within the daily budget."""

    help = "Judge all answers that wait for a judge, within the daily budget. Stored replies are not paid for again."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare which answers and judges, how many, and the output."""
        parser.add_argument("--pending", action="store_true", help="plan and judge every answer not judged yet")
        parser.add_argument("--suite", help="only answers on this suite (its slug)")
        parser.add_argument("--config", help="only by this judge (its slug)")
        parser.add_argument("--retry-held", action="store_true", help="also retry held judgements")
        parser.add_argument("--limit", type=int, help="judge at most this many answers")
        parser.add_argument("--json", action="store_true", help="print one JSON object")

    def handle(self, *args: Any, **options: Any) -> None:  # noqa: ARG002 - Django's signature
        """Judge; exits with 1 when a judgement is held, since a person must act then."""
        if not options["pending"]:
            raise CommandError(
                "Give --pending to judge waiting answers; --suite, --config and --limit select among them."
            )
        if options["limit"] is not None and options["limit"] < 1:
            raise CommandError(f"--limit must be at least 1, not {options['limit']}.")
        configs = judges(options["config"])
        only = suite_named(options["suite"]) if options["suite"] is not None else None
        planned = sum(judgements.plan_judgements(config=config, suite=only) for config in configs)
        done: list[Judgement] = []
        for config in configs:
            if options["retry_held"]:
                judgements.retry_held(actor=local_operator(), config=config)
            judgements.wake(config=config, suite=only)
            self._judge(config, only, done, options)
        waits = [row for config in configs for row in _waiting(config, only)]
        self._sum_up(planned, done, waits, as_json=options["json"])
        if any(row["state"] == WorkState.HELD for row in waits):
            raise SystemExit(1)

    def _judge(self, config: JudgeConfig, only: Suite | None, done: list[Judgement], options: dict[str, Any]) -> None:
        while options["limit"] is None or len(done) < options["limit"]:
            row = judgements.judge_next(config=config, suite=only)
            if row is None:
                return
            if row.state != WorkState.DONE:
                continue
            done.append(row)
            if not options["json"]:
                self.stdout.write(_line(row))
                self.stdout.flush()

    def _sum_up(self, planned: int, done: list[Judgement], waits: list[dict[str, Any]], *, as_json: bool) -> None:
        budget = judge_budget.today()
        if as_json:
            facts = {
                "planned": planned,
                "judged": [_row(row) for row in done],
                "waiting": waits,
                "budget": {"dollars_left": str(budget.dollars_left), "tokens_left": budget.tokens_left},
            }
            self.stdout.write(json.dumps(facts))
            return
        self.stdout.write(f"{planned} planned, {len(done)} judged, {len(waits)} not judged yet.")
        reasons = Counter((row["config"], row["state"], row["reason"]) for row in waits)
        for (config, state, why), count in reasons.items():
            self.stdout.write(f"  {count} {state} for {config}{f': {why}' if why else ''}")
        self.stdout.write(f"Left of today's budget: ${budget.dollars_left:.2f}, {budget.tokens_left:,} tokens.")


def _waiting(config: JudgeConfig, only: Suite | None) -> list[dict[str, Any]]:
    rows = judgements.waiting(config=config, suite=only).select_related("config", "implementation__revision__task")
    return [
        {
            **_which(row),
            "state": row.state,
            "not_before": row.not_before.isoformat() if row.not_before else None,
            "reason": row.reason,
        }
        for row in rows
    ]


def _which(row: Judgement) -> dict[str, Any]:
    return {
        "submission": row.implementation.submission_id,
        "task": row.implementation.revision.task.slug,
        "trial": row.implementation.trial,
        "config": row.config.slug,
    }


def _row(row: Judgement) -> dict[str, Any]:
    return {
        **_which(row),
        "label": row.label,
        "abstained": row.abstained,
        "split": row.split,
        "surface_sensitive": row.surface_sensitive,
        "injection_suspected": row.injection_suspected,
        "dollars": None if row.dollars is None else str(row.dollars),
    }


def _line(row: Judgement) -> str:
    flags = {
        "split votes": row.split,
        "surface sensitive": row.surface_sensitive,
        "injection suspected": row.injection_suspected,
    }
    marks = "".join(f", {name}" for name, is_set in flags.items() if is_set)
    where = f"submission {row.implementation.submission_id}, {row.implementation}"
    return f"{where}: {row.label or 'abstained'} by {row.config.slug}{marks}"
