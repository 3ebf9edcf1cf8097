"""Open sample cases for trying out reviewing: answers made by the site, with scripted judge votes.

The answers are submitted like any other, so the unit tests run for real. They are calibration samples: shown
separately, never ranked.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from django.db import transaction
from django.utils import timezone

from benchmark_tasks.domain.known_answers import known_source
from benchmark_tasks.domain.queries import golden_definition, runnable_revisions_of
from evaluator.enums import Abstention, WorkState
from evaluator.judging.prompt import digest
from evaluator.judging.rewriting import with_other_names
from evaluator.judging.votes import shown_of
from evaluator.labels import Label, is_split, majority
from evaluator.models import JudgeConfig, Judgement, JudgeVote
from evaluator.providers.calling import call_key
from reviews.cases.calibration import submit_answers, submitted_before, version_of
from reviews.cases.states import note
from reviews.cases.triggers import NewTrigger, store_triggers
from reviews.enums import CaseKind, CaseState, Severity, TriggerKind
from reviews.exceptions import ReviewError
from reviews.models import Case
from submissions.enums import Api, Provider

if TYPE_CHECKING:
    from submissions.models import Implementation, Submission

SYSTEM: Final = "Sample: disputed answers"
NOTES: Final = "Made by manage.py sample_disputes: right, wrong and rewritten answers, to try reviewing out with."
JUDGE: Final = "Scripted sample judge"
COUNT: Final = 10

CC, LC, LI = Label.CC, Label.LC, Label.LI


class Script(NamedTuple):
    """The scripted judge's votes on an answer (None abstains), the point of its findings, and the severity.

    ``severity`` is what the site's triggers would give once the unit tests have run.
    """

    votes: tuple[Label | None, ...]
    point: str
    severity: Severity


# The order mixes kinds and severities, so that the first ten cases include all of them.
_RIGHT = (
    Script((LI, LI, LI), "It is built in another way than the reference.", Severity.CONTRADICTION),
    Script((CC, CC, CC), "Every step has its counterpart in the reference.", Severity.AUDIT),
    Script((CC, LC, LI, CC, LC), "Whether the edge cases are handled alike is hard to see.", Severity.UNSURE),
    Script((LC, LC, LC), "One order of steps differs.", Severity.GAP),
)
_WRONG = (
    Script((CC, CC, CC), "The steps look the same as those of the reference.", Severity.CONTRADICTION),
    Script((LC, LI, LI, LC, None), "The idea is there, and at least one step does something else.", Severity.UNSURE),
    Script((LI, LI, LI), "A step of the method is another one.", Severity.AUDIT),
    Script((LC, LC, LC), "The idea is right, one detail is not.", Severity.AUDIT),
)
_RENAMED = (
    Script((CC, CC, CC), "Only names differ from the reference.", Severity.AUDIT),
    Script((None, None, None), "", Severity.UNSURE),
    Script((CC, CC, LC, CC, CC), "Names say nothing here, the steps are the same.", Severity.UNSURE),
)
SCRIPTS: Final = {1: _RIGHT, 2: _WRONG, 3: _RENAMED}
"""Scripts by trial."""


class Sampled(NamedTuple):
    """Result of :func:`sample_disputes`: cases ``opened`` now, and the ``total`` number of sample cases."""

    submission: Submission
    opened: int
    total: int


def sample_disputes(*, suite: str, count: int = COUNT) -> Sampled:
    """Ensure ``count`` sample cases on the suite with this slug, including existing ones. Needs no worker.

    Raises :class:`ReviewError` if the suite is missing or has fewer samples than ``count``.
    """
    submission = submitted_before(suite=suite, system=SYSTEM, notes=NOTES) or _submit(suite)
    answers = _mixed(submission)
    if count > len(answers):
        msg = f"{count} cases are more than the {len(answers)} sample answers of {suite!r}; request fewer."
        raise ReviewError(msg)
    existing = Case.objects.filter(implementation__submission=submission, kind=CaseKind.REVIEW, round=1).count()
    opened = 0
    for answer, script in answers:
        if existing + opened >= count:
            break
        opened += _open(answer, script)
    return Sampled(submission, opened, existing + opened)


def _submit(suite: str) -> Submission:
    """Submit a right answer, a plausible mistake, and a renamed golden function for each task with samples."""
    version = version_of(suite)
    if version is None:
        msg = f"There is no suite {suite!r}; run manage.py load_catalogue first."
        raise ReviewError(msg)
    answers: dict[tuple[str, int], str] = {}
    for revision in runnable_revisions_of(version):
        right, wrong = known_source(revision, right=True), known_source(revision, right=False)
        if right and wrong:
            sources = (right, wrong, with_other_names(golden_definition(revision)))
            answers |= {(revision.task.slug, trial): source for trial, source in enumerate(sources, 1) if source}
    if not answers:
        msg = f"The suite {suite!r} ships no samples (alternative_N.py and wrong_N.py), so there is nothing to submit."
        raise ReviewError(msg)
    return submit_answers(version=version, answers=answers, system=SYSTEM, notes=NOTES, publish=True)


def _mixed(submission: Submission) -> list[tuple[Implementation, Script]]:
    """Return the answers with their scripts, alternating kinds and tasks."""
    answers = submission.implementations.filter(attempted=True).select_related("revision__task__paper", "submission")
    rows: dict[int, list[Implementation]] = {trial: [] for trial in SCRIPTS}
    for answer in answers.order_by("revision__task__paper__folder_name", "revision__task__index"):
        rows[answer.trial].append(answer)
    longest = max(map(len, rows.values()))
    return [
        (rows[trial][place], scripts[place % len(scripts)])
        for turn in range(longest)
        for trial, scripts in SCRIPTS.items()
        if (place := (turn + (trial - 1) * 3) % longest) < len(rows[trial])
    ]


def _open(answer: Implementation, script: Script) -> bool:
    """Store the scripted votes and open the case; return whether it is new."""
    with transaction.atomic():
        case, made = Case.objects.get_or_create(
            implementation=answer, kind=CaseKind.REVIEW, round=1, defaults={"severity": script.severity}
        )
        if not made:
            return False
        store_triggers(case, [NewTrigger(TriggerKind.SAMPLE, script.severity, "Opened by manage.py sample_disputes.")])
        note(case, before="", after=CaseState.QUEUED, what="a calibration sample")
        _judge(answer, script)
    return True


def _judge(answer: Implementation, script: Script) -> None:
    label = majority(script.votes)
    judgement, made = Judgement.objects.get_or_create(
        implementation=answer,
        config=scripted_judge(),
        defaults={
            "state": WorkState.DONE,
            "finished": timezone.now(),
            "input_digest": digest(shown_of(answer)),
            "label": label or "",
            "abstained": label is None,
            "split": is_split(script.votes),
        },
    )
    if not made:
        return
    for sample, voted in enumerate(script.votes, 1):
        severity = "minor" if voted is CC else "major"
        findings = [{"point": script.point, "severity": severity, "lines": ""}] if voted else []
        JudgeVote.objects.create(
            judgement=judgement,
            sample=sample,
            label=voted or "",
            abstention="" if voted else Abstention.INVALID,
            findings=findings,
            rationale=[script.point, "This vote was made up for a sample; no model was called."] if voted else [],
        )


def scripted_judge() -> JudgeConfig:
    """Return the judge without a model. It is never active, so it never votes and no board shows it by default."""
    config, _ = JudgeConfig.objects.get_or_create(
        digest=call_key("scripted", JUDGE),
        defaults={
            "slug": "scripted-sample-judge",
            "name": JUDGE,
            "provider": Provider.OPENAI,
            "api": Api.CHAT,
            "base_url": "",
            "model": "none (votes made up for samples)",
            "vendor": "LMR-Board",
            "prompt_version": "none",
            "prompt_hash": "0" * 64,
            "schema_hash": "0" * 64,
            "sdk": "none",
            "active": False,
        },
    )
    return config
