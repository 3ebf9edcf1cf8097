"""``manage.py build_images`` and its images: what is built, and what a failure leaves behind."""

from __future__ import annotations

import fcntl
import io
import json
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from benchmark_tasks.domain.content import put_file
from benchmark_tasks.enums import AuditState
from benchmark_tasks.models import SuiteVersion, TaskRevision
from evaluator.enums import BuildState
from evaluator.models import EnvironmentBuild
from evaluator.sandbox import images
from evaluator.sandbox.bubblewrap import BubblewrapSandbox
from evaluator.sandbox.docker_engine import DockerSandbox
from evaluator.sandbox.environment_list import REQUIREMENTS, SHIPPED, EnvironmentEntry
from evaluator.sandbox.images import (
    BuildFailedError,
    PaperSource,
    build_paper_image,
    find_image,
    image_source_digest,
    main,
    write_context,
)
from evaluator.sandbox.interface import Sandbox, SandboxError
from evaluator.sandbox.task_environments import environment_of, paper_environment
from tests.evaluator.sandbox.boxes import run

# There is one engine, and images are named after their content: two processes would remove each other's.
pytestmark = pytest.mark.xdist_group("images")

BASE = "lmr-board-test-base"


TAG = "lmr-board-test-image"


DOCKERFILE = """\
ARG BASE_IMAGE=python:3.11-slim-bookworm
FROM ${BASE_IMAGE}
ARG UID
ARG GID
ARG DIR
WORKDIR /workspace
COPY . .
RUN find . -type f | sort; echo "for ${UID}:${GID} in ${DIR}"; printf 'x\\033[31mred\\033[0m\\n'
"""


needs_base = pytest.mark.skipif(
    subprocess.run(["docker", "image", "inspect", BASE], capture_output=True, check=False).returncode != 0
    if shutil.which("docker")
    else True,
    reason=f"the image {BASE} is not here: scripts/make_test_base_image.sh makes it",
)


@pytest.fixture
def image(docker: DockerSandbox) -> Iterator[str]:
    """The name of an image that the test makes from a base that is here."""
    docker.check()
    yield TAG
    subprocess.run(["docker", "image", "rm", TAG], capture_output=True, check=False)


@needs_base
def test_it_builds_an_image_that_boxes_run_on_and_that_records_its_source(
    state_dir: Path, image: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["--base-image", BASE, "--tag", image]) == 0
    made = capsys.readouterr().out.strip()
    assert find_image(image) == (made, image_source_digest(SHIPPED.entry("numpy"), BASE))
    assert find_image(BASE)[1] == "", "an image without labels"
    sandbox = DockerSandbox(state_dir, environments=SHIPPED.with_numpy_image(made))
    try:
        assert run(sandbox, "import numpy; print(numpy.__file__)").stdout == b"/opt/box/packages/numpy/__init__.py\n"
    finally:
        sandbox.close()


def test_the_source_is_the_requirements_the_base_and_the_recipe(tmp_path: Path) -> None:
    lock = tmp_path / "lock.txt"
    lock.write_text("one")
    entry = EnvironmentEntry("x", requirements=lock)
    first = image_source_digest(entry, BASE)
    assert image_source_digest(entry, BASE) == first
    assert image_source_digest(entry, "another") != first
    lock.write_text("two")
    assert image_source_digest(entry, BASE) != first
    lock.unlink()
    with pytest.raises(SandboxError, match=r"environment 'x': .*/lock\.txt cannot be read"):
        image_source_digest(entry, BASE)


@pytest.fixture
def source(tmp_path: Path) -> PaperSource:
    """A paper with typical content of repositories, data and litter included."""
    repository = tmp_path / "stored"
    files = {
        "requirements.txt": b"numpy\n",
        "model/loss.py": b"raise NotImplementedError\n",
        "unit_test/unit_test_1.py": b"",
        "unit_test/tensors/losses.pt": b"",
        "weights/model.safetensors": b"",
        "data.zip": b"",
        ".git/HEAD": b"",
        "big [1].json": b"x" * (images.LARGEST_FILE_BYTES + 1),
        "small.json": b"{}",
    }
    for name, content in files.items():
        (repository / name).parent.mkdir(parents=True, exist_ok=True)
        (repository / name).write_bytes(content)
    (tmp_path / "Dockerfile").write_text(DOCKERFILE)
    return PaperSource(tmp_path / "Dockerfile", repository, "the-repository")


def build(source: PaperSource, scratch: Path, *, seconds: float = 120) -> str:
    return build_paper_image(
        source, tag=TAG, base_image=BASE, network="none", seconds=seconds, scratch=scratch, label="a-source"
    )


