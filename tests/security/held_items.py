"""A board with an item that an annotator holds, and every request that she can make, for ``test_held_items.py``."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime
from difflib import unified_diff
from typing import TYPE_CHECKING, Any, Final

import time_machine
from django.core.cache import cache
from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from benchmark_tasks.models import Paper
from evaluator.models import JudgeConfig, Judgement, JudgeVote, TestRun
from leaderboard.board.caching import forget
from leaderboard.board.entries import recompute_submission
from leaderboard.board.ranks import rank_version
from leaderboard.board.states import note_change
from leaderboard.insight.analysis.report import compute_report
from leaderboard.sharing.answer_files.archive import write_answers
from leaderboard.sharing.snapshots.freezing import freeze
from reviews.models import Case, Decision, Review
from submissions.models import Implementation, Submission
from submissions.trajectories.steps import Action
from tests.benchmark_tasks.factories import PaperFactory, TaskFactory, TaskRevisionFactory
from tests.evaluator.factories import TestRunFactory
from tests.leaderboard.api.program import Program
from tests.leaderboard.judging import judged, vote, walked
from tests.reviews.factories import ReviewerFactory, case_of, decided, reviewed
from tests.security.addresses import path_of
from tests.security.test_every_address import body, browser
from tests.submissions.factories import ImplementationFactory, SubmissionFactory, SystemFactory

if TYPE_CHECKING:
    from collections.abc import Iterable

    from benchmark_tasks.models import SuiteVersion
    from submissions.models import User
    from tests.security.addresses import Address
    from tests.security.api_operations import Operation

NOW: Final = datetime(2026, 11, 25, 9, 0, tzinfo=UTC)
CHANGING: Final = re.compile(r'name="csrfmiddlewaretoken" value="\w+"|"X-CSRFToken": ?"\w+"|data-csrf="\w+"')
"""The tokens of forms, which differ between any two responses."""
_HEADERS: Final = ("Location", "ETag", "Content-Disposition", "Content-Length", "X-Total-Count", "Link")


@dataclass(frozen=True, slots=True)
class Results:
    """The results and the cost of each held answer, which must be hidden from its holder."""

    outcome: str
    label: str
    cost: float


GOOD, BAD = Results("passed", "CC", 0.25), Results("wrong_output", "LI", 7.75)


def answer_of(submission: Submission, task: str, outcome: str, label: str) -> Implementation:
    """An answer with a test run, two judges' labels, steps, and a closed case."""
    revision = submission.suite_version.revisions.get(task__slug=task)
    answer: Implementation = ImplementationFactory(submission=submission, revision=revision, usage={"cost_usd": 0.5})
    TestRunFactory(implementation=answer, done=outcome)
    for judge in JudgeConfig.objects.all():
        vote(judged(answer, judge, label), 1, label)
    walked(answer, Action.READ, Action.EDIT)
    case = case_of(answer, state="final", label=label, source="decision", closed=timezone.now())
    for _ in range(2):
        reviewed(case, ReviewerFactory(), label)
    decided(case, ReviewerFactory(adjudicator=True), label)
    return answer


def older_paper(version: SuiteVersion) -> None:
    """Add a task of an older paper, which boards of later papers leave out."""
    Paper.objects.update(year=2025)
    paper = PaperFactory(suite=version.suite, slug="beta", folder_name="02-Beta", year=2024)
    task = TaskFactory(suite=version.suite, paper=paper, index=1, slug="beta/1")
    version.revisions.add(TaskRevisionFactory(task=task, not_runnable_reasons=["no files"]))


def others_on(version: SuiteVersion) -> dict[str, int]:
    """Publish two more rows, one better and one worse than a variant of the held row; primary keys by name."""
    made = {}
    for name, outcomes in (("Better", ("passed", "passed")), ("Worse", ("wrong_output", "wrong_output"))):
        system = SystemFactory(name=name, slug=name.lower())
        sent: Submission = SubmissionFactory(
            system=system, suite_version=version, published=True, code_licence="MIT", published_at=timezone.now()
        )
        for task, outcome in zip(("alpha/1", "alpha/2"), outcomes, strict=True):
            answer_of(sent, task, outcome, "CC" if outcome == "passed" else "LI")
        recompute_submission(sent.pk)
        made[system.slug] = sent.pk
    return made


