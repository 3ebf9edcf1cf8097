"""The commands setup, password and maintainer: steps, the first account, and what happens when a step fails."""

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
from submissions.domain.audit import history
from submissions.domain.maintainers import ALPHABET, ensure_maintainer
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
    """Record the commands that the steps call; the commands have their own tests."""
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


def test_output_of_a_step_appears_below_its_title(calls: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    recorded: Callable[..., None] = vars(setup)["call_command"]

    def call(name: str, *arguments: str, **options: Any) -> None:
        recorded(name, *arguments, **options)
        if name == "audit_tasks":
            options["stderr"].write("1 of 2 audited\n")
            options["stderr"].write("2 of 2 audited\n")

    monkeypatch.setattr("leaderboard.management.commands.setup.call_command", call)
    output, errors = run()
    assert errors == "\n1 of 2 audited\n2 of 2 audited\n"
    (line,) = [line for line in output.splitlines() if line.startswith("Audit")]
    assert re.fullmatch(r"(Audit of the tasks \.+ ){2} *\d+\.\d s", line)


def test_compressed_files_of_an_older_version_are_removed(settings: Settings, tmp_path: Path) -> None:
    settings.STATIC_ROOT = tmp_path
    old, new = tmp_path / "css" / "site.css.br", tmp_path / "css" / "site.css"
    old.parent.mkdir()
    old.touch()
    (step,) = [each for each in setup.STEPS if each.fingerprint is static_fingerprint]
    call_command(*step.command, verbosity=0)
    assert (old.exists(), new.exists()) == (False, True)


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
    # Django caches each finder; the stubs do not declare the cache.
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
def test_without_boxes_the_board_is_set_up_with_a_warning(
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


def test_setup_stops_when_a_step_that_serving_needs_fails(calls: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    failing(monkeypatch, "load_catalogue", CommandError("info.json is broken"))
    with pytest.raises(CommandError) as refused:
        run()
    assert str(refused.value) == "Suites (load_catalogue) failed: info.json is broken"
    assert not User.objects.exists()


def test_the_local_operator_does_not_count_as_a_maintainer_and_one_maintainer_suffices() -> None:
    local_operator()
    assert ensure_maintainer(username="maintainer") is not None
    assert ensure_maintainer(username="other") is None


@pytest.fixture
def maintainer() -> User:
    return User.objects.create_user(username="maintainer", password="the old one", is_staff=True)


class Terminal(StringIO):
    def isatty(self) -> bool:
        return True


def typed(monkeypatch: pytest.MonkeyPatch, *answers: str) -> None:
    """Simulate a terminal at which these answers are typed in turn."""
    remaining = iter(answers)
    monkeypatch.setattr("sys.stdin", Terminal())
    monkeypatch.setattr("leaderboard.management.commands.password.getpass", lambda _question: next(remaining))


def test_a_generated_password_is_printed_and_works(maintainer: User) -> None:
    output = StringIO()
    call_command("password", "maintainer", "--generate", stdout=output)
    head, _, password = output.getvalue().strip().partition("\n\n    ")
    assert head == "The new password of maintainer:"
    groups = password.split("-")
    assert [len(group) for group in groups] == [4] * 5
    assert set("".join(groups)) <= set(ALPHABET)
    maintainer.refresh_from_db()
    assert (maintainer.check_password(password), maintainer.check_password("the old one")) == (True, False)
    event = history(maintainer).get()
    assert (event.verb, event.actor, event.data, event.reason) == (Verb.PASSWORD, None, {}, "")


def test_a_typed_password_is_not_printed(maintainer: User, monkeypatch: pytest.MonkeyPatch) -> None:
    typed(monkeypatch, "a fine new password", "a fine new password")
    output = StringIO()
    call_command("password", "maintainer", stdout=output)
    assert output.getvalue() == "maintainer has a new password.\n"
    maintainer.refresh_from_db()
    assert maintainer.check_password("a fine new password")


def test_a_bad_password_changes_nothing(maintainer: User, monkeypatch: pytest.MonkeyPatch) -> None:
    for answers, message in (
        (["one password", "another one"], "The passwords differ. Nothing was changed."),
        (["short"] * 2, "Nothing was changed. This password is too short. It must contain at least 10 characters."),
    ):
        typed(monkeypatch, *answers)
        with pytest.raises(CommandError) as refused:
            call_command("password", "maintainer")
        assert str(refused.value) == message
    assert not history(maintainer).exists()
    maintainer.refresh_from_db()
    assert maintainer.check_password("the old one")


def test_without_a_terminal_the_error_names_the_option_generate(
    maintainer: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", StringIO())
    with pytest.raises(CommandError, match="Use --generate"):
        call_command("password", "maintainer")


def test_the_error_about_an_unknown_account_lists_the_maintainers(maintainer: User) -> None:
    User.objects.create_user(username="ordinary")
    with pytest.raises(CommandError) as refused:
        call_command("password", "root", "--generate")
    assert str(refused.value) == "There is no account named 'root'. Maintainers: maintainer."


def test_an_account_becomes_a_maintainer_s_and_an_ordinary_one_again(maintainer: User) -> None:
    other = User.objects.create_user(username="ada", password="another one")
    for options, words, after in (
        ([], "ada is now a maintainer.\n", {"before": None, "after": "maintainer"}),
        (["--end"], "ada is no longer a maintainer.\n", {"before": "maintainer", "after": None}),
    ):
        output = StringIO()
        call_command("maintainer", "ada", *options, stdout=output)
        other.refresh_from_db()
        event = history(other).first()
        assert (output.getvalue(), other.is_staff) == (words, not options)
        assert (event.verb, event.actor, event.data) == (Verb.ROLE, None, after)


def test_the_last_maintainer_who_can_sign_in_stays(maintainer: User) -> None:
    local_operator()
    User.objects.create_user(username="ada", password="another one")
    for arguments, message in (
        (["maintainer", "--end"], "maintainer is the only maintainer. First make another account one."),
        (["maintainer"], "maintainer is already a maintainer."),
        (["ada", "--end"], "ada is not a maintainer."),
        (["nobody"], "There is no account named 'nobody'. Maintainers: maintainer, operator."),
    ):
        with pytest.raises(CommandError) as refused:
            call_command("maintainer", *arguments)
        assert str(refused.value) == message
    maintainer.refresh_from_db()
    assert maintainer.is_staff
