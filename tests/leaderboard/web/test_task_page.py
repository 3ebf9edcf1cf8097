"""The tasks' pages and papers."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest
from django.urls import reverse
from django.utils import timezone

from benchmark_tasks.domain.content import put_file
from benchmark_tasks.domain.importing import import_suite
from benchmark_tasks.enums import AuditState
from benchmark_tasks.models import Suite, SuiteVersion, TaskRevision
from evaluator.generation.papers import UNREADABLE
from evaluator.generation.prompt_tasks import paper_of
from evaluator.models import TestRun
from evaluator.sandbox.configuration import EVALUATOR_VERSION
from reviews.cases.flags import flag_task
from reviews.cases.voiding import void
from reviews.enums import CaseState
from reviews.models import TaskFlag
from submissions.enums import Kind, Visibility
from submissions.models import Submission
from tests.benchmark_tasks.factories import (
    PDF,
    PaperFactory,
    SuiteFactory,
    SuiteVersionFactory,
    TaskFactory,
    TaskRevisionFactory,
    write_suite,
)
from tests.evaluator.generation.pdfs import pdf_without_readable_text
from tests.leaderboard.factories import ReportedResultFactory, measured, measured_outcome, reported
from tests.leaderboard.showing import rows_of, words, words_of
from tests.reviews.factories import ReviewerFactory, answers, case_of, decided
from tests.submissions.factories import ImplementationFactory, SystemFactory, UserFactory

if TYPE_CHECKING:
    from pathlib import Path

    from django.test import Client
    from pytest_django import Settings

    from benchmark_tasks.models import TaskRevision

pytestmark = pytest.mark.django_db

ADDRESS = "/suites/small/tasks/dpo/1/"


def one_task(**revision: object) -> SuiteVersion:
    suite = SuiteFactory(slug="small")
    paper = PaperFactory(suite=suite, slug="dpo", title="The Paper", address="https://example.org/p")
    made: SuiteVersion = SuiteVersionFactory(
        suite=suite, revisions=[TaskRevisionFactory(task=TaskFactory(suite=suite, paper=paper), **revision)]
    )
    return made


MUTANT = {"id": "line 3: `a - b` -> `a + b`", "diff": "--- golden\n+++ mutant\n-    return a - b\n+    return a + b"}
AUDIT: dict[str, Any] = {
    "golden": {"outcome": "passed", "cases": 20, "outcomes": ["passed", "passed"]},
    "stub": "raised",
    "trivial": [{"answer": "none", "outcome": "wrong_output"}, {"answer": "zero", "outcome": "raised"}],
    "mutants": {
        "made": 90,
        "sampled": True,
        "total": 79,
        "killed": 73,
        "share": 73 / 79,
        "survivors": [MUTANT],
        "equivalents": [{**MUTANT, "id": "line 4: `0:` -> `:`", "reason": "A slice begins at 0."}],
    },
    "answers": [
        {"answer": "alternative_1_a", "right": True, "about": "two loops.", "outcome": "passed"},
        {"answer": "alternative_1_b", "right": True, "about": "one `einsum`.", "outcome": "raised", "reason": "no `x`"},
        {"answer": "wrong_1_a", "right": False, "about": "the sign is flipped.", "outcome": "wrong_output"},
    ],
    "guessing": {"outputs": 20, "commonest": 3, "private_cases": 12, "chance": 0.15**2, "missing_cases": 0},
    "margins": {
        "outputs": [{"output": "losses", "margin": 0.57, "variation": "an older processor"}],
        "tried": ["an older processor"],
        "untried": ["4 threads"],
    },
    "image_scan": {"copies": [], "complete": True},
    "reasons": [],
    "remarks": ["there is no mutant `x`"],
    "seconds": 12.5,
    "made": "2026-11-01T10:00:00+00:00",
    "evaluator_version": EVALUATOR_VERSION,
    "environment": "numpy",
    "environment_digest": "sha256:0123456789abcdef",
}


def test_shows_all_results_of_the_audit(client: Client, django_user_model: Any) -> None:
    one_task(audit_state=AuditState.PASSED, audit=AUDIT)
    client.force_login(django_user_model.objects.create_user("m", password="x", is_staff=True))
    page = client.get(ADDRESS).content.decode()
    for text in (
        "twice, each time with other seeds, on 20",
        "73 of 79 fail (92 %)",
        "73 of 79 seeded bugs found",
        "line 3: <code>a - b</code> -&gt; <code>a + b</code>",
        "A slice begins at 0.",
        "<td>1 of 2 pass</td>",
        "<td>1 of 1 fail</td>",
        "<li>Right: one <code>einsum</code>.",
        "The 3 known answers",
        "in 12.5 seconds, evaluator version",
        "12 private test cases. Of 20 expected outputs",
        "<code>losses</code> moves by 57 % of its tolerance (an older processor)",
    ):
        assert text in page
    assert "outdated" not in page
    TaskRevision.objects.update(audit={**AUDIT, "taken_over": True})
    assert (
        "Made for the release, and valid here: code, test and environment are the same."
        in client.get(ADDRESS).content.decode()
    )


def test_only_maintainers_see_quotes_of_an_unpublished_reference(client: Client) -> None:
    one_task(audit_state=AuditState.PASSED, audit=AUDIT)
    page = client.get(ADDRESS).content.decode()
    shown = words(page)
    assert "The test misses 1 seeded bug. They quote the reference implementation, so only maintainers" in shown
    assert "1 more seeded bug does not count: it changes no result." in shown
    for secret in ("a - b", "a + b", "A slice begins", "no mutant"):
        assert secret not in page
    Suite.objects.update(slug="lmr-mini")
    page = client.get(ADDRESS.replace("small", "lmr-mini")).content.decode()
    # Why a bug is declared equivalent is for maintainers on every suite.
    assert ("return a + b" in page, "A slice begins" in page) == (True, False)


def test_an_audit_by_another_evaluator_or_in_another_environment_is_outdated(client: Client) -> None:
    version = one_task(audit_state=AuditState.PASSED, audit={**AUDIT, "evaluator_version": "1"})
    assert f"evaluator version 1, the current one is {EVALUATOR_VERSION}" in client.get(ADDRESS).content.decode()
    TaskRevision.objects.update(audit=AUDIT)
    run = measured_outcome(measured(version), "passed")
    TestRun.objects.filter(pk=run.pk).update(finished=timezone.now(), environment_digest=AUDIT["environment_digest"])
    assert "outdated" not in client.get(ADDRESS).content.decode()
    TestRun.objects.filter(pk=run.pk).update(environment_digest="sha256:other")
    assert "measured in another environment since" in client.get(ADDRESS).content.decode()


def test_lists_the_systems_that_answer_the_task(client: Client) -> None:
    version = one_task()
    golden = measured(version, system=SystemFactory(name="Golden"), kind=Kind.CALIBRATION)
    solver = measured(version, system=SystemFactory(name="Solver"))
    upstream = reported(version, system=SystemFactory(name="Agent"))
    measured_outcome(golden, "passed")
    measured_outcome(solver, "passed")
    measured_outcome(solver, "wrong_output", trial=2)
    task = version.revisions.get().task
    ReportedResultFactory(
        run=upstream.reported_run, task=task, tests_passed=False, tests_note="Never ran.", judge_label="LC"
    )
    page = client.get(ADDRESS).content.decode()
    assert f"/submissions/{solver.submission_id}/answers/dpo/1/2/" in page
    assert "Never ran." in page


def test_without_results_a_note_is_shown_and_private_seeds_are_hidden(client: Client) -> None:
    version = one_task(check_settings={"public_seeds": [1], "private_seeds": 3})
    page = client.get(ADDRESS).content.decode()
    assert "No published result on this task yet" in page
    assert version.seed_epoch.key not in page


def test_the_paper_is_shown_in_the_browser(client: Client, tmp_path: Path, settings: Settings) -> None:
    settings.DATA_DIR = tmp_path / "data"
    import_suite(folder=write_suite(tmp_path / "suite"), slug="small")
    assert "/suites/small/tasks/alpha/1/paper/" in client.get("/suites/small/tasks/alpha/1/").content.decode()
    response = client.get("/suites/small/tasks/alpha/1/paper/")
    assert response.getvalue() == PDF
    assert response["Content-Type"] == "application/pdf"
    assert response["Content-Disposition"] == 'inline; filename="alpha.pdf"'
    assert response["X-Content-Type-Options"] == "nosniff"


@pytest.fixture
def version() -> SuiteVersion:
    made: SuiteVersion = SuiteVersionFactory(suite=SuiteFactory(slug="small", position=1), tasks=3)
    return made


def flagged(revision: TaskRevision, reason: str = "bad_test") -> TaskFlag:
    """A flag by a decision on another suite version's published answer, which has no row here."""
    answer = ImplementationFactory(submission=answers()[0].submission, revision=revision)
    case = case_of(answer, state=CaseState.FINAL, label="CC", source="decision", closed=timezone.now())
    (flag,) = flag_task(decided(case, ReviewerFactory(adjudicator=True), "CC", reasons=[reason]))
    return flag


