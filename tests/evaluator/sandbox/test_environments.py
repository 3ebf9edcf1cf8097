"""How environments are defined and made for bubblewrap, and which one a task is measured in."""

from __future__ import annotations

import hashlib
import io
import os
import re
import shutil
import subprocess
import sys
import zipfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command

from benchmark_tasks.models import SuiteVersion, TaskRevision
from evaluator.enums import BuildState
from evaluator.models import EnvironmentBuild
from evaluator.sandbox.bubblewrap import BubblewrapSandbox
from evaluator.sandbox.environment_list import (
    PAPER_NAME,
    REQUIREMENTS,
    SHIPPED,
    EnvironmentEntry,
    EnvironmentList,
    read_environment_list,
)
from evaluator.sandbox.environments import install, prepare_environment
from evaluator.sandbox.interface import Sandbox, SandboxError, SandboxUnavailableError
from evaluator.sandbox.task_environments import (
    environment_name,
    environment_of,
    newest_build,
    paper_environment,
    wanted_environments,
)
from evaluator.testing.infrastructure_errors import infrastructure_error_of

# All test processes share one state folder, and some tests here remove environments from it.
pytestmark = pytest.mark.xdist_group("images")

WHOLE = """\
# Ours.
[environments.torch-cpu]
requirements = "torch.txt"
memory_mb = 4096
wall_seconds = 600

[environments.conda]
image = "registry.example/conda@sha256:0123"

[tasks]
"lmr-bench/dpo/*" = "conda"
"lmr-bench/*" = "torch-cpu"
"*" = "numpy"
"""


def read(folder: Path, text: str) -> EnvironmentList:
    (folder / "torch.txt").touch()
    file = folder / "environments.toml"
    file.write_bytes(b"\xef\xbb\xbf" + text.encode())  # as an editor on Windows writes it
    return read_environment_list(file)


def test_a_whole_file_is_read(tmp_path: Path) -> None:
    found = read(tmp_path, WHOLE)
    assert found.entries == (
        EnvironmentEntry("torch-cpu", requirements=tmp_path / "torch.txt", memory_mb=4096, wall_seconds=600),
        EnvironmentEntry("conda", image="registry.example/conda@sha256:0123"),
    )
    assert found.names() == ["conda", "numpy", "torch", "torch-cpu", "transformers"]
    tasks = ("lmr-bench/dpo/1", "lmr-bench/simpo/1", "lmr-mini/welford/1")
    assert [found.environment_for(task) for task in tasks] == ["conda", "torch-cpu", "numpy"]
    assert len({found, read(tmp_path, WHOLE)}) == 1, "equal files make equal lists, which can be keys"


def test_without_a_file_only_the_shipped_lists_and_papers_are_known() -> None:
    found = read_environment_list(None)
    assert found == SHIPPED
    assert found.entry("numpy") == EnvironmentEntry("numpy", requirements=REQUIREMENTS / "box-numpy.txt")
    assert found.entry("paper-0123456789ab") == EnvironmentEntry("paper-0123456789ab")
    assert found.environment_for("lmr-bench/dpo/1") is None
    with pytest.raises(SandboxError) as refused:
        found.entry("fortran")
    assert str(refused.value) == (
        f"environment 'fortran': {REQUIREMENTS / 'box-fortran.txt'} does not exist; known environments: "
        "['numpy', 'torch', 'transformers']. Name it under [environments.fortran] in the file that ENVIRONMENTS_FILE "
        "names (docs/operating.md)"
    )


def test_images_have_our_names_unless_another_is_named(tmp_path: Path) -> None:
    found = read(tmp_path, WHOLE).with_numpy_image("registry.example/numpy:1")
    names = ("torch-cpu", "conda", "numpy", "paper-0123456789ab")
    assert [found.image(name) for name in names] == [
        "lmr-board-box-torch-cpu",
        "registry.example/conda@sha256:0123",
        "registry.example/numpy:1",
        "lmr-board-box-paper-0123456789ab",
    ]
    own = read(tmp_path, '[environments.numpy]\nimage = "mine"\n').with_numpy_image("other")
    assert (own.image("numpy"), SHIPPED.image("numpy")) == ("mine", "lmr-board-box-numpy")


