"""Bring compose.yaml up from nothing, have bundles scored, and kill every service (``make compose-test``).

``python -m tests.deploy.compose_trial TREE``: TREE is a copy of the project with ``.env``, where ``deploy/prepare.sh``
has made the secrets. Prints a line for each step; ends with 1, after the services' logs, when one fails.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
import zipfile
from pathlib import Path
from signal import SIGKILL
from typing import TYPE_CHECKING, Any, Final

import httpx2

from tests.conftest import PROJECT_ROOT

if TYPE_CHECKING:
    from collections.abc import Callable

SERVICES: Final = ("proxy", "web", "worker-site", "worker-models", "worker-tests", "postgres", "redis")
SECONDS: Final = 300
_COUNT: Final = """
from submissions.models import Submission
from evaluator.models import TestRun
from submissions.models import AuditEvent, User
print(User.objects.count(), AuditEvent.objects.count(), Submission.objects.exclude(state="scored").count(),
      Submission.objects.count(), TestRun.objects.filter(state="done").count())
"""


class TrialError(Exception):
    """A step did not give what it must; the message says which."""


class Stack:
    """The services of one compose project."""

    def __init__(self, tree: Path) -> None:
        self.tree = tree
        self.address = (
            "http://"
            + dict(line.partition("=")[::2] for line in (tree / ".env").read_text(encoding="utf-8").splitlines())[
                "PUBLISH"
            ]
        )
        self._bundle = tree / "golden"
        self._token = ""

    def compose(self, *arguments: str) -> str:
        """Run ``docker compose`` and return its output. Raises TrialError."""
        done = subprocess.run(
            ["docker", "compose", *arguments], cwd=self.tree, capture_output=True, text=True, check=False, timeout=900
        )
        if done.returncode:
            raise TrialError(f"docker compose {' '.join(arguments)} failed: {done.stderr[-2000:]}")
        return done.stdout

    def up(self, *options: str) -> None:
        """Start all services and wait until they are healthy: on a busy machine, one may be unhealthy for a while."""
        self.compose("up", "--detach", *options)
        for service in SERVICES:
            wait(lambda service=service: self.healthy(service), f"{service} is healthy")  # type: ignore[misc]

    def manage(self, service: str, *arguments: str) -> str:
        return self.compose("exec", "-T", service, "python", "manage.py", *arguments)

    def states(self, service: str) -> list[dict[str, Any]]:
        """Return the state of each container of a service."""
        numbers = self.compose("ps", "--all", "--quiet", service).split()
        found = subprocess.run(["docker", "inspect", *numbers], capture_output=True, text=True, check=True)
        return [each["State"] for each in json.loads(found.stdout)]

    def healthy(self, service: str) -> bool:
        return all(state.get("Health", {}).get("Status") == "healthy" for state in self.states(service))

    def counts(self) -> tuple[int, ...]:
        """Count accounts, audit events, unfinished and all submissions, and ended runs."""
        return tuple(map(int, self.manage("web", "shell", "-v", "0", "-c", _COUNT).split()))

    def sign_in(self) -> None:
        """Make a token as a person does: sign in, and fill in the form, through the proxy."""
        password = self.manage("web", "password", "--generate", "maintainer").split()[-1]
        with httpx2.Client(base_url=self.address, follow_redirects=True) as browser:

            def post(page: str, **fields: Any) -> httpx2.Response:
                form = re.search(r'name="csrfmiddlewaretoken" value="(\w+)"', browser.get(page).text)
                return browser.post(page, data={"csrfmiddlewaretoken": form[1] if form else "", **fields})

            post("/accounts/login/", login="maintainer", password=password)
            answer = post("/accounts/tokens/", name="trial", scopes=["read", "submit"], days="7")
        secret = re.search(r"value=\"(lmr_[\w-]+)\"", answer.text)
        if secret is None:
            raise TrialError(f"the page of tokens shows none (status {answer.status_code})")
        self._token = secret[1]

    def fetch_bundle(self) -> None:
        """Have the site write the golden sample, and unpack it: each submission gets another system's name."""
        self.manage("web", "sample_bundle", "golden", "--suite", "lmr-mini", "--output", "/tmp/golden.zip")
        copied = ["cat", "/tmp/golden.zip"]
        content = subprocess.run(
            ["docker", "compose", "exec", "-T", "web", *copied], cwd=self.tree, capture_output=True, check=True
        ).stdout
        (self.tree / "golden.zip").write_bytes(content)
        with zipfile.ZipFile(self.tree / "golden.zip") as archive:
            archive.extractall(self._bundle)

    def client(self, *arguments: str) -> str:
        """Run the file that people download. Raises TrialError."""
        done = subprocess.run(
            [sys.executable, "leaderboard/sharing/client/lmr_board.py", "--site", self.address, *arguments],
            cwd=PROJECT_ROOT,
            env={"PATH": os.environ["PATH"], "LMR_BOARD_TOKEN": self._token},
            capture_output=True,
            text=True,
            check=False,
            timeout=SECONDS,
        )
        if done.returncode:
            raise TrialError(f"lmr_board.py {arguments[0]} ended with {done.returncode}: {done.stdout}{done.stderr}")
        return done.stdout

    def submit(self, system: str) -> str:
        """Submit the golden answers under this name; return the submission's number."""
        answer = json.loads(self.client("submit", str(self._bundle), "--system", system, "--anyway", "--json"))
        return str(answer["submission"])

    def expect_all_pass(self, submission: str) -> int:
        """Wait until a submission is scored; return the number of its tasks. All must have passed."""
        self.client("status", submission, "--watch")
        answers = json.loads(self.client("results", submission, "--json"))["answers"]
        wrong = {each["task"]: each["outcome"] for each in answers if each["outcome"] != "passed"}
        if wrong or not answers:
            raise TrialError(f"submission {submission}: not every task passed: {wrong}")
        return len(answers)

    def kill(self, service: str) -> None:
        """Kill the first process of a service from outside, which the engine cannot know in advance."""
        before = self.states(service)[0]["Pid"]
        os.kill(before, SIGKILL)
        wait(lambda: self.states(service)[0]["Pid"] not in {0, before}, f"{service} starts again")


