"""What raters said of a part of an answer is void, and asked again; everything else stays."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from evaluator.enums import WorkState
from evaluator.judging import judgements
from evaluator.judging.rechecking import WHY, recheck_shown
from evaluator.models import Judgement, JudgeVote
from evaluator.queue.reconcile import reconcile
from evaluator.signals import implementation_shown_in_part
from submissions.domain.audit import history
from submissions.models import AuditEvent, Implementation
from tests.benchmark_tasks.factories import MASKED, STUB
from tests.evaluator.judging.site import GOLDEN, HEAD, judge, judged, votes

if TYPE_CHECKING:
    from collections.abc import Iterator

    from benchmark_tasks.models import SuiteVersion
    from tests.provider_server.server import ProviderServer

pytestmark = pytest.mark.django_db(transaction=True)

SHADOW = "def fsum(x):\n    return 0.0 * x[0]\n"
AROUND = MASKED.partition(HEAD + STUB)
FILES = {
    "before": {"scoring/core.py": f"{AROUND[0]}{SHADOW}\n\n{HEAD}{GOLDEN}{AROUND[2]}"},
    "after": {"scoring/core.py": f"{AROUND[0]}{HEAD}{GOLDEN}\n\n{SHADOW}{AROUND[2]}"},
    "statement": {"scoring/core.py": f"{AROUND[0]}{HEAD}{GOLDEN}double = abs\n{AROUND[2]}"},
}


@pytest.fixture
def heard() -> Iterator[list[int]]:
    """The answers of which was said that raters were shown a part."""
    found: list[int] = []

    def hear(implementation: Implementation, **_: Any) -> None:
        found.append(implementation.pk)

    implementation_shown_in_part.connect(hear)
    yield found
    implementation_shown_in_part.disconnect(hear)


def judged_in_part(version: SuiteVersion, config: Any, files: dict[str, str]) -> Judgement:
    """A judgement of the golden function alone, of an answer that has had ``files`` all the time."""
    (row,) = judged(version, config, GOLDEN)
    Implementation.objects.filter(pk=row.implementation_id).update(
        files=files, identical_to_reference=True, shown_in_part=True
    )
    return row


@pytest.mark.parametrize("files", FILES.values(), ids=FILES)
def test_votes_on_a_part_are_superseded_and_asked_again(
    provider: ProviderServer, small_version: SuiteVersion, heard: list[int], files: dict[str, str]
) -> None:
    row = judged_in_part(small_version, judge(provider), files)
    before = row.input_digest
    assert (row.label, recheck_shown()) == ("CC", 1)
    row.refresh_from_db()
    assert (row.state, row.label, row.finished, row.reason) == (WorkState.QUEUED, "", None, WHY)
    assert set(row.votes.values_list("label", "superseded")) == {("CC", WHY)}
    found = Implementation.objects.get()
    assert (found.shown_in_part, found.identical_to_reference, heard) == (False, False, [found.pk])
    (event,) = history(found)
    assert (event.verb, event.reason) == ("voided", WHY)
    assert event.data == {"judges": {row.config.slug: "CC"}, "identical_to_reference": True}
    assert judgements.judge_next() is not None
    row.refresh_from_db()
    assert (row.state, row.input_digest != before, len(votes(row))) == (WorkState.DONE, True, 3)
    assert recheck_shown() == 0


def test_answers_that_raters_saw_whole_keep_everything(
    provider: ProviderServer, small_version: SuiteVersion, heard: list[int]
) -> None:
    (row,) = judged(small_version, judge(provider), GOLDEN)
    Implementation.objects.update(identical_to_reference=True, shown_in_part=True)
    assert recheck_shown() == 1
    row.refresh_from_db()
    assert (row.state, row.label, votes(row)) == (WorkState.DONE, "CC", ["CC"] * 3)
    assert Implementation.objects.values_list("shown_in_part", "identical_to_reference").get() == (False, True)
    assert (heard, AuditEvent.objects.filter(verb="voided").count()) == ([], 0)


def test_what_cannot_be_looked_at_waits(provider: ProviderServer, small_version: SuiteVersion) -> None:
    row = judged_in_part(small_version, judge(provider), FILES["before"])
    hashes = dict(small_version.revisions.values_list("pk", "repository_hash"))
    small_version.revisions.update(repository_hash="0" * 64)
    assert (recheck_shown(), JudgeVote.objects.exclude(superseded="").count()) == (0, 0)
    for pk, found in hashes.items():
        small_version.revisions.filter(pk=pk).update(repository_hash=found)
    reconcile()
    row.refresh_from_db()
    assert row.state == WorkState.QUEUED