def test_an_environment_declares_the_imports_of_its_boxes(tmp_path: Path) -> None:
    text = "[environments.own]\nimage = 'x'\nimports = ['torch', 'torch.nn.utils']\nimports_mb = 99\n"
    found = read(tmp_path, text)
    assert (found.entry("own").imports, found.entry("own").imports_mb) == (("torch", "torch.nn.utils"), 99)
    assert (found.entry("numpy").imports_mb, found.entry("torch").imports_mb) == (0, 160)
    assert (found.entry("numpy").imports, found.entry("torch").imports[0]) == ((), "torch")
    assert found.entry("paper-0123456789ab").imports == ()
    looped = read(tmp_path, "[environments.own]\nimage = 'x'\nnetwork = 'loopback'\n")
    assert (found.entry("own").loopback, looped.entry("own").loopback) == (False, True)


NUMBER = "must be a whole number from"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[environment.a]\n", "the file has the unknown key 'environment': is 'environments' meant?"),
        ("environments = 1\n", "[environments] must be a table"),
        ("\n[environments.A]\nimage='x'\n", "environment 'A': a name has only lower-case letters, digits and hyphens"),
        ("[environments.a]\n", "[environments.a] does not define what it is made from: give requirements or image"),
        ("[environments.a]\nimage = '-x'\n", "[environments.a] image must be a name or path in quotes, not '-x'"),
        (
            "[environments.a]\nrequirements = 'no'\n",
            "[environments.a] the file {folder}/no does not exist: make it, or correct requirements",
        ),
        (
            "[environments.a]\nimage = 'x'\nmemory_mb = true\n",
            f"[environments.a] memory_mb {NUMBER} 64 to 2147483648, not True",
        ),
        (
            "[environments.a]\nimage = 'x'\nwall_seconds = 0\n",
            f"[environments.a] wall_seconds {NUMBER} 1 to 86400, not 0",
        ),
        (
            "[environments.paper-0123456789ab]\nimage = 'x'\n",
            "[environments.paper-0123456789ab]: this is the name of a paper's own environment: choose another name",
        ),
        (
            "[environments.a]\nimage = 'x'\nimports = 'torch'\n",
            "[environments.a] imports must be a list of modules such as [\"torch\"], not 'torch'",
        ),
        (
            "[environments.a]\nimage = 'x'\nimports = ['a;b']\n",
            "[environments.a] imports must be a list of modules such as [\"torch\"], not ['a;b']",
        ),
        (
            "[environments.a]\nimage = 'x'\nnetwork = ['loopback']\n",
            '[environments.a] network must be "none" or "loopback", not [\'loopback\']',
        ),
        ("[tasks]\n'*' = 'nunpy'\n", "[tasks] '*' names the unknown environment 'nunpy'"),
    ],
)
def test_a_mistake_is_reported_with_its_place(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(SandboxError) as refused:
        read(tmp_path, text)
    assert str(refused.value) == f"{tmp_path}/environments.toml: {message.format(folder=tmp_path)}"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"[tasks]\nno = \n", r"environments\.toml is not TOML: .*at line 2, column 6"),
        (b"\xff\xfe\0", r"ENVIRONMENTS_FILE: .*environments\.toml cannot be read as text"),
        (None, r"ENVIRONMENTS_FILE: .*environments\.toml cannot be read as text"),
    ],
)
def test_a_file_that_cannot_be_read_is_named(tmp_path: Path, content: bytes | None, message: str) -> None:
    file = tmp_path / "environments.toml"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(SandboxError, match=message):
        read_environment_list(file)


def test_it_holds_python_its_libraries_and_compiled_packages(state_dir: Path) -> None:
    root = prepare_environment("numpy", state_dir).root
    assert (root / "usr/bin/python3").is_file()
    assert list(root.glob("usr/lib/lmr-board/libc.so*"))
    assert list(root.rglob("ld-linux*"))
    assert list(root.rglob("numpy/__pycache__/__init__.*.pyc"))
    assert not list(root.rglob("ensurepip"))
    assert not [
        path for path in root.rglob("*") if not path.is_symlink() and path.is_file() and path.stat().st_mode & 0o222
    ]
    assert not [path for path in root.rglob("*") if path.is_symlink()]


def locked(folder: Path, name: str, text: str) -> EnvironmentList:
    """The environment ``name`` made from requirements with ``text``."""
    (folder / f"{name}.txt").write_text(text)
    return EnvironmentList((EnvironmentEntry(name, requirements=folder / f"{name}.txt"),))


