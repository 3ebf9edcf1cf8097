"""The choices of this room's fields: states, kinds, visibility, verbs of audit events."""

from __future__ import annotations

from typing import Final, NamedTuple

from django.db.models import TextChoices


class Inputs(TextChoices):
    """What the system was given (paper, Table 3)."""

    FULL = "full", "paper, repository and instruction"
    PAPER_ONLY = "paper_only", "paper only"
    PAPER_GOAL_FILE = "paper_goal_file", "paper and goal file"


class Weights(TextChoices):
    """Whether anybody may have the backbone's weights."""

    OPEN = "open", "open weights"
    CLOSED = "closed", "closed weights"


class Source(TextChoices):
    """Where the answers came from."""

    BUNDLE = "bundle", "uploaded bundle"
    ENDPOINT = "endpoint", "model endpoint"


class Kind(TextChoices):
    """Samples are measured like everything else, and never ranked."""

    RANKED = "ranked", "ranked"
    CALIBRATION = "calibration", "calibration sample"


class Provider(TextChoices):
    """Whose protocol an endpoint speaks. Many servers speak OpenAI's: vLLM, Ollama, OpenRouter."""

    OPENAI = "openai", "OpenAI or compatible"
    ANTHROPIC = "anthropic", "Anthropic"


class Api(TextChoices):
    """Which of a provider's interfaces is called. The form, the pages and docs/endpoints.md call it the same."""

    CHAT = "chat", "OpenAI Chat Completions"
    RESPONSES = "responses", "OpenAI Responses"
    MESSAGES = "messages", "Anthropic Messages"


class OutputLimit(TextChoices):
    """The parameter of Chat Completions that limits an answer. OpenAI renamed it; other servers know either name."""

    AUTOMATIC = "", "chosen by the address"
    OLDER = "max_tokens", "max_tokens"
    NEWER = "max_completion_tokens", "max_completion_tokens"


class ProviderFacts(NamedTuple):
    """What forms, commands and judges have to know of a provider. How to talk to it: ``evaluator.providers``.

    The first of ``apis`` is the usual one; ``library`` is the distribution of its SDK, whose version a judge stores.
    """

    apis: tuple[Api, ...]
    address: str
    key_variable: str
    library: str


PROVIDERS: Final = {
    Provider.OPENAI: ProviderFacts(
        (Api.CHAT, Api.RESPONSES), "https://api.openai.com/v1", key_variable="OPENAI_API_KEY", library="openai"
    ),
    Provider.ANTHROPIC: ProviderFacts(
        (Api.MESSAGES,), "https://api.anthropic.com", key_variable="ANTHROPIC_API_KEY", library="anthropic"
    ),
}


class EndpointCheck(TextChoices):
    """What came of the last try to reach an endpoint."""

    NONE = "none", "not tested"
    WAITING = "waiting", "being tested"
    OK = "ok", "answers"
    FAILED = "failed", "does not answer"


class Scaffold(TextChoices):
    """How a model is asked by this site."""

    NONE = "none", "standard prompting"
    AGENT = "agent", "agent"


class SubmissionState(TextChoices):
    """A submission's life. Changed by conditional update only. Only one made from an endpoint is ever generating."""

    GENERATING = "generating", "asking the model"
    QUEUED = "queued", "queued"
    RUNNING = "running", "running"
    HELD = "held", "held"
    SCORED = "scored", "scored"
    CANCELLED = "cancelled", "cancelled"


class Visibility(TextChoices):
    """Who sees a submission. Every change leaves an audit event."""

    PRIVATE = "private", "not published"
    PUBLISHED = "published", "published"
    WITHDRAWN = "withdrawn", "withdrawn by its owner"
    HIDDEN = "hidden", "hidden by a maintainer"


class Scope(TextChoices):
    """What a token lets a program do for its owner."""

    READ = "read", "read what you may read"
    SUBMIT = "submit", "upload, submit, cancel, publish and withdraw"
    ENDPOINTS = "endpoints", "start and steer runs on your endpoints"
    LABEL = "label", "take, draft and lock labels as an annotator"
    NOTICES = "notices", "mark your notices as read"


class Verb(TextChoices):
    """What an audit event says was done."""

    UPLOADED = "uploaded", "uploaded"
    SUBMITTED = "submitted", "submitted"
    CANCELLED = "cancelled", "cancelled"
    PUBLISHED = "published", "published"
    WITHDRAWN = "withdrawn", "withdrew"
    HIDDEN = "hidden", "hid"
    UNHIDDEN = "unhidden", "unhid"
    CORRECTED = "corrected", "corrected"
    RETRIED = "retried", "retried"
    REEVALUATING = "reevaluating", "began to re-evaluate"
    REEVALUATED = "reevaluated", "re-evaluated"
    REEVALUATION_STOPPED = "reeval_stopped", "stopped re-evaluating"
    QUOTA = "quota", "changed the quota of"
    IMPORTED = "imported", "imported"
    ROLE = "role", "changed the role of"
    PASSWORD = "password", "set the password of"
    ENDPOINT_ADDED = "endpoint_added", "added the endpoint"
    ENDPOINT_CHANGED = "endpoint_change", "changed the endpoint"
    ENDPOINT_DELETED = "endpoint_delete", "deleted the endpoint"
    KEY_STORED = "key_stored", "stored a key for"
    KEY_FORGOTTEN = "key_forgotten", "deleted the key of"
    TOKEN_MADE = "token_made", "made the token"
    TOKEN_REVOKED = "token_revoked", "revoked the token"
    PAUSED = "paused", "paused"
    RESUMED = "resumed", "resumed"
    JUDGE_ADDED = "judge_added", "added the judge"
    JUDGE_RETIRED = "judge_retired", "retired the judge"
    JUDGE_SHOWN = "judge_shown", "chose the shown judge of"
    JUDGED_AGAIN = "judged_again", "had judged by another judge"
    INVITED = "invited", "invited a reviewer"
    INVITATION_REVOKED = "invite_revoked", "revoked the invitation of a reviewer"
    JOINED = "joined", "joined the reviewers"
    REVIEWER_CHANGED = "reviewer_changed", "changed the reviewer"
    GUIDELINE = "guideline", "published guidelines"
    APPEALED = "appealed", "appealed against the label of"
    DECIDED = "decided", "decided on"
    VOIDED = "voided", "voided the review of"
    TASK_FLAGGED = "task_flagged", "flagged the task"
    FLAG_LIFTED = "flag_lifted", "lifted the flag of"
    LABELS_IMPORTED = "labels_imported", "imported labels of"
    FROZEN = "frozen", "froze the board as"