def task_of(version: SuiteVersion, place: int) -> TaskRevision:
    return version.revisions.order_by("pk")[place]


class TestBoard:
    def test_measured_rows_that_count_a_flagged_task_are_marked(self, version: SuiteVersion) -> None:
        first, second, third = (task_of(version, place) for place in range(3))
        measured(version, system=SystemFactory(name="A"))
        leaving_out = measured(version, system=SystemFactory(name="B"))
        leaving_out.left_out = [{"task": first.task.slug, "why": "weak test"}]
        leaving_out.save()
        reported(version, system=SystemFactory(name="C"))
        measured(SuiteVersionFactory(suite=version.suite, number=2, revisions=[third]), system=SystemFactory(name="D"))
        flagged(first)
        flagged(first)
        flagged(second, "bad_golden")
        names = tuple(sorted([first.task.slug, second.task.slug]))
        rows = rows_of(version, sort="system")
        assert [row.flagged for row in rows] == [names, (second.task.slug,), ()]
        (other,) = rows_of(version.suite.versions.get(number=2))
        assert other.flagged == ()

    def test_the_board_shows_the_doubt_above_and_in_the_row(self, client: Client, version: SuiteVersion) -> None:
        measured(version)
        flag = flagged(task_of(version, 0))
        slug, case = flag.revision.task.slug, flag.decision.case
        page = client.get("/board/small/").content.decode()
        assert f"In doubt, found by review: {slug} (bad test, case {case.pk} )." in words(page).replace(" .", ".")
        assert f'href="{case.get_absolute_url()}"' in page
        assert f'title="A review found the test or the reference implementation wrong: {slug}"' in page
        assert "counts 1 task in doubt" in page


