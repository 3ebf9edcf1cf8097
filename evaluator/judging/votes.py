"""One vote of a judge: asked until it is a verdict, three times at most, else an abstention."""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from benchmark_tasks.domain.queries import golden_definition, masked_definition
from evaluator.enums import Abstention
from evaluator.generation.prompt_tasks import paper_of
from evaluator.generation.reply_text import without_reasoning
from evaluator.judging import judge_budget
from evaluator.judging.prompt import JudgeInput, build, digest, excerpt, tokens_of
from evaluator.providers.calling import CallRejectedError, Order, answered, call, call_key
from evaluator.providers.types import EndpointSettings, Finish
from submissions.domain.shown_changes import other_files

if TYPE_CHECKING:
    import uuid
    from collections.abc import Callable

    from benchmark_tasks.models import TaskRevision
    from evaluator.enums import CallPurpose, Variant
    from evaluator.judging.verdicts import JudgeVerdict
    from evaluator.labels import Label
    from evaluator.models import JudgeConfig, ModelCall
    from evaluator.providers.types import ModelClient, ModelReply
    from submissions.models import Implementation

TRIES: Final = 3
"""The first asking, and two more where no verdict came back (issue: "after two retries")."""

DELETED = "(this file was deleted)"


@dataclass(frozen=True, slots=True)
class Ballot:
    """A vote that was cast: a verdict, or the reason why there is none; and every call that it took."""

    verdict: JudgeVerdict | None
    abstention: Abstention | None
    calls: tuple[ModelCall, ...]

    @property
    def label(self) -> Label | None:
        """The vote's label; ``None`` for an abstention."""
        return self.verdict.label if self.verdict else None


@dataclass(frozen=True, slots=True)
class Asking:
    """Who is asked, on whose behalf. ``scope`` sets keys apart that must not share answers (rounds of canaries)."""

    client: ModelClient
    config: JudgeConfig
    token: uuid.UUID
    purpose: CallPurpose
    stop: Callable[[], bool]
    scope: str = "judgement"

    def vote(self, shown: JudgeInput, variant: Variant, sample: int) -> Ballot:
        """Ask for one vote. What was answered before, for this or any other answer with this text, is not asked again.

        Raises what :func:`evaluator.providers.calling.call` raises, and ``BudgetSpentError``.
        """
        if tokens_of(shown) + self.config.max_output_tokens > context_tokens(self.config):
            return Ballot(None, Abstention.TOO_LONG, ())
        calls: list[ModelCall] = []
        abstention = Abstention.INVALID
        for key in vote_keys(self.config, shown, variant, sample, scope=self.scope):
            try:
                made, reply = self._call(shown, key)
            except CallRejectedError as error:
                if not error.too_long:
                    raise
                return Ballot(None, Abstention.TOO_LONG, tuple(calls))
            calls.append(made)
            read = _read(reply)
            if not isinstance(read, Abstention):
                return Ballot(read, None, tuple(calls))
            abstention = read
        return Ballot(None, abstention, tuple(calls))

    def _call(self, shown: JudgeInput, key: str) -> tuple[ModelCall, ModelReply]:
        if answered(key) is None:
            judge_budget.require_some_left()
        order = Order(
            purpose=self.purpose,
            key=key,
            token=self.token,
            request=build(shown, delimiter=secrets.token_hex(16)),
            endpoint_id=self.config.endpoint_id,
            prices=(self.config.price_input, self.config.price_output),
        )
        return call(self.client, order, stop=self.stop)


def vote_keys(
    config: JudgeConfig, shown: JudgeInput, variant: Variant, sample: int, *, scope: str = "judgement"
) -> list[str]:
    """The call keys of one vote's tries. They name judge, text, variant and sample, and no answer's row."""
    return [
        call_key("judge", scope, config.digest, digest(shown), str(variant), str(sample), str(number))
        for number in range(1, TRIES + 1)
    ]


def context_tokens(config: JudgeConfig) -> int:
    """How much the judge reads at most, answer included. It can change no verdict, so the endpoint's of now counts."""
    return config.endpoint.context_tokens if config.endpoint else EndpointSettings.of(config).context_tokens


def shown_of(implementation: Implementation) -> JudgeInput:
    """What a judge sees of an answer: everything that it changes, and the paper; no system, no outcome.

    Raises ``ContentMissingError``, ``OSError`` or ``SourceError`` where the task's files are not there.
    """
    revision, candidate = implementation.revision, implementation.goal_source
    others = other_files(
        masked_definition(revision), path=revision.goal_file, files=implementation.files or {}, goal_source=candidate
    )
    return JudgeInput(
        instruction=revision.instruction,
        reference=golden_definition(revision),
        candidate=candidate,
        other_files={**others, **dict.fromkeys(implementation.deleted, DELETED)},
        paper=shown_paper(revision),
    )


def shown_paper(revision: TaskRevision) -> dict[str, Any] | None:
    """What a judge sees of the task's paper; ``None`` where the site has no copy that can be read.

    Raises ``ContentMissingError`` or ``OSError`` where it had one.
    """
    paper = paper_of(revision)
    return excerpt(paper) if paper else None


def _read(reply: ModelReply) -> JudgeVerdict | Abstention:
    from evaluator.judging.verdicts import VerdictError, parse

    if reply.finish is Finish.REFUSED:
        return Abstention.REFUSED
    if reply.finish is Finish.TRUNCATED:
        return Abstention.TRUNCATED
    try:
        return parse(without_reasoning(reply.text))
    except VerdictError:
        return Abstention.INVALID
