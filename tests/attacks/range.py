"""Where attacks are fired: a sandbox, a task for every protocol, and bait on the host that no box may reach."""

from __future__ import annotations

import ipaddress
import os
import secrets
import socket
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from evaluator.auditing.canary_round import ESCAPED as ESCAPED_LINE
from evaluator.auditing.canary_round import GOAL, GOLDEN, HELD, PRIVATE_SEEDS, STUB, write_task, write_tree
from evaluator.sandbox.interface import SandboxError
from evaluator.testing.golden import GoldenFolder
from evaluator.testing.logs import MAX_LOG_BYTES
from evaluator.testing.sealed import grade
from evaluator.testing.upstream import grade_upstream
from evaluator.testing.upstream_boxes import UpstreamTask
from tests.attacks.corpus.attack import Group, Way
from tests.attacks.sending import command_line, left_behind

if TYPE_CHECKING:
    from collections.abc import Iterator

    from evaluator.sandbox.interface import Sandbox
    from evaluator.testing.verdicts import Verdict
    from tests.attacks.corpus.attack import Attack

TRIES: Final = 3
"""How often an attack is tried if infrastructure errors occur: on a busy machine a box may fail to start in time."""
VARIABLE: Final = "LMR_BOARD_BAIT"
_WRITABLE_PLACES: Final = ("/", "/tmp", "/var/tmp", "/dev/shm", "/etc", "/usr/lib", "/root", "/home")
_TEST: Final = "unit_test/unit_test_1.py"
_UNIT_TEST: Final = """import logging
import os
import unittest

import numpy as np

from weighing.goal import rank

here = os.path.dirname(os.path.abspath(__file__))
os.makedirs(os.path.join(here, "logs"), exist_ok=True)
logging.basicConfig(
    filename=os.path.join(here, "logs", "unit_test_1.log"), filemode="w", level=logging.INFO, format="%(message)s"
)


class TestRank(unittest.TestCase):
    def test_four_names(self):
        weights, order = rank(np.array([0.5, -1.0, 2.0, 0.0]), ["a", "b", "c", "d"])
        expected = np.array([0.15844, 0.03535, 0.71010, 0.09610])
        if np.allclose(weights, expected, atol=1e-4) and order == ["c", "a", "d", "b"]:
            logging.info("Test Passed: four names")
        else:
            logging.info("Test Failed: four names")
        self.assertTrue(np.allclose(weights, expected, atol=1e-4))
        self.assertEqual(order, ["c", "a", "d", "b"])


if __name__ == "__main__":
    unittest.main()
"""


class Bait:
    """A file, an environment variable, a port and an abstract socket of the host.

    ``mark`` is a unique word with which attacks name files and processes.
    """

    def __init__(self, folder: Path) -> None:
        self.mark = f"lmr-attack-{secrets.token_hex(8)}"
        self.file = folder / f"{self.mark}.secret"
        self.file.write_text(self.mark)
        self.file.chmod(0o644)
        os.environ[VARIABLE] = self.mark
        self._listener = socket.create_server(("0.0.0.0", 0))
        self._abstract = socket.socket(socket.AF_UNIX)
        self._abstract.bind(f"\0{self.mark}-socket")
        self._abstract.listen()
        self._listener.setblocking(False)
        self._abstract.setblocking(False)
        self.port = int(self._listener.getsockname()[1])

    def close(self) -> None:
        os.environ.pop(VARIABLE, None)
        self._listener.close()
        self._abstract.close()

    def constants(self) -> str:
        """Definitions of the constants that attacks look for. The secret itself is not among them."""
        values = {
            "MARK": self.mark,
            "HOST_PORT": self.port,
            "HOST_SOCKET": f"{self.mark}-socket",
            "HOST_FILE": str(self.file),
            "HOST_VARIABLE": VARIABLE,
        }
        return "".join(f"{name} = {value!r}\n" for name, value in values.items())

    def taken(self) -> list[str]:
        """List what happened to the bait and the machine: connections, and files and processes with the mark."""
        found = []
        if _connected(self._listener):
            found.append("somebody connected to the host's port")
        if _connected(self._abstract):
            found.append("somebody connected to the host's abstract socket")
        if self.file.read_text() != self.mark:
            found.append("the host's file was changed")
        for place in (Path(folder, self.mark) for folder in _WRITABLE_PLACES):
            with suppress(PermissionError):  # a folder that this user may not enter, and so no box of this user
                found += [f"{place} was written on the host"] if place.exists() else []
        numbers = [int(folder.name) for folder in Path("/proc").iterdir() if folder.name.isdecimal()]
        left = [pid for pid in numbers if pid != os.getpid() and self.mark.encode() in command_line(pid)]
        return found + [f"process {pid} is left" for pid in left]