def test_the_task_s_page_gives_the_flag_s_reason_date_and_case(client: Client, version: SuiteVersion) -> None:
    flag = flagged(task_of(version, 0), "bad_golden")
    page = client.get(flag.revision.task.get_absolute_url()).content.decode()
    assert "In doubt: bad golden function." in words(page)
    assert f'<time datetime="{timezone.localtime(flag.created).isoformat(timespec="seconds")}"' in page
    assert f'href="{flag.decision.case.get_absolute_url()}"' in page
    other = client.get(task_of(version, 1).task.get_absolute_url()).content.decode()
    assert "In doubt" not in other


@pytest.mark.parametrize("ended", ["void", "withdrawn"])
def test_maintainers_can_lift_a_flag_also_of_a_void_or_withdrawn_case(
    client: Client, version: SuiteVersion, ended: str
) -> None:
    flag, maintainer = flagged(task_of(version, 0)), UserFactory(is_staff=True)
    case = flag.decision.case
    if ended == "void":
        void(actor=maintainer, case=case, reason="The environment was broken.")
    else:
        Submission.objects.filter(pk=case.implementation.submission_id).update(visibility=Visibility.WITHDRAWN)
    here, action = f"{flag.revision.task.get_absolute_url()}?version=1", reverse("flag_lift", args=[flag.pk])
    client.force_login(ReviewerFactory(adjudicator=True).user)
    assert action not in client.get(here).content.decode()
    client.force_login(maintainer)
    page = client.get(here).content.decode()
    assert f'action="{action}"' in page
    assert f'name="next" value="{here}"' in page
    response = client.post(action, {"reason": "The tolerance was mended.", "next": here}, follow=True)
    assert response.redirect_chain == [(here, 302)]
    assert ("The flag is lifted" in response.content.decode(), "In doubt" in response.content.decode()) == (True, False)


def test_a_weak_test_is_shown_with_the_reason(client: Client) -> None:
    weakness = "weak test: it caught only 1 of 2 seeded bugs (50 %), 80 % are wanted"
    one_task(audit_state=AuditState.WEAK, audit={**AUDIT, "weakness": weakness})
    page = client.get(ADDRESS).content.decode()
    assert "Weak test: it caught only 1 of 2 seeded bugs" in page
    assert "the task does not count in the board’s numbers" in page
    assert "no, weak test: it caught only 1 of 2 seeded bugs" in words(page)


