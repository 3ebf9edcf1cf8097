"""``manage.py setup``: steps, the first account, and what happens when a step fails."""

from __future__ import annotations

import re
from collections.abc import Callable
from io import StringIO
from pathlib import Path
from typing import Any, cast

import pytest
from django.contrib.staticfiles import finders
from django.core.management import CommandError, call_command
from pytest_django import Settings

from leaderboard.management.commands import setup
from leaderboard.management.commands.setup import static_fingerprint
from leaderboard.operation.maintainers import ensure_maintainer
from submissions.domain.audit import history
from submissions.domain.operators import local_operator
from submissions.enums import Verb
from submissions.models import User

pytestmark = pytest.mark.django_db
TITLES = [
    "Database",
    "Shared cache",
    "Static files",
    "Suites",
    "Published results",
    "Environment of the boxes",
    "Audit of the tasks",
    "Sample submissions",
]


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch, settings: Settings, tmp_path: Path) -> list[str]:
    """Records the commands that the steps call; what each one does is tested where it lives."""
    settings.DATA_DIR = tmp_path
    settings.STATIC_ROOT = tmp_path / "static"
    called: list[str] = []

    def record(name: str, *_arguments: str, **_options: Any) -> None:
        called.append(name)
        if name == "collectstatic":
            settings.STATIC_ROOT.mkdir()

    monkeypatch.setattr("leaderboard.management.commands.setup.call_command", record)
    return called


def failing(monkeypatch: pytest.MonkeyPatch, command: str, error: BaseException) -> None:
    recorded: Callable[..., None] = vars(setup)["call_command"]

    def call(name: str, *arguments: str, **options: Any) -> None:
        if name == command:
            raise error
        recorded(name, *arguments, **options)

    monkeypatch.setattr("leaderboard.management.commands.setup.call_command", call)


def run() -> tuple[str, str]:
    output, errors = StringIO(), StringIO()
    call_command("setup", stdout=output, stderr=errors)
    return output.getvalue(), errors.getvalue()


def test_each_step_is_one_line_with_its_time_and_the_password_comes_once(calls: list[str]) -> None:
    output, errors = run()
    steps, _, account = output.partition("\n\n")
    assert [re.fullmatch(r"(.+?) \.+ +\d+\.\d s", line)[1] for line in steps.splitlines()] == TITLES  # type: ignore[index]
    assert errors == ""
    password = re.search(r"name {6}maintainer\n {4}password  (\S+)\n", account)
    assert password
    maintainer = User.objects.get(username="maintainer")
    assert (maintainer.is_staff, maintainer.check_password(password[1])) == (True, True)
    event = history(maintainer).get()
    assert (event.verb, event.actor, event.data) == (Verb.ROLE, None, {"before": None, "after": "maintainer"})
    assert "password" not in run()[0]
    assert history(maintainer).count() == 1


def test_the_second_run_leaves_unchanged_static_files_alone(calls: list[str]) -> None:
    run()
    assert "collectstatic" in calls
    calls.clear()
    run()
    assert calls == [
        "migrate",
        "createcachetable",
        "load_catalogue",
        "load_published",
        "prepare_evaluator",
        "audit_tasks",
        "submit_samples",
    ]


def test_static_files_are_collected_again_after_a_change(calls: list[str], settings: Settings, tmp_path: Path) -> None:
    (tmp_path / "extra").mkdir()
    settings.STATICFILES_DIRS = [tmp_path / "extra"]
    # Django keeps each finder; the stubs know nothing of its cache.
    forget_finders = cast("Any", finders.get_finder).cache_clear
    forget_finders()
    try:
        before = [static_fingerprint(), static_fingerprint()]
        (tmp_path / "extra" / "new.css").write_text("a{}", encoding="ascii")
        assert before[0] == before[1] != static_fingerprint()
    finally:
        forget_finders()


@pytest.mark.parametrize(
    "error", [CommandError("no sandbox works here: install bubblewrap"), SystemExit(1)], ids=["error", "exit"]
)
def test_without_boxes_the_board_is_set_up_and_it_is_said_loudly(
    calls: list[str], monkeypatch: pytest.MonkeyPatch, error: BaseException
) -> None:
    failing(monkeypatch, "prepare_evaluator", error)
    output, errors = run()
    lines = output.splitlines()
    assert re.fullmatch(r"Environment of the boxes \.+ failed", lines[5])
    assert [line.split(" .")[0] + line[-8:] for line in lines[6:8]] == [
        "Audit of the tasks skipped",
        "Sample submissions skipped",
    ]
    assert "NOTHING CAN BE EVALUATED" in errors
    reason = "manage.py prepare_evaluator ended with exit code 1" if isinstance(error, SystemExit) else str(error)
    assert f"Environment of the boxes: {reason}" in errors
    assert User.objects.filter(username="maintainer").exists()


def test_a_step_that_serving_needs_stops_with_its_reason(calls: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    failing(monkeypatch, "load_catalogue", CommandError("info.json is broken"))
    with pytest.raises(CommandError) as refused:
        run()
    assert str(refused.value) == "Suites (load_catalogue) failed: info.json is broken"
    assert not User.objects.exists()


def test_the_operator_who_cannot_sign_in_is_no_maintainer_and_another_one_is_enough() -> None:
    local_operator()
    assert ensure_maintainer(username="maintainer") is not None
    assert ensure_maintainer(username="other") is None
