"""Simulate readers, submitters, annotators and programs on a whole site, and break it meanwhile: ``make load``.

Not a test: p95 is compared with a goal in the table only. Starts PostgreSQL, Redis and a site with gunicorn, workers
and sandboxes, as an operator does. After a third of the time Redis is killed and started again, after two thirds a
worker is killed. Prints two tables in Markdown. Ends with 1 if a request failed, or if the site lost, doubled or
wrongly decided something that it had accepted.
"""

from __future__ import annotations

import argparse
import json
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path
from signal import SIGKILL, SIGQUIT, SIGTERM
from typing import TYPE_CHECKING, Final

from tests.chaos.services import Postgres, Redis
from tests.conftest import PROJECT_ROOT
from tests.evaluator.processes import children_of, kill, wait_until
from tests.instances import Instance
from tests.load.plan import Accounts, Plan, Report, Stored
from tests.load.results import errors_of, lost_work, request_table, total_table

if TYPE_CHECKING:
    from collections.abc import Sequence

SUITE: Final = "lmr-mini"
VISITORS: Final = 40
COUNTS: Final = {"browsing": 10, "uploading": 5, "labelling": 5, "calling": 2}
"""Accounts of each kind; readers besides the visitors, who have none."""
SAMPLE_CASES: Final = 27
"""All that ``sample_disputes`` can open. Each takes two labels."""
AWAY_SECONDS: Final = 2
PREPARING_SECONDS: Final = 3600
"""For each command: generating very many submissions takes long."""


class Site:
    """PostgreSQL, Redis and an instance below ``folder``, until it is closed."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.postgres, self.redis = Postgres(folder), Redis(folder)
        self.instance = Instance(
            folder / "site",
            DATABASE_URL=self.postgres.url,
            REDIS_URL=self.redis.url,
            SECRET_KEY="s" * 50,
            ENDPOINT_KEYS="e" * 50,
            EVALUATOR_SANDBOX="bubblewrap",
            TRUST_PROXY="true",
            WEB_WORKERS="2",
        )
        self.instance.patience_seconds = PREPARING_SECONDS

    def __enter__(self) -> Site:
        with ExitStack() as undo:
            undo.callback(self.postgres.kill, SIGQUIT)
            self.postgres.start()
            undo.callback(self.redis.kill, SIGKILL)
            self.redis.start()
            self.instance.make_folders()
            undo.callback(self._stop)
            self._undo = undo.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._undo.close()

    def _stop(self) -> None:
        process = self.instance.process
        if process is not None and process.poll() is None:
            self.instance.stop(SIGTERM)

    def prepare(self, submissions: int) -> Accounts:
        """Set the site up, fill it, start it, and return the accounts."""
        self.instance.printed("setup")
        if submissions:
            self.instance.printed("generate_load", "--submissions", str(submissions))
        self.instance.printed("sample_disputes", "--suite", SUITE, "--count", str(SAMPLE_CASES))
        files = ("--output", str(self.bundle), "--expected", str(self.folder / "expected.json"))
        self.instance.printed("sample_bundle", "mixed", "--suite", SUITE, *files)
        made = self.folder / "accounts.json"
        self._run("tests.load.preparing", json.dumps(COUNTS), str(made))
        self.instance.start()
        return Accounts(**json.loads(made.read_text(encoding="utf-8")))

    @property
    def bundle(self) -> Path:
        """The bundle that each upload varies."""
        return self.folder / "bundle.zip"

    def expected(self) -> dict[str, str]:
        """Return the outcome that the answer to each task must have."""
        found: dict[str, str] = json.loads((self.folder / "expected.json").read_text(encoding="utf-8"))
        return found

    def stored(self) -> Stored:
        """Wait until everything is scored, and return what the database then holds."""
        made = self.folder / "stored.json"
        self._run("tests.load.storing", str(made))
        return Stored(**json.loads(made.read_text(encoding="utf-8")))

    def _run(self, module: str, *arguments: str) -> None:
        """Run a module with the instance's settings."""
        result = self.instance.python("-m", module, *arguments)
        assert result.returncode == 0, result.stderr

    def restart_redis(self) -> str:
        """Kill Redis, which keeps nothing, and start it again."""
        self.redis.kill(SIGKILL)
        time.sleep(AWAY_SECONDS)
        self.redis.start()
        return "Redis killed, and empty after the restart"

    def kill_worker(self) -> str:
        """Kill a worker, if possible one that is testing an answer, and its job's process."""
        workers = {name: pid for name in ("worker-1", "worker-2") if (pid := self.instance.worker(name))}
        name = next((name for name, pid in workers.items() if children_of(pid)), "worker-1")
        kill([workers[name], *children_of(workers[name])])
        wait_until(lambda: self.instance.worker(name) not in {None, workers[name]}, f"a new {name}")
        return f"{name} killed, and started again"


def load(site: Site, plan: Plan) -> tuple[Report, list[str]]:
    """Let the users of the plan use the site, break it meanwhile, and return their report and the disturbances."""
    order, made = site.folder / "plan.json", site.folder / "report.json"
    plan.write(order)
    disturbances = []
    began = time.monotonic()
    with subprocess.Popen([sys.executable, "-m", "tests.load.users", str(order), str(made)], cwd=PROJECT_ROOT) as users:
        try:
            for share, act in ((1 / 3, site.restart_redis), (2 / 3, site.kill_worker)):
                time.sleep(max(0.0, began + plan.arriving_seconds + share * plan.seconds - time.monotonic()))
                disturbances.append(f"after {time.monotonic() - began:.0f} s {act()}")
                _say(disturbances[-1])
            users.wait()
        finally:
            users.kill()
    assert users.returncode == 0, "the simulated users' process failed, see above"
    return Report.read(made), disturbances


def _say(text: str) -> None:
    """Show progress; standard output has only the tables."""
    sys.stderr.write(f"{time.strftime('%H:%M:%S')} {text}\n")


def _print(lines: Sequence[str]) -> None:
    sys.stdout.write("\n".join([*lines, "", ""]))


def main() -> int:
    """Build the site, let it be used, and print the tables."""
    parser = argparse.ArgumentParser(prog="python -m tests.load", description=__doc__)
    parser.add_argument("--minutes", type=float, default=5, help="how long the users use the site (default: 5)")
    parser.add_argument("--submissions", type=int, default=1000, help="generated beforehand (default: 1000)")
    options = parser.parse_args()
    signal.signal(SIGTERM, lambda *_: sys.exit(1))  # the servers end in every case
    with ExitStack() as stack:
        # A short path that other users may enter: it holds sockets, and PostgreSQL runs as another user.
        folder = Path(tempfile.mkdtemp(prefix="load-", dir="/tmp"))
        stack.callback(shutil.rmtree, folder, ignore_errors=True)
        folder.chmod(0o711)
        site = stack.enter_context(Site(folder))
        _say(f"preparing a site with {options.submissions:,} generated submissions …")
        accounts = site.prepare(options.submissions)
        plan = Plan(site.instance.address, 60 * options.minutes, VISITORS, accounts, SUITE, str(site.bundle))
        _say(f"{VISITORS + sum(COUNTS.values())} users for {options.minutes:g} minutes …")
        report, disturbances = load(site, plan)
        stored = site.stored()
        lost = lost_work(report, stored, site.expected())
    _print(request_table(report))
    _print(total_table(report, stored, disturbances, lost))
    problems = [*errors_of(report), *lost]
    for problem in problems:
        _say(problem)
    return int(bool(problems))


if __name__ == "__main__":
    sys.exit(main())