def test_a_task_outside_the_version_is_marked(client: Client) -> None:
    old = one_task()
    SuiteVersionFactory(suite=old.suite, number=2, seed_epoch=old.seed_epoch, tasks=1)
    assert "not part of the shown suite version" in client.get(ADDRESS).content.decode()
    assert "not part of the shown suite version" not in client.get(f"{ADDRESS}?version=1").content.decode()


def test_answers_are_sorted_by_a_rater_s_results_and_difficulty_counts_ranked_rows(client: Client) -> None:
    version = one_task()
    marks = {"Best": (1.0, "LC"), "Half": (0.5, "CC"), "Unknown": (None, ""), "None": (0.0, "LI")}
    for name, (share, label) in marks.items():
        entry = measured(version, system=SystemFactory(name=name))
        entry.marks = {"tests": [share], "judge": [label]}
        entry.save()
    sample = measured(version, system=SystemFactory(name="A sample"), kind=Kind.CALIBRATION)
    sample.marks = {"tests": [1.0]}
    sample.save()

    def listed(sort: str) -> list[str]:
        return [each.row.system for each in client.get(f"{ADDRESS}?sort={sort}").context["answers"]]

    assert listed("-tests") == ["Best", "Half", "None", "Unknown", "A sample"]
    assert listed("tests") == ["None", "Half", "Best", "Unknown", "A sample"]
    assert listed("judge") == ["Half", "Best", "None", "Unknown", "A sample"]
    difficulty = client.get(ADDRESS).context["difficulty"]
    assert (difficulty.tests.passed, difficulty.tests.tasks) == (1.5, 3)
    assert [(label, number) for label, number, _ in difficulty.judge] == [("CC", 1), ("LC", 1), ("LI", 1)]
    assert difficulty.human == ()


OVERLAY: dict[str, Any] = {
    "tests": "Sums of `total` & differences.",
    "left_open": "The order of `rows`.",
    "corrections": [{"key": "category", "was": "", "value": "evaluation-metrics", "reason": "Table 4."}],
    "left_out": [
        {"file": "src/copy.py", "reason": "It is the <golden> file."},
        {"file": "src/goal.py", "reason": "They hold it, too.", "lines": [2, 31]},
    ],
    "upstream_reasons": [],
}


def test_an_overlay_s_task_without_a_test_of_upstream_s_says_so(client: Client) -> None:
    one_task(protocol="sealed", unit_test_file="", overlay=OVERLAY)
    assert "Upstream’s own unit test.</strong> There is none in this copy." in " ".join(
        client.get(ADDRESS).content.decode().split()
    )


@pytest.mark.parametrize(
    ("reasons", "audit", "sentence"),
    [
        ([], {}, "The audit of this task will show whether unit_test/unit_test_1.py can run here."),
        (["It needs a GPU."], {}, "It cannot run here: It needs a GPU."),
        (["It needs a GPU.", "x.pt is missing"], {}, "It cannot run here: It needs a GPU. x.pt is missing"),
        ([], {"upstream": {"runs": False, "why": "the reference fails"}}, "It cannot run here: the reference fails."),
        (
            [],
            {"upstream": {"runs": True, "why": ""}, "mode": "remote"},
            "runs on every answer, in the same process as the answer, which can fool it.",
        ),
    ],
)
def test_an_overlay_s_task_describes_its_test_and_upstream_s(
    client: Client, reasons: list[str], audit: dict[str, Any], sentence: str
) -> None:
    one_task(
        protocol="sealed",
        unit_test_file="unit_test/unit_test_1.py",
        overlay={**OVERLAY, "upstream_reasons": reasons},
        audit=audit,
    )
    text = client.get(ADDRESS).content.decode()
    assert "Sums of <code>total</code> &amp; differences." in text
    shown = re.sub(r" ([.,:;])", r"\1", words(text))
    assert sentence in shown
    assert "It leaves open: The order of rows." in shown
    assert "category: evaluation-metrics instead of nothing. Table 4." in shown
    assert "src/copy.py. It is the <golden> file." in shown
    assert "It is the &lt;golden&gt; file." in text
    assert "src/goal.py, lines 2 to 31. They hold it, too." in shown
    link = "/agreement/small/?first=upstream-tests&amp;second=tests&amp;binary=1"
    assert (link in text) is bool(audit.get("upstream", {}).get("runs"))