def test_a_context_holds_the_repository_the_dockerfile_and_the_ignore_file_alone(
    source: PaperSource, tmp_path: Path
) -> None:
    context = tmp_path / "context"
    context.mkdir()
    write_context(source, context)
    assert sorted(path.name for path in context.iterdir()) == [".dockerignore", "Dockerfile", "the-repository"]
    assert (context / ".dockerignore").read_text().splitlines()[-1] == r"the-repository/big \[1\].json"


@needs_base
def test_a_papers_image_holds_the_sources_but_no_test_and_no_data(
    source: PaperSource, image: str, tmp_path: Path
) -> None:
    log = build(source, tmp_path)
    begun = log.index("./.dockerignore") if "./.dockerignore" in log else log.index("./Dockerfile")
    listed = [line for line in log[begun:].splitlines() if line.startswith("./the-repository")]
    assert listed == [
        "./the-repository/model/loss.py",
        "./the-repository/requirements.txt",
        "./the-repository/small.json",
    ]
    assert "for 10001:10001 in the-repository\nxred\n" in log
    assert find_image(image)[1] == "a-source"


@needs_base
def test_a_build_that_takes_too_long_is_ended(source: PaperSource, image: str, tmp_path: Path) -> None:
    source.dockerfile.write_text(f"{DOCKERFILE}RUN sleep 300\n")
    with pytest.raises(BuildFailedError, match=r"took longer than 5 seconds \(BUILD_SECONDS\)") as failed:
        build(source, tmp_path, seconds=5)
    assert "FROM" in failed.value.log
    assert not list(tmp_path.glob("paper-*"))


PAPER_BASE = "lmr-board-test-numpy"


SMALL = "ARG BASE_IMAGE\nFROM ${BASE_IMAGE}\nARG UID\nWORKDIR /workspace\nCOPY . .\n"


@pytest.fixture(scope="session")
def paper_base(docker: DockerSandbox) -> str:
    """An image with NumPy whose user is root, as base images of papers are."""
    docker.check()
    text = "FROM lmr-board-box-numpy\nUSER root\n"
    subprocess.run(
        ["docker", "build", "--tag", PAPER_BASE, "-"], input=text, text=True, capture_output=True, check=True
    )
    return PAPER_BASE


@pytest.fixture
def paper_task(small_version: SuiteVersion) -> Iterator[TaskRevision]:
    """``alpha/1`` with a Dockerfile instead of an environment; ``alpha/2`` keeps ``numpy``."""
    yield with_dockerfile(SMALL)
    name = paper_environment(TaskRevision.objects.get(task__index=1))
    if shutil.which("docker"):
        subprocess.run(["docker", "image", "rm", f"lmr-board-box-{name}"], capture_output=True, check=False)


def with_dockerfile(text: str) -> TaskRevision:
    TaskRevision.objects.filter(task__index=1).update(environment="", dockerfile_hash=put_file(text.encode()))
    return TaskRevision.objects.select_related("task__suite", "task__paper").get(task__index=1)


def configure(settings: Any, **values: Any) -> None:
    settings.ENVIRONMENT = replace(settings.ENVIRONMENT, **values)


def command(*arguments: str) -> tuple[str, int]:
    """The command's output and exit code."""
    out = io.StringIO()
    try:
        call_command("build_images", *arguments, stdout=out)
    except SystemExit as ended:
        return out.getvalue(), int(str(ended.code))
    return out.getvalue(), 0


