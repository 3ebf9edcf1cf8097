"""What a worker asks once, because each of its jobs runs in a fork that forgets what it finds out."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from benchmark_tasks.models import TaskRevision
from evaluator.management.commands.worker import _warm_up
from evaluator.testing import golden

if TYPE_CHECKING:
    from benchmark_tasks.models import SuiteVersion
    from evaluator.sandbox.types import Sandbox


@pytest.mark.django_db
@pytest.mark.bubblewrap
def test_the_processor_family_of_every_environment_that_works_is_known(
    small_version: SuiteVersion, real_sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(golden, "_families", {})
    TaskRevision.objects.filter(task__index=1).update(environment="fortran")
    _warm_up()
    assert set(golden._families) == {(real_sandbox.name, real_sandbox.environment_digest("numpy"))}
