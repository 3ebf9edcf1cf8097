"""Measure an instance of several hosts, and break it: ``make hosts``. Not a test; it takes about 20 minutes.

Each host has a network namespace and a data folder of its own, and all but one of the workers the role that only runs
tests; PostgreSQL, Redis and an S3 server have another namespace. Prints two tables in Markdown: evaluated answers a
minute with one, two and four hosts, and what each failure did. Ends with 1 if a run was lost, decided twice, or decided
against a right answer.
"""

from __future__ import annotations

import argparse
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import zipfile
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from signal import SIGKILL, SIGQUIT, SIGTERM
from typing import TYPE_CHECKING, Final

from tests.evaluator.processes import wait_until
from tests.hosts.cluster import ROLE, Cluster, Network

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

HOSTS: Final = ("north", "east", "south", "west")
SMALL_DISK: Final = "south"
"""This host's folder is a file system of its own, which one failure fills."""
DISK_MB: Final = 1024
TRIALS: Final = {"waits": 4, "computes": 8}
PAUSE_SECONDS: Final = 1.5
"""How long an answer that waits sleeps when a box loads it; each run has two boxes."""
TASKS: Final = 9
FAILURE_TRIALS: Final = 8
FAILURE_SECONDS: Final = 60
AHEAD: Final = "+10m"

ENDED: Final = """
    SELECT split_part(worker, ':', 1), count(*) FROM evaluator_attempt
    WHERE state = 'accepted' AND run_id IN ({runs}) GROUP BY 1 ORDER BY 1
"""
TIMES: Final = """
    SELECT extract(epoch FROM min(started))::float, extract(epoch FROM max(ended))::float FROM evaluator_attempt
    WHERE run_id IN ({runs})
"""
OTHER_ENDS: Final = """
    SELECT count(*), string_agg(DISTINCT reason, '; ') FROM evaluator_attempt
    WHERE state <> 'accepted' AND run_id IN ({runs})
"""
WRONG: Final = """
    SELECT count(*) FILTER (WHERE state <> 'done'), count(*) FILTER (WHERE outcome <> 'passed' AND state = 'done'),
      (SELECT count(*) FROM evaluator_attempt WHERE state = 'accepted' AND run_id IN ({runs}))
      - (SELECT count(DISTINCT run_id) FROM evaluator_attempt WHERE state = 'accepted' AND run_id IN ({runs}))
    FROM evaluator_testrun WHERE id IN ({runs})
"""
RUNS: Final = """
    SELECT run.id FROM evaluator_testrun run JOIN submissions_implementation answer ON answer.id = implementation_id
    WHERE submission_id = {submission}
"""


@dataclass(frozen=True, slots=True)
class Measured:
    """What the database says about one submission. ``share`` has each host's accepted results.

    ``deciding`` is the seconds from the first claim to the last verdict, ``seconds`` those until it was scored, too.
    """

    runs: int
    deciding: float
    seconds: float
    share: dict[str, int]
    repeated: int
    reasons: str
    lost: int
    blamed: int
    doubled: int

    @property
    def per_minute(self) -> float:
        return 60 * self.runs / self.deciding


class Bundles:
    """Golden answers to LMR-Mini, in several trials; each bundle differs, as the site refuses one twice."""

    def __init__(self, folder: Path, golden: Path) -> None:
        self._folder, self._golden, self._made = folder, golden, 0

    def make(self, kind: str, trials: int) -> Path:
        """Answers that wait when they are loaded (``waits``), or not (``computes``)."""
        self._made += 1
        made = self._folder / f"{kind}-{self._made}.zip"
        with zipfile.ZipFile(self._golden) as old, zipfile.ZipFile(made, "w") as new:
            for name in old.namelist():
                text = old.read(name).decode()
                if not name.endswith(".py"):
                    new.writestr(name, text)
                    continue
                for trial in range(1, trials + 1):
                    marked = f"{text}\n# bundle {self._made}, trial {trial}\n"
                    if kind == "waits" and not text.startswith(" "):  # the method of a class cannot
                        marked = f"import time\n{marked}\n\nclass _Pause:\n    time.sleep({PAUSE_SECONDS})\n"
                    new.writestr(f"{name.rpartition('/')[0]}/trial-{trial}/answer.py", marked)
        return made