def _connected(listener: socket.socket) -> bool:
    """Whether a box may have connected. Connections from other machines, such as port scans, do not count.

    All waiting connections are accepted, so that none counts twice.
    """
    found = False
    with suppress(BlockingIOError):
        while True:
            connection, peer = listener.accept()
            with connection:
                mine = connection.getsockname()
            local = listener.family is socket.AF_UNIX or peer[0] == mine[0] or ipaddress.ip_address(peer[0]).is_private
            found = found or local
    return found


class Range:
    """A sandbox and the site's own task in ``folder``, to be graded by every protocol."""

    def __init__(self, sandbox: Sandbox, folder: Path, bait: Bait) -> None:
        self.sandbox, self.bait, self._folder = sandbox, bait, folder
        self._task = write_task(folder / "task")
        self._golden = GoldenFolder(folder / "golden")
        self._label = f"attack-{secrets.token_hex(4)}"
        _with_test(write_tree(folder / "upstream" / "reference", GOLDEN))
        self._upstream = UpstreamTask(
            goal=GOAL,
            repository=_with_test(write_tree(folder / "upstream" / "masked", STUB)),
            grading=folder / "upstream",
            repository_name="weighing",
            unit_test_file=_TEST,
            environment="numpy",
            memory_bytes=512 * 1024 * 1024,
        )

    def fire(self, attack: Attack, way: Way) -> tuple[str, str]:
        """Return the outcome (``escaped`` if the attack left a trace, ``infra`` if it was not run) and the reason."""
        for _ in range(TRIES):
            try:
                outcome, reason = self._grade(attack, way)
                traces = [*self.bait.taken(), *left_behind()]
            except (SandboxError, OSError) as error:
                outcome, reason = "infra", str(error)
            else:
                if traces:
                    return "escaped", "; ".join(traces)
                if outcome != "infra":
                    break
        return outcome, reason

    def _grade(self, attack: Attack, way: Way) -> tuple[str, str]:
        verdicts = [self._verdict(attack, way) for _ in range(attack.runs)]
        lines = [line for verdict in verdicts for line in verdict.log.splitlines()]
        escaped = [line.removeprefix(ESCAPED_LINE) for line in lines if line.startswith(ESCAPED_LINE)]
        held = sum(line.startswith(HELD) for line in lines)
        last = verdicts[-1]
        if escaped:
            return "escaped", "; ".join(escaped)
        if any(len(verdict.log.encode()) > MAX_LOG_BYTES for verdict in verdicts):
            return "escaped", "the log has outgrown its limit"
        if held < attack.held:
            return "infra", f"only {held} of {attack.held} tries were made ({last.outcome}: {last.reason})"
        return last.outcome.value, last.reason

    def _verdict(self, attack: Attack, way: Way) -> Verdict:
        """Grade the attack as a goal file. Raises :class:`SandboxError`."""
        tree = write_tree(self._folder / f"tree-{secrets.token_hex(4)}", self.bait.constants() + attack.source)
        if way is Way.SEALED:
            # One box suffices to test its limits; only attacks that aim to pass must face the private cases, too.
            private = PRIVATE_SEEDS if attack.group in {Group.TAMPERING, Group.CONTROL} else ()
            return grade(
                sandbox=self.sandbox,
                task=replace(self._task, check=replace(self._task.check, wall_seconds=attack.wall_seconds)),
                candidate_tree=tree,
                private_seeds=private,
                golden=self._golden,
                label=self._label,
            )
        return grade_upstream(
            sandbox=self.sandbox,
            task=replace(self._upstream, wall_seconds=attack.wall_seconds),
            tree=_with_test(tree),
            label=self._label,
        )


@contextmanager
def open_range(sandbox: Sandbox, folder: Path) -> Iterator[Range]:
    """A range in the empty ``folder``."""
    folder.chmod(0o755)
    bait = Bait(folder)
    try:
        yield Range(sandbox, folder, bait)
    finally:
        bait.close()


def _with_test(tree: Path) -> Path:
    """The same tree, with the unit test in it."""
    file = tree / _TEST
    file.parent.mkdir()
    file.write_text(_UNIT_TEST)
    return tree
