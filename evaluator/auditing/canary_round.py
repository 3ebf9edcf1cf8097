"""A small task of the site's own and a dozen hostile answers, to test a live evaluator.

An attack is the body of a function, so it fits the goal of any task. It reports each try in a line of its log:
``attack: held WHAT (why)`` or ``attack: ESCAPED WHAT``. All known attacks are in ``tests/attacks``.
"""

from __future__ import annotations

import ast
import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from django.conf import settings

from benchmark_tasks.domain.goals import Goal
from evaluator.auditing.trivial import functions_of, parse_definition
from evaluator.enums import AttackGroup
from evaluator.outcomes import Outcome
from evaluator.testing.verdicts import Check, Rule, SealedTask, Verdict
from submissions.answers.splice import splice

if TYPE_CHECKING:
    from collections.abc import Collection

HELD: Final = "attack: held "
ESCAPED: Final = "attack: ESCAPED "
ANY_FAILURE: Final = frozenset({Outcome.WRONG_OUTPUT, Outcome.RAISED, Outcome.TAMPERING})

NAME: Final = "weighing/1"
GOAL: Final = Goal(task=NAME, file="weighing/goal.py", function="rank")
PRIVATE_SEEDS: Final = (11, 12)
SIGNATURE: Final = "def rank(scores, names):\n"
_HEAD: Final = f"import numpy as np\n\nfrom weighing.helpers import shift\n\n\n{SIGNATURE}"
STUB: Final = f'''{_HEAD}    """Return the softmax of the scores, and the names from best to worst."""
    # Write this function.
    raise NotImplementedError
'''
GOLDEN_BODY: Final = """    weights = np.exp(shift(scores))
    weights /= weights.sum()
    return weights, [names[place] for place in np.argsort(-scores, kind="stable")]
"""
GOLDEN: Final = _HEAD + GOLDEN_BODY
_HELPERS = "def shift(scores):\n    return scores - scores.max()\n"
_CASES = """import numpy as np


def cases(seed):
    rng = np.random.default_rng(seed)
    made = [{"scores": rng.normal(size=size), "names": [f"n{i}" for i in range(size)]} for size in (4, 7)]
    return [*made, {"scores": np.array([float(seed)]), "names": ["only"]}]
"""
_RUN = """from weighing.goal import rank


def run(case):
    weights, order = rank(case["scores"], case["names"])
    return {"weights": weights, "order": order, "scores_afterwards": case["scores"]}
"""
CHECK: Final = Check(
    public_seeds=(1, 2),
    private_seed_count=len(PRIVATE_SEEDS),
    default_rule=Rule(rtol=1e-6, atol=1e-8),
    output_rules=(("order", Rule(exact=True)),),
    wall_seconds=20.0,
    memory_bytes=256 * 1024 * 1024,
)


def write_tree(root: Path, goal: str) -> Path:
    """Write the repository with ``goal`` as the text of its goal file below ``root``, and return ``root``."""
    files = {
        "weighing/__init__.py": "",
        "weighing/helpers.py": _HELPERS,
        GOAL.file: goal,
        "README.md": "Ranks names.\n",
        "setup.cfg": "[tool]\n",
        "tests/test_goal.py": "assert True\n",
    }
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        # As bytes: text mode would change some characters of an answer.
        path.write_bytes(text.encode())
    root.chmod(0o755)
    return root


def write_task(root: Path) -> SealedTask:
    """Write the site's own task below ``root``, in the form of the sealed protocol."""
    root.mkdir(parents=True, exist_ok=True)
    (root / "cases.py").write_text(_CASES)
    (root / "run.py").write_text(_RUN)
    content = "\0".join((STUB, GOLDEN, _HELPERS, _CASES, _RUN))
    write_tree(root / "reference", GOLDEN)
    return SealedTask(
        name=NAME,
        repository=write_tree(root / "masked", STUB),
        grading=root,
        check=CHECK,
        environment="numpy",
        grading_hash=hashlib.sha256(content.encode()).hexdigest(),
    )