def test_another_lock_makes_another_environment_beside_it(state_dir: Path, tmp_path: Path) -> None:
    first = prepare_environment("bare", state_dir, environments=locked(tmp_path, "bare", ""))
    second = prepare_environment("bare", state_dir, environments=locked(tmp_path, "bare", "# another remark\n"))
    assert second.root != first.root
    assert second.digest != first.digest
    assert first.root.is_dir()
    shutil.rmtree(second.root.parent)


def test_an_unfinished_environment_is_removed_and_made_again(state_dir: Path, tmp_path: Path) -> None:
    (state_dir / "environments" / "remade" / ".unfinished-1234" / "root").mkdir(parents=True)
    environment = prepare_environment("remade", state_dir, environments=locked(tmp_path, "remade", ""))
    assert list((state_dir / "environments" / "remade").glob(".unfinished*")) == []
    assert environment.digest.startswith("sha256:")


def test_a_wrong_hash_is_refused_and_leaves_nothing(state_dir: Path, tmp_path: Path) -> None:
    wrong = locked(tmp_path, "wrong", f"numpy==2.4.6 --hash=sha256:{'0' * 64}\n")
    with pytest.raises(SandboxError, match=r"installing .*wrong\.txt with uv failed with exit code"):
        prepare_environment("wrong", state_dir, environments=wrong)
    home = state_dir / "environments" / "wrong"
    assert [path for path in home.iterdir() if path.is_dir() and not path.name.startswith(".unfinished")] == []


@pytest.mark.skipif(os.geteuid() != 0, reason="only root mounts a small file system")
def test_a_disk_that_is_full_while_an_environment_is_made_is_reported(
    bubblewrap: BubblewrapSandbox, state_dir: Path, tmp_path: Path
) -> None:
    folder = state_dir / f"small-{os.getpid()}"
    folder.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(folder)], check=True)
    try:
        for text, which in (("", "bare"), ((REQUIREMENTS / "box-numpy.txt").read_text(), "whole")):
            sandbox = BubblewrapSandbox(folder, environments=locked(tmp_path, which, text))
            with pytest.raises(SandboxError) as full:
                sandbox.environment_digest(which)
            assert full.value.public == "the host's disk is full"
    finally:
        subprocess.run(["umount", str(folder)], check=True)
        folder.rmdir()


@pytest.fixture
def wheel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A lock of one package, in a folder that only pip's configuration names; uv finds no index at all."""
    content = {
        "tiny_wheel.py": "",
        "tiny_wheel-1.dist-info/METADATA": "Metadata-Version: 2.1\nName: tiny-wheel\nVersion: 1\n",
        "tiny_wheel-1.dist-info/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        "tiny_wheel-1.dist-info/RECORD": "",
    }
    made = tmp_path / "wheels" / "tiny_wheel-1-py3-none-any.whl"
    made.parent.mkdir()
    with zipfile.ZipFile(made, "w") as archive:
        for name, text in content.items():
            archive.writestr(name, text)
    lock = tmp_path / "box-tiny.txt"
    lock.write_text(f"tiny-wheel==1 --hash=sha256:{hashlib.sha256(made.read_bytes()).hexdigest()}\n")
    for name, value in {"UV_DEFAULT_INDEX": "http://127.0.0.1:9/", "UV_NO_CACHE": "1", "UV_HTTP_RETRIES": "0"}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    return lock


def test_pip_is_tried_after_any_failure_of_uv(wheel: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path / "wheels"))
    install(wheel, target=tmp_path / "packages", python=Path(sys.executable))
    assert (tmp_path / "packages" / "tiny_wheel.py").is_file()


def test_where_neither_installs_both_reasons_are_reported(wheel: Path, tmp_path: Path) -> None:
    with pytest.raises(SandboxError) as caught:
        install(wheel, target=tmp_path / "packages", python=Path(sys.executable))
    first, *_, last = str(caught.value).splitlines()
    assert first.startswith(f"installing {wheel} with uv failed with exit code")
    assert f"installing {wheel} with pip failed with exit code 1" in str(caught.value)
    assert "No matching distribution found for tiny-wheel==1" in last
    assert caught.value.public == "the packages of the boxes' environment could not be installed"