def store_results(results: Results, held: Iterable[Implementation]) -> None:
    """Store these results of the held answers, and recompute everything derived from them.

    A plain QuerySet bypasses the guard of append-only models.
    """
    answers = [each.pk for each in held]
    case = {
        "seed": 1,
        "index": 0,
        "public": True,
        "outcome": results.outcome,
        "difference": results.outcome,
        "error": "",
    }
    TestRun.objects.filter(implementation__in=answers).update(
        outcome=results.outcome, reason=f"because {results.outcome}", log=results.outcome, cases=[case]
    )
    Judgement.objects.filter(implementation__in=answers).update(label=results.label)
    JudgeVote.objects.filter(judgement__implementation__in=answers).update(label=results.label)
    Case.objects.filter(implementation__in=answers).exclude(label="").update(label=results.label)
    QuerySet(Decision).filter(case__implementation__in=answers).update(label=results.label)
    QuerySet(Review).filter(case__implementation__in=answers).update(label=results.label)
    Implementation.objects.filter(pk__in=answers).update(
        usage={"cost_usd": results.cost, "input_tokens": 9, "output_tokens": 9}
    )
    submissions = Submission.objects.filter(implementations__in=answers).distinct()
    for submission in submissions:
        recompute_submission(submission.pk)
        version = submission.suite_version
        note_change(version.pk, results=True)
        rank_version(version.pk)
        compute_report(version)
        freeze(suite=version.suite, actor=None, title="now", note="With the held answer.")
        write_answers(version.suite)


def forget_pages() -> None:
    """Empty every cache."""
    cache.clear()
    forget()


@dataclass(frozen=True, slots=True)
class World:
    """The ``held`` answers, every address and operation, and further queries of each (``more``)."""

    held: list[Implementation]
    addresses: dict[str, Address]
    operations: dict[str, Operation]
    more: dict[str, tuple[str, ...]]

    def seen_by(self, person: User | None, kind: str) -> list[dict[str, str]]:
        """Read all ``pages`` or ``operations`` as ``person``, once with good and once with bad held answers."""
        found = []
        # Tokens are numbered, so one client reads both variants.
        program = (
            Program(person, "read", "label", "notices", "endpoints") if kind == "operations" and person else Program()
        )
        with time_machine.travel(NOW, tick=False):
            for results in (GOOD, BAD):
                with transaction.atomic():
                    store_results(results, self.held)
                    forget_pages()
                    found.append(self._pages(person) if kind == "pages" else self._operations(program))
                    transaction.set_rollback(True)
        forget_pages()
        return found

    def _pages(self, person: User | None) -> dict[str, str]:
        client, found = browser(person), {}
        for name, address in self.addresses.items():
            path = path_of(name, address)
            for query in ("", *self.more.get(name, ())):
                found[f"{name} {path}{query}"] = _as_text(client.get(path + query))
        return found

    def _operations(self, program: Program) -> dict[str, str]:
        found = {}
        for name, operation in self.operations.items():
            for query in ("", *self.more.get(name, ())) if operation.method == "GET" else ():
                found[f"{name} {operation.path}{query}"] = _as_text(program.send("GET", operation.path + query))
        return found


def _as_text(response: Any) -> str:
    """Status, headers and body."""
    headers = {name: response.headers[name] for name in _HEADERS if name in response.headers}
    return f"{response.status_code} {headers} {CHANGING.sub('', body(response))}"


def difference(one: str, other: str) -> str:
    """The differing lines of two responses."""
    before, after = one.replace(">", ">\n").splitlines(), other.replace(">", ">\n").splitlines()
    return "\n".join(unified_diff(before, after, n=1, lineterm=""))[:2000]
