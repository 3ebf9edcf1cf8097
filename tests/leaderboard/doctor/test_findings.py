"""Running checks: order, errors, time limits, and what is removed from their findings."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from dataclasses import replace
from typing import TYPE_CHECKING

from leaderboard.doctor.findings import Check, Finding, State, examine, failed, ok, warning
from tests.conftest import PROJECT_ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pytest_django import Settings

    from leaderboard.settings.environment import Environment


def test_findings_come_in_the_order_of_checks_though_all_run_at_once() -> None:
    begun = threading.Event()

    def first() -> Iterator[Finding]:
        assert begun.wait(10)
        yield ok("first", "waited for the second")

    def second() -> Iterator[Finding]:
        begun.set()
        yield warning("second", "found", "do")

    checks = [Check("first", first), Check("second", second)]
    assert list(examine(checks)) == [
        Finding("first", State.OK, "waited for the second", ""),
        Finding("second", State.WARNING, "found", "do"),
    ]


def test_a_check_that_raises_has_failed_and_ends_no_other() -> None:
    def broken() -> Iterator[Finding]:
        yield ok("part", "found before")
        raise RuntimeError("two\nlines")

    checks = [Check("broken", broken), Check("whole", lambda: [ok("whole", "found")])]
    assert list(examine(checks)) == [
        ok("part", "found before"),
        failed(
            "broken",
            "the check ended with RuntimeError: two lines",
            "Correct what the message names, or report it as a bug.",
        ),
        ok("whole", "found"),
    ]


def test_a_check_that_takes_too_long_has_failed() -> None:
    released = threading.Event()

    def slow() -> Iterator[Finding]:
        yield ok("part", "found before")
        released.wait(60)

    begun = time.monotonic()
    found = list(examine([Check("slow", slow), Check("also slow", slow), Check("quick", list)], seconds=0.3))
    assert time.monotonic() - begun < 10
    released.set()
    todo = "Look at the load of this host and of the service; then try again."
    assert found == [
        ok("part", "found before"),
        failed("slow", "no result within 0.3 s", todo),
        ok("part", "found before"),
        failed("also slow", "no result within 0.3 s", todo),
    ]


def test_no_secret_of_the_configuration_is_shown(settings: Settings) -> None:
    before: Environment = settings.ENVIRONMENT
    settings.SECRET_KEY = "a-secret-key-of-the-site"
    settings.ENVIRONMENT = replace(
        before,
        database_url="postgres://user:database%2Fword@host/name",
        storage_url="s3://key:of-storage@host/bucket",
        endpoint_keys=["endpoint-key-of-the-site"],
    )
    texts = {
        "password 'database/word' or database%2Fword": "password '[secret]' or [secret]",
        "s3://key:short@host/bucket": "s3://host/bucket",
        "of-storage a-secret-key-of-the-site endpoint-key-of-the-site": "[secret] [secret] [secret]",
        "x" * 701: "x" * 700 + " …",
    }
    checks = [Check("each", lambda: [failed("each", text, text) for text in texts])]
    assert list(examine(checks)) == [failed("each", shown, shown) for shown in texts.values()]


def test_libraries_that_checks_import_side_by_side_print_no_warning() -> None:
    """As when the thread that imports botocore restores the filters while another one imports requests."""
    program = (
        "import importlib, sys, warnings, django\n"
        "django.setup()\n"
        "from leaderboard.doctor.findings import examine\n"
        "list(examine([]))\n"
        "with warnings.catch_warnings():\n"
        "    import requests\n"
        "sys.modules.pop('urllib3.contrib.socks', None)\n"
        "try:\n"
        "    importlib.import_module('urllib3.contrib.socks')\n"
        "except ImportError:\n"
        "    print('optional')\n"
    )
    environment = os.environ | {"DJANGO_SETTINGS_MODULE": "tests.settings"}
    ended = subprocess.run(
        [sys.executable, "-c", program], cwd=PROJECT_ROOT, env=environment, capture_output=True, text=True, check=True
    )
    assert (ended.stdout, ended.stderr) == ("optional\n", "")