@pytest.mark.parametrize("name", ["paper-0123456789ab", "imageonly"])
def test_an_image_is_not_for_bubblewrap(state_dir: Path, name: str) -> None:
    environments = EnvironmentList((EnvironmentEntry("imageonly", image="x"),))
    with pytest.raises(SandboxError, match=rf"environment '{name}' is a Docker image, which bubblewrap cannot use"):
        prepare_environment(name, state_dir, environments=environments)


HASH = "ab" * 32


def change(**values: Any) -> TaskRevision:
    """Update ``small/alpha/1``, and return it as stored."""
    TaskRevision.objects.filter(task__index=1).update(**values)
    return TaskRevision.objects.select_related("task__suite", "task__paper").get(task__index=1)


def assign_environments(settings: Any, folder: Path, tasks: str) -> None:
    file = folder / "environments.toml"
    file.write_text(f"[environments.torch-cpu]\nimage = 'torch'\n[tasks]\n{tasks}\n", encoding="utf-8")
    settings.ENVIRONMENT = replace(settings.ENVIRONMENT, environments_file=file)


def built(name: str, state: BuildState, sandbox: str = "docker", log: str = "") -> EnvironmentBuild:
    return EnvironmentBuild.objects.create(name=name, sandbox=sandbox, state=state, log=log)


def test_the_tasks_own_environment_has_priority(small_version: SuiteVersion, settings: Any, tmp_path: Path) -> None:
    assign_environments(settings, tmp_path, "'*' = 'torch-cpu'")
    assert environment_name(change(dockerfile_hash=HASH)) == "numpy"
    assert environment_name(change(environment="")) == "torch-cpu"


def test_an_edited_list_takes_effect_at_once(small_version: SuiteVersion, settings: Any, tmp_path: Path) -> None:
    revision = change(environment="", dockerfile_hash=HASH)
    assign_environments(settings, tmp_path, "'small/beta/*' = 'torch-cpu'")
    assert environment_name(revision) == paper_environment(revision)
    assign_environments(settings, tmp_path, "'small/*' = 'torch-cpu' # as all others")
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


def test_a_task_without_environment_and_dockerfile_is_refused_with_advice(small_version: SuiteVersion) -> None:
    with pytest.raises(SandboxError, match=r"^small/alpha/1 names no environment and its paper has no Dockerfile: "):
        environment_name(change(environment=""))


def test_a_task_whose_environment_is_not_built_waits_and_uses_up_no_try(small_version: SuiteVersion) -> None:
    revision = change(environment="", dockerfile_hash=HASH)
    with pytest.raises(SandboxUnavailableError) as unready:
        environment_of(revision)
    infra = infrastructure_error_of(unready.value)
    assert (infra.public, infra.everywhere) == ("the task's environment is not built", True)
    assert infra.reason == str(unready.value)


def test_the_newest_build_decides(small_version: SuiteVersion) -> None:
    revision = change(environment="", dockerfile_hash=HASH)
    name = paper_environment(revision)
    built(name, BuildState.BUILT)
    assert environment_of(revision) == name
    built(name, BuildState.FAILED, log="x" * 1000 + "the end")
    with pytest.raises(SandboxUnavailableError) as unready:
        environment_of(revision)
    why = str(unready.value)
    assert why.startswith(f"environment {name} could not be built (manage.py build_images tries again): xxx")
    assert (why.endswith("xthe end"), len(why) < 500) == (True, True)
    newest = built(name, BuildState.BUILT)
    assert newest_build(name) == newest
    assert environment_of(revision) == name


def test_only_builds_for_the_sandbox_in_use_count(small_version: SuiteVersion, settings: Any) -> None:
    revision = change(environment="", dockerfile_hash=HASH)
    name = paper_environment(revision)
    built(name, BuildState.BUILT, sandbox="docker")
    settings.ENVIRONMENT = replace(settings.ENVIRONMENT, evaluator_sandbox="bubblewrap")
    message = f"environment {name} is not built: run manage.py build_images, or name another one (docs/operating.md)"
    with pytest.raises(SandboxUnavailableError, match=re.escape(message)):
        environment_of(revision)
    settings.ENVIRONMENT = replace(settings.ENVIRONMENT, evaluator_sandbox="docker")
    assert environment_of(revision) == name


def test_wanted_environments_are_those_of_runnable_tasks_that_are_ready(small_version: SuiteVersion) -> None:
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
