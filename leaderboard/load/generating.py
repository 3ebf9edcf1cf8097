"""Fill an instance with made-up submissions: accounts, systems, answers, results, labels, reviews and board rows."""

from __future__ import annotations

import hashlib
import shutil
import uuid
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from django.contrib.auth.hashers import make_password
from django.db import DatabaseError, connection, transaction
from django.utils import timezone

from benchmark_tasks.domain.content import put_tree, size_text
from benchmark_tasks.domain.left_out import tasks_left_out
from benchmark_tasks.domain.queries import current_version, revisions_of
from benchmark_tasks.enums import AuditState, Protocol
from benchmark_tasks.models import Suite
from evaluator.enums import AttemptState, RunState, WorkState
from evaluator.models import Attempt, JudgeConfig, Judgement, JudgeVote, ShownJudge, TestRun
from evaluator.outcomes import WITHOUT_TEST, Outcome
from evaluator.sandbox.configuration import EVALUATOR_VERSION
from leaderboard.board.entries import COUNTING, counted_tallies, metrics_of
from leaderboard.board.folding import represent
from leaderboard.board.labels import label_marks, raters_shares, shown_judge
from leaderboard.board.ranks import rank_outdated
from leaderboard.board.states import note_change
from leaderboard.load.copying import copy_instances, copy_rows, reserve
from leaderboard.load.facts import (
    cases_of,
    code_of,
    drawing,
    submission_facts,
    system_facts,
    system_of,
    task_files,
)
from leaderboard.load.reviewing import ADJUDICATORS, ANNOTATORS, Judged, add_cases
from leaderboard.models import Entry, EntryMetric, Notice
from leaderboard.models.enums import NoticeKind, Provenance, RaterAxis
from leaderboard.notices.making import KEPT
from reviews.models import Case, Decision, Review, Reviewer
from submissions.enums import Kind, SubmissionState, Verb, Visibility
from submissions.models import AuditEvent, Implementation, Submission, System, User

if TYPE_CHECKING:
    import random
    from collections.abc import Callable, Iterable, Sequence
    from datetime import datetime

    from benchmark_tasks.models import SuiteVersion, TaskRevision
    from leaderboard.load.facts import SubmissionFacts
    from leaderboard.models.board import Marks

MAIL: Final = "@load.invalid"
"""End of the e-mail addresses of generated accounts; no real address ends like this."""
CHUNK: Final = 250
"""Submissions stored in one transaction. Memory grows with it, not with the total."""
BYTES: Final = {"postgresql": 80_000, "sqlite": 80_000}
"""Database -> measured bytes of a submission with 28 answers, indexes included."""
_SPARE: Final = 1.25
_LICENCE: Final = "MIT"
_LATER: Final = timedelta(days=36_500)
"""Unfinished runs wait so long, so that no worker tries to measure them: their answers have no files."""
_VERBS: Final = {
    Visibility.PUBLISHED: (Verb.PUBLISHED,),
    Visibility.WITHDRAWN: (Verb.PUBLISHED, Verb.WITHDRAWN),
    Visibility.HIDDEN: (Verb.PUBLISHED, Verb.HIDDEN),
    Visibility.PRIVATE: (),
}
_TABLES: Final = (
    *(User, System, Submission, Implementation, TestRun, Attempt, Judgement, JudgeVote),
    *(Case, Review, Decision, AuditEvent, Notice, Entry, EntryMetric),
)


class LoadRefusedError(Exception):
    """Raised if submissions must not or cannot be generated here. The message says what to do."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What is to be generated: submissions there are and wanted, expected bytes, and free ones; None if unknown."""

    there: int
    wanted: int
    bytes: int
    free: int | None


class Made(NamedTuple):
    """A submission of a chunk, with its facts, the source of what else is drawn, and the number of its first answer."""

    submission: Submission
    facts: SubmissionFacts
    chance: random.Random
    answers: int


class Surroundings(NamedTuple):
    """What all submissions share. Times are counted back from ``now``, the beginning of this day."""

    version: SuiteVersion
    revisions: Sequence[TaskRevision]
    judge: JudgeConfig
    reviewers: Sequence[Reviewer]
    now: datetime
    seed: int