def score(cluster: Cluster, bundle: Path, act: Callable[[Cluster], None] | None = None) -> Measured:
    """Submit a bundle, ``act`` when four results are there, wait until it is scored, and return what was measured."""
    submission = cluster.submit(bundle)
    runs = RUNS.format(submission=submission)
    with ThreadPoolExecutor() as beside:
        if act is not None:
            wait_until(lambda: sum(n for _, n in cluster.query(ENDED.format(runs=runs))) >= len(HOSTS), "some results")
            time.sleep(PAUSE_SECONDS)  # each host is within a run again
            acted = beside.submit(act, cluster)
        cluster.wait_until_scored(900)
        scored = time.time()
        if act is not None:
            acted.result()
    share = dict(cluster.query(ENDED.format(runs=runs)))
    [(began, ended)] = cluster.query(TIMES.format(runs=runs))
    [(repeated, reasons)] = cluster.query(OTHER_ENDS.format(runs=runs))
    [(lost, blamed, doubled)] = cluster.query(WRONG.format(runs=runs))
    seconds = ended - began, scored - began
    return Measured(sum(share.values()), *seconds, share, repeated, reasons or "", lost, blamed, doubled)


def start_hosts(cluster: Cluster, names: list[str]) -> None:
    """Start worker hosts and wait until each has its environment."""
    for name in names:
        cluster.start(name)
    wait_until(lambda: set(names) <= set(cluster.ready()), f"{names} to be ready", seconds=300)
    cluster.wait_until_scored()


def throughput(cluster: Cluster, bundles: Bundles) -> list[str]:
    """Return the lines of the first table."""
    lines = [
        "| hosts | answers that wait | | answers that compute | |",
        "|---|---|---|---|---|",
        "| | a minute | times one host | a minute | times one host |",
    ]
    first: dict[str, float] = {}
    running = 0
    for hosts in (1, 2, 4):
        start_hosts(cluster, list(HOSTS[running:hosts]))
        running = hosts
        cells = []
        for kind, trials in TRIALS.items():
            found = score(cluster, bundles.make(kind, trials))
            rate = found.per_minute
            cells += [f"{rate:.1f}", f"{rate / first.setdefault(kind, rate):.2f}"]
            _say(f"{hosts} hosts, {kind}: {rate:.1f} a minute, scored {found.seconds - found.deciding:.1f} s later")
        lines.append(f"| {hosts} | {' | '.join(cells)} |")
    return lines


@dataclass(frozen=True, slots=True)
class Failure:
    """Something that goes wrong while a submission is evaluated, and what puts it right afterwards."""

    name: str
    act: Callable[[Cluster], None] | None = None
    mend: Callable[[Cluster], None] | None = None


def cut_network(cluster: Cluster) -> None:
    """Take a host's network away for a minute."""
    assert cluster.network is not None
    cluster.network.cut("west")
    time.sleep(FAILURE_SECONDS)
    cluster.network.connect("west")


def restart_redis(cluster: Cluster) -> None:
    """Restart Redis, which keeps nothing."""
    cluster.redis.kill(SIGKILL)
    time.sleep(2)
    cluster.redis.start()


def restart_postgres(cluster: Cluster) -> None:
    """Stop PostgreSQL without a checkpoint, and start it after five seconds."""
    cluster.postgres.kill(SIGQUIT)
    time.sleep(5)
    cluster.postgres.start()


def fill_disk(cluster: Cluster) -> None:
    """Fill a host's disk for a minute."""
    filler = cluster.folder / SMALL_DISK / "filler"
    with filler.open("wb", buffering=0) as file, suppress(OSError):
        while True:
            file.write(bytes(1024 * 1024))
    time.sleep(FAILURE_SECONDS)
    filler.unlink()


def put_clock_ahead(cluster: Cluster) -> None:
    """Restart a host with a clock that is ten minutes ahead. Only its own processes see it: Linux has one clock."""
    host = cluster.hosts["north"]
    host.stop(SIGTERM)
    # Not the program faketime, which does not pass signals on.
    library = next(Path("/usr/lib").glob("*/faketime/libfaketime.so.1"))
    host.environment |= {"LD_PRELOAD": str(library), "FAKETIME": AHEAD}
    start_hosts(cluster, ["north"])


