"""A host that loses its network neither hangs nor keeps others from its rows."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from signal import SIGQUIT
from threading import Timer
from typing import TYPE_CHECKING, Final

import psycopg
import pytest

from tests.chaos.services import Postgres, ServiceMissingError
from tests.conftest import PROJECT_ROOT
from tests.hosts.cluster import Network

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = [pytest.mark.chaos, pytest.mark.in_full]
HOLDS: Final = """
import django; django.setup()
from django.db import OperationalError, connection, transaction
input()
with transaction.atomic(), connection.cursor() as cursor:
    cursor.execute("SELECT * FROM held FOR UPDATE")
    print("locked", flush=True)
    input()
    try:
        cursor.execute("SELECT 1")
    except OperationalError:
        print("noticed", flush=True)
        import os; os._exit(0)
"""
LONGEST_SECONDS: Final = 60
"""Without time limits the server would keep the lock for more than two hours, and the client wait for many minutes."""


@pytest.fixture
def folder() -> Iterator[Path]:
    """PostgreSQL runs as another user, who may pass through it."""
    folder = Path(tempfile.mkdtemp(prefix="lost-", dir="/tmp"))
    folder.chmod(0o711)
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


def test_a_lost_host_gives_up_its_locks_and_notices_itself(folder: Path) -> None:
    if os.geteuid() != 0 or shutil.which("ip") is None:
        pytest.skip("network namespaces need root and iproute2")
    try:
        with Network(["lost"]) as network:
            postgres = Postgres(folder, address=network.server, within=network.within("servers"))
            postgres.start()
            try:
                _lose(network, postgres, folder)
            finally:
                postgres.kill(SIGQUIT)
    except ServiceMissingError as missing:
        pytest.skip(str(missing))


def _lose(network: Network, postgres: Postgres, folder: Path) -> None:
    client = subprocess.Popen(
        [*network.within("lost"), sys.executable, "-c", HOLDS],
        cwd=PROJECT_ROOT,
        env={
            "PATH": os.environ["PATH"], "DJANGO_SETTINGS_MODULE": "leaderboard.settings", "ENV_FILE": os.devnull,
            "DATA_DIR": str(folder / "var"), "DATABASE_URL": postgres.url,
        },
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    with psycopg.connect(postgres.dsn, autocommit=True) as other, client:
        assert client.stdin is not None
        assert client.stdout is not None
        other.execute("CREATE TABLE held AS SELECT 1 AS one")
        client.stdin.write("\n")
        client.stdin.flush()
        late = Timer(LONGEST_SECONDS, client.kill)
        try:
            assert client.stdout.readline() == "locked\n"
            network.cut("lost")
            late.start()
            client.stdin.write("\n")
            client.stdin.flush()
            other.execute(f"SET lock_timeout = '{LONGEST_SECONDS}s'")
            assert other.execute("SELECT one FROM held FOR UPDATE").fetchall() == [(1,)]
            assert client.stdout.readline() == "noticed\n"
        finally:
            late.cancel()
            client.kill()
