"""What a host reports, and the environments that it makes."""

from __future__ import annotations

import shutil
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest
from django.utils import timezone

from benchmark_tasks.models import TaskRevision
from evaluator.hosts import reporting
from evaluator.hosts.reporting import lacks_environment, prepare, report
from evaluator.hosts.rows import leave, note_family, own, with_signs_of_life
from evaluator.models import Host
from evaluator.sandbox.configuration import configured_sandbox

if TYPE_CHECKING:
    from pytest_django import Settings

    from benchmark_tasks.models import SuiteVersion
    from evaluator.sandbox.interface import Sandbox

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _here(settings: Settings) -> None:
    settings.ENVIRONMENT = replace(settings.ENVIRONMENT, host_name="here", pools=["tests", "builds"])


def test_a_host_reports_what_it_offers(real_sandbox: Sandbox, settings: Settings) -> None:
    assert own() is None
    report()
    host = own()
    assert host is not None
    assert (host.pools, host.sandbox, host.problem, host.clock_off) == (["tests", "builds"], "bubblewrap", "", 0.0)
    assert host.version == settings.VERSION
    assert host.processors >= 1
    assert host.memory_mb > 0
    assert host.disk_mb > 0
    note_family("some family")
    settings.ENVIRONMENT = replace(settings.ENVIRONMENT, pools=["site"])
    report()
    assert [(each.pools, each.sandbox, each.family) for each in Host.objects.all()] == [(["site"], "", "some family")]
    leave()
    assert own() is None


def test_a_host_without_boxes_says_why(settings: Settings) -> None:
    settings.ENVIRONMENT = replace(settings.ENVIRONMENT, evaluator_sandbox="bubblewrap", sandbox_runtime="runsc")
    report()
    host = own()
    assert host is not None
    assert (host.sandbox, host.problem.startswith("SANDBOX_RUNTIME is for Docker only")) == (" (runsc)", True)


def test_a_host_with_a_full_disk_says_so(
    real_sandbox: Sandbox, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    free = shutil.disk_usage(settings.DATA_DIR).free // (1024 * 1024)
    monkeypatch.setattr(reporting, "LEAST_DISK_MB", 2 * free)
    report()
    host = own()
    assert host is not None
    assert host.problem == f"The disk of DATA_DIR has only {host.disk_mb} MB free: make room on it."
    assert (host.sandbox, host.disk_mb > 0) == ("bubblewrap", True)


def test_a_host_with_another_store_than_the_sites_takes_no_runs(
    real_sandbox: Sandbox, small_version: SuiteVersion
) -> None:
    report()
    assert own().problem == ""
    TaskRevision.objects.update(repository_hash="0" * 64)
    report()
    assert own().problem.endswith("so it is not the site's: set STORAGE_URL as on the site's host.")


def test_silent_hosts_are_listed_for_a_day(real_sandbox: Sandbox) -> None:
    now = timezone.now()
    for name, seconds in (("fresh", 90), ("silent", 110), ("gone", 25 * 3600)):
        Host.objects.create(name=name, seen=now - timedelta(seconds=seconds))
    report()
    assert [(host.name, live) for host, live in with_signs_of_life()] == [
        ("fresh", True),
        ("here", True),
        ("silent", False),
    ]


@pytest.mark.bubblewrap
def test_environments_are_made_and_offered_one_after_the_other(
    real_sandbox: Sandbox, small_version: SuiteVersion
) -> None:
    report()
    assert lacks_environment()
    digest = configured_sandbox().environment_digest("numpy")
    assert list(prepare()) == [("numpy", digest, "")]
    host = own()
    assert host is not None
    assert (host.environments, host.unready, lacks_environment()) == ({"numpy": digest}, {}, False)


@pytest.mark.bubblewrap
def test_an_environment_that_cannot_be_made_is_named_and_not_offered(
    real_sandbox: Sandbox, small_version: SuiteVersion
) -> None:
    report()
    Host.objects.update(environments={"unknown": "sha256:old", "no longer wanted": "sha256:x"})
    TaskRevision.objects.filter(task__index=2).update(environment="unknown")
    found = {name: (digest, why) for name, digest, why in prepare()}
    assert (found["numpy"][1], found["unknown"][0]) == ("", "")
    assert "unknown" in found["unknown"][1]
    host = own()
    assert host is not None
    assert (host.environments.keys(), host.unready) == ({"numpy"}, {"unknown": found["unknown"][1]})
    assert not lacks_environment()
