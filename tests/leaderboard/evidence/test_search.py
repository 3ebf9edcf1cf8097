"""Finding systems, tasks and cases by words: what is public, in which order, and alike on both databases."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from leaderboard.evidence import search as searching
from leaderboard.evidence.search import search
from reviews.enums import CaseState
from submissions.enums import Visibility
from submissions.models import Submission
from tests.benchmark_tasks.factories import (
    CategoryFactory,
    PaperFactory,
    SuiteFactory,
    SuiteVersionFactory,
    TaskFactory,
    TaskRevisionFactory,
)
from tests.leaderboard.factories import ReportedResultFactory, measured, reported
from tests.reviews.factories import case_of
from tests.submissions.factories import ImplementationFactory, SystemFactory

if TYPE_CHECKING:
    from pytest_django import DjangoAssertNumQueries

    from benchmark_tasks.models import SuiteVersion, TaskRevision
    from reviews.models import Case

pytestmark = pytest.mark.django_db


def titles(kind: str, *words: str, hidden: tuple[int, ...] = ()) -> list[str]:
    return [hit.title for hit in search(words, hidden=hidden)[kind].found]


def revision_of(title: str, slug: str = "dpo/1", **facts: object) -> TaskRevision:
    """A task of a paper with this title, in the only version of a suite of its own."""
    suite = SuiteFactory()
    task = TaskFactory(suite=suite, slug=slug, paper=PaperFactory(suite=suite, title=title, slug=slug[:-2]))
    made: TaskRevision = TaskRevisionFactory(task=task, **facts)
    SuiteVersionFactory(suite=suite, revisions=[made])
    return made


def decided(system: str, version: SuiteVersion | None = None, **facts: Any) -> Case:
    """A closed case of a published answer of the system."""
    version = version or SuiteVersionFactory(tasks=1)
    entry = measured(version, system=SystemFactory(name=system), **facts)
    answer = ImplementationFactory(submission=entry.submission, revision=version.revisions.first())
    return case_of(answer, state=CaseState.AGREED, label="LC", source="agreed")


@pytest.mark.both_databases
def test_a_system_is_found_by_name_model_agent_or_organisation_in_any_case() -> None:
    system = SystemFactory(
        name="Ökosystem 7_b", backbone="GPT-4.1", scaffold="OpenHands 0.33", organisation="Universität Çankaya"
    )
    measured(system=system)
    found = ("öKOSYSTEM", "gpt-4.1 openhands", "ÇANKAYA", "universitÄt", "7_B", "ökosystem gpt-4.1")
    missed = ("ökosystem gpt-5", "gpt.4", "7%b", "o.enhands", "öko.", "system", "hands", "ankaya")
    assert {text: titles("Systems", *text.split()) for text in (*found, *missed)} == {
        **{text: ["Ökosystem 7_b"] for text in found},
        **{text: [] for text in missed},
    }
    ((title, address, about),) = search(["ökosystem"], hidden=())["Systems"].found
    assert (title, address) == ("Ökosystem 7_b", system.get_absolute_url())
    assert about == "GPT-4.1, OpenHands 0.33, self-declared: Universität Çankaya"


def test_only_systems_with_a_public_row_are_found() -> None:
    reported(system=SystemFactory(name="Solver reported"))
    measured(system=SystemFactory(name="Solver public"))
    measured(system=SystemFactory(name="Solver private"), published=False)
    for visibility in (Visibility.HIDDEN, Visibility.WITHDRAWN):
        away = measured(system=SystemFactory(name=f"Solver {visibility}")).submission
        assert away is not None
        # The row's own flag is recomputed by a job later.
        Submission.objects.filter(pk=away.pk).update(visibility=visibility)
    assert titles("Systems", "solver") == ["Solver public", "Solver reported"]


@pytest.mark.both_databases
def test_hits_with_all_words_in_their_name_come_first() -> None:
    measured(system=SystemFactory(name="Alpha", backbone="beta"))
    measured(system=SystemFactory(name="Gamma", backbone="alpha"))
    measured(system=SystemFactory(name="Alpha beta", backbone="x"))
    assert titles("Systems", "alpha") == ["Alpha beta", "Alpha", "Gamma"]
    assert titles("Systems", "alpha", "beta") == ["Alpha beta", "Alpha"]


@pytest.mark.both_databases
@pytest.mark.parametrize("words", ["dpo", "preference OPTIMISATION", "pairloss forward", "loss twice", "pass (the"])
def test_a_task_is_found_by_paper_function_category_or_instruction(words: str) -> None:
    facts = {
        "goal_function": "forward_pass",
        "class_name": "PairLoss",
        "instruction": "Return the loss. Twice (the sum).",
    }
    category = CategoryFactory()
    revision = revision_of("Direct Preference Optimisation", category=category, **facts)
    revision_of("Another paper", slug="other/1")
    found = search(words.split(), hidden=())["Tasks"].found
    assert [(hit.title, hit.address) for hit in found] == [
        ("dpo/1: Direct Preference Optimisation", revision.task.get_absolute_url())
    ]
    assert found[0].about == f"PairLoss.forward_pass, {category.title}, {revision.task.suite.title}"


def test_only_tasks_of_a_suite_s_newest_version_are_found_once() -> None:
    old = revision_of("An old paper")
    suite = old.task.suite
    kept = TaskRevisionFactory(task=TaskFactory(suite=suite, slug="kept/1"))
    old.suite_versions.get().revisions.add(kept)
    changed = TaskRevisionFactory(task=kept.task, number=2)
    SuiteVersionFactory(suite=suite, number=2, revisions=[changed])
    assert [title.partition(":")[0] for title in titles("Tasks", "double")] == ["kept/1"]


@pytest.mark.both_databases
def test_only_public_cases_are_found_and_none_that_is_hidden_from_the_viewer() -> None:
    shown = decided("Solver shown")
    labelled = decided("Solver labelled")
    away = decided("Solver away")
    Submission.objects.filter(pk=away.implementation.submission_id).update(visibility=Visibility.HIDDEN)
    case_of(decided("Solver twice").implementation, round=2)
    private = decided("Solver private", published=False)
    assert private.implementation.submission.visibility == Visibility.PRIVATE
    names = [title.rpartition(" by ")[2] for title in titles("Cases", "solver")]
    assert names == ["Solver twice", "Solver labelled", "Solver shown"]
    hidden = (labelled.implementation.submission_id,)
    names = [title.rpartition(" by ")[2] for title in titles("Cases", "solver", hidden=hidden)]
    assert names == ["Solver twice", "Solver shown"]
    assert search(["shown"], hidden=())["Cases"].found[0] == (
        f"Case {shown.pk}: {shown.implementation.revision.task.slug} by Solver shown",
        shown.get_absolute_url(),
        "final label: LC (right idea, wrong detail)",
    )


@pytest.mark.both_databases
@pytest.mark.parametrize(
    ("words", "found"),
    [
        ("Preference Çankaya", ["dpo/1"]),
        ("DPO çankaya", ["dpo/1"]),
        ("çankaya", ["other/1", "dpo/1"]),
        ("preference", ["dpo/1"]),
        ("reference", []),
        ("ankaya", []),
        ("preference another", []),
    ],
)
def test_a_case_is_found_by_words_of_its_task_its_paper_and_its_system(words: str, found: list[str]) -> None:
    for title, slug in (("Direct Preference Optimisation", "dpo/1"), ("Another paper", "other/1")):
        decided("Solver Çankaya", revision_of(title, slug).suite_versions.get())
    assert [title.split()[2] for title in titles("Cases", *words.split())] == found


@pytest.mark.both_databases
def test_reported_disagreements_are_found_by_what_their_raters_wrote() -> None:
    version = SuiteVersionFactory(tasks=2)
    run = reported(version, system=SystemFactory(name="Theirs")).reported_run
    first, second = (revision.task for revision in version.revisions.order_by("pk"))
    facts = {"run": run, "human_comment": "Divides by the batch size."}
    ReportedResultFactory(task=first, judge_label="CC", human_label="LI", **facts)
    ReportedResultFactory(task=second, judge_label="CC", human_label="CC", **facts)
    (hit,) = search(["batch", "DIVIDES"], hidden=())["Cases"].found
    assert hit.title == f"{first.slug} by Theirs"
    assert hit.address == f"/cases/reported/{run.slug}/{first.paper.slug}/1/"
    assert hit.about.startswith("reported: judge and annotator are two steps apart; the unit test passes")


@pytest.mark.parametrize("number", [1, 4])
def test_hits_are_limited_and_queries_do_not_grow(
    monkeypatch: pytest.MonkeyPatch, django_assert_num_queries: DjangoAssertNumQueries, number: int
) -> None:
    monkeypatch.setattr(searching, "MOST_HITS", 3)
    version = SuiteVersionFactory(tasks=1)
    for each in range(number):
        decided(f"Solver {each}", version)
    with django_assert_num_queries(5):
        found = search(["solver"], hidden=())
    assert (len(found["Systems"].found), found["Systems"].more) == ((1, False) if number == 1 else (3, True))
    assert len(found["Cases"].found) == min(number, 3)