def put_clock_right(cluster: Cluster) -> None:
    """Restart the host with the right clock."""
    host = cluster.hosts["north"]
    host.stop(SIGTERM)
    del host.environment["LD_PRELOAD"]
    start_hosts(cluster, ["north"])


FAILURES: Final = (
    Failure("none"),
    Failure("a host dies", lambda cluster: cluster.kill("east"), lambda cluster: start_hosts(cluster, ["east"])),
    Failure("no network for a minute", cut_network),
    Failure("Redis restarts empty", restart_redis),
    Failure("PostgreSQL restarts", restart_postgres),
    Failure("a full disk for a minute", fill_disk),
    Failure("a clock ten minutes ahead", put_clock_ahead, put_clock_right),
    Failure("none, afterwards"),
)


def failures(cluster: Cluster, bundles: Bundles, wanted: list[str]) -> tuple[list[str], bool]:
    """Return the lines of the second table, and whether every right answer was decided once, and rightly."""
    lines = [
        f"| failure | seconds | results of {', '.join(HOSTS)} | tries repeated | lost | decided twice | wrong |",
        "|---|---|---|---|---|---|---|",
    ]
    good = True
    for failure in FAILURES:
        if wanted and not any(word in failure.name for word in wanted):
            continue
        found = score(cluster, bundles.make("waits", FAILURE_TRIALS), failure.act)
        if failure.mend:
            failure.mend(cluster)
        good &= (found.runs, found.lost, found.doubled, found.blamed) == (FAILURE_TRIALS * TASKS, 0, 0, 0)
        share = ", ".join(str(found.share.get(host, 0)) for host in HOSTS)
        cells = [failure.name, f"{found.seconds:.0f}", share, found.repeated, found.lost, found.doubled, found.blamed]
        lines.append(f"| {' | '.join(map(str, cells))} |")
        _say(f"{lines[-1]} {found.reasons}")
    return lines, good


@contextmanager
def small_disk(folder: Path) -> Iterator[None]:
    """Give a host's folder a file system of its own."""
    folder.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={DISK_MB}m,mode=711", "lmr-board", str(folder)], check=True)
    try:
        yield
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


def _say(text: str) -> None:
    """Show progress; standard output has only the tables."""
    sys.stderr.write(f"{time.strftime('%H:%M:%S')} {text}\n")


def main() -> int:
    """Build the instance, and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--parts", default="throughput,failures", help="throughput, failures, or both")
    parser.add_argument("--failures", default="", help="only failures whose names contain one of these words")
    options = parser.parse_args()
    parts = options.parts.split(",")
    signal.signal(SIGTERM, lambda *_: sys.exit(1))  # the namespaces and servers go in every case
    with ExitStack() as stack:
        # A short path that other users may enter: it holds sockets, and PostgreSQL runs as another user.
        folder = Path(tempfile.mkdtemp(prefix="hosts-", dir="/tmp"))
        stack.callback(shutil.rmtree, folder, ignore_errors=True)
        folder.chmod(0o711)
        stack.enter_context(small_disk(folder / SMALL_DISK))
        network = stack.enter_context(Network(["site", *HOSTS]))
        cluster = stack.enter_context(Cluster(folder, HOSTS, network=network, restricted=HOSTS[1:]))
        try:
            return _measure(cluster, parts, options.failures.split())
        except (AssertionError, KeyboardInterrupt):
            _say(cluster.log_ends())
            raise


def _measure(cluster: Cluster, parts: list[str], wanted: list[str]) -> int:
    site = cluster.hosts["site"]
    site.printed("setup", "--no-audit")
    site.printed("worker_grants", ROLE)
    golden = cluster.folder / "golden.zip"
    site.printed("sample_bundle", "golden", "--suite", "lmr-mini", "--output", str(golden))
    bundles = Bundles(cluster.folder, golden)
    cluster.start("site")
    lines, good = [], True
    if "throughput" in parts:
        lines += [*throughput(cluster, bundles), ""]
    if "failures" in parts:
        start_hosts(cluster, [name for name in HOSTS if cluster.hosts[name].process is None])
        more, good = failures(cluster, bundles, wanted)
        lines += more
    sys.stdout.write("\n".join([*lines, ""]))
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