def as_json(*arguments: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(command("--json", *arguments)[0])
    return found


def test_a_papers_image_is_built_once_and_its_tasks_become_ready(
    paper_task: TaskRevision, paper_base: str, settings: Any
) -> None:
    configure(settings, evaluator_sandbox="docker", base_image=paper_base, build_network="none")
    name = paper_environment(paper_task)
    with pytest.raises(SandboxError, match=f"^environment {name} is not built: run manage.py build_images, or "):
        environment_of(paper_task)
    report = as_json("--task", "alpha/1")
    assert [(each["name"], each["tasks"], each["what"]) for each in report["environments"]] == [
        (name, ["small/alpha/1"], "built")
    ]
    assert environment_of(paper_task) == name
    assert [each["what"] for each in as_json("--task", "alpha/*1")["environments"]] == ["unchanged"]
    build = EnvironmentBuild.objects.get()
    assert (build.name, build.sandbox, build.state) == (name, "docker", BuildState.BUILT)
    assert build.image.startswith("sha256:")
    assert "COPY . ." in build.log
    assert build.log.splitlines()[-1].startswith("its box has Python 3.11")
    assert [each["what"] for each in as_json("--task", "small/1-Alpha/01", "--again")["environments"]] == ["built"]


@pytest.mark.parametrize(
    ("dockerfile", "why", "log"),
    [
        ("RUN echo no matching distribution >&2 && exit 3\n", "failed with exit code", "no matching distribution"),
        ("RUN rm -r /usr/bin/python3*\n", "python", "RUN rm -r /usr/bin/python3*"),
    ],
)
def test_a_failed_build_marks_the_tasks_with_the_logs_end(
    paper_task: TaskRevision, paper_base: str, settings: Any, dockerfile: str, why: str, log: str
) -> None:
    configure(settings, evaluator_sandbox="docker", base_image=paper_base, build_network="none")
    revision = with_dockerfile(f"{SMALL}{dockerfile}")
    name = paper_environment(revision)
    out, code = command("--task", "alpha/1")
    assert code == 1
    assert out.splitlines()[0].startswith(f"{name} for docker, 1 task … FAILED after ")
    assert why in out
    assert out.splitlines()[-2:] == [
        "1 environment, 1 failed.",
        "1 task cannot be measured; their pages show the builds' logs.",
    ]
    build = EnvironmentBuild.objects.get()
    assert build.state == BuildState.FAILED
    assert log in build.log
    with pytest.raises(SandboxError) as unready:
        environment_of(revision)
    reason = str(unready.value)
    assert reason.startswith(f"environment {name} could not be built (manage.py build_images tries again): ")
    assert reason.endswith(build.log[-50:])


def test_on_bubblewrap_a_paper_needs_an_environment_from_the_operator(
    paper_task: TaskRevision, bubblewrap: BubblewrapSandbox, settings: Any, tmp_path: Path
) -> None:
    configure(settings, evaluator_sandbox="bubblewrap")
    out, code = command("--task", "alpha/1")
    assert code == 1
    assert "is a Docker image, which bubblewrap cannot use: set EVALUATOR_SANDBOX=docker, or give its tasks an" in out
    (tmp_path / "mine.txt").write_bytes((REQUIREMENTS / "box-numpy.txt").read_bytes())
    file = tmp_path / "environments.toml"
    file.write_text('[environments.mine]\nrequirements = "mine.txt"\n[tasks]\n"small/*" = "mine"\n')
    configure(settings, environments_file=file)
    assert environment_of(paper_task) == "mine"
    report = as_json("--suite", "small")
    assert [(each["name"], each["tasks"], each["what"]) for each in report["environments"]] == [
        ("numpy", ["small/alpha/2"], "built"),
        ("mine", ["small/alpha/1"], "built"),
    ]
    assert [each["what"] for each in as_json()["environments"]] == ["unchanged", "unchanged"]


def test_a_task_without_environment_is_reported(small_version: SuiteVersion, real_sandbox: Sandbox) -> None:
    TaskRevision.objects.filter(task__index=1).update(environment="")
    out, code = command()
    assert code == 0
    assert (
        "left out: small/alpha/1 names no environment and its paper has no Dockerfile: give it one under [tasks] in "
        "the file that ENVIRONMENTS_FILE names (docs/operating.md)\n1 environment, 0 failed.\n"
    ) in out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--suite", "smal"], r"There is no suite 'smal'\. Known: small\."),
        (
            ["--suite", "small", "--task", "nope/*"],
            r"No task of small matches 'nope/\*'; tasks are written as alpha/1 or ",
        ),
        (["--task", "nope/1", "--json"], r"^No task matches 'nope/1'; "),
    ],
)
def test_unknown_suites_and_tasks_are_errors(arguments: list[str], message: str, small_version: SuiteVersion) -> None:
    with pytest.raises(CommandError, match=message):
        command(*arguments)


def test_two_builds_at_a_time_are_refused(small_version: SuiteVersion, settings: Any) -> None:
    folder = Path(settings.DATA_DIR) / "run"
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "build_images.lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        with pytest.raises(CommandError, match="Another build_images is running on this data folder"):
            command()


def test_a_suite_without_runnable_task_reports_why_nothing_is_built(
    small_version: SuiteVersion, real_sandbox: Sandbox
) -> None:
    TaskRevision.objects.update(not_runnable_reasons=["no test"])
    out, code = command("--suite", "small", "--task", "alpha/1")
    assert code == 0
    assert ("Nothing to build: none of these tasks can be run.\n  no test: alpha/1\n0 environments, 0 failed.\n") in out


def test_tasks_whose_audit_lacked_an_environment_get_theirs(small_version: SuiteVersion, real_sandbox: Sandbox) -> None:
    TaskRevision.objects.filter(task__index=1).update(audit_state=AuditState.INCOMPLETE)
    TaskRevision.objects.filter(task__index=2).update(audit_state=AuditState.FAILED)
    (environment,) = as_json("--suite", "small")["environments"]
    assert (environment["name"], environment["tasks"]) == ("numpy", ["small/alpha/1", "small/alpha/2"])
