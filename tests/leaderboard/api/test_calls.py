"""Calls of runs, and re-evaluations, through the API."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from evaluator.enums import WorkState
from submissions.models import Submission
from tests.evaluator import reevaluations
from tests.leaderboard.api.program import Program
from tests.leaderboard.endpoint_runs import CHAT_REQUEST, CHAT_RESPONSE, called, endpoint_run
from tests.reviews.factories import assigned, case_of, ready

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager

    from evaluator.models import ModelCall
    from submissions.models import User

pytestmark = pytest.mark.django_db


@pytest.fixture
def call(alice: User) -> ModelCall:
    """The first call of a run of Alice's; its second call failed."""
    request = endpoint_run(alice, WorkState.DONE).requests.get()
    first = called(request, key="one")
    called(request, key="two", state="failed", message="The provider was busy.")
    return first


def addresses(call: ModelCall) -> tuple[str, str]:
    assert call.answer_request is not None
    answer = call.answer_request.implementation
    task = answer.revision.task
    whole = f"/submissions/{answer.submission_id}"
    return f"{whole}/answers/{task.paper.slug}/{task.index}/1/calls", f"{whole}/calls/{call.pk}"


def test_the_calls_of_an_answer(call: ModelCall, alice: User) -> None:
    every, one = addresses(call)
    listed = Program(alice).get(every)["items"]
    assert [(each["id"], each["state"], each["message"]) for each in listed] == [
        (call.pk, "answered", ""),
        (listed[1]["id"], "failed", "The provider was busy."),
    ]
    assert (listed[0]["input_tokens"], listed[0]["output_tokens"], listed[0]["dollars"]) == (1200, 300, "0.004800")
    assert not {"request", "response", "error", "request_id", "sender", "key"} & listed[0].keys()
    detail = Program(alice).get(one)
    assert (detail["request"], detail["response"]) == (CHAT_REQUEST, CHAT_RESPONSE)
    assert detail["page"] == one + "/"


def test_calls_are_visible_to_those_who_may_see_the_code(call: ModelCall, bob: User, maintainer: User) -> None:
    for address in addresses(call):
        for visibility, licence in (("private", ""), ("published", ""), ("hidden", "MIT")):
            Submission.objects.update(visibility=visibility, code_licence=licence)
            assert Program(bob).problem("GET", address)["status"] == 404
            assert Program(maintainer).send("GET", address).status_code == 200
        Submission.objects.update(visibility="published", code_licence="MIT")
        assert Program().send("GET", address).status_code == 200


def test_calls_are_hidden_from_annotators_of_the_answer(call: ModelCall, bob: User) -> None:
    Submission.objects.update(visibility="published", code_licence="MIT")
    assert call.answer_request is not None
    assigned(case_of(call.answer_request.implementation), ready(user=bob))
    for address in addresses(call):
        assert Program(bob).problem("GET", address)["type"] == "/docs/api/#blind"


def test_calls_of_other_submissions_and_of_uploads_are_not_found(call: ModelCall, alice: User) -> None:
    other = called(endpoint_run(alice, WorkState.DONE).requests.get(), key="three")
    _, one = addresses(call)
    assert Program(alice).problem("GET", one.replace(f"calls/{call.pk}", f"calls/{other.pk}"))["status"] == 404
    Submission.objects.update(source="bundle")
    assert Program(alice).problem("GET", addresses(call)[0])["status"] == 404


class TestReevaluations:
    def test_an_applied_reevaluation_lists_its_changes(
        self, redis_url: str, django_capture_on_commit_callbacks: Callable[..., AbstractContextManager[object]]
    ) -> None:
        submission = reevaluations.scored("passed", "raised", evaluator="1")
        reevaluations.start(submission)
        with django_capture_on_commit_callbacks(execute=True):
            for _ in range(2):
                reevaluations.decide()
        Submission.objects.update(visibility="published", code_licence="MIT")
        (reevaluation,) = Program().get(f"/submissions/{submission.pk}/reevaluations")
        assert (reevaluation["state"], reevaluation["done"], len(reevaluation["changed"])) == ("applied", 2, 1)
        (change,) = reevaluation["changed"]
        assert (change["before"], change["after"]) == ("raised an error", "passed")
        assert (reevaluation["passed_before"], reevaluation["passed_after"]) == ("1/2", "2/2")
        assert reevaluation["applied"] is not None

    def test_a_running_reevaluation_has_its_progress(self, bob: User) -> None:
        submission = reevaluations.scored("passed", "raised", evaluator="1")
        row = reevaluations.start(submission)
        address = f"/submissions/{submission.pk}/reevaluations"
        assert Program(bob).problem("GET", address)["status"] == 404
        Submission.objects.update(visibility="published", code_licence="MIT")
        (reevaluation,) = Program(bob).get(address)
        assert (reevaluation["reason"], reevaluation["state"], reevaluation["applied"], reevaluation["changed"]) == (
            row.reason,
            "running",
            None,
            [],
        )
        assert (reevaluation["done"], reevaluation["total"], reevaluation["passed_before"]) == (0, 2, None)
        assigned(case_of(submission.implementations.first()), ready(user=bob))
        assert Program(bob).problem("GET", address)["type"] == "/docs/api/#blind"
