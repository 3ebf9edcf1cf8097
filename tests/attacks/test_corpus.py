"""Every known attack, fired in both sandboxes as ``manage.py attack`` fires them: each ends exactly as it must."""

from __future__ import annotations

import socket
import subprocess
import sys
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from evaluator.attacks import corpus, library, task
from evaluator.attacks.rounds import Range, fire, open_range
from evaluator.attacks.traces import left_behind
from evaluator.attacks.types import AnswerAttack, Attack, AttackResult, Group, PatchAttack, UploadAttack, Way, ends
from evaluator.attacks.uploads import good_upload
from evaluator.attacks.upstream import upstream_graders
from evaluator.sandbox.types import BoxSpec, RunCancelledError, SandboxError
from evaluator.testing.types import Outcome, Verdict
from submissions.answers.limited import check_limited
from tests.attacks.acceptance import LISTED
from tests.evaluator.testing.unconfined import UnconfinedSandbox

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from evaluator.sandbox.types import Sandbox

IN_BOXES = [attack for attack in corpus.ATTACKS if not isinstance(attack, PatchAttack | UploadAttack)]
SENT_IN = [attack for attack in corpus.ATTACKS if isinstance(attack, PatchAttack | UploadAttack)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("attacks")


@pytest.fixture(scope="module")
def bubblewrap_range(bubblewrap: Sandbox, folder: Path) -> Iterator[Range]:
    with open_range(bubblewrap, folder, label="attack-bubblewrap", more=upstream_graders) as target:
        yield target


@pytest.fixture(scope="module")
def docker_range(docker: Sandbox, folder: Path) -> Iterator[Range]:
    with open_range(docker, folder, label="attack-docker", more=upstream_graders) as target:
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


def unexpected(results: list[AttackResult]) -> list[tuple[str, str, str]]:
    return [(result.way.value, result.outcome, result.reason) for result in results if not result.repelled]


@pytest.mark.parametrize("attack", [*corpus.CONTROLS, *IN_BOXES], ids=lambda attack: f"{attack.group}: {attack.name}")
def test_in_boxes(each_range: Range, attack: Attack) -> None:
    results = fire([attack], each_range)
    assert unexpected(results) == []
    assert len(results) >= 1


@pytest.mark.bubblewrap
@pytest.mark.parametrize("attack", SENT_IN, ids=lambda attack: f"{attack.group}: {attack.name}")
def test_sent_in(bubblewrap_range: Range, attack: Attack) -> None:
    results = fire([attack], bubblewrap_range)
    assert unexpected(results) == []
    assert [result.way for result in results] == [Way.CHECKER]


@pytest.mark.bubblewrap
@pytest.mark.parametrize("attack", corpus.KNOWN_GAPS, ids=lambda attack: attack.name)
def test_known_gaps_are_still_what_is_said_of_them(bubblewrap_range: Range, attack: Attack) -> None:
    assert unexpected(fire([attack], bubblewrap_range)) == []


def test_every_entry_of_the_acceptance_list_has_an_attack() -> None:
    names = {(attack.group, attack.name) for attack in corpus.ATTACKS}
    assert [entry for entry in LISTED if entry not in names] == []


def test_names_are_unique_and_every_attack_says_what_it_tries() -> None:
    assert [name for name, number in Counter(attack.name for attack in corpus.ATTACKS).items() if number > 1] == []
    assert [attack.name for attack in corpus.ATTACKS if not attack.tries.endswith(".")] == []


def test_no_attack_is_expected_to_pass() -> None:
    outcomes = {outcome for attack in corpus.ATTACKS for end in attack.expected.values() for outcome in end.outcomes}
    assert "passed" not in outcomes


@pytest.mark.bubblewrap
class TestWhatTheRoundNotices:
    """A round that could not notice a success would prove nothing."""

    def fire(self, target: Range, source: str, *, held: int = 0, outcome: str = "wrong_output") -> AttackResult:
        attack = AnswerAttack("x", Group.ESCAPE, "Tries.", {Way.SEALED: ends(outcome)}, source=source, held=held)
        (result,) = fire([attack], target)
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
        attack = AnswerAttack(
            "x", Group.TAMPERING, "Tries.", {Way.SEALED: ends("raised", says="Mercury")}, source=task.STUB
        )
        (result,) = fire([attack], bubblewrap_range)
        assert (result.outcome, result.repelled) == ("raised", False)
        assert result.reason.startswith("the reason should say 'Mercury': ")


@pytest.mark.parametrize(("faults", "outcome", "repelled"), [(2, "raised", True), (3, "infra", False)])
def test_a_fault_of_ours_is_tried_again_but_not_for_ever(
    faults: int, outcome: str, repelled: bool, tmp_path: Path
) -> None:
    tries: list[Path] = []

    def failing(tree: Path, *_: object) -> Verdict:
        tries.append(tree)
        if len(tries) <= faults:
            raise SandboxError("no box for want of memory")
        return Verdict(Outcome.RAISED, (), log="", seconds=0.0)

    with open_range(UnconfinedSandbox(), tmp_path, label="attack") as target:
        (result,) = fire([corpus.CONTROLS[1]], replace(target, graders={Way.SEALED: failing}))
    assert (result.outcome, result.repelled, len(tries)) == (outcome, repelled, 3)
    assert result.reason == ("" if repelled else "no box for want of memory")


def test_a_good_upload_is_read(tmp_path: Path) -> None:
    (tmp_path / "good.zip").write_bytes(good_upload())
    answers = check_limited(tmp_path / "good.zip").answers
    assert [(answer.task, answer.content) for answer in answers] == [(task.NAME, task.GOLDEN.encode())]


def test_attacks_are_picked_by_group_and_name() -> None:
    picked = corpus.choose(names=["NaN in a manifest", "sleep"])
    assert [attack.name for attack in picked] == ["sleep", "NaN in a manifest"]
    assert {attack.group for attack in corpus.choose(group=Group.PATCH)} == {Group.PATCH}
    with pytest.raises(KeyError, match="nothing"):
        corpus.choose(names=["nothing", "sleep"])


@pytest.mark.docker
def test_a_container_that_is_left_is_seen(docker: Sandbox, docker_range: Range) -> None:
    seen: list[str] = []
    spec = BoxSpec(f"{docker_range.label}-left", ("python", "-c", "import time; time.sleep(60)"), ())

    def look() -> bool:
        seen.extend(left_behind(docker_range.label, containers=True))
        return bool(seen)

    with pytest.raises(RunCancelledError):
        docker.run(spec, cancelled=look)
    assert {line.split()[0] for line in seen} <= {"container", "control"}
    assert any(line.startswith("container ") for line in seen)
    assert left_behind(docker_range.label, containers=True) == []


@pytest.mark.bubblewrap
def test_a_group_that_is_left_is_seen(bubblewrap: Sandbox, bubblewrap_range: Range) -> None:
    seen: list[str] = []
    spec = BoxSpec(f"{bubblewrap_range.label}-left", ("python", "-c", "import time; time.sleep(60)"), ())

    def look() -> bool:
        seen.extend(left_behind(bubblewrap_range.label, containers=False))
        return bool(seen)

    with pytest.raises(RunCancelledError):
        bubblewrap.run(spec, cancelled=look)
    assert any(line.startswith(f"control group {bubblewrap_range.label}-left.") for line in seen)
    assert left_behind(bubblewrap_range.label, containers=False) == []
