"""Every known attack, fired in both sandboxes: each ends exactly as it must. ``make attacks`` runs all of this."""

from __future__ import annotations

import socket
import subprocess
import sys
from collections import Counter
from typing import TYPE_CHECKING

import pytest

from evaluator.auditing.canary_round import STUB
from tests.attacks.corpus import CONTROLS, IN_BOXES, REPRESENTATIVE, SENT_IN, library
from tests.attacks.corpus.firing import Range, fire, open_range
from tests.attacks.corpus.kinds import AnswerAttack, Attack, Group, Way, ends
from tests.attacks.corpus.tampering import KNOWN_GAPS
from tests.attacks.corpus.uploads import GOOD_UPLOAD

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from _pytest.mark import ParameterSet

    from evaluator.sandbox.types import Sandbox


# Of the attacks on the verdict, these depend on the box as well as on the protocol.
TAMPERING_IN_DOCKER = frozenset({"os._exit", "golden search", "kill parent", "forged frame"})


def marked(attacks: Iterable[Attack], box: str = "bubblewrap") -> list[ParameterSet]:
    """The attacks as parameters: those that stand for others always, the rest in ``make attacks``."""
    found = []
    for each in attacks:
        fired = each.group is Group.CONTROL or each.name in REPRESENTATIVE
        if box == "docker" and each.group is Group.TAMPERING:
            fired = each.name in TAMPERING_IN_DOCKER
        marks = [getattr(pytest.mark, box), *([] if fired else [pytest.mark.attacks])]
        found.append(pytest.param(f"{box}_range", each, id=f"{box}, {each.group}: {each.name}", marks=marks))
    return found


@pytest.fixture(scope="module")
def bubblewrap_range(bubblewrap: Sandbox, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Range]:
    with open_range(bubblewrap, tmp_path_factory.mktemp("attacks"), label="attack-bubblewrap") as target:
        yield target


@pytest.fixture(scope="module")
def docker_range(docker: Sandbox, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Range]:
    with open_range(docker, tmp_path_factory.mktemp("attacks"), label="attack-docker") as target:
        yield target


@pytest.mark.parametrize(
    ("box", "attack"),
    [each for box in ("bubblewrap", "docker") for each in marked([*CONTROLS, *IN_BOXES], box)],
)
def test_in_boxes(box: str, attack: Attack, request: pytest.FixtureRequest) -> None:
    results = fire(attack, request.getfixturevalue(box))
    assert results
    assert [result for result in results if not result.repelled] == []


@pytest.mark.parametrize(("box", "attack"), marked([GOOD_UPLOAD, *SENT_IN]))
def test_sent_in(box: str, attack: Attack, request: pytest.FixtureRequest) -> None:
    (result,) = fire(attack, request.getfixturevalue(box))
    assert (result.way, result.repelled) == (Way.CHECKER, True), result


@pytest.mark.bubblewrap
@pytest.mark.parametrize("attack", KNOWN_GAPS, ids=lambda attack: attack.name)
def test_known_gaps_are_still_what_is_said_of_them(bubblewrap_range: Range, attack: Attack) -> None:
    (result,) = fire(attack, bubblewrap_range)
    assert result.repelled, result


def test_no_attack_is_lost_or_expected_to_pass() -> None:
    attacks = (*IN_BOXES, *SENT_IN)
    names = Counter(attack.name for attack in attacks)
    assert [name for name, number in names.items() if number > 1] == []
    assert names.keys() >= REPRESENTATIVE
    assert Counter(attack.group.value for attack in attacks) == {
        "resources": 22, "escape": 23, "tampering": 31, "patch": 33, "upload": 33
    }  # fmt: skip
    assert "passed" not in {
        outcome for attack in attacks for end in attack.expected.values() for outcome in end.outcomes
    }


@pytest.mark.bubblewrap
def test_a_round_notices_what_succeeds(bubblewrap_range: Range) -> None:
    """A round that could not would prove nothing."""
    bait = bubblewrap_range.bait

    def check(source: str, outcome: str, reason: str = "", *, held: int = 0, says: str = "") -> None:
        expected = {Way.SEALED: ends("wrong_output", "raised", says=says)}
        (result,) = fire(AnswerAttack("x", Group.TAMPERING, expected, source=source, held=held), bubblewrap_range)
        assert (result.outcome, result.repelled, result.reason[: len(reason)]) == (outcome, False, reason)

    check(library.honest(""), "passed")
    check(library.tries("attempt('root', os.listdir, '/')"), "escaped", "root")
    check(library.tries("attempt('root', os.listdir, '/nowhere')"), "infra", "only 1 of 2 tries were made", held=2)
    check(STUB, "raised", "the reason should say 'Mercury': ", says="Mercury")
    bait.file.write_text("changed")
    check(library.tries(), "escaped", "the host's file was changed")
    bait.file.write_text(bait.mark)
    socket.create_connection(("127.0.0.1", bait.port)).close()
    check(library.tries(), "escaped", "somebody connected to the host's port")
    with subprocess.Popen([sys.executable, "-c", "input()", bait.mark], stdin=-1) as process:
        check(library.tries(), "escaped", f"process {process.pid} is left")
        process.kill()
