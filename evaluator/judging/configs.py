"""Create judges from endpoints, retire them, and find those that are active."""

from __future__ import annotations

from importlib.metadata import version
from typing import TYPE_CHECKING

from django.db import transaction
from django.utils.text import slugify

from benchmark_tasks.models import Suite
from evaluator.enums import WorkState
from evaluator.judging.prompt import PROMPT_HASH, PROMPT_VERSION, SCHEMA_HASH
from evaluator.models import JudgeConfig, Judgement, ShownJudge
from evaluator.providers.calling import call_key
from submissions.domain.audit import record
from submissions.enums import PROVIDERS, Provider, Verb
from submissions.exceptions import NotAllowedError, SubmissionError, WrongStateError

if TYPE_CHECKING:
    from django.db.models import QuerySet

    from submissions.models import Endpoint, User

VOTES, VOTES_WHEN_SPLIT, MOST_VOTES = 3, 5, 15
HOW_TO_CONFIGURE = (
    "No judge is configured. As a maintainer, register an endpoint under your account, test its connection, and make a "
    "judge of it: on the page of judges, or by `manage.py add_judge --endpoint NAME` (docs/judging.md)."
)


def add_judge(
    *,
    actor: User,
    endpoint: Endpoint,
    name: str = "",
    votes: int = VOTES,
    votes_when_split: int = VOTES_WHEN_SPLIT,
    vendor: str = "",
) -> JudgeConfig:
    """Make a judge with the endpoint's current settings. For settings of an existing judge, return it, activated.

    The first judge becomes the one that boards show. Raises :class:`NotAllowedError` for anyone but maintainers and for
    endpoints of other accounts, and :class:`SubmissionError` for numbers of votes that cannot decide.
    """
    if not actor.is_staff or endpoint.owner_id != actor.pk or endpoint.team_id is not None:
        msg = "Only maintainers may make judges, and only from their own endpoints: its calls use the owner's key."
        raise NotAllowedError(msg)
    _check_votes(votes, votes_when_split)
    made = _unsaved(endpoint, name=name, votes=votes, votes_when_split=votes_when_split, vendor=vendor)
    with transaction.atomic():
        config = JudgeConfig.objects.filter(digest=made.digest).first()
        if config is None:
            made.slug, made.created_by = _unused_slug(made.name), actor
            made.save()
            config = made
        elif config.active and config.endpoint_id == endpoint.pk:
            return config
        else:
            config.active, config.endpoint = True, endpoint
            config.save(update_fields=["active", "endpoint"])
        record(verb=Verb.JUDGE_ADDED, subject=config, actor=actor, data={"digest": config.digest})
        for suite in Suite.objects.filter(shown_judge__isnull=True):
            show_first(suite=suite, config=config)
    return config


def retire(*, config: JudgeConfig, actor: User) -> int:
    """Retire a judge; return how many open judgements were cancelled. Its judgements stay. For maintainers."""
    if not actor.is_staff:
        msg = "Only maintainers may retire judges."
        raise NotAllowedError(msg)
    with transaction.atomic():
        if not JudgeConfig.objects.filter(pk=config.pk, active=True).update(active=False):
            msg = "This judge is already retired."
            raise WrongStateError(msg)
        still_open = Judgement.objects.filter(config=config).exclude(state__in=[WorkState.DONE, WorkState.CANCELLED])
        cancelled = still_open.update(
            state=WorkState.CANCELLED, token=None, lease_until=None, reason="The judge was retired."
        )
        record(verb=Verb.JUDGE_RETIRED, subject=config, actor=actor, data={"cancelled": cancelled})
    config.refresh_from_db()
    return cancelled


def active_configs() -> QuerySet[JudgeConfig]:
    """Return the active judges, oldest first."""
    return JudgeConfig.objects.filter(active=True).select_related("endpoint")


def stale(config: JudgeConfig) -> str:
    """Return why ``config`` can no longer be used, or an empty string: the site's prompt or answer format changed."""
    if (config.prompt_hash, config.schema_hash) == (PROMPT_HASH, SCHEMA_HASH):
        return ""
    return (
        f"This judge was made for the prompt {config.prompt_version}, and the site now has {PROMPT_VERSION} with other "
        "content. Make a new judge of the same endpoint; this judge's labels stay as its own column."
    )


def show_first(*, suite: Suite, config: JudgeConfig) -> None:
    """Let the suite's board show ``config`` if it shows no judge yet; maintainers decide about later changes."""
    ShownJudge.objects.get_or_create(suite=suite, defaults={"config": config})


def _check_votes(votes: int, votes_when_split: int) -> None:
    if votes % 2 == 0 or votes_when_split % 2 == 0 or not 1 <= votes <= votes_when_split <= MOST_VOTES:
        msg = (
            f"{votes} votes, {votes_when_split} when they differ: both numbers must be odd, from 1 to {MOST_VOTES}, "
            "and the second not smaller than the first."
        )
        raise SubmissionError(msg)


def _unsaved(endpoint: Endpoint, *, name: str, votes: int, votes_when_split: int, vendor: str) -> JudgeConfig:
    library = PROVIDERS[Provider(endpoint.provider)].library
    config = JudgeConfig(
        name=name.strip() or endpoint.model[:80],
        endpoint=endpoint,
        vendor=vendor.strip() or endpoint.get_provider_display(),
        votes=votes,
        votes_when_split=votes_when_split,
        prompt_version=PROMPT_VERSION,
        prompt_hash=PROMPT_HASH,
        schema_hash=SCHEMA_HASH,
        sdk=f"{library} {version(library)}",
        **{
            field: getattr(endpoint, field)
            for field in (
                *("provider", "api", "base_url", "model", "effort", "temperature", "max_output_tokens"),
                *("output_limit", "omit_strict", "price_input", "price_output"),
            )
        },
    )
    # Everything that could change a verdict; names and prices could not.
    decisive = (
        *(config.provider, config.api, config.base_url, config.model, config.effort, config.temperature),
        *(config.max_output_tokens, config.votes, config.votes_when_split),
        *(config.prompt_hash, config.schema_hash, config.sdk),
        # Only where they are set, so that digests of judges older than these settings stay valid.
        *(f"{name}={value}" for name in ("output_limit", "omit_strict") if (value := getattr(config, name))),
    )
    config.digest = call_key(*(repr(value) if isinstance(value, float) else str(value) for value in decisive))
    return config


def _unused_slug(name: str) -> str:
    base = slugify(name)[:70] or "judge"
    # Two pages use these names where a judge's slug would be.
    taken = {"new", "add", *JudgeConfig.objects.filter(slug__startswith=base).values_list("slug", flat=True)}
    number, slug = 1, base
    while slug in taken:
        number += 1
        slug = f"{base}-{number}"
    return slug
