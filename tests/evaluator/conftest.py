"""Real sandboxes and a small suite that they can run. Without a sandbox, tests are skipped with the reason."""

from __future__ import annotations

import io
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from django.core.management import call_command

from benchmark_tasks.domain.importing import import_suite
from benchmark_tasks.enums import AuditState
from benchmark_tasks.models import Suite, SuiteVersion, TaskRevision
from evaluator.sandbox.bubblewrap import BubblewrapSandbox
from evaluator.sandbox.configuration import configured_sandbox, sandbox_state_folder
from evaluator.sandbox.docker_engine import DockerSandbox
from evaluator.sandbox.interface import SandboxError
from tests.benchmark_tasks.factories import write_suite
from tests.conftest import NO_GVISOR
from tests.evaluator.forked import ForkedBubblewrap
from tests.evaluator.roles import bare_role, tests_role  # noqa: F401 - fixtures
from tests.evaluator.torch_environment import (  # noqa: F401 - fixtures
    torch_docker,
    torch_environments,
    torch_packages,
    torch_sandbox,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from evaluator.sandbox.interface import Sandbox

IDLE_SECONDS = 300.0
GVISOR = "runsc"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark each test that uses a sandbox's fixture with its name."""
    for item in items:
        for name in {"bubblewrap", "docker", "gvisor"} & set(getattr(item, "fixturenames", ())):
            item.add_marker(name)


@pytest.fixture(scope="session")
def state_dir() -> Path:
    """Where the site's own sandbox keeps its state, so that one environment serves all tests."""
    return sandbox_state_folder().resolve()


@pytest.fixture(scope="session")
def bubblewrap(state_dir: Path) -> BubblewrapSandbox:
    """A bubblewrap sandbox that passed its check."""
    sandbox = BubblewrapSandbox(state_dir)
    _skip_unless_usable(sandbox)
    return sandbox


@pytest.fixture(scope="session")
def docker(state_dir: Path) -> Iterator[DockerSandbox]:
    """A Docker sandbox that passed its check."""
    sandbox = DockerSandbox(state_dir)
    _skip_unless_usable(sandbox)
    yield sandbox
    sandbox.close()


@pytest.fixture(scope="session")
def gvisor(docker: DockerSandbox, state_dir: Path) -> Iterator[DockerSandbox]:
    """A Docker sandbox whose boxes have a kernel of their own."""
    if GVISOR not in docker._connection.client().info()["Runtimes"]:
        pytest.skip(NO_GVISOR)
    sandbox = DockerSandbox(state_dir, runtime=GVISOR)
    _skip_unless_usable(sandbox)
    yield sandbox
    sandbox.close()


@pytest.fixture(scope="session")
def forked_bubblewrap(bubblewrap: BubblewrapSandbox, state_dir: Path) -> Iterator[ForkedBubblewrap]:
    """A bubblewrap sandbox that forks its boxes."""
    sandbox = ForkedBubblewrap(state_dir, fork_idle_seconds=IDLE_SECONDS)
    yield sandbox
    sandbox.stop_servers()


@pytest.fixture(
    params=[pytest.param("bubblewrap", marks=pytest.mark.bubblewrap), pytest.param("docker", marks=pytest.mark.docker)]
)
def each_sandbox(request: pytest.FixtureRequest) -> Sandbox:
    """Bubblewrap and Docker, one after the other."""
    found: Sandbox = request.getfixturevalue(request.param)
    return found


@pytest.fixture(
    params=[
        pytest.param("bubblewrap", marks=pytest.mark.bubblewrap),
        pytest.param("forked_bubblewrap", marks=pytest.mark.bubblewrap),
        pytest.param("docker", marks=pytest.mark.docker),
        pytest.param("gvisor", marks=pytest.mark.gvisor),
    ]
)
def each_way(request: pytest.FixtureRequest) -> Sandbox:
    """Bubblewrap with started boxes, bubblewrap with forked boxes, Docker, and Docker with gVisor."""
    found: Sandbox = request.getfixturevalue(request.param)
    return found


@pytest.fixture
def real_sandbox() -> Sandbox:
    """The sandbox that this machine offers."""
    try:
        return configured_sandbox()
    except SandboxError as error:
        pytest.skip(str(error))


@pytest.fixture
def docker_is_configured(settings: Any) -> Iterator[DockerSandbox]:
    """The site as with ``EVALUATOR_SANDBOX=docker``."""
    settings.ENVIRONMENT = replace(settings.ENVIRONMENT, evaluator_sandbox="docker")
    try:
        sandbox = configured_sandbox()
    except SandboxError as error:
        pytest.skip(str(error))
    assert isinstance(sandbox, DockerSandbox)
    yield sandbox
    sandbox.close()


@pytest.fixture
def small_version(tmp_path: Path, db: None) -> SuiteVersion:
    """Version 1 of the suite ``small``: ``alpha/1`` (``double``) and ``alpha/2`` (``Scorer.score``)."""
    version = import_suite(folder=write_suite(tmp_path / "suite"), slug="small").version
    assert version is not None
    TaskRevision.objects.update(audit_state=AuditState.PASSED)
    return version


@pytest.fixture
def lmr_mini(db: None) -> SuiteVersion:
    """The shipped suite, marked as audited: another test audits it."""
    call_command("load_catalogue", stdout=io.StringIO())
    TaskRevision.objects.update(audit_state=AuditState.PASSED)
    return Suite.objects.get(slug="lmr-mini").versions.get()


def _skip_unless_usable(sandbox: Sandbox) -> None:
    try:
        sandbox.check()
    except SandboxError as error:
        pytest.skip(str(error))
