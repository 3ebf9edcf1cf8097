"""What a candidate can find in its box, and what of the private cases comes out of it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

import pytest
from django.conf import settings
from django.test import Client

from benchmark_tasks.domain.importing import import_suite
from benchmark_tasks.domain.seeds import private_seeds
from benchmark_tasks.enums import AuditState
from benchmark_tasks.models import TaskRevision
from evaluator.models import Attempt
from evaluator.queue import leases
from submissions.models import Submission
from tests.attacks.sending import send
from tests.benchmark_tasks.factories import write_suite
from tests.submissions.factories import UserFactory

if TYPE_CHECKING:
    from pathlib import Path

    from benchmark_tasks.models import SuiteVersion
    from evaluator.models import TestRun
    from evaluator.sandbox.docker_engine import DockerSandbox
    from evaluator.sandbox.types import Sandbox

pytestmark = pytest.mark.django_db(transaction=True)

ALLOWED_VARIABLES: Final = {
    *("PATH", "HOME", "TMPDIR", "LOGNAME", "LC_ALL", "PWD", "HOSTNAME", "LD_LIBRARY_PATH"),
    *("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS"),
}

SPY: Final = """import json, os, socket

said = []


def reached(*address):
    with socket.socket() as plug:
        plug.settimeout(0.2)
        try:
            plug.connect(address)
        except OSError:
            return False
        return True


def look():
    writable = []
    for folder, folders, _ in os.walk("/"):
        folders[:] = [] if folder in ("/proc", "/sys") else folders
        if os.access(folder, os.W_OK):
            writable.append(folder)
    return {
        "variables": [*os.environ, *open("/proc/1/environ").read().split("\\0")],
        "files": sorted(os.path.join(place, name) for place, _, names in os.walk("/box") for name in names),
        "writable": sorted(writable),
        "reached": [a for a in ("127.0.0.1", "172.17.0.1", "169.254.169.254", "8.8.8.8") if reached(a, HOST_PORT)],
        "seen": [path for path in HOST_PATHS if os.path.exists(path)],
        "processes": len([name for name in os.listdir("/proc") if name.isdigit()]),
        "user": (os.getuid(), os.getgid(), os.geteuid()),
        "powers": [line for line in open("/proc/self/status") if line.startswith(("CapEff", "NoNewPrivs"))],
    }


def double(x):
    if not said:
        said.append(True)
        print(json.dumps(look()))
    return x
"""

LEAK: Final = """import sys


def double(x):
    print("printed", x, file=sys.stderr)
    if x in (1, 2, 0, -1.5):
        return 2.0 * x
    raise ValueError(f"the private input is {x}")
"""


def spy(folder: Path, listener: int) -> dict[str, Any]:
    """What the spy saw; ``listener`` is a port on which something of the host listens."""
    paths = [
        str(settings.DATA_DIR),
        str(settings.PROJECT_ROOT),
        "/var/run/docker.sock",
        "/etc/shadow.host",
        str(folder),
    ]
    source = f"HOST_PORT = {listener}\nHOST_PATHS = {paths!r}\n"
    run = send(folder, {"spy": SPY.replace("\n\nsaid", f"\n\n{source}said", 1)})["spy"]
    assert (run.state, run.outcome) == ("done", "wrong_output")
    seen: dict[str, Any] = json.loads(run.log.splitlines()[0])
    return seen


def expect(seen: dict[str, Any]) -> None:
    assert {entry.partition("=")[0] for entry in seen["variables"]} - ALLOWED_VARIABLES <= {""}
    assert seen["files"] == [
        "/box/driver.py",
        "/box/frames.py",
        *(f"/box/repository/{name}" for name in ("README.md", "notes/one.txt")),
        *(f"/box/repository/scoring/{name}" for name in ("__init__.py", "core.py", "tables.py")),
        "/box/run.py",
    ]
    assert set(seen["writable"]) <= {"/tmp", "/dev/shm", "/dev/mqueue", "/dev/pts"}
    assert (seen["reached"], seen["seen"], seen["processes"]) == ([], [], 2)
    assert seen["user"] == [65534, 65534, 65534]
    assert seen["powers"] == ["CapEff:\t0000000000000000\n", "NoNewPrivs:\t1\n"]


@pytest.fixture
def _secret(monkeypatch: pytest.MonkeyPatch) -> None:
    """A worker with a secret in its environment."""
    monkeypatch.setenv("SECRET_KEY", "host-secret")


@pytest.mark.bubblewrap
@pytest.mark.usefixtures("_secret")
def test_a_bubblewrap_box_holds_nothing_of_the_host(
    target: SuiteVersion, real_sandbox: Sandbox, tmp_path: Path, live_port: int
) -> None:
    expect(spy(tmp_path, live_port))


@pytest.mark.docker
@pytest.mark.usefixtures("_secret")
def test_a_docker_box_holds_nothing_of_the_host(
    target: SuiteVersion, docker_is_configured: DockerSandbox, tmp_path: Path, live_port: int
) -> None:
    expect(spy(tmp_path, live_port))


def shown(submission: Submission, run: TestRun) -> str:
    """Everything that the owner can read of a submission."""
    client = Client()
    client.force_login(submission.owner)
    own = f"/submissions/{submission.pk}/"
    pages = [client.get(own + part) for part in ("", "progress/", "answers/alpha/1/1/")]
    assert [page.status_code for page in pages] == [200, 200, 200]
    return "\n".join([run.log, run.reason, json.dumps(run.cases), *(page.content.decode() for page in pages)])


def seeds_of(submission: Submission) -> tuple[int, ...]:
    """The private seeds that a submission's only task was measured with."""
    return private_seeds(submission.suite_version.seed_epoch.key, "alpha/1", 3, public_seeds=(1, 2))


@pytest.mark.bubblewrap
def test_private_inputs_come_out_nowhere(target: SuiteVersion, real_sandbox: Sandbox, tmp_path: Path) -> None:
    UserFactory(username="alice")
    run = send(tmp_path, {"leak": LEAK}, username="alice")["leak"]
    assert (run.outcome, run.reason) == ("wrong_output", "6 of 9 private cases passed")
    submission = Submission.objects.get()
    text = shown(submission, run)
    # The seed itself is the first input of its cases.
    assert [seed for seed in seeds_of(submission) if str(float(seed)) in text or str(seed) in text] == []
    told = {"seed": None, "index": 0, "public": False, "outcome": "raised", "difference": "", "error": "", "name": ""}
    assert told in [case for case in run.cases if not case["public"]]


@pytest.mark.bubblewrap
def test_a_failing_reference_tells_its_seeds_and_code_to_nobody_but_the_log(
    real_sandbox: Sandbox, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    golden = "raise ValueError('golden trouble')"
    cases = f'def cases(seed):\n    if seed > 2:\n        {golden}\n    return [{{"x": float(seed)}}]\n'
    version = import_suite(
        folder=write_suite(tmp_path / "suite", files={"unit_test/cases.py": cases}), slug="small"
    ).version
    assert version is not None
    TaskRevision.objects.update(audit_state=AuditState.PASSED)
    monkeypatch.setattr(leases, "INFRA_TRIES", 1)
    UserFactory(username="alice")
    run = send(tmp_path, {"any": "def double(x):\n    return 2.0 * x\n"}, username="alice")["any"]
    submission = Submission.objects.get()
    text = shown(submission, run) + submission.held_reason + Attempt.objects.get().reason
    assert (run.state, submission.state) == ("held", "held")
    assert [seed for seed in seeds_of(submission) if str(float(seed)) in text or str(seed) in text] == []
    assert "golden trouble" not in text
    assert "reference could not be run" in text