def plan(*, suite: str, submissions: int) -> Plan:
    """Return what :func:`generate` would do. Raises ``LoadRefusedError`` where it could hurt, or lacks disk space."""
    version = _version(suite)
    others = Submission.objects.exclude(owner__email__endswith=MAIL).exclude(kind=Kind.CALIBRATION)
    if count := others.count():
        msg = (
            f"This instance has {count:,} submissions that were not generated, and generated ones cannot be told from "
            "them on its boards, nor removed. Use an instance of its own: another DATA_DIR, and another DATABASE_URL."
        )
        raise LoadRefusedError(msg)
    there = Submission.objects.filter(owner__email__endswith=MAIL).count()
    if there > submissions:
        msg = f"There are {there:,} generated submissions already, and none is ever removed: ask for more than these."
        raise LoadRefusedError(msg)
    elsewhere = Submission.objects.filter(owner__email__endswith=MAIL).exclude(suite_version=version)
    if elsewhere.exists():
        msg = f"The generated submissions here are to another suite or version than {version}. Use another instance."
        raise LoadRefusedError(msg)
    tasks = version.revisions.count()
    expected = (submissions - there) * BYTES[connection.vendor] * tasks // 28
    found = Plan(there=there, wanted=submissions, bytes=expected, free=_free_bytes())
    if found.free is not None and found.free < expected * _SPARE:
        msg = (
            f"{submissions - there:,} more submissions need about {size_text(expected)} of disk, and "
            f"{size_text(found.free)} are free. Ask for fewer, or make room."
        )
        raise LoadRefusedError(msg)
    return found


def generate(*, suite: str, submissions: int, seed: int = 0, progress: Callable[[int], None]) -> dict[str, int]:
    """Add submissions until there are so many generated ones; return the number of rows added to each table.

    Commits after every :data:`CHUNK`, so that an interrupted call can be repeated, and calls ``progress`` with the
    number of submissions there are. Raises ``LoadRefusedError`` as :func:`plan` does. Lets the suite's tasks count as
    if they were audited, since results of other tasks are shown nowhere.
    """
    todo = plan(suite=suite, submissions=submissions)
    version = _version(suite)
    with transaction.atomic():
        _let_tasks_count(version)
        around = Surroundings(
            version=version,
            revisions=list(revisions_of(version)),
            judge=_judge(version.suite),
            reviewers=_reviewers(),
            now=timezone.now().replace(hour=0, minute=0, second=0, microsecond=0),
            seed=seed,
        )
    before = _rows_of_tables()
    try:
        for start in range(todo.there, submissions, CHUNK):
            numbers = range(start, min(submissions, start + CHUNK))
            systems = _add_chunk(numbers, around)
            represent(*systems)
            progress(numbers.stop)
    finally:
        note_change(version.pk, results=True)
        rank_outdated()
    return {name: count - before[name] for name, count in _rows_of_tables().items() if count > before[name]}


def database_bytes() -> int:
    """Return the size of the database with its indexes."""
    if connection.vendor == "sqlite":
        return Path(connection.settings_dict["NAME"]).stat().st_size
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_database_size(current_database())")
        return int(cursor.fetchone()[0])


def _version(slug: str) -> SuiteVersion:
    suite = Suite.objects.filter(slug=slug).first()
    version = current_version(suite) if suite else None
    if version is None:
        known = ", ".join(Suite.objects.values_list("slug", flat=True)) or "none; run manage.py load_catalogue"
        msg = f"There is no suite {slug!r}. Known: {known}."
        raise LoadRefusedError(msg)
    return version


def _free_bytes() -> int | None:
    """Return the free bytes of the database's disk; None if it is another machine's, or unknown to this user."""
    if connection.vendor == "sqlite":
        return shutil.disk_usage(Path(connection.settings_dict["NAME"]).parent).free
    with suppress(DatabaseError, OSError), transaction.atomic(), connection.cursor() as cursor:
        if str(connection.settings_dict["HOST"])[:1] in {"", "/"}:  # a socket: the server is on this machine
            cursor.execute("SHOW data_directory")
            return shutil.disk_usage(cursor.fetchone()[0]).free
    return None


def _let_tasks_count(version: SuiteVersion) -> None:
    """Mark the tasks as audited. Those of which only facts are stored get small files, as if they were imported."""
    for revision in revisions_of(version):
        if not revision.why_left_out:
            continue
        revision.not_runnable_reasons, revision.audit_state, revision.audit = [], AuditState.PASSED, {}
        if revision.protocol == Protocol.NONE:
            masked, grading = task_files(
                task=revision.task.slug, file=revision.goal_file, function=revision.goal_function
            )
            revision.protocol = Protocol.SEALED
            revision.repository_hash, revision.grading_hash = put_tree(masked), put_tree(grading)
            revision.masked_source, revision.masked_line = next(iter(masked.values())).decode(), 1
            revision.instruction = "Generated: no answer is ever tested here."
        revision.save()