def test_the_packages_that_upstream_s_test_imports_are_named(client: Client) -> None:
    overlay = {**OVERLAY, "upstream_path": ["loralib", "extra"]}
    audit = {"upstream": {"runs": True, "why": ""}, "mode": "remote"}
    one_task(protocol="sealed", unit_test_file="unit_test/unit_test_1.py", overlay=overlay, audit=audit)
    sentence = (
        "runs on every answer, with the packages in loralib/ , extra/ as if installed, in the same process as the "
        "answer, which can fool it"
    )
    assert sentence in words(client.get(ADDRESS).content.decode())


def test_a_sealed_task_has_no_upstream_test(client: Client) -> None:
    one_task(protocol="sealed")
    assert "upstream’s own unit test" not in client.get(ADDRESS).content.decode()


def test_an_unreadable_paper_is_reported(client: Client, tmp_path: Path) -> None:
    file = tmp_path / "paper.pdf"
    file.write_bytes(pdf_without_readable_text())
    revision = one_task(paper_hash=put_file(file)).revisions.get()
    assert "Models and judges do not get it" not in words_of(client.get(ADDRESS))
    assert paper_of(revision) is None
    assert f"Models and judges do not get it. {UNREADABLE.format('PDF')}" in words_of(client.get(ADDRESS))


def test_instruction_and_code_come_first_and_facts_last(client: Client) -> None:
    one_task()
    page = client.get(ADDRESS).content.decode()
    ids = ("instruction", "masked", "results", "protocol", "audit", "facts")
    assert re.findall(r'<h2 id="(\w+)"', page) == list(ids)
    assert "Re-implement double from the paper The Paper (2024)." in words(page).replace(" , ", ", ")


def test_measured_and_reported_rows_are_counted_apart(client: Client) -> None:
    version = one_task()
    task = version.revisions.get().task
    for number in range(5):
        published = reported(version, system=SystemFactory(name=f"Agent {number}"))
        published.marks = {"tests": [1.0]}
        published.save()
        ReportedResultFactory(run=published.reported_run, task=task, tests_passed=True)
    again = reported(version, metric={"answered": 1}, system=published.system, remeasures=published.reported_run)
    again.marks = {"tests": [0.0]}
    again.save()
    ReportedResultFactory(run=again.reported_run, task=task, outcome="wrong_output")
    shown = words_of(client.get(ADDRESS))
    assert "Tested by LMR-Board 0 of 1 rows pass Reported by others 5 of 5 rows pass" in shown


def test_many_rows_have_a_percentage_with_its_interval(client: Client) -> None:
    version = one_task()
    for number in range(8):
        entry = measured(version, system=SystemFactory(name=f"Agent {number}"))
        entry.marks = {"tests": [float(number < 2)]}
        entry.save()
    assert "Tested by LMR-Board 25.0 % 2 of 8 rows pass [7.1, 59.1]" in words_of(client.get(ADDRESS))


def test_why_a_task_has_no_test_is_for_maintainers(client: Client) -> None:
    one_task(not_runnable_reasons=["it needs the file /srv/x.pt"])
    shown = words_of(client.get(ADDRESS))
    assert "This task accepts no answers." in shown
    assert ("/srv/x.pt" in shown, "Submit answers" in shown) == (False, False)
    client.force_login(UserFactory(is_staff=True))
    assert "/srv/x.pt" in words_of(client.get(ADDRESS))


def test_a_task_that_only_reported_rows_count_is_marked_so(client: Client) -> None:
    version = one_task(not_runnable_reasons=["it needs the file /srv/x.pt"])
    assert "Counted no (no test to run here)" in words_of(client.get(ADDRESS))
    run = reported(version).reported_run
    ReportedResultFactory(run=run, task=version.revisions.get().task, tests_passed=True)
    assert "Counted in reported rows only (no test to run here)" in words_of(client.get(ADDRESS))


def test_a_copy_of_the_method_that_stays_in_the_repository_is_named(client: Client) -> None:
    suite = SuiteFactory(slug="lmr-bench")
    for slug in ("dola", "dpo"):
        task = TaskFactory(suite=suite, paper=PaperFactory(suite=suite, slug=slug, folder_name=slug))
        TaskRevisionFactory(task=task)
    SuiteVersionFactory(suite=suite, revisions=list(TaskRevision.objects.all()))
    note = "The masked repository still contains a copy of the method"
    page = client.get("/suites/lmr-bench/tasks/dola/1/").content.decode()
    assert note in page
    assert "most of its scoring in <code>dola.py</code>" in page
    assert note not in client.get("/suites/lmr-bench/tasks/dpo/1/").content.decode()
