"""Two worker hosts that share no folder score bundles, also when one of them dies. ``make hosts`` tries much more.

One of them only runs tests: its role in the database may do no more.
"""

from __future__ import annotations

import json
import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.bundles import varied
from tests.chaos.services import ServiceMissingError
from tests.evaluator.processes import wait_until
from tests.hosts.cluster import ROLE, Cluster

if TYPE_CHECKING:
    from collections.abc import Iterator

WORKERS = ("north", "south")
WORK = ["tests", "builds"]
OUTCOMES = """
    SELECT implementation.submission_id, run.outcome, count(*) FROM evaluator_testrun run
    JOIN submissions_implementation implementation ON implementation.id = run.implementation_id
    GROUP BY 1, 2 ORDER BY 1, 2
"""
pytestmark = [pytest.mark.chaos, pytest.mark.bubblewrap, pytest.mark.xdist_group("boxes-of-runs")]


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    """A short path that other users may enter: it holds sockets, and PostgreSQL runs as another user."""
    folder = Path(tempfile.mkdtemp(prefix="hosts-", dir="/tmp"))
    folder.chmod(0o711)
    try:
        with Cluster(folder, WORKERS, restricted=["south"]) as made:
            yield made
    except ServiceMissingError as missing:
        pytest.skip(str(missing))
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def test_two_hosts_score_bundles_and_one_goes_on_alone(cluster: Cluster) -> None:
    site, north, south = (cluster.hosts[name] for name in ("site", "north", "south"))
    site.printed("setup", "--no-audit")
    refused = south.manage("serve", "--workers-only")
    assert f"CommandError: The database role {ROLE} lacks rights that a host with POOLS=tests needs" in refused.stderr
    site.printed("worker_grants", ROLE)
    bucket = south.environment.pop("STORAGE_URL")
    refused = south.manage("serve", "--workers-only")
    assert "has none of the tasks' files, so it is not the site's: set STORAGE_URL" in refused.stderr
    south.environment["STORAGE_URL"] = bucket
    golden, again = cluster.folder / "golden.zip", cluster.folder / "again.zip"
    site.printed("sample_bundle", "golden", "--suite", "lmr-mini", "--output", str(golden))
    again.write_bytes(varied(golden.read_bytes(), lambda text: f"{text}\n# once more\n"))
    for name in ("site", "north", "south"):
        cluster.start(name)
    try:
        wait_until(lambda: cluster.ready() == ["north", "south"], "both hosts to be ready", seconds=240)
        # The set-up has queued a golden, a stub and a mixed bundle.
        wait_until(lambda: len(cluster.accepted()) == len(WORKERS), "both hosts to work", seconds=240)
        cluster.kill("south")
        last = cluster.submit(again)
        cluster.wait_until_scored()
    except AssertionError as error:
        pytest.fail(f"{error}\n{cluster.log_ends()}", pytrace=False)
    # One answer of the mixed bundle needs no box, and one task has none.
    assert (cluster.accepted().keys(), sum(cluster.accepted().values())) == (set(WORKERS), 9 + 9 + 7 + 9)
    doubled = "SELECT run_id FROM evaluator_attempt WHERE state = 'accepted' GROUP BY 1 HAVING count(*) > 1"
    assert cluster.query(doubled) == []
    passed = [
        submission for submission, outcome, number in cluster.query(OUTCOMES) if (outcome, number) == ("passed", 9)
    ]
    assert (len(passed), passed[-1]) == (2, last)
    # Nothing but the servers is shared: neither worker has a store or database of its own, and both have a cache.
    for host in (north, south):
        kept = {path.name for path in host.data.iterdir()}
        assert ("content" in kept, "db.sqlite3" in kept, "cache" in kept) == (False, False, True)
    status, text = site.get("/status.json")
    assert (status, [each["pools"] for each in json.loads(text)["hosts"]]) == (200, [WORK, ["site"], ["tests"]])
    logs = "".join(log.read_text() for log in (south.data / "logs").glob("*.log"))
    assert ("run_ended" in logs, "permission denied" in logs) == (True, False)
