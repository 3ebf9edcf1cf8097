"""The page of one answer: its cases, log, difference and judgements, and the parts only its owner may see."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import pytest
from django.urls import reverse
from django.utils import timezone

from benchmark_tasks.domain.catalogue import SHIPPED_SUITE
from benchmark_tasks.enums import Protocol
from benchmark_tasks.models import Suite, TaskRevision
from evaluator.enums import AttemptState, RunState, WorkState
from evaluator.models import AnswerRequest, Attempt, JudgeConfig, Judgement
from evaluator.outcomes import Outcome
from leaderboard.evidence.outcomes import SENTENCES
from submissions.enums import SubmissionState, Visibility
from submissions.models import Implementation, Submission
from tests.evaluator.factories import TestRunFactory
from tests.leaderboard.endpoint_runs import endpoint_run
from tests.leaderboard.judging import JudgeFactory, judged, vote
from tests.submissions.factories import SubmissionFactory, UserFactory, with_answers

if TYPE_CHECKING:
    from django.test import Client

    from evaluator.models import TestRun
    from submissions.models import Implementation, User


pytestmark = pytest.mark.django_db


def of_case(
    seed: int | None, index: int, outcome: str, difference: str = "", error: str = "", **more: Any
) -> dict[str, Any]:
    facts = {"seed": seed, "index": index, "outcome": outcome, "difference": difference, "error": error}
    return {**facts, "public": True, **more}


CASES = [
    of_case(11, 0, "passed"),
    of_case(11, 1, "wrong_output", "1 of 4 values differ\n  value[2]: expected 1.0, got 2.0"),
    of_case(12, 0, "raised", error="ValueError: no <b>good</b>"),
    # Of private cases the page shows only how many passed.
    of_case(424242, 7, "passed", public=False),
    of_case(434343, 8, "wrong_output", "expected 3.14159", "private traceback", public=False),
]
UPSTREAM_CASES = [
    of_case(None, 0, "passed", name="TestA.test_x"),
    of_case(None, 1, "raised", error="ValueError: no\n  at a.py:1", name="TestA.test_<b>"),
]


def measured(owner: User, *, answer: dict[str, Any] | None = None, **facts: Any) -> tuple[Implementation, TestRun]:
    """An answer with a failing run, in a submission with ``facts``."""
    submission = SubmissionFactory(owner=owner, system__name="Alpha Solver", **facts)
    implementation = with_answers(submission, 1, **(answer or {}))[0]
    run = TestRunFactory(
        implementation=implementation,
        done="wrong_output",
        reason="secret reason",
        cases=CASES,
        log="printed by the answer\n<script>alert(1)</script>",
        seconds=2.5,
        finished=timezone.now(),
        environment_digest="sha256:" + "cd" * 32,
    )
    return implementation, run


def page(client: Client, implementation: Implementation, user: User | None = None) -> str:
    if user is not None:
        client.force_login(user)
    response = client.get(implementation.get_absolute_url())
    assert response.status_code == 200
    return response.content.decode()


def test_without_consent_only_the_owner_sees_the_code(client: Client, alice: User) -> None:
    implementation, _ = measured(alice, visibility=Visibility.PUBLISHED, code_licence="")
    shown = page(client, implementation)
    assert "The code is shown once its owner publishes the submission." in shown
    assert "goal_source" not in shown
    assert 'class="k">return</span>' not in shown
    assert 'class="k">return</span>' in page(client, implementation, alice)


def test_the_result_of_the_upstream_test_is_shown(client: Client, alice: User) -> None:
    implementation, run = measured(alice, published=True)
    assert "Also run" not in page(client, implementation)
    beside = {"reason": "test_<b>sum</b> failed", "log": "Test <i>Failed</i>", "seconds": 2.0}
    type(run).objects.filter(pk=run.pk).update(upstream_outcome="wrong_output", upstream=beside)
    shown = page(client, implementation)
    assert "upstream’s own unit test: wrong output" in shown
    assert "(test_&lt;b&gt;sum&lt;/b&gt; failed)" in shown
    assert "Test &lt;i&gt;Failed&lt;/i&gt;</pre>" in shown
    type(run).objects.filter(pk=run.pk).update(upstream_outcome="", upstream={"reason": "no box could be started"})
    shown = page(client, implementation)
    assert "upstream’s own unit test: no verdict" in shown
    assert "(no box could be started)" in shown
    assert "Log of upstream’s own unit test" not in shown


def test_similarity_is_shown_for_published_code_only(client: Client, alice: User) -> None:
    implementation, _ = measured(alice)
    Implementation.objects.update(similarity={"tokens": 0.126, "tree": 0.5})
    similarity = "0.13 by tokens, 0.50 by syntax tree"
    assert similarity not in page(client, implementation, alice), (
        "many private attempts would reveal the golden function"
    )
    Submission.objects.update(visibility=Visibility.PUBLISHED, code_licence="MIT")
    client.logout()
    assert similarity in page(client, implementation)
    Submission.objects.update(code_licence="")
    assert similarity not in page(client, implementation)


def test_the_paper_s_date_is_shown_with_the_knowledge_cutoff(client: Client, alice: User) -> None:
    implementation, _ = measured(alice, published=True)
    paper = implementation.revision.task.paper
    type(paper).objects.filter(pk=paper.pk).update(address="https://arxiv.org/abs/2401.04925")
    system = implementation.submission.system
    type(system).objects.filter(pk=system.pk).update(knowledge_cutoff="2023-10")
    assert "2024-01; the model’s knowledge ends 2023-10" in page(client, implementation)


def test_an_answer_identical_to_the_reference_is_flagged_to_viewers_of_the_code(client: Client, alice: User) -> None:
    implementation, _ = measured(alice)
    assert "identical to the reference" not in page(client, implementation, alice)
    Implementation.objects.update(identical_to_reference=True)
    shown = page(client, implementation, alice)
    assert "identical to the reference" in shown
    assert "Shipped reference implementations are public." not in shown
    Suite.objects.update(slug=SHIPPED_SUITE)
    assert "Shipped reference implementations are public." in page(client, implementation, alice)
    Submission.objects.update(visibility=Visibility.PUBLISHED, code_licence="")
    client.logout()
    assert "identical to the reference" not in page(client, implementation)


def test_a_visible_submission_gives_no_access_to_another_s_answer(client: Client, alice: User) -> None:
    private, _ = measured(alice)
    public = SubmissionFactory(published=True)
    task = private.revision.task
    address = reverse("implementation", args=[public.pk, task.paper.slug, task.index, 1])
    assert client.get(address).status_code == 404


def test_failing_public_test_cases_come_first_and_the_first_one_is_open(client: Client, alice: User) -> None:
    implementation, _ = measured(alice, published=True)
    response = client.get(implementation.get_absolute_url())
    tests = response.context["tests"]
    rows = [
        (case.seed, case.number, case.badge.text, case.headline, bool(case.detail), case.opened)
        for case in (*tests.failing, *tests.passing)
    ]
    assert rows == [
        (11, 1, "wrong output", "1 of 4 values differ", True, True),
        (12, 0, "raised an error", "ValueError: no <b>good</b>", False, False),
        (11, 0, "passed", "", False, True),
    ]
    text = response.content.decode()
    assert "value[2]: expected 1.0, got 2.0" in text
    assert text.index("value[2]: expected") < text.index("<summary>Public test cases that pass</summary>")


def test_the_page_begins_with_the_outcome_and_the_code_and_ends_with_facts_and_receipt(
    client: Client, alice: User
) -> None:
    implementation, _ = measured(alice, published=True)
    text = page(client, implementation)
    assert '<p class="answer-outcome failed">The answer fails its unit tests: its output is wrong.</p>' in text
    order = ["answer-outcome", 'id="code"', 'id="cases"', 'id="judges"', 'id="facts"', 'id="receipt"']
    places = [text.index(each) for each in order]
    assert places == sorted(places)


def test_every_outcome_has_a_sentence() -> None:
    assert set(SENTENCES) == set(Outcome)


def test_the_answer_is_beside_the_masked_function_if_the_reference_is_not_public(client: Client, alice: User) -> None:
    implementation, _ = measured(alice, published=True)
    TaskRevision.objects.update(masked_source="def double(x):\n    raise NotImplementedError\n")
    assert '<h2 id="code">Answer beside the masked function</h2>' in page(client, implementation)
    code = client.get(implementation.get_absolute_url()).context["code"]
    left = [row.left.text for row in code.comparison.rows if row.left]
    assert left == ["def double(x):", "    raise NotImplementedError"]


@pytest.mark.parametrize(
    ("outcome", "sentence"),
    [
        ("passed", "The answer passes its unit tests."),
        ("raised", "The answer fails its unit tests: it raises an error."),
        ("bad_patch", "The answer does not apply to the masked repository, so no test was run."),
        ("not_attempted", "The system gave no answer to this task. It counts as failed."),
    ],
)
def test_the_outcome_is_a_sentence(client: Client, alice: User, outcome: str, sentence: str) -> None:
    implementation, run = measured(alice, published=True)
    Submission.objects.update(state=SubmissionState.SCORED)
    type(run).objects.update(outcome=outcome)
    assert f">{sentence}</p>" in page(client, implementation)


def test_private_cases_are_shown_as_a_count_to_everyone(client: Client, alice: User) -> None:
    implementation, _ = measured(alice, published=True)
    for user in (None, alice, UserFactory(is_staff=True)):
        if user:
            client.force_login(user)
        response = client.get(implementation.get_absolute_url())
        text = response.content.decode()
        assert "1 of 3 public, 1 of 2 private test cases pass." in " ".join(text.split())
        assert text.count("wrong output") == 1  # the public test case
        for secret in ("424242", "434343", "3.14159", "private traceback"):
            assert secret not in text


def replied(owner: User, *, answer: dict[str, Any] | None = None, **facts: Any) -> Implementation:
    """An answer that this site requested from a model; ``facts`` are the request's."""
    generation = endpoint_run(owner, WorkState.DONE)
    request = generation.requests.get()
    AnswerRequest.objects.filter(pk=request.pk).update(**{"rule": "2", **facts})
    Implementation.objects.filter(pk=request.implementation_id).update(attempted=True, **(answer or {}))
    return Implementation.objects.get(pk=request.implementation_id)


