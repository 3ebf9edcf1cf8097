"""What a worker's forks need not ask again."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from benchmark_tasks.models import TaskRevision
from evaluator.queue.warming import warm_up
from evaluator.testing import golden

if TYPE_CHECKING:
    from benchmark_tasks.models import SuiteVersion
    from evaluator.sandbox.types import Sandbox

pytestmark = [pytest.mark.django_db, pytest.mark.bubblewrap]


@pytest.fixture(autouse=True)
def _nothing_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(golden, "_families", {})


def known() -> set[tuple[str, str]]:
    return set(golden._families)


def test_the_family_of_every_environment_is_known_afterwards(
    small_version: SuiteVersion, real_sandbox: Sandbox
) -> None:
    warm_up()
    assert known() == {(real_sandbox.name, real_sandbox.environment_digest("numpy"))}


def test_an_environment_that_is_not_there_keeps_no_other_from_working(
    small_version: SuiteVersion, real_sandbox: Sandbox
) -> None:
    TaskRevision.objects.filter(task__index=1).update(environment="fortran")
    warm_up()
    assert known() == {(real_sandbox.name, real_sandbox.environment_digest("numpy"))}


def test_an_empty_catalogue_needs_nothing(real_sandbox: Sandbox, db: None) -> None:
    warm_up()
    assert known() == set()
