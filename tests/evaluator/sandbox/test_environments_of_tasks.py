"""Which environment a task is measured in: its own word, the operator's, or the paper's Dockerfile."""

from __future__ import annotations

import io
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from django.core.management import call_command

from benchmark_tasks.models import TaskRevision
from evaluator.enums import BuildState
from evaluator.models import EnvironmentBuild
from evaluator.queue.infrastructure_errors import fault_of
from evaluator.sandbox.environment_list import PAPER_NAME
from evaluator.sandbox.task_environments import (
    EnvironmentNotReadyError,
    environment_name,
    environment_of,
    newest_build,
    paper_environment,
    wanted_environments,
    why_no_environment,
)
from evaluator.sandbox.types import SandboxError

if TYPE_CHECKING:
    from pathlib import Path

    from benchmark_tasks.models import SuiteVersion
    from evaluator.sandbox.types import Sandbox

pytestmark = [pytest.mark.django_db, pytest.mark.xdist_group("images")]
HASH = "ab" * 32


def change(**values: Any) -> TaskRevision:
    """``small/alpha/1`` as the database has it after the change."""
    TaskRevision.objects.filter(task__index=1).update(**values)
    return TaskRevision.objects.select_related("task__suite", "task__paper").get(task__index=1)


def operator_says(settings: Any, folder: Path, tasks: str) -> None:
    file = folder / "environments.toml"
    file.write_text(f"[environments.torch-cpu]\nimage = 'torch'\n[tasks]\n{tasks}\n", encoding="utf-8")
    settings.ENVIRONMENT = replace(settings.ENVIRONMENT, environments_file=file)


def built(name: str, state: BuildState, sandbox: str = "docker", log: str = "") -> EnvironmentBuild:
    return EnvironmentBuild.objects.create(name=name, sandbox=sandbox, state=state, log=log)


def test_the_tasks_own_word_comes_first(small_version: SuiteVersion, settings: Any, tmp_path: Path) -> None:
    operator_says(settings, tmp_path, "'*' = 'torch-cpu'")
    assert environment_name(change(dockerfile_hash=HASH)) == "numpy"
    assert environment_name(change(environment="")) == "torch-cpu"


def test_an_edited_list_holds_at_once(small_version: SuiteVersion, settings: Any, tmp_path: Path) -> None:
    revision = change(environment="", dockerfile_hash=HASH)
    operator_says(settings, tmp_path, "'small/beta/*' = 'torch-cpu'")
    assert environment_name(revision) == paper_environment(revision)
    operator_says(settings, tmp_path, "'small/*' = 'torch-cpu' # as all others")
    assert environment_name(revision) == "torch-cpu"


def test_a_papers_name_follows_dockerfile_and_repository(small_version: SuiteVersion) -> None:
    revisions = [
        change(environment="", dockerfile_hash=HASH),
        change(dockerfile_hash="cd" * 32),
        change(repository_hash="ef" * 32),
    ]
    names = [environment_name(revision) for revision in revisions]
    assert len(set(names)) == 3
    assert all(PAPER_NAME.fullmatch(name) for name in names)


def test_a_task_with_neither_is_told_what_to_do(small_version: SuiteVersion) -> None:
    with pytest.raises(SandboxError, match=r"^small/alpha/1 names no environment and its paper has no Dockerfile: "):
        environment_name(change(environment=""))


def test_what_is_not_built_waits_and_burns_no_try(small_version: SuiteVersion) -> None:
    revision = change(environment="", dockerfile_hash=HASH)
    with pytest.raises(EnvironmentNotReadyError) as unready:
        environment_of(revision)
    fault = fault_of(unready.value)
    assert (fault.public, fault.everywhere) == ("the task's environment is not built", True)
    assert fault.reason == why_no_environment(revision)


def test_the_newest_build_decides(small_version: SuiteVersion) -> None:
    revision = change(environment="", dockerfile_hash=HASH)
    name = paper_environment(revision)
    built(name, BuildState.BUILT)
    assert environment_of(revision) == name
    built(name, BuildState.FAILED, log="x" * 1000 + "the end")
    why = why_no_environment(revision)
    assert why.startswith(f"environment {name} could not be built (manage.py build_images tries again): xxx")
    assert (why.endswith("xthe end"), len(why) < 500) == (True, True)
    newest = built(name, BuildState.BUILT)
    assert newest_build(name) == newest
    assert why_no_environment(revision) == ""


def test_only_builds_for_the_sandbox_in_use_count(small_version: SuiteVersion, settings: Any) -> None:
    revision = change(environment="", dockerfile_hash=HASH)
    name = paper_environment(revision)
    built(name, BuildState.BUILT, sandbox="docker")
    settings.ENVIRONMENT = replace(settings.ENVIRONMENT, evaluator_sandbox="bubblewrap")
    assert why_no_environment(revision) == (
        f"environment {name} is not built: run manage.py build_images, or name another one (docs/operating.md)"
    )
    settings.ENVIRONMENT = replace(settings.ENVIRONMENT, evaluator_sandbox="docker")
    assert why_no_environment(revision) == ""


def test_wanted_are_those_of_runnable_tasks_that_are_ready(small_version: SuiteVersion) -> None:
    assert wanted_environments() == ["numpy"]
    revision = change(environment="", dockerfile_hash=HASH)
    assert wanted_environments() == ["numpy"]
    name = paper_environment(revision)
    built(name, BuildState.BUILT)
    assert wanted_environments() == ["numpy", name]
    change(not_runnable_reasons=["a file is missing"])
    assert wanted_environments() == ["numpy"]


def test_preparing_warns_of_an_environment_that_does_not_work(
    small_version: SuiteVersion, real_sandbox: Sandbox
) -> None:
    change(environment="fortran")
    out, err = io.StringIO(), io.StringIO()
    call_command("prepare_evaluator", stdout=out, stderr=err)
    digest = real_sandbox.environment_digest("numpy").removeprefix("sha256:")[:12]
    assert out.getvalue() == f"{real_sandbox.name}: environment numpy {digest} is ready\n"
    assert err.getvalue().startswith(f"{real_sandbox.name}: environment fortran does not work: environment 'fortran': ")