def test_a_reply_without_an_answer_is_quoted_with_the_reason(client: Client, alice: User) -> None:
    reason = "No block can be used. The fenced block: It does not define 'double'."
    nothing = {"files": None, "diff": "", "goal_source": "", "raw_answer": "Words and\n```\nx = 1\n```"}
    error = {"message": reason, "file": "the model's reply", "line": None}
    implementation = replied(alice, answer={**nothing, "answer_error": error}, taken="unparsable", note=reason)
    shown = re.sub(r"\s+", " ", page(client, implementation, alice))
    assert "<strong>The model’s reply holds no answer that can be tested.</strong>" in shown
    assert "The fenced block: It does not define &#x27;double&#x27;." in shown
    assert "<code>the model" not in shown
    assert "<h3>The model’s reply</h3>" in shown
    assert "Words and" in shown


def test_a_prompt_too_long_for_the_model_is_shown_as_not_sent(client: Client, alice: User) -> None:
    reason = "Instruction and code alone take 7002 tokens; the model has room for 5552."
    error = {"message": reason, "file": "the model's reply", "line": None}
    nothing = {"files": None, "diff": "", "goal_source": "", "raw_answer": "", "answer_error": error}
    used = {"usage": {"input_tokens": 17891, "output_tokens": 1204}}
    implementation = replied(alice, answer={**nothing, **used}, taken="too_long", note=reason)
    done = {"state": RunState.DONE, "outcome": "bad_patch", "reason": reason, "finished": timezone.now()}
    TestRunFactory(implementation=implementation, **done)
    shown = re.sub(r"\s+", " ", page(client, implementation, alice))
    assert '<p class="answer-outcome failed">Not sent: too long for the model.</p>' in shown
    assert f"<p><strong>No request was sent to the model.</strong> {reason}</p>" in shown
    assert "without a test</dd>" in shown
    assert "with evaluator" not in shown
    assert "<dt>Tokens</dt> <dd>17,891 in, 1,204 out</dd>" in shown
    Submission.objects.update(state=SubmissionState.SCORED)
    rows = client.get(implementation.submission.get_absolute_url()).content.decode()
    assert '<span class="outcome failed">not sent: too long for the model</span>' in rows
    AnswerRequest.objects.update(taken="unparsable")
    assert "too long for the model" not in page(client, implementation, alice)
    assert ">The answer does not apply to the masked repository" in page(client, implementation, alice)


