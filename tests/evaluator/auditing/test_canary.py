"""Before its first run a worker makes sure that the evaluator tells right from wrong."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from django.core.management import CommandError, call_command

from evaluator.attacks import corpus, library, task
from evaluator.attacks.types import AnswerAttack
from evaluator.auditing.self_checks import CanaryError, run_canary
from evaluator.enums import SelfCheckKind
from evaluator.models import SelfCheck
from tests.attacks.sending import left_behind

if TYPE_CHECKING:
    from evaluator.sandbox.types import Sandbox

pytestmark = [pytest.mark.django_db, pytest.mark.bubblewrap]


def misjudging(monkeypatch: pytest.MonkeyPatch, *, golden: str = "", stub: str = "") -> None:
    """Controls with other sources: as if the evaluator failed the golden answer, or passed the stub."""
    right, masked = corpus.CONTROLS
    assert isinstance(right, AnswerAttack)
    assert isinstance(masked, AnswerAttack)
    controls = (replace(right, source=golden or right.source), replace(masked, source=stub or masked.source))
    monkeypatch.setattr(corpus, "CONTROLS", controls)


def test_a_sound_evaluator_passes_quickly(real_sandbox: Sandbox) -> None:
    run_canary()  # asks the boxes' processor family, which a worker has found out before
    begun = time.process_time()
    check = run_canary()
    assert time.process_time() - begun < 1.5
    assert (check.kind, check.ok, check.sandbox) == (SelfCheckKind.CANARY, True, real_sandbox.name)
    assert [(row["attack"], row["outcome"]) for row in check.results] == [
        ("right answer", "passed"),
        ("stub", "raised"),
    ]
    assert SelfCheck.objects.count() == 2
    assert left_behind() == []


@pytest.mark.docker
def test_so_does_docker(docker_is_configured: Sandbox) -> None:
    assert (run_canary().ok, SelfCheck.objects.get().sandbox) == (True, "docker")


@pytest.mark.parametrize(
    ("golden", "stub", "message"),
    [
        (task.STUB, "", "right answer must end with passed and ended with raised: seed 1, case 0: NotImplementedError"),
        ("", library.honest(""), "stub must end with raised and ended with passed: "),
    ],
)
@pytest.mark.redis
def test_a_worker_refuses_an_evaluator_that_misjudges(
    golden: str, stub: str, message: str, real_sandbox: Sandbox, redis_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    misjudging(monkeypatch, golden=golden, stub=stub)
    with pytest.raises(CommandError) as caught:
        call_command("worker", "--burst")
    assert str(caught.value) == f"No worker was started, because the evaluator failed its own check: {message}"
    kept = SelfCheck.objects.get()
    assert (kept.kind, kept.ok, kept.error, kept.repelled) == (SelfCheckKind.CANARY, False, "", 1)


def test_a_sandbox_that_fails_is_kept_as_the_reason(settings: Any) -> None:
    settings.ENVIRONMENT = replace(
        settings.ENVIRONMENT, evaluator_sandbox="bubblewrap", sandbox_python=Path("/nowhere/python3")
    )
    with pytest.raises(CanaryError, match="/nowhere/python3"):
        run_canary()
    kept = SelfCheck.objects.get()
    assert (kept.kind, kept.ok, kept.sandbox, kept.results) == (SelfCheckKind.CANARY, False, "", [])
    assert "/nowhere/python3" in kept.error