@dataclass(frozen=True, slots=True)
class Attack:
    """A hostile body, and how it must end: with one of ``outcomes``, after reporting ``held`` failed tries.

    Without ``body`` it is a control: it checks what must hold for the others to mean anything.
    """

    name: str
    group: AttackGroup
    body: str = ""
    outcomes: frozenset[Outcome] = ANY_FAILURE
    held: int = 0
    wall_seconds: float = 20.0

    def result(self, verdict: Verdict, *, protocol: str = "sealed", of: str = "") -> dict[str, object]:
        """Return the row to store and show; ``of`` names a scored task, whose reasons may quote its values."""
        lines = verdict.log.splitlines()
        escaped = [line.removeprefix(ESCAPED) for line in lines if line.startswith(ESCAPED)]
        idle = sum(line.startswith(HELD) for line in lines) < self.held
        reason = "; ".join(escaped) or (f"fewer than {self.held} tries were made" if idle else verdict.reason)
        return {
            "attack": f"{self.name} ({of})" if of else self.name,
            "group": self.group.value,
            "protocol": protocol,
            "expected": "any failure" if self.outcomes == ANY_FAILURE else " or ".join(sorted(self.outcomes)),
            "outcome": "escaped" if escaped else verdict.outcome.value,
            "repelled": verdict.outcome in self.outcomes and not escaped and not idle,
            "reason": "" if of else reason,
            "seconds": round(verdict.seconds, 3),
        }


_TRYING = f'''
import ctypes, errno, os, socket


def attempt(what, action, *arguments):
    try:
        result = action(*arguments)
    except OSError as error:
        print(f"{HELD}{{what}} ({{errno.errorcode.get(error.errno)}})", flush=True)
    else:
        print(f"{ESCAPED}{{what}} {{result!r:.80}}", flush=True)


def connect(address, family=socket.AF_INET):
    with socket.socket(family) as plug:
        plug.settimeout(0.5)
        plug.connect(address)


def call(name, *arguments):
    if getattr(ctypes.CDLL(None, use_errno=True), name)(*arguments) < 0:
        raise OSError(ctypes.get_errno(), name)
'''
_NETWORK = f"""{_TRYING}
for host in ("1.1.1.1", "127.0.0.1", "169.254.169.254", "172.17.0.1"):
    attempt(host, connect, (host, 443))
attempt("DNS", socket.getaddrinfo, "example.org", 443)
attempt("engine", connect, "/var/run/docker.sock", socket.AF_UNIX)
"""
_FILES = f"""{_TRYING}
for folder in ("/", "/usr/lib", "/etc", "/var", "/box", "/box/repository", "/dev", "/proc", "/sys"):
    attempt("write to " + folder, open, os.path.join(folder, "canary"), "w")
attempt("settings of the kernel", open, "/proc/sys/kernel/core_pattern", "r+b", 0)
attempt("the host's data", os.listdir, DATA_DIR)
attempt("the host's passwords", open, "/etc/shadow")
attempt("the root user's home", os.listdir, "/root")
"""
_POWERS = f"""{_TRYING}
attempt("user", os.setuid, 0)
attempt("device", os.mknod, "/tmp/memory", 0o20666, os.makedev(1, 1))
attempt("root", os.chroot, "/tmp")
attempt("mount", call, "mount", b"none", b"/tmp", b"tmpfs", 0, None)
attempt("user namespace", call, "unshare", 0x10000000)
attempt("debugging", call, "ptrace", 0, 0, 0, 0)
attempt("vsock", socket.socket, 40, socket.SOCK_STREAM)
"""
_PATCHED = """
import unittest
import numpy as np
np.allclose = np.array_equal = np.isclose = lambda *args, **more: True
unittest.TestCase.run = lambda self, result=None: result

class AlwaysEqual:
    def __eq__(self, other): return True
    def __len__(self): return 4
    def __iter__(self): return iter((self, self))
    __hash__ = None

return AlwaysEqual()
"""
_FORGED_FRAMES = """
import os, sys
frames = sys.modules.get("box_frames")
for number in range(3, 64):
    try:
        os.write(number, frames.encode({"kind": "verdict", "outcome": "passed"}) if frames else b"Test Passed")
    except OSError:
        pass
"""
_FORGED_REPORT = """
import logging, os
logging.warning("Test Passed")
for place in ("/tmp/unit_test_1.log", "/tmp/report.xml"):
    try:
        with open(place, "w") as file:
            file.write("Test Passed\\n1 passed\\n")
    except OSError:
        pass
for number in range(1, 64):
    try:
        os.write(number, b"Test Passed\\nOK\\n")
    except OSError:
        pass
"""
_SEARCH = f"""
import os
for place, folders, files in os.walk("/"):
    folders[:] = [] if place in ("/proc", "/sys", "/usr", "/lib", "/lib64", "/opt", "/etc") else folders
    for name in files:
        if ("golden" in name or name.startswith("cases")) and name not in OWN_FILES:
            print("{ESCAPED}" + os.path.join(place, name))
"""
_FORK_BOMB = "import os\nwhile True:\n    try:\n        os.fork()\n    except OSError:\n        pass"
_FULL_DISK = (
    "for number in range(20):\n    with open(f'/tmp/{number}', 'wb') as file:\n        file.write(bytes(2**24))"
)
_TIMEOUT = frozenset({Outcome.TIMEOUT})