def _judge(suite: Suite) -> JudgeConfig:
    """Return the judge that the board shows. A new one is retired at once, so that it never asks a model."""
    if (shown := shown_judge(suite.pk)) is not None:
        return shown
    judge, _ = JudgeConfig.objects.get_or_create(
        slug="load-judge",
        defaults={
            "name": "Generated judge", "provider": "openai", "api": "chat", "base_url": "https://models.load.invalid/v1",
            "model": "generated-judge", "vendor": "Generated", "prompt_version": "generated", "prompt_hash": "0" * 64,
            "schema_hash": "0" * 64, "sdk": "none", "digest": "load".ljust(64, "0"), "active": False,
        },
    )  # fmt: skip
    ShownJudge.objects.create(suite=suite, config=judge)
    return judge


def _reviewers() -> list[Reviewer]:
    """Return the annotators, then the adjudicators; on the first call, they are added."""
    found = list(Reviewer.objects.filter(user__email__endswith=MAIL).order_by("pk"))
    for number in range(len(found), ANNOTATORS + ADJUDICATORS):
        annotates = number < ANNOTATORS
        user = User.objects.create(
            username=f"load-reviewer-{number}",
            email=f"load-reviewer-{number}{MAIL}",
            password=make_password(None),
        )
        found.append(
            Reviewer.objects.create(
                user=user,
                pseudonym=f"Reviewer {number + 1} (generated)",
                is_annotator=annotates,
                is_adjudicator=not annotates,
                conflicts_confirmed=True,
            )
        )
    return found


def _add_chunk(numbers: range, around: Surroundings) -> list[int]:
    """Store the submissions with these ``numbers``; return the ids of their systems."""
    with transaction.atomic():
        systems = _systems({system_of(number) for number in numbers})
        made = _make(numbers, systems, around)
        copy_instances(Submission, [each.submission for each in made])
        _add_answers(made, around)
        judged = _add_judgements(made, around)
        add_cases(judged, around.reviewers, drawing(around.seed, -numbers.start - 1))
        _add_entries(made, around)
        _add_events(made, around)
    return sorted({each.submission.system_id for each in made})


def _systems(numbers: set[int]) -> dict[int, System]:
    """Return the systems with these numbers; those that are new are stored, with their accounts."""
    facts = {number: system_facts(number) for number in sorted(numbers)}
    slugs = {each.slug: number for number, each in facts.items()}
    found = {slugs[each.slug]: each for each in System.objects.filter(slug__in=slugs).select_related("owner")}
    new = {number: each for number, each in facts.items() if number not in found}
    names = {each.account: f"load-{each.account}" for each in new.values()}
    owners = {each.username: each for each in User.objects.filter(username__in=names.values())}
    owners |= {
        each.username: each
        for each in User.objects.bulk_create(
            User(username=name, email=f"{name}{MAIL}", password=make_password(None))
            for name in names.values()
            if name not in owners
        )
    }
    made = System.objects.bulk_create(
        System(
            slug=each.slug, name=each.name, backbone=each.backbone, scaffold=each.scaffold,
            organisation=each.organisation, owner=owners[names[each.account]],
        )
        for each in new.values()
    )  # fmt: skip
    return found | dict(zip(new, made, strict=True))


def _make(numbers: range, systems: dict[int, System], around: Surroundings) -> list[Made]:
    tasks = len(around.revisions)
    first = reserve({Submission: len(numbers), Implementation: len(numbers) * tasks})
    made = []
    for place, number in enumerate(numbers):
        chance = drawing(around.seed, number)
        facts = submission_facts(chance, number, tasks=tasks, now=around.now)
        system = systems[system_of(number)]
        published = facts.ended + timedelta(hours=1) if facts.visibility != Visibility.PRIVATE else None
        submission = Submission(
            pk=first[Submission] + place,
            owner=system.owner,
            system=system,
            suite_version=around.version,
            inputs=facts.inputs,
            kind=facts.kind,
            bundle_digest=hashlib.sha256(f"{around.seed}/{number}".encode()).hexdigest(),
            state=facts.state,
            held_reason="Generated: infrastructure errors occurred." if facts.state == SubmissionState.HELD else "",
            environment_digest="generated",
            visibility=facts.visibility,
            visibility_reason="Generated." if facts.visibility in {Visibility.WITHDRAWN, Visibility.HIDDEN} else "",
            code_licence=_LICENCE if published else "",
            created=facts.created,
            scored_at=facts.ended if facts.state == SubmissionState.SCORED else None,
            published_at=published,
        )
        made.append(Made(submission, facts, chance, first[Implementation] + place * tasks))
    return made