def wait(condition: Callable[[], bool], what: str) -> None:
    """Wait until ``condition`` is true. Raises TrialError."""
    deadline = time.monotonic() + SECONDS
    while not condition():
        if time.monotonic() > deadline:
            raise TrialError(f"{what}: not within {SECONDS} s")
        time.sleep(1)


def step(title: str, act: Callable[[], object]) -> None:
    """Run one step and print it with its result and seconds."""
    started = time.monotonic()
    result = act()
    sys.stdout.write(f"ok  {time.monotonic() - started:5.0f} s  {title}{'' if result is None else f': {result}'}\n")
    sys.stdout.flush()


def trial(stack: Stack) -> None:
    """Do all steps. Raises TrialError."""
    step("all services are up and healthy", stack.up)
    step("a maintainer signs in through the proxy and makes a token", stack.sign_in)
    step("the golden sample is written", stack.fetch_bundle)
    step("a bundle is scored, tasks that pass", lambda: stack.expect_all_pass(stack.submit("First")))
    for service in SERVICES:
        step(f"kill -9 {service}: heals, nothing is lost", lambda service=service: _survive(stack, service))  # type: ignore[misc]
    step("two more hosts for tests, a bundle is scored", lambda: _scale(stack))


def _survive(stack: Stack, service: str) -> str:
    """Kill a service while a bundle is being scored; return what was counted."""
    accounts, events, _, submissions, runs = stack.counts()
    number = stack.submit(f"Before the end of {service}")
    stack.kill(service)
    wait(lambda: stack.healthy(service), f"{service} is healthy again")
    tasks = stack.expect_all_pass(number)
    after = stack.counts()
    if "NOPERM" in stack.compose("logs", "redis"):
        raise TrialError("Redis could not read back what it had written to disk")
    if after[0] != accounts or after[1] <= events or after[2:] != (0, submissions + 1, runs + tasks):
        raise TrialError(f"{service}: counted {after}, before {(accounts, events, 0, submissions, runs)}")
    return f"{after[3]} submissions, {after[4]} runs"


def _scale(stack: Stack) -> str:
    stack.up("--scale", "worker-tests=3")
    tasks = stack.expect_all_pass(stack.submit("Three hosts"))
    hosts = httpx2.get(f"{stack.address}/status.json").json()["hosts"]
    testing = [host for host in hosts if host["live"] and "tests" in host["pools"]]
    if len(testing) != 3:
        raise TrialError(f"{len(testing)} hosts run tests, not 3")
    return f"{tasks} tasks pass"


def main() -> int:
    """Run the trial and remove everything that it made."""
    stack = Stack(Path(sys.argv[1]))
    try:
        trial(stack)
    except (TrialError, OSError, subprocess.SubprocessError, httpx2.HTTPError) as error:
        sys.stdout.write(f"FAILED  {error}\n\n")
        sys.stdout.write(stack.compose("ps", "--all"))
        for service in ("setup", *SERVICES):
            # What has not been started has no health.
            logged = [state.get("Health", {}).get("Log", []) for state in stack.states(service)]
            checks = [check["Output"] for log in logged for check in log[-2:]]
            logs = stack.compose("logs", "--no-color", "--no-log-prefix", "--tail", "20", service)
            sys.stdout.write(f"\n== {service}: its newest health checks: {checks}\n{logs}")
        return 1
    finally:
        stack.compose("down", "--volumes", "--timeout", "20")
    return 0


if __name__ == "__main__":
    sys.exit(main())