def test_only_maintainers_see_workers_and_full_infrastructure_errors(client: Client, alice: User) -> None:
    implementation, run = measured(alice, published=True)
    Attempt.objects.create(
        run=run, number=1, token=uuid4(), worker="host-7:123", state=AttemptState.INFRA, reason="No memory."
    )
    for user in (None, alice):
        shown = page(client, implementation, user)
        assert "infrastructure error" in shown
        assert "No memory." not in shown
        assert "host-7" not in shown
    shown = page(client, implementation, UserFactory(is_staff=True))
    assert "infrastructure error: No memory." in shown
    assert "host-7:123" in shown


FINDING = {"point": "It adds <b>twice</b>.", "severity": "major", "lines": "3-4"}
QUOTED = ("It adds", "quoted rationale")


def answer_of(**facts: Any) -> Implementation:
    answer: Implementation = with_answers(SubmissionFactory(**{"published": True, **facts}), 1)[0]
    TestRunFactory(implementation=answer, done="passed")
    return answer


def judgement(answer: Implementation, label: str = "LI", **facts: Any) -> Judgement:
    """Three votes: two for ``label`` with a finding, one abstention."""
    row = judged(answer, JudgeFactory(name="Careful May"), label, **facts)
    vote(row, 1, label or "CC", findings=[FINDING], rationale=["quoted rationale", "<script>alert(1)</script>"])
    vote(row, 2, label or "LI")
    vote(row, 3)
    return row


