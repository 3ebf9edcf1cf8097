"""Every operation of the API: with each token, only permitted data are returned and only permitted changes made."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from django.db import transaction
from django.utils import timezone

from leaderboard.api.v1 import api
from submissions.models import ApiToken, Submission, User
from tests.leaderboard.api.program import Program
from tests.security.api_operations import entered_operations, leads_to
from tests.security.conftest import SENTINEL
from tests.security.test_every_address import body, everything

if TYPE_CHECKING:
    from evaluator.models import ModelCall
    from leaderboard.models import Notice
    from submissions.models import Upload
    from tests.security.api_operations import Operation

pytestmark = pytest.mark.django_db


@pytest.fixture
def operations(
    secret_submission: Submission, secret_upload: Upload, secret_call: ModelCall, secret_notice: Notice, settings: Any
) -> dict[str, Operation]:
    """Every operation by its name."""
    return entered_operations(secret_submission, secret_upload, secret_call, secret_notice)


def programs(alice: User, bob: User, maintainer: User, *scopes: str) -> dict[str, Program]:
    people = {"anonymous": None, "stranger": bob, "owner": alice, "maintainer": maintainer}
    return {role: Program(person, *scopes) for role, person in people.items()}


def test_every_operation_is_entered(operations: dict[str, Operation]) -> None:
    described = {
        each["operationId"]: (method.upper(), address.removeprefix("/api/v1"))
        for address, methods in api.get_openapi_schema()["paths"].items()
        for method, each in methods.items()
    }
    assert set(described) == set(operations), "enter new operations in tests/security/api_operations.py"
    assert {name: leads_to(*where) for name, where in described.items()} == {
        name: leads_to(each.method, each.template) for name, each in operations.items()
    }


@pytest.mark.parametrize("visibility", ["private", "hidden", "withdrawn"])
def test_private_objects_are_returned_to_permitted_roles_only(
    operations: dict[str, Operation], alice: User, bob: User, maintainer: User, visibility: str
) -> None:
    Submission.objects.update(visibility=visibility)
    by_role = programs(alice, bob, maintainer)
    leaks, wrong, seen = [], [], set()
    for name, operation in operations.items():
        for role, program in by_role.items() if operation.method == "GET" else ():
            response = program.send("GET", operation.path)
            text = body(response)
            if response.status_code != getattr(operation, role):
                wrong.append((name, role, response.status_code, text[:200]))
            if SENTINEL in text:
                seen.add(role)
                leaks += [(name, role)] if role in {"anonymous", "stranger"} else []
    assert (wrong, leaks, seen) == ([], [], {"owner", "maintainer"})


def test_a_published_submission_is_returned_to_everyone(
    operations: dict[str, Operation], secret_submission: Submission
) -> None:
    """Proves that the test above looks for data that would be shown."""
    Submission.objects.filter(pk=secret_submission.pk).update(visibility="published", code_licence="MIT")
    visitor = Program()
    reading = {name: each for name, each in operations.items() if each.method == "GET"}
    texts = {name: body(visitor.send("GET", each.path)) for name, each in reading.items()}
    assert {name for name, text in texts.items() if SENTINEL in text} == {
        name for name, each in reading.items() if each.published
    }


def test_actions_are_limited_to_permitted_roles(
    operations: dict[str, Operation], alice: User, bob: User, maintainer: User
) -> None:
    """Also with a session, or a token without the scope. With a permitted token the same request has an effect."""
    by_role = programs(alice, bob, maintainer)
    lacking = Program(alice, "read")
    signed_in = Program()
    signed_in.client.force_login(alice)
    User.objects.update(last_login=None)
    # Set here, so that the requests below do not set it.
    ApiToken.objects.update(last_used=timezone.now())
    wrong = []
    for name, operation in operations.items():
        if operation.method == "GET":
            continue
        for role, program in {**by_role, "session": signed_in, "lacking": lacking}.items():
            with transaction.atomic():
                if operation.facts:
                    operation.facts()
                before = everything()
                response = operation.send(program)
                changed = everything() != before
                transaction.set_rollback(True)
            expected = {"session": 401, "lacking": 403}.get(role) or getattr(operation, role)
            if (response.status_code, changed) != (expected, expected < 300 and operation.acts):
                wrong.append((name, role, response.status_code, changed, response.content[:200]))
    assert wrong == []
