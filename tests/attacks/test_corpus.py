"""Every known attack, fired in both sandboxes: each ends exactly as it must. ``make attacks`` runs all of this."""

from __future__ import annotations

import socket
import subprocess
import sys
from collections import Counter
from typing import TYPE_CHECKING

import pytest

from evaluator.auditing.canary_round import GOLDEN, NAME, STUB
from evaluator.sandbox.types import BoxSpec, RunCancelledError, SandboxError
from evaluator.testing.types import Outcome, Verdict
from submissions.answers.limited import check_limited
from tests.attacks.corpus import CONTROLS, IN_BOXES, REPRESENTATIVE, SENT_IN, library
from tests.attacks.corpus.firing import Range, Result, fire, open_range
from tests.attacks.corpus.kinds import AnswerAttack, Attack, Group, Way, ends
from tests.attacks.corpus.tampering import KNOWN_GAPS
from tests.attacks.corpus.uploads import good_upload
from tests.evaluator.testing.unconfined import UnconfinedSandbox

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from evaluator.sandbox.types import Sandbox


def marked(attacks: Iterable[Attack]) -> list[object]:
    """The attacks as parameters: those that stand for others always, the rest in ``make attacks``."""
    return [
        pytest.param(
            each,
            id=f"{each.group}: {each.name}",
            marks=() if each.group is Group.CONTROL or each.name in REPRESENTATIVE else pytest.mark.attacks,
        )
        for each in attacks
    ]


@pytest.fixture(scope="module")
def bubblewrap_range(bubblewrap: Sandbox, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Range]:
    with open_range(bubblewrap, tmp_path_factory.mktemp("attacks"), label="attack-bubblewrap") as target:
        yield target


@pytest.fixture(scope="module")
def docker_range(docker: Sandbox, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Range]:
    with open_range(docker, tmp_path_factory.mktemp("attacks"), label="attack-docker") as target:
        yield target


@pytest.fixture(
    params=[
        pytest.param("bubblewrap_range", marks=pytest.mark.bubblewrap),
        pytest.param("docker_range", marks=pytest.mark.docker),
    ]
)
def each_range(request: pytest.FixtureRequest) -> Range:
    found: Range = request.getfixturevalue(request.param)
    return found


def unexpected(results: list[Result]) -> list[Result]:
    return [result for result in results if not result.repelled]


@pytest.mark.parametrize("attack", marked([*CONTROLS, *IN_BOXES]))
def test_in_boxes(each_range: Range, attack: Attack) -> None:
    results = fire(attack, each_range)
    assert unexpected(results) == []
    assert len(results) >= 1


@pytest.mark.bubblewrap
@pytest.mark.parametrize("attack", marked(SENT_IN))
def test_sent_in(bubblewrap_range: Range, attack: Attack) -> None:
    results = fire(attack, bubblewrap_range)
    assert unexpected(results) == []
    assert [result.way for result in results] == [Way.CHECKER]


@pytest.mark.bubblewrap
@pytest.mark.parametrize("attack", KNOWN_GAPS, ids=lambda attack: attack.name)
def test_known_gaps_are_still_what_is_said_of_them(bubblewrap_range: Range, attack: Attack) -> None:
    assert unexpected(fire(attack, bubblewrap_range)) == []


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
class TestWhatTheRoundNotices:
    """A round that could not notice a success would prove nothing."""

    def fire(self, target: Range, source: str, *, held: int = 0, says: str = "") -> Result:
        expected = {Way.SEALED: ends("wrong_output", "raised", says=says)}
        (result,) = fire(AnswerAttack("x", Group.TAMPERING, expected, source=source, held=held), target)
        return result

    def test_an_escape_that_the_answer_reports(self, bubblewrap_range: Range) -> None:
        result = self.fire(bubblewrap_range, library.tries("attempt('root', os.listdir, '/')"))
        assert (result.outcome, result.repelled, result.reason.split()[0]) == ("escaped", False, "root")

    def test_tries_that_were_never_made(self, bubblewrap_range: Range) -> None:
        result = self.fire(bubblewrap_range, library.tries("attempt('root', os.listdir, '/nowhere')"), held=2)
        assert (result.outcome, result.repelled) == ("infra", False)
        assert result.reason.startswith("only 1 of 2 tries were made")

    def test_an_answer_that_passes(self, bubblewrap_range: Range) -> None:
        assert self.fire(bubblewrap_range, library.honest("")).repelled is False

    def test_a_file_on_the_host(self, bubblewrap_range: Range) -> None:
        bubblewrap_range.bait.file.write_text("changed")
        result = self.fire(bubblewrap_range, library.tries())
        bubblewrap_range.bait.file.write_text(bubblewrap_range.bait.mark)
        assert (result.outcome, result.repelled, result.reason) == ("escaped", False, "the host's file was changed")

    def test_a_process_on_the_host(self, bubblewrap_range: Range) -> None:
        with subprocess.Popen([sys.executable, "-c", "input()", bubblewrap_range.bait.mark], stdin=-1) as process:
            result = self.fire(bubblewrap_range, library.tries())
            process.kill()
        assert (result.outcome, result.reason) == ("escaped", f"process {process.pid} is left")

    def test_a_connection_to_the_host(self, bubblewrap_range: Range) -> None:
        port = int(bubblewrap_range.bait.constants().splitlines()[1].split(" = ")[1])
        socket.create_connection(("127.0.0.1", port)).close()
        result = self.fire(bubblewrap_range, library.tries())
        assert (result.outcome, result.reason) == ("escaped", "somebody connected to the host's port")

    def test_a_reason_that_is_another_one(self, bubblewrap_range: Range) -> None:
        result = self.fire(bubblewrap_range, STUB, says="Mercury")
        assert (result.outcome, result.repelled) == ("raised", False)
        assert result.reason.startswith("the reason should say 'Mercury': ")


@pytest.mark.parametrize(("faults", "outcome", "repelled"), [(2, "raised", True), (3, "infra", False)])
def test_an_infrastructure_error_is_retried_but_not_for_ever(
    faults: int, outcome: str, repelled: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tries: list[str] = []

    def failing(_: Range, goal: str, *_args: object, **_options: object) -> Verdict:
        tries.append(goal)
        if len(tries) <= faults:
            raise SandboxError("no box for want of memory")
        return Verdict(Outcome.RAISED, (), log="", seconds=0.0)

    monkeypatch.setattr(Range, "grade", failing)
    stub = AnswerAttack("stub", Group.CONTROL, {Way.SEALED: ends("raised")}, source=STUB)
    with open_range(UnconfinedSandbox(), tmp_path, label="attack") as target:
        (result,) = fire(stub, target)
    assert (result.outcome, result.repelled, len(tries)) == (outcome, repelled, 3)


def test_a_good_upload_is_read(tmp_path: Path) -> None:
    (tmp_path / "good.zip").write_bytes(good_upload())
    answers = check_limited(tmp_path / "good.zip").answers
    assert [(answer.task, answer.content) for answer in answers] == [(NAME, GOLDEN.encode())]


def test_what_is_left_of_a_box_is_seen(each_range: Range) -> None:
    seen: list[str] = []
    spec = BoxSpec(f"{each_range.label}-left", ("python", "-c", "import time; time.sleep(60)"), ())

    def look() -> bool:
        seen.extend(each_range.left_behind())
        return bool(seen)

    with pytest.raises(RunCancelledError):
        each_range.sandbox.run(spec, cancelled=look)
    kind = "container" if each_range.sandbox.name == "docker" else "control group"
    assert any(line.startswith(f"{kind} ") for line in seen)
    assert each_range.left_behind() == []
