"""Runs on endpoints and their calls, for the tests of the pages that show them."""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from django.utils import timezone

from evaluator.enums import AnswerTaken, CallPurpose, CallState, GenerationState, WorkState
from evaluator.models import AnswerRequest, Generation, ModelCall
from submissions.enums import Source, SubmissionState
from tests.submissions.endpoints.factories import EndpointFactory
from tests.submissions.factories import SubmissionFactory, SystemFactory, with_answers

if TYPE_CHECKING:
    from submissions.models import Submission, User

PROMPT = "Write the function double."
REPLY = "def double(x):\n    return 2 * x"
CHAT_REQUEST: dict[str, Any] = {
    "model": "alpha-2-2026-01",
    "max_completion_tokens": 8192,
    "messages": [{"role": "system", "content": "You write code."}, {"role": "user", "content": PROMPT}],
}
CHAT_RESPONSE: dict[str, Any] = {
    "id": "chatcmpl-1",
    "choices": [{"index": 0, "message": {"role": "assistant", "content": REPLY}, "finish_reason": "stop"}],
    "usage": {"prompt_tokens": 1200, "completion_tokens": 300},
}


def endpoint_run(owner: User, *states: str, state: str = GenerationState.RUNNING, **facts: Any) -> Generation:
    """A run on an endpoint of ``owner`` with a request in each of ``states``."""
    endpoint = EndpointFactory(owner=owner, price_input=Decimal(2), price_output=Decimal(8))
    system = SystemFactory(owner=owner)
    submission: Submission = SubmissionFactory(
        owner=owner, system=system, source=Source.ENDPOINT, state=SubmissionState.GENERATING
    )
    known = {"model": endpoint.model, "provider": "openai", "price_input": "2", "price_output": "8"}
    generation = Generation.objects.create(
        submission=submission, endpoint=endpoint, prompt_version="2026-11-1", state=state, settings=known, **facts
    )
    for answer, each in zip(with_answers(submission, len(states), attempted=False), states, strict=True):
        taken = AnswerTaken.CODE if each == WorkState.DONE else ""
        AnswerRequest.objects.create(generation=generation, implementation=answer, state=each, taken=taken)
    return generation


def called(request: AnswerRequest, /, *, key: str = "", state: str = CallState.ANSWERED, **facts: Any) -> ModelCall:
    """A call for ``request``; an answered one used 1200 tokens in and 300 out for 0.0048 dollars."""
    answered = state == CallState.ANSWERED
    used = {"input_tokens": 1200, "output_tokens": 300, "dollars": Decimal("0.0048"), "response": CHAT_RESPONSE}
    return ModelCall.objects.create(
        **{
            "purpose": CallPurpose.ANSWER,
            "key": key or f"key-{request.pk}",
            "answer_request": request,
            "state": state,
            "provider": "openai",
            "model": "alpha-2-2026-01",
            "request": CHAT_REQUEST,
            "ended": timezone.now() + timedelta(seconds=2),
            **(used if answered else {}),
            **facts,
        }
    )