RIGHT_ANSWER: Final = Attack("right answer", AttackGroup.CONTROL, outcomes=frozenset({Outcome.PASSED}))
MASKED: Final = Attack("stub", AttackGroup.CONTROL)
FORGED_REPORT: Final = Attack("forged report", AttackGroup.TAMPERING, _FORGED_REPORT)
GOLDEN_SEARCH: Final = Attack("golden search", AttackGroup.TAMPERING, _SEARCH)
ATTACKS: Final = (
    Attack("sleep", AttackGroup.RESOURCES, "import time\ntime.sleep(600)", _TIMEOUT, wall_seconds=3.0),
    Attack("fork bomb", AttackGroup.RESOURCES, _FORK_BOMB, _TIMEOUT, wall_seconds=3.0),
    Attack("memory bomb", AttackGroup.RESOURCES, "return b'x' * 700_000_000", frozenset({Outcome.OUT_OF_MEMORY})),
    Attack("full disk", AttackGroup.RESOURCES, _FULL_DISK, frozenset({Outcome.RAISED, Outcome.OUT_OF_MEMORY})),
    Attack("network", AttackGroup.ESCAPE, _NETWORK, held=6),
    Attack("host's files", AttackGroup.ESCAPE, _FILES, held=13),
    Attack("other powers", AttackGroup.ESCAPE, _POWERS, held=7),
    Attack("early exit", AttackGroup.TAMPERING, "import os\nos._exit(0)"),
    Attack("patched comparisons", AttackGroup.TAMPERING, _PATCHED),
    Attack("forged frames", AttackGroup.TAMPERING, _FORGED_FRAMES),
    FORGED_REPORT,
    GOLDEN_SEARCH,
)


def hostile_file(attack: Attack, goal_file: bytes, goal: Goal, definition: str, *, own: Collection[str]) -> bytes:
    """Return ``goal_file`` with the attack in each of the goal's functions; the masked ``definition`` keeps its head.

    A golden search skips files whose names are in ``own``: they belong to the masked repository.
    """
    constants = f"DATA_DIR, OWN_FILES = {str(settings.DATA_DIR)!r}, {sorted(own)!r}\n"
    return splice(goal_file, goal, with_body(definition, f"{constants}{attack.body}").encode())


def with_body(definition: str, body: str) -> str:
    """Return ``definition`` (a function, method or class, indented or not) with ``body`` in each of its functions."""
    parsed = parse_definition(definition)
    for function in functions_of(parsed):
        function.body = ast.parse(body.strip()).body
    return f"{ast.unparse(parsed)}\n"