def section(client: Client, answer: Implementation, user: User | None = None) -> str:
    """The page's section on judges, white space collapsed."""
    if user is not None:
        client.force_login(user)
    page = client.get(answer.get_absolute_url()).content.decode()
    return re.sub(r"\s+", " ", page[page.index('<h2 id="judges">') :].partition('<h2 id="measured')[0])


def test_label_votes_findings_and_flags_are_shown(client: Client) -> None:
    answer = answer_of()
    judgement(answer, split=True, surface_sensitive=True, injection_suspected=True, dollars=Decimal("0.0123"))
    shown = section(client, answer)
    assert "They never change the outcome of the unit tests." in shown
    assert '<span class="label-text li" title="wrong">LI</span>' in shown
    for text in ("votes split", "depends on comments", "influence suspected", "3 votes, US $ 0.0123"):
        assert text in shown
    assert (
        '<span class="badge">major</span> It adds &lt;b&gt;twice&lt;/b&gt;. <span class="muted">lines 3-4</span>'
        in shown
    )
    assert "<li>quoted rationale</li><li>&lt;script&gt;alert(1)&lt;/script&gt;</li>" in shown
    assert "<script>alert" not in shown


def test_a_label_shows_whether_the_judge_had_the_paper(client: Client) -> None:
    answer = answer_of()
    row = judgement(answer, paper_hash="0a1b" * 16)
    assert "Careful May</a>; judged with the paper </span>" in section(client, answer)
    assert "0a1b" * 16 in client.get(answer.get_absolute_url()).content.decode()
    Judgement.objects.update(paper_hash="")
    assert "Careful May</a>; judged without the paper: this site has no readable copy </span>" in section(
        client, answer
    )
    JudgeConfig.objects.filter(pk=row.config_id).update(prompt_version="judge-1")
    assert "the paper" not in section(client, answer)
    Judgement.objects.update(state=WorkState.QUEUED)
    JudgeConfig.objects.update(prompt_version="judge-2")
    assert "the paper" not in section(client, answer)


def test_an_open_judgement_gives_its_reason(client: Client) -> None:
    answer = answer_of()
    Judgement.objects.create(
        implementation=answer, config=JudgeFactory(), state=WorkState.HELD, reason="No key is stored."
    )
    shown = section(client, answer)
    assert 'not judged yet</span> <span class="why">held: No key is stored.</span>' in shown


def test_without_consent_to_show_code_only_the_labels_are_public(client: Client) -> None:
    answer = answer_of()
    judgement(answer)
    Submission.objects.update(visibility=Visibility.PUBLISHED, code_licence="")
    shown = section(client, answer)
    assert "<span>wrong" in shown
    assert "Findings and rationale quote the code" in shown
    assert not [text for text in QUOTED if text in shown]
    assert [text for text in QUOTED if text in section(client, answer, answer.submission.owner)] == list(QUOTED)


def upstream_answer(mode: str, evaluator: str) -> Implementation:
    """A published answer to an upstream task audited in ``mode``, measured by evaluator version ``evaluator``."""
    submission = SubmissionFactory(owner=UserFactory(), published=True)
    implementation: Implementation = with_answers(submission, 1)[0]
    audit = {"mode": mode} if mode else {}
    TaskRevision.objects.filter(pk=implementation.revision_id).update(protocol=Protocol.UPSTREAM, audit=audit)
    TestRunFactory(
        implementation=implementation,
        done="raised",
        cases=UPSTREAM_CASES,
        log="unit_test_1.log",
        evaluator_version=evaluator,
    )
    return implementation


REMOTE, BESIDE = "remote: the answer ran in a box of its own", "the answer ran beside the test, which it could read"
FORMERLY = "Evaluators before version 5 ran this test in one box and the answer in another."


@pytest.mark.parametrize(
    ("mode", "evaluator", "expected", "absent", "formerly"),
    [
        ("remote", "4", REMOTE, BESIDE, True),
        ("remote", "5", BESIDE, REMOTE, True),
        ("in_process", "4", BESIDE, REMOTE, False),
        ("", "5", BESIDE, REMOTE, False),
    ],
)
def test_pages_name_upstream_tests_and_their_limits(
    mode: str, evaluator: str, expected: str, absent: str, formerly: bool, client: Client
) -> None:
    answer = upstream_answer(mode, evaluator)
    text = client.get(answer.get_absolute_url()).content.decode()
    assert (expected in text, absent in text, ">Seed<" in text) == (True, False, False)
    for shown in (
        "<code>TestA.test_x</code>",
        "<code>TestA.test_&lt;b&gt;</code>",
        "Public test cases that fail",
    ):
        assert shown in text
    task = " ".join(client.get(answer.revision.task.get_absolute_url()).content.decode().split())
    assert "Upstream, in-process." in task
    assert "or puts back what it replaced" in task
    assert (FORMERLY in task) is formerly
    assert 'href="/docs/protocols/"' in text
    assert 'href="/docs/protocols/"' in task
