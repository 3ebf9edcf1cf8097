"""``manage.py attack``: what it prints, what it keeps, and how it ends."""

from __future__ import annotations

import io
import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from django.core.management import CommandError, call_command

from evaluator.attacks import corpus, library
from evaluator.attacks.types import AnswerAttack, Group, Way, ends
from evaluator.enums import SelfCheckKind
from evaluator.models import SelfCheck
from evaluator.sandbox.configuration import EVALUATOR_VERSION
from tests.attacks.sending import left_behind

if TYPE_CHECKING:
    from evaluator.sandbox.types import Sandbox

pytestmark = [pytest.mark.django_db, pytest.mark.bubblewrap]

UNREPELLED = AnswerAttack(
    "honest man", Group.TAMPERING, "Is right.", {Way.SEALED: ends("wrong_output")}, source=library.honest("")
)


def attack(*arguments: str) -> tuple[int, str]:
    """Exit code and output."""
    out = io.StringIO()
    code = 0
    try:
        call_command("attack", *arguments, stdout=out)
    except SystemExit as end:
        code = int(end.code or 0)
    return code, out.getvalue()


def test_every_attack_has_its_line_and_the_last_line_counts(real_sandbox: Sandbox) -> None:
    code, printed = attack("--name", "sys.exit", "--name", "..", "--name", "busy loop")
    lines = [line.split() for line in printed.splitlines()]
    assert [" ".join(line) for line in lines] == [
        "sealed control right answer passed as it must",
        "upstream remote control right answer passed as it must",
        "upstream in-process control right answer passed as it must",
        "sealed control stub raised as it must",
        "upstream remote control stub raised as it must",
        "upstream in-process control stub raised as it must",
        "bare box resources busy loop cpu_timeout repelled",
        "sealed tampering sys.exit raised repelled",
        "upstream remote tampering sys.exit raised repelled",
        "upstream in-process tampering sys.exit raised repelled",
        "upload check patch .. refused repelled",
        (
            "5 of 5 repelled (bare box 1 of 1, sealed 1 of 1, upstream remote 1 of 1, upstream in-process 1 of 1, "
            "upload check 1 of 1)"
        ),
        (
            "Known gap, not counted: reads the test beside it, by upstream in-process. Takes the expected values from "
            "the unit test's own text, which lies in its box."
        ),
    ]
    assert code == 0
    assert left_behind() == []


def test_a_part_of_the_attacks_is_not_kept_as_a_whole_round(real_sandbox: Sandbox) -> None:
    code, printed = attack("--name", "RTL", "--json")
    found = json.loads(printed)
    assert (code, found["ok"], found["attacks"], found["repelled"]) == (0, True, 1, 1)
    assert found["protocols"] == {"upload check": {"fired": 1, "repelled": 1}}
    assert found["sandbox"] == real_sandbox.name
    assert found["environment"] == real_sandbox.environment_digest("numpy")
    assert [row["attack"] for row in found["results"]] == ["right answer"] * 3 + ["stub"] * 3 + ["RTL"]
    assert not SelfCheck.objects.exists()


def test_what_is_not_repelled_ends_with_1_and_is_kept(real_sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(corpus, "ATTACKS", (UNREPELLED,))
    code, printed = attack()
    assert code == 1
    line = next(line for line in printed.splitlines() if "honest man" in line)
    assert line.endswith("UNEXPECTED, must be wrong_output. ")
    assert "0 of 1 repelled (sealed 0 of 1)" in printed
    kept = SelfCheck.objects.get()
    assert (kept.kind, kept.ok, kept.repelled, len(kept.results)) == (SelfCheckKind.FULL, False, 6, 7)
    assert (kept.sandbox, kept.evaluator_version, kept.error) == (real_sandbox.name, EVALUATOR_VERSION, "")
    assert kept.results[-1].items() >= {
        "attack": "honest man", "group": "tampering", "protocol": "sealed", "expected": "wrong_output",
        "outcome": "passed", "repelled": False,
    }.items()  # fmt: skip


def test_an_evaluator_that_fails_a_right_answer_is_found_out(
    real_sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    right, stub = corpus.CONTROLS
    assert isinstance(right, AnswerAttack)
    monkeypatch.setattr(corpus, "CONTROLS", (replace(right, source=library.answer("return scores, names")), stub))
    code, printed = attack("--name", "RTL")
    assert code == 1
    assert "misjudges what is no attack: right answer by sealed ended with wrong_output." in printed
    assert "1 of 1 repelled" in printed


def test_the_short_round(real_sandbox: Sandbox) -> None:
    code, printed = attack("--short")
    assert code == 0
    assert [line.split()[-1] for line in printed.splitlines()[:4]] == ["must", "must", "repelled", "repelled"]
    assert printed.splitlines()[4] == "2 of 2 repelled (sealed 2 of 2)"
    assert SelfCheck.objects.get().kind == SelfCheckKind.SHORT


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--name", "Mercury"], "There is no attack 'Mercury'. Known: fork bomb, "),
        (["--group", "patch", "--name", "sleep"], "The group patch has no attack of that name."),
        (["--short", "--group", "patch"], "--short is a fixed round"),
    ],
)
def test_wrong_arguments_are_explained(arguments: list[str], message: str) -> None:
    with pytest.raises(CommandError, match=message.replace("?", r"\?")):
        attack(*arguments)


def test_without_a_sandbox_nothing_is_attacked(settings: Any) -> None:
    settings.ENVIRONMENT = replace(
        settings.ENVIRONMENT, evaluator_sandbox="bubblewrap", sandbox_python=Path("/nowhere/python3")
    )
    with pytest.raises(
        CommandError, match=r"Nothing was attacked, because no sandbox is available: .*/nowhere/python3"
    ):
        attack("--name", "sleep")
    with pytest.raises(CommandError, match=r"could not be attacked, which proves nothing: .*/nowhere/python3"):
        attack("--short")
