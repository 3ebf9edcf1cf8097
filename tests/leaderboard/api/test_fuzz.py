"""Fuzz every operation with requests that the OpenAPI document allows and with others, on stored objects."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
import schemathesis
from django.core.signals import request_finished, request_started
from django.db import close_old_connections, transaction
from hypothesis import Phase, settings
from hypothesis import strategies as st
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from leaderboard.wsgi import application
from tests.conftest import PROJECT_ROOT, examples
from tests.leaderboard.api.program import Program
from tests.reviews.factories import ready
from tests.reviews.labelling import held_by
from tests.security.api_operations import entered_operations
from tests.security.conftest import secret_call, secret_notice, secret_submission, secret_upload

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pytest_django import Settings

    from evaluator.models import ModelCall
    from leaderboard.models import Notice
    from submissions.models import Submission, Upload, User

__all__ = ["secret_call", "secret_notice", "secret_submission", "secret_upload"]

pytestmark = pytest.mark.django_db

CHECKS = [not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance]
document = schemathesis.openapi.from_dict(
    json.loads((PROJECT_ROOT / "docs" / "openapi.json").read_text(encoding="utf-8"))
)


def server(environ: dict[str, Any], start_response: Any) -> list[bytes]:
    """The site, which closes each response as a server does; the client of schemathesis leaves files open.

    That client also requests compressed responses, but does not decompress them.
    """
    environ.pop("HTTP_ACCEPT_ENCODING", None)
    response = application(environ, start_response)
    try:
        return [b"".join(response)]
    finally:
        response.close()


@pytest.fixture
def send(
    settings: Settings,
    alice: User,
    secret_submission: Submission,
    secret_upload: Upload,
    secret_call: ModelCall,
    secret_notice: Notice,
) -> Iterator[Callable[[schemathesis.Case, bool], None]]:
    """Send a case with a token of Alice or an annotator, half of them for their own objects; check the response."""
    settings.ENVIRONMENT = replace(settings.ENVIRONMENT, api_token_requests=10**6)
    settings.ALLOWED_HOSTS = ["*"]
    operations = entered_operations(secret_submission, secret_upload, secret_call, secret_notice)
    annotator = ready()
    item = held_by(annotator, secret_submission.implementations.get().revision)
    submitting, labelling = Program(alice).headers, Program(annotator.user).headers

    def sent(case: schemathesis.Case, real: bool) -> None:
        described = case.operation.definition.raw
        labels = described["tags"] == ["Labels"]
        arguments = operations[described["operationId"]].arguments
        if real and arguments:
            case.path_parameters = {"pk": item.pk} if labels else {**arguments}
        with transaction.atomic():
            headers = labelling if labels else submitting
            case.call_and_validate(headers=headers, checks=CHECKS, app=server)
            transaction.set_rollback(True)

    # A server closes database connections between requests, which would end the test's transaction.
    for signal in (request_started, request_finished):
        signal.disconnect(close_old_connections)
    yield sent
    for signal in (request_started, request_finished):
        signal.connect(close_old_connections)


@document.given(real=st.booleans())
@document.parametrize()
@settings(max_examples=examples(25), derandomize=True, database=None, phases=[Phase.explicit, Phase.generate])
def test_every_response_is_as_described(
    case: schemathesis.Case, real: bool, send: Callable[[schemathesis.Case, bool], None]
) -> None:
    send(case, real)


def test_the_checks_find_a_wrong_response(send: Callable[[schemathesis.Case, bool], None], monkeypatch: Any) -> None:
    """With a changed document, the same request fails."""
    raw = json.loads((PROJECT_ROOT / "docs" / "openapi.json").read_text(encoding="utf-8"))
    raw["components"]["schemas"]["Me"]["properties"]["username"]["type"] = "integer"
    other = schemathesis.openapi.from_dict(raw)
    with pytest.raises(schemathesis.core.failures.FailureGroup, match="schema"):
        send(other["/api/v1/me"]["GET"].Case(), True)
