"""Hostile answers as whole submissions: none passes, causes an infrastructure error or leaves a trace.

``test_corpus`` fires every known attack; here are those that need a submission, and a few others.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

import pytest
from django.test import Client

from benchmark_tasks.domain.importing import import_suite
from benchmark_tasks.domain.seeds import private_seeds
from benchmark_tasks.enums import AuditState
from benchmark_tasks.models import TaskRevision
from evaluator.models import Attempt
from evaluator.queue import leases
from submissions.models import Submission
from tests.attacks.sending import left_behind, send
from tests.benchmark_tasks.factories import write_suite
from tests.submissions.factories import UserFactory

if TYPE_CHECKING:
    from pathlib import Path

    from benchmark_tasks.models import SuiteVersion
    from evaluator.models import TestRun
    from evaluator.sandbox.interface import Sandbox

pytestmark = pytest.mark.django_db(transaction=True)


def answer(body: str) -> str:
    """An ``answer.py`` whose ``double`` has this body."""
    return "import os, time\n\n\ndef double(x):\n" + "".join(f"    {line}\n" for line in body.splitlines())


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
# It grows when it is encoded again: the limit applies to the bytes that a box sends.
FORGED: Final = """answer = b'{"kind":"output","case":0,"status":"ok","output":{"dict":{"value":1.0,"items":%s}}}'
data = b'{"dict":%s}\\n' % (answer % (b'[[' + b','.join([b'1e9'] * 700_000) + b'],1.0,2.0]'))
while data:
    data = data[os.write(3, data):]
os._exit(0)"""
ATTACKS: Final[dict[str, tuple[str, str, str]]] = {
    "forged frame": (answer(FORGED), "wrong_output", "seed 1, case 0: output 'value': "),
    "knows the public answers": (
        answer("return 2.0 * x if x in (1, 2, 0, -1.5) else x"),
        "wrong_output",
        "6 of 9 private test cases passed",
    ),
    "a file in a folder's place": (FILE_FOR_FOLDER, "raised", "seed 1, case 0: NotImplementedError"),
    "leaves a daemon": (
        answer("if os.fork() == 0:\n    os.setsid()\n    os.closerange(0, 64)\n    time.sleep(1000)\nreturn x"),
        "wrong_output",
        "seed 1, case 0: output 'value': ",
    ),
}


@pytest.mark.parametrize(
    "box",
    [
        pytest.param("real_sandbox", marks=pytest.mark.bubblewrap),
        pytest.param("docker_is_configured", marks=pytest.mark.docker),
    ],
)
def test_hostile_answers(box: str, target: SuiteVersion, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    request.getfixturevalue(box)
    runs = send(tmp_path, {name: source for name, (source, _, _) in ATTACKS.items()})
    found = {name: (run.state, run.outcome, run.reason[: len(ATTACKS[name][2])]) for name, run in runs.items()}
    assert found == {name: ("done", outcome, reason) for name, (_, outcome, reason) in ATTACKS.items()}
    assert left_behind() == []
    assert all(len(run.log.encode()) <= 64 * 1024 for run in runs.values())


LEAK: Final = """import sys


def double(x):
    print("printed", x, file=sys.stderr)
    if x in (1, 2, 0, -1.5):
        return 2.0 * x
    raise ValueError(f"the private input is {x}")
"""


def shown(submission: Submission, run: TestRun) -> str:
    """Everything that the owner can read of a submission."""
    client = Client()
    client.force_login(submission.owner)
    own = f"/submissions/{submission.pk}/"
    pages = [client.get(own + part) for part in ("", "progress/", "answers/alpha/1/1/")]
    assert [page.status_code for page in pages] == [200, 200, 200]
    return "\n".join([run.log, run.reason, json.dumps(run.cases), *(page.content.decode() for page in pages)])


def seeds_in(text: str, submission: Submission) -> list[int]:
    """The private seeds of the submission's only task that ``text`` contains; a seed is its cases' first input."""
    seeds = private_seeds(submission.suite_version.seed_epoch.key, "alpha/1", 3, public_seeds=(1, 2))
    return [seed for seed in seeds if str(float(seed)) in text or str(seed) in text]


@pytest.mark.bubblewrap
def test_private_inputs_are_not_exposed(target: SuiteVersion, real_sandbox: Sandbox, tmp_path: Path) -> None:
    UserFactory(username="alice")
    run = send(tmp_path, {"leak": LEAK}, username="alice")["leak"]
    assert (run.outcome, run.reason) == ("wrong_output", "6 of 9 private test cases passed")
    submission = Submission.objects.get()
    assert seeds_in(shown(submission, run), submission) == []
    hidden = {"seed": None, "index": 0, "public": False, "outcome": "raised", "difference": "", "error": "", "name": ""}
    assert hidden in [case for case in run.cases if not case["public"]]


@pytest.mark.bubblewrap
def test_a_failing_reference_exposes_its_seeds_and_code_only_in_the_log(
    real_sandbox: Sandbox, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cases = "def cases(seed):\n    assert seed < 3, 'golden trouble'\n    return [{'x': float(seed)}]\n"
    import_suite(folder=write_suite(tmp_path / "suite", files={"unit_test/cases.py": cases}), slug="small")
    TaskRevision.objects.update(audit_state=AuditState.PASSED)
    monkeypatch.setattr(leases, "INFRA_TRIES", 1)
    UserFactory(username="alice")
    run = send(tmp_path, {"any": "def double(x):\n    return 2.0 * x\n"}, username="alice")["any"]
    submission = Submission.objects.get()
    text = shown(submission, run) + submission.held_reason + Attempt.objects.get().reason
    assert (run.state, submission.state) == ("held", "held")
    assert seeds_in(text, submission) == []
    assert "golden trouble" not in text
    assert "reference could not be run" in text
