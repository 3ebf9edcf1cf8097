"""Queries about suite versions."""

from __future__ import annotations

import pytest

from benchmark_tasks.domain.queries import digest_of
from benchmark_tasks.models import TaskRevision
from tests.benchmark_tasks.factories import SuiteVersionFactory

pytestmark = pytest.mark.django_db


def test_the_digest_of_a_version_covers_its_tasks_and_their_hashes() -> None:
    version = SuiteVersionFactory(tasks=2)
    changed = version.revisions.latest("pk")
    found = [digest_of(version)]
    for name in ("statement_hash", "repository_hash", "grading_hash"):
        TaskRevision.objects.filter(pk=changed.pk).update(**{name: "f" * 64})
        found.append(digest_of(version))
    version.revisions.remove(changed)
    found.append(digest_of(version))
    assert len(set(found)) == 5
    assert digest_of(version) == found[-1]
