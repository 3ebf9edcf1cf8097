"""Every known hostile answer, fired in both sandboxes and in forked bubblewrap boxes: each has its expected outcome.

``make attacks`` runs all of these tests.

Output floods, endless loops and unread input are tried in ``tests/evaluator/sandbox``.
"""

from __future__ import annotations

import socket
import subprocess
import sys
from collections import Counter
from contextlib import ExitStack
from functools import cache
from typing import TYPE_CHECKING

import pytest

from evaluator.auditing.canary_round import STUB
from tests.attacks.corpus import ATTACKS, CONTROLS, REPRESENTATIVE, library
from tests.attacks.corpus.attack import Attack, Group, Way, sealed
from tests.attacks.corpus.tampering import KNOWN_GAP
from tests.attacks.range import Range, open_range

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from _pytest.mark import ParameterSet

    from evaluator.sandbox.interface import Sandbox

# Of the attacks on the verdict, these depend on the box as well as on the protocol.
TAMPERING_IN_DOCKER = frozenset({"os._exit", "golden search", "kill parent", "forged frame"})

IN_GVISOR = {"fork bomb": (frozenset({"timeout", "out_of_memory"}), "")}
"""Other outcomes there, and parts of the reason: the memory of gVisor's own kernel counts as the box's."""

BOXES = ("bubblewrap", "docker", "forked_bubblewrap", "gvisor")


def parameters(box: str) -> Iterator[ParameterSet]:
    """The attacks in ``box``: the representative ones always, the others with ``make attacks``."""
    for each in (*CONTROLS, *ATTACKS):
        fired = each.group is Group.CONTROL or each.name in REPRESENTATIVE
        if box == "gvisor":
            fired = False
        elif box == "docker" and each.group is Group.TAMPERING:
            fired = each.name in TAMPERING_IN_DOCKER
        marks = [getattr(pytest.mark, box.removeprefix("forked_")), *([] if fired else [pytest.mark.attacks])]
        yield pytest.param(box, each, id=f"{box}, {each.group}: {each.name}", marks=marks)


@pytest.fixture(scope="module")
def ranges(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Callable[[str], Range]]:
    """A function that returns a sandbox's range by name, and opens it at the first call."""
    with ExitStack() as stack:

        @cache
        def opened(box: str) -> Range:
            sandbox: Sandbox = request.getfixturevalue(box)
            return stack.enter_context(open_range(sandbox, tmp_path_factory.mktemp("attacks")))

        yield opened


@pytest.fixture(scope="module")
def bubblewrap_range(bubblewrap: Sandbox, ranges: Callable[[str], Range]) -> Range:
    return ranges("bubblewrap")


@pytest.mark.parametrize(("box", "attack"), [pair for box in BOXES for pair in parameters(box)])
def test_hostile_answers(box: str, attack: Attack, ranges: Callable[[str], Range]) -> None:
    target = ranges(box)
    for way, outcomes in attack.outcomes.items():
        usual = (outcomes, attack.reason_part)
        expected, part = IN_GVISOR.get(attack.name, usual) if box == "gvisor" else usual
        outcome, reason = target.fire(attack, way)
        assert outcome in expected, f"{way}: {reason}"
        assert way is not Way.SEALED or part in reason


@pytest.mark.bubblewrap
def test_the_known_gap_still_exists(bubblewrap_range: Range) -> None:
    assert bubblewrap_range.fire(KNOWN_GAP, Way.UPSTREAM)[0] == "passed"


def test_no_attack_is_lost_or_expected_to_pass() -> None:
    names = Counter(attack.name for attack in ATTACKS)
    assert [name for name, number in names.items() if number > 1] == []
    assert names.keys() >= REPRESENTATIVE
    assert Counter(attack.group.value for attack in ATTACKS) == {"resources": 19, "escape": 23, "tampering": 31}
    assert not [attack for attack in ATTACKS for outcomes in attack.outcomes.values() if "passed" in outcomes]


@pytest.mark.bubblewrap
def test_a_round_detects_successful_attacks(bubblewrap_range: Range) -> None:
    """Otherwise a round would prove nothing."""
    bait = bubblewrap_range.bait

    def check(source: str, outcome: str, reason: str = "", *, held: int = 0) -> None:
        attack = Attack("x", Group.TAMPERING, source, sealed("raised"), held=held)
        found = bubblewrap_range.fire(attack, Way.SEALED)
        assert (found[0], found[1][: len(reason)]) == (outcome, reason)

    check(library.honest(""), "passed")
    check(library.tries("attempt('root', os.listdir, '/')"), "escaped", "root")
    check(library.tries("attempt('root', os.listdir, '/nowhere')"), "infra", "only 1 of 2 tries were made", held=2)
    check(STUB, "raised", "seed 1, case 0: NotImplementedError")
    bait.file.write_text("changed")
    check(library.tries(), "escaped", "the host's file was changed")
    bait.file.write_text(bait.mark)
    socket.create_connection(("127.0.0.1", bait.port)).close()
    check(library.tries(), "escaped", "somebody connected to the host's port")
    with subprocess.Popen([sys.executable, "-c", "input()", bait.mark], stdin=-1) as process:
        check(library.tries(), "escaped", f"process {process.pid} is left")
        process.kill()
