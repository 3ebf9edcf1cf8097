"""Every address of the site, and who gets what there. A new address has to be entered here, or a test fails."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from django.urls import URLPattern, URLResolver, get_resolver, reverse

if TYPE_CHECKING:
    from collections.abc import Iterator

    from evaluator.models import ModelCall
    from submissions.models import Submission, Upload

NOT_THERE, SIGN_IN, ELSEWHERE, SHOWN = 404, 302, 302, 200


@dataclass(frozen=True, slots=True)
class Address:
    """Status codes of a GET: for nobody in particular, somebody else, the owner of the private thing, a maintainer."""

    anonymous: int
    stranger: int
    owner: int
    maintainer: int
    arguments: dict[str, Any] = field(default_factory=dict)
    query: str = ""


def everybody(**arguments: Any) -> Address:
    """A page that all may read."""
    return Address(SHOWN, SHOWN, SHOWN, SHOWN, arguments)


def private(**arguments: Any) -> Address:
    """Something of Alice's: for others it does not exist."""
    return Address(NOT_THERE, NOT_THERE, SHOWN, SHOWN, arguments)


def nowhere(arguments: dict[str, Any]) -> Address:
    return Address(NOT_THERE, NOT_THERE, NOT_THERE, NOT_THERE, arguments)


def signed_in(**arguments: Any) -> Address:
    """A page for whoever has an account."""
    return Address(SIGN_IN, SHOWN, SHOWN, SHOWN, arguments)


def maintaining(code: int = SHOWN, **arguments: Any) -> Address:
    """A page that only maintainers know of."""
    return Address(SIGN_IN, NOT_THERE, NOT_THERE, code, arguments)


def owned(**arguments: Any) -> Address:
    """Something of Alice's that is not even a maintainer's business."""
    return Address(SIGN_IN, NOT_THERE, SHOWN, NOT_THERE, arguments)


def entered(submission: Submission, upload: Upload, call: ModelCall) -> dict[str, Address]:
    """What is expected of every named address; ``submission``, ``upload`` and the ``call`` are Alice's, and private."""
    one, task = {"pk": submission.pk}, {"suite": "small", "paper": "alpha", "index": 1}
    answer = {**one, "paper": "alpha", "index": 1, "trial": 1}
    assert call.answer_request is not None
    assert call.answer_request.generation.endpoint is not None
    asked = call.answer_request.implementation
    endpoint = {"pk": call.answer_request.generation.endpoint.pk}
    return {
        "board_default": everybody(),
        "board": everybody(suite="small"),
        "suites": everybody(),
        "suite": everybody(suite="small"),
        "kit": everybody(suite="small"),
        "task": everybody(**task),
        "task_paper": everybody(**task),
        "system": Address(NOT_THERE, NOT_THERE, SHOWN, SHOWN, {"slug": submission.system.slug}),
        "reported_run": nowhere({"slug": "none"}),
        "docs": everybody(),
        "docs_page": everybody(slug="submitting"),
        "docs_image": nowhere({"name": "none.png"}),
        "about": everybody(),
        "healthz": everybody(),
        "security_txt": nowhere({}),
        "favicon": Address(ELSEWHERE, ELSEWHERE, ELSEWHERE, ELSEWHERE),
        "robots": everybody(),
        "sitemap": everybody(),
        "status": everybody(),
        "status_json": everybody(),
        "upload": signed_in(),
        "upload_check": Address(SIGN_IN, NOT_THERE, SHOWN, NOT_THERE, {"pk": upload.pk}),
        "upload_progress": Address(SIGN_IN, NOT_THERE, SHOWN, NOT_THERE, {"pk": upload.pk}),
        "my_submissions": signed_in(),
        "submission": private(**one),
        "submission_progress": private(**one),
        "submission_bundle": private(**one),
        "implementation": private(**answer),
        "submission_actions": private(**one),
        "trajectory": private(**answer),
        "trajectory_json": private(**answer),
        "endpoints": signed_in(),
        "endpoint_new": signed_in(),
        "endpoint": owned(**endpoint),
        "endpoint_change": owned(**endpoint),
        "run_new": owned(**endpoint),
        "endpoint_progress": Address(NOT_THERE, NOT_THERE, SHOWN, NOT_THERE, endpoint),
        "generation_progress": private(pk=asked.submission_id),
        "answer_calls": private(
            pk=asked.submission_id,
            paper=asked.revision.task.paper.slug,
            index=asked.revision.task.index,
            trial=asked.trial,
        ),
        "model_call": private(pk=asked.submission_id, number=call.pk),
        "board_actions": everybody(suite="small"),
        "agreement": everybody(suite="small"),
        "judges": everybody(),
        "judge": nowhere({"slug": "none"}),
        "judge_differences": nowhere({"slug": "none"}),
        "judge_form": maintaining(),
        "cases": everybody(),
        "case": nowhere({"pk": 1}),
        "reported_case": nowhere({"run": "none", "paper": "alpha", "index": 1}),
        **_of_reviewing(),
        "maintain": maintaining(),
        "reevaluate": maintaining(),
    }


