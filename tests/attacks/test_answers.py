"""Hostile answers, submitted like any other: none passes, none becomes a fault of ours, none leaves anything behind.

Every known attack is fired in ``test_corpus``; these go the whole way of a submission, or belong to it alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pytest

from tests.attacks.sending import left_behind, send

if TYPE_CHECKING:
    from pathlib import Path

    from benchmark_tasks.models import SuiteVersion
    from evaluator.sandbox.docker_engine import DockerSandbox
    from evaluator.sandbox.types import Sandbox

pytestmark = pytest.mark.django_db(transaction=True)

HEAD: Final = "import os, struct, time\n"
WRONG: Final = ("wrong_output", "seed 1, case 0: output 'value': ")
LATE: Final = ("timeout", "seed 1, case 0: stopped after 5 seconds")

FORGED_FRAME: Final = """
class Forge:
    def __call__(self, items):
        answer = b'{"kind":"output","case":0,"status":"ok","output":{"dict":{"value":1.0,"items":%s}}}' % items
        data = b'{"dict":%s}\\n' % answer
        while data:
            data = data[os.write(3, data):]
        os._exit(0)
"""

FILE_FOR_FOLDER: Final = """diff --git a/notes/one.txt b/notes/one.txt
deleted file mode 100644
--- a/notes/one.txt
+++ /dev/null
@@ -1 +0,0 @@
-Masked note.
diff --git a/notes b/notes
new file mode 100644
--- /dev/null
+++ b/notes
@@ -0,0 +1 @@
+A file.
"""


def answer(body: str, before: str = "") -> str:
    """An ``answer.py`` whose ``double`` has this body."""
    indented = "".join(f"    {line}\n" for line in body.strip().splitlines())
    return f"{HEAD}{before}\n\ndef double(x):\n{indented}"


TAMPERING: Final[dict[str, tuple[str, str, str]]] = {
    "leaves at once": (
        answer("os._exit(0)"),
        "raised",
        "seed 1, case 0: the process ended early, with exit code 0, before all cases were answered",
    ),
    "kills everybody": (answer("os.kill(-1, 9)\nreturn x"), "raised", "seed 1, case 0: ProcessLookupError: "),
    "says that it passed": (answer("print('Test Passed')\nos.write(1, b'1 passed')\nreturn x"), *WRONG),
    "always equal": (
        answer("return Equal()", "class Equal:\n    def __eq__(self, other):\n        return True\n"),
        "wrong_output",
        "seed 1, case 0: the output is not plain data: FrameError: ",
    ),
    "forged frame with wrong numbers": (answer("Forge()(b'[1.0,1.0,2.0]')", FORGED_FRAME), *WRONG),
    "forged frame that grows when it is written again": (
        answer("Forge()(b'[[' + b','.join([b'1e9'] * 700_000) + b'],1.0,2.0]')", FORGED_FRAME),
        *WRONG,
    ),
    "forged bytes": (
        answer("os.write(3, b'passed')\nreturn x"),
        "tampering",
        "seed 1, case 0: the box sent bytes that the driver does not write; nothing from it is believed",
    ),
    "knows the public answers": (
        answer("return 2.0 * x if x in (1, 2, 0, -1.5) else x"),
        "wrong_output",
        "6 of 9 private cases passed",
    ),
    "a file in a folder's place": (
        FILE_FOR_FOLDER,
        "raised",
        "seed 1, case 0: NotImplementedError",
    ),
}

RESOURCES: Final[dict[str, tuple[str, str, str]]] = {
    "fork bomb": (
        answer("while True:\n    try:\n        os.fork()\n    except OSError:\n        pass"),
        *LATE,
    ),
    "memory bomb": (
        answer("return len(b'x' * 400_000_000)"),
        "out_of_memory",
        "seed 1, case 0: used more than 128 MiB of memory",
    ),
    "output flood": (
        answer("while True:\n    os.write(3, b'{}' + bytes(65536))"),
        "tampering",
        "seed 1, case 0: the box sent bytes that the driver does not write; nothing from it is believed",
    ),
    "leaves a daemon": (
        answer("if os.fork() == 0:\n    os.setsid()\n    os.closerange(0, 64)\n    time.sleep(1000)\nreturn x"),
        *WRONG,
    ),
}

# What depends on the box rather than on the comparison; each box of Docker's takes half a second.
IN_DOCKER: Final = (
    "leaves at once",
    "kills everybody",
    "forged bytes",
    "fork bomb",
    "memory bomb",
    "leaves a daemon",
)


def check(attacks: dict[str, tuple[str, str, str]], folder: Path) -> None:
    """Send all of ``attacks`` and hold every outcome and reason against the table."""
    runs = send(folder, {name: source for name, (source, _, _) in attacks.items()})
    found = {name: (run.state, run.outcome, run.reason) for name, run in runs.items()}
    expected = {name: ("done", outcome, reason) for name, (_, outcome, reason) in attacks.items()}
    cut = {name: (*row[:2], row[2][: len(expected[name][2])]) for name, row in found.items()}
    assert cut == expected, found
    assert left_behind() == []
    assert all(len(run.log.encode()) <= 64 * 1024 for run in runs.values())


@pytest.mark.bubblewrap
@pytest.mark.parametrize("attacks", [TAMPERING, RESOURCES], ids=["tampering", "resources"])
def test_in_bubblewrap(
    attacks: dict[str, tuple[str, str, str]], target: SuiteVersion, real_sandbox: Sandbox, tmp_path: Path
) -> None:
    check(attacks, tmp_path)


@pytest.mark.docker
def test_in_docker(target: SuiteVersion, docker_is_configured: DockerSandbox, tmp_path: Path) -> None:
    check({name: {**TAMPERING, **RESOURCES}[name] for name in IN_DOCKER}, tmp_path)