def _add_answers(made: Sequence[Made], around: Surroundings) -> None:
    """Store the answers of the submissions, their test runs, and an attempt at each run that ended."""
    first = reserve({TestRun: len(made) * len(around.revisions), Attempt: len(made) * len(around.revisions)})
    answers: list[Sequence[Any]] = []
    runs: list[Sequence[Any]] = []
    attempts: list[Sequence[Any]] = []
    for each in made:
        done = each.facts.state == SubmissionState.SCORED
        waiting = None if done else around.now + _LATER
        for place, (revision, outcome) in enumerate(zip(around.revisions, each.facts.outcomes, strict=True)):
            answer, run = each.answers + place, first[TestRun] + len(runs)
            attempted = outcome != Outcome.NOT_ATTEMPTED
            scale = f"{each.chance.random():.6f}"
            code = code_of(
                task=revision.task.slug, file=revision.goal_file, function=revision.goal_function, scale=scale
            )
            shares = f'{{"tokens": {scale}, "tree": {scale[:4]}}}' if attempted else "{}"
            tokens = each.chance.randrange(400, 9_000)
            usage = f'{{"input_tokens": {3 * tokens}, "output_tokens": {tokens}, "cost_usd": {tokens / 1e5}}}'
            shown = code if attempted else ("", "", None)
            answers.append((answer, each.submission.pk, revision.pk, attempted, *shown, shares, usage))
            ended = each.facts.ended - timedelta(seconds=place)
            runs.append(
                (
                    *(
                        run,
                        answer,
                        RunState.DONE if done else _unfinished(each.facts),
                        waiting,
                        ended if done else None,
                    ),
                    *(
                        outcome.value if done else "",
                        cases_of(outcome) if done else "[]",
                        _log(outcome) if done else "",
                    ),
                    *(each.chance.random() * 9 if done else None, each.facts.created),
                )
            )
            if done and outcome not in WITHOUT_TEST:
                token = uuid.UUID(int=each.chance.getrandbits(128), version=4)
                attempts.append(
                    (first[Attempt] + len(attempts), run, token, f"worker-{place % 4}", each.facts.created, ended)
                )
    answer_names = (
        "id",
        "submission_id",
        "revision_id",
        "attempted",
        "goal_source",
        "diff",
        "files",
        "similarity",
        "usage",
    )
    copy_rows(Implementation, answer_names, answers)
    run_names = (
        *("id", "implementation_id", "state", "not_before", "finished"),
        *("outcome", "cases", "log", "seconds", "created"),
    )
    copy_rows(TestRun, run_names, runs, evaluator_version=EVALUATOR_VERSION, environment_digest="generated")
    attempt_names = ("id", "run_id", "token", "worker", "started", "ended")
    copy_rows(Attempt, attempt_names, attempts, number=1, sandbox="bubblewrap", state=AttemptState.ACCEPTED)


def _unfinished(facts: SubmissionFacts) -> RunState:
    match facts.state:
        case SubmissionState.HELD:
            return RunState.HELD
        case SubmissionState.CANCELLED:
            return RunState.CANCELLED
        case _:
            return RunState.QUEUED


def _log(outcome: Outcome) -> str:
    return f"3 public cases and 1 private case: {outcome.words}.\n"


