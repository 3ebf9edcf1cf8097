"""Fixtures of the attacked apps, and a suite whose boxes are small and quick."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

import pytest

from benchmark_tasks.domain.importing import import_suite
from benchmark_tasks.enums import AuditState
from benchmark_tasks.models import TaskRevision
from tests.benchmark_tasks.factories import CHECK, INFO, write_suite
from tests.evaluator.conftest import (
    bubblewrap,
    docker,
    docker_is_configured,
    each_way,
    forked_bubblewrap,
    gvisor,
    real_sandbox,
    state_dir,
)

if TYPE_CHECKING:
    from pathlib import Path

    from benchmark_tasks.models import SuiteVersion

__all__ = [
    "bubblewrap",
    "docker",
    "docker_is_configured",
    "each_way",
    "forked_bubblewrap",
    "gvisor",
    "real_sandbox",
    "state_dir",
]

RUN = (
    "from scoring.core import double\n\n\n"
    'def run(case):\n    value = double(case["x"])\n    return {"value": value, "items": [value, 1.0, 2.0]}\n'
)
COMPARISON = {
    "default": {"rtol": 1e-6, "atol": 1e-8},
    "outputs": {"value": {"exact": True}, "items": {"ordered": False}},
}


@pytest.fixture
def target(tmp_path: Path, db: None) -> SuiteVersion:
    """The suite ``small`` with one task, ``alpha/1``: five seconds and 128 MiB a box, and one output in any order."""
    info: dict[str, Any] = copy.deepcopy(INFO)
    del info["implementations"][1]
    info["implementations"][0]["check"] = {**CHECK, "comparison": COMPARISON, "wall_seconds": 5, "memory_mb": 128}
    files: dict[str, str | bytes | None] = {
        "unit_test/run_1.py": RUN,
        "scoring-repo/notes/one.txt": "Masked note.\n",
    }
    version = import_suite(folder=write_suite(tmp_path / "suite", info=info, files=files), slug="small").version
    assert version is not None
    TaskRevision.objects.update(audit_state=AuditState.PASSED)
    return version