def _of_reviewing() -> dict[str, Address]:
    """Nobody of these four is a reviewer, so what is a reviewer's own does not exist for them."""
    nobodys = Address(SIGN_IN, NOT_THERE, NOT_THERE, NOT_THERE, {"pk": 1})
    return {
        "reviews": everybody(),
        "review_guidelines": everybody(),
        "review_guideline": everybody(number=1),
        "review_join": nowhere({"secret": "none"}),
        "review_profile": Address(SIGN_IN, NOT_THERE, NOT_THERE, NOT_THERE),
        "review_guidelines_edit": maintaining(),
        "review_people": maintaining(),
        "review_person": maintaining(NOT_THERE, pk=1),
        "review_dashboard": maintaining(),
        "labels_export": Address(SIGN_IN, NOT_THERE, NOT_THERE, SHOWN, {}, "?format=csv"),
        "label": nobodys,
        "label_paper": nobodys,
        "adjudicate": nobodys,
        "practice_answer": nobodys,
    }


NOT_READ: Final = {
    "tests/attacks/test_browsers.py": "upload_discard submission_publish submission_withdraw submission_cancel "
    "submission_correct",
    "tests/leaderboard/test_appeal_page.py": "appeal",
    "tests/leaderboard/test_endpoint_pages.py": "endpoint_check endpoint_forget endpoint_delete",
    "tests/leaderboard/test_generation_pages.py": "generation_pause generation_resume",
    "tests/leaderboard/test_health.py": "readyz",  # its answer depends on the queue
    "tests/leaderboard/test_judge_differences.py": "judge_show",
    "tests/leaderboard/test_judge_pages.py": "judge_add judge_retire judge_plan",
    "tests/leaderboard/test_maintain_page.py": "maintain_retry maintain_hide maintain_unhide maintain_quota",
    "tests/leaderboard/test_reevaluation_page.py": "reevaluate_start reevaluate_retry reevaluate_stop",
    "tests/leaderboard/test_task_page.py": "flag_lift",
    "tests/reviews": "adjudicate_decide adjudicate_beat case_void review_claim review_conflict_add "
    "review_conflict_remove review_guidelines_read review_invite review_invitation_revoke",
}
"""Addresses that act, and are not read with GET, by where they are tested."""

ALLAUTH: Final = "account_"


def named(resolver: URLResolver | None = None) -> Iterator[str]:
    """The name of every address, ours and the libraries'."""
    for pattern in (resolver or get_resolver()).url_patterns:
        if isinstance(pattern, URLResolver):
            yield from named(pattern)
        elif isinstance(pattern, URLPattern):
            yield str(pattern.name)


def path_of(name: str, address: Address) -> str:
    """The address as a path."""
    return reverse(name, kwargs=address.arguments) + address.query