def _add_judgements(made: Sequence[Made], around: Surroundings) -> list[Judged]:
    """Store the judge's labels with three votes each; return the answers that may be reviewed."""
    judged = [each for each in made if each.facts.labels]
    number = len(judged) * len(around.revisions)
    first = reserve({Judgement: number, JudgeVote: 3 * number})
    labels: list[Sequence[Any]] = []
    votes: list[Sequence[Any]] = []
    reviewable = []
    for each in judged:
        sent = each.submission
        may_be_reviewed = sent.kind == Kind.RANKED and sent.visibility == Visibility.PUBLISHED
        finished = each.facts.ended + timedelta(hours=2)
        for place, (outcome, label) in enumerate(zip(each.facts.outcomes, each.facts.labels, strict=True)):
            if outcome == Outcome.NOT_ATTEMPTED:
                continue
            pk, answer = first[Judgement] + len(labels), each.answers + place
            labels.append((pk, answer, label, not label, finished, finished))
            for sample in range(3):
                votes.append((first[JudgeVote] + len(votes), pk, sample, label, "" if label else "invalid", finished))
            if may_be_reviewed:
                reviewable.append(Judged(answer, outcome.value, label, finished))
    names = ("id", "implementation_id", "label", "abstained", "created", "finished")
    copy_rows(Judgement, names, labels, config_id=around.judge.pk, state=WorkState.DONE)
    copy_rows(
        JudgeVote,
        ("id", "judgement_id", "sample", "label", "abstention", "created"),
        votes,
        rationale=["The weights are normalised as the paper says.", "The denominator is that of equation 3."],
    )
    return reviewable


def _add_entries(made: Sequence[Made], around: Surroundings) -> None:
    """Store the board rows of the scored submissions, counted as the site counts them."""
    scored = [each for each in made if each.facts.state == SubmissionState.SCORED]
    first = reserve({Entry: len(scored)})[Entry]
    left_out = tasks_left_out(around.revisions)
    entries, metrics = [], []
    for pk, each in enumerate(scored, first):
        sent = each.submission
        raters = raters_shares(sent, around.judge) if each.facts.labels else {RaterAxis.JUDGE.value: {}}
        tests = [
            None if revision.why_left_out else float(outcome == Outcome.PASSED)
            for revision, outcome in zip(around.revisions, each.facts.outcomes, strict=True)
        ]
        marks: Marks = {"tests": tests, **label_marks(raters, [revision.pk for revision in around.revisions])}
        entry = Entry(
            pk=pk,
            suite_version=around.version,
            submission=sent,
            system=sent.system,
            inputs=sent.inputs,
            kind=sent.kind,
            provenance=Provenance.GRADED_HERE,
            published=sent.visibility == Visibility.PUBLISHED,
            left_out=left_out,
            marks=marks,
            trial_passes=[sum(map(bool, tests))],
            date=sent.published_at or sent.scored_at,
            counting=COUNTING,
            computed=timezone.now(),
        )
        entries.append(entry)
        metrics += metrics_of(entry, counted_tallies(entry, around.revisions, raters), around.judge)
    copy_instances(Entry, entries)
    for pk, metric in enumerate(metrics, reserve({EntryMetric: len(metrics)})[EntryMetric]):
        metric.pk = pk
    copy_instances(EntryMetric, metrics)


def _add_events(made: Sequence[Made], around: Surroundings) -> None:
    """Store what happened to the submissions, and notices of what happened lately."""
    events = [each for one in made for each in _events(one)]
    recent = around.now - KEPT
    notices = [
        Notice(
            recipient_id=each.submission.owner_id,
            kind=NoticeKind.SCORED,
            key=str(each.submission.pk),
            submission=each.submission,
            made=each.facts.ended,
            read=each.facts.ended + timedelta(days=1) if each.chance.random() < 0.6 else None,
        )
        for each in made
        if each.facts.state == SubmissionState.SCORED and each.facts.ended > recent
    ]
    _number(AuditEvent, events)
    copy_instances(AuditEvent, events)
    _number(Notice, notices)
    copy_instances(Notice, notices)


def _rows_of_tables() -> dict[str, int]:
    """Return the number of rows of each table that submissions add to."""
    return {str(model._meta.verbose_name_plural): model._base_manager.count() for model in _TABLES}  # noqa: SLF001


def _events(one: Made) -> Iterable[AuditEvent]:
    sent = one.submission
    verbs = [Verb.SUBMITTED, *_VERBS[one.facts.visibility]]
    if one.facts.state == SubmissionState.CANCELLED:
        verbs.append(Verb.CANCELLED)
    for place, verb in enumerate(verbs):
        yield AuditEvent(
            actor_id=sent.owner_id,
            verb=verb,
            subject_kind="submission",
            subject_id=str(sent.pk),
            subject_text=str(sent)[:200],
            reason="Generated." if verb in {Verb.WITHDRAWN, Verb.HIDDEN} else "",
            created=one.facts.created if not place else one.facts.ended + place * timedelta(hours=1),
        )


def _number(model: Any, instances: Sequence[Any]) -> None:
    for pk, each in enumerate(instances, reserve({model: len(instances)})[model]):
        each.pk = pk
