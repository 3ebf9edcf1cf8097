"""Making the environments that the catalogue asks for, and keeping how that went."""

from __future__ import annotations

import hashlib
import json
import shutil
import time
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import structlog
from django.conf import settings

from benchmark_tasks.domain.content import ContentMissingError, file_path, tree_path
from evaluator.enums import BuildState
from evaluator.models import EnvironmentBuild
from evaluator.queue.claims import job_label
from evaluator.sandbox import build_image, factory
from evaluator.sandbox.configuration import configured_sandbox, environment_list, sandbox_settings
from evaluator.sandbox.environment_list import PAPER_NAME, EnvironmentEntry
from evaluator.sandbox.environments import keep_exported
from evaluator.sandbox.packages import run_step
from evaluator.sandbox.paper_image import (
    LOG_CHARACTERS,
    BuildFailedError,
    PaperSource,
    build_paper_image,
    image_id,
    image_path,
    image_source,
    unpack_image,
)
from evaluator.sandbox.task_environments import environment_name, newest_build, revisions_with_files
from evaluator.sandbox.types import BoxSpec, Limits, Sandbox, SandboxError, SandboxUnavailableError
from evaluator.testing.scratch import scratch_folder

if TYPE_CHECKING:
    from benchmark_tasks.models import TaskRevision

log = structlog.get_logger(__name__)

NUMPY = "numpy"
_SHOWN_LINES = 6
_OLDEST_PYTHON = (3, 9)
_HELLO = """
import json, sys
try:
    import numpy
except Exception as error:
    numpy = None
    why = f"{type(error).__name__}: {error}"
print(json.dumps({"python": sys.version_info[:3], "numpy": numpy.__version__ if numpy else None,
                  "why": None if numpy else why}))
"""
_HELLO_LIMITS = Limits(wall_seconds=180.0, cpu_seconds=120, memory_bytes=2 * 1024**3)


@dataclass(frozen=True, slots=True)
class Wanted:
    """An environment that is asked for: by which tasks (``<suite>/<paper>/<index>``), and one of their revisions."""

    name: str
    tasks: tuple[str, ...]
    revision: TaskRevision | None


@dataclass(frozen=True, slots=True)
class Built:
    """How making one environment went. ``what`` is ``built``, ``unchanged`` or ``failed``.

    ``why`` explains a failure, ``log_end`` has the last lines of its log. ``source`` is the digest of what it was made
    from, ``digest`` that of the environment, which measured answers carry.
    """

    name: str
    tasks: tuple[str, ...]
    what: str
    why: str = ""
    log_end: str = ""
    source: str = ""
    digest: str = ""
    seconds: float = 0.0


def wanted(*, suite: str | None = None, pattern: str | None = None) -> tuple[list[Wanted], list[tuple[str, str]]]:
    """What the tasks with files ask for, by name, and the tasks that have no environment with the reason.

    Args:
        suite: a suite's slug, or all.
        pattern: such as ``dpo/*`` or ``lmr-bench/dpo/1``; ``*`` stands for anything.
    """
    found: dict[str, list[tuple[str, TaskRevision]]] = {}
    without = []
    for revision in revisions_with_files():
        slug, task = revision.task.suite.slug, f"{revision.task.suite.slug}/{revision.task.slug}"
        if suite not in {None, slug} or not matches(task, revision.task.slug, pattern):
            continue
        try:
            found.setdefault(environment_name(revision), []).append((task, revision))
        except SandboxError as error:
            without.append((task, str(error)))
    names = sorted(found, key=lambda name: (name != NUMPY, name))
    asked = [Wanted(name, tuple(sorted({task for task, _ in found[name]})), found[name][-1][1]) for name in names]
    return asked, without


def matches(task: str, slug: str, pattern: str | None) -> bool:
    """Whether ``pattern`` (None: any) means ``task`` (``<suite>/<paper>/<index>``), or its ``slug``, without suite."""
    return pattern is None or fnmatchcase(task, pattern) or fnmatchcase(slug, pattern)


def sandbox_in_use() -> factory.Name:
    """The sandbox to build for: the configured one; with ``auto`` that which works, else Docker where it answers.

    Raises ``SandboxUnavailableError`` when there is neither.
    """
    kind = settings.ENVIRONMENT.evaluator_sandbox
    if kind in factory.KINDS:
        return kind
    try:
        return "docker" if configured_sandbox().name == "docker" else "bubblewrap"
    except SandboxUnavailableError as error:
        try:
            _require_engine()
        except SandboxError:
            raise error from None
        return "docker"


def lacks_numpy() -> bool:
    """Whether the engine has no image of ``numpy``. Raises ``SandboxError`` when it does not answer."""
    environments = environment_list().with_numpy_image(settings.ENVIRONMENT.sandbox_image)
    return image_id(environments.image(NUMPY)) is None


def build(asked: Wanted, *, kind: factory.Name, base_image: str = "", again: bool = False) -> Built:
    """Make the environment, try one box in it, and keep the result. A failure is no exception but told and kept.

    Raises:
        SandboxUnavailableError: no box can be started here at all, which says nothing about this environment.
    """
    begun = time.monotonic()
    base_image = base_image or settings.ENVIRONMENT.base_image
    maker = _Maker(asked, kind, base_image, again=again)
    try:
        digest = maker.source_digest()
        if not again and maker.is_made(digest):
            environment = maker.sandbox.environment_digest(asked.name)
            return Built(asked.name, asked.tasks, "unchanged", source=digest, digest=environment)
        maker.make()
        maker.say_hello()
        environment = maker.sandbox.environment_digest(asked.name)
    except SandboxUnavailableError:
        raise
    except SandboxError as error:
        seconds = time.monotonic() - begun
        text = error.log if isinstance(error, BuildFailedError) else maker.log
        _keep(maker, BuildState.FAILED, f"{text}\n{error}".strip(), seconds)
        end = "\n".join(text.strip().splitlines()[-_SHOWN_LINES:])
        return Built(asked.name, asked.tasks, "failed", why=str(error), log_end=end, seconds=seconds)
    seconds = time.monotonic() - begun
    _keep(maker, BuildState.BUILT, maker.log, seconds, source=digest)
    return Built(asked.name, asked.tasks, "built", source=digest, digest=environment, seconds=seconds)


def _keep(maker: _Maker, state: BuildState, text: str, seconds: float, source: str = "") -> None:
    EnvironmentBuild.objects.create(
        name=maker.asked.name,
        sandbox=maker.kind,
        source_digest=source,
        state=state,
        image=maker.image,
        log=text[-LOG_CHARACTERS:],
        seconds=round(seconds, 2),
    )
    log.info("environment_build", environment=maker.asked.name, sandbox=maker.kind, state=state.value)


class _Maker:
    """Makes one environment for one sandbox."""

    def __init__(self, asked: Wanted, kind: factory.Name, base_image: str, *, again: bool) -> None:
        self.asked = asked
        self.kind = kind
        self.base_image = base_image
        self.again = again
        self.image = ""
        self.log = ""
        self.list = environment_list().with_numpy_image(settings.ENVIRONMENT.sandbox_image)
        self.sandbox: Sandbox = factory.make(kind, sandbox_settings())

    @property
    def is_paper(self) -> bool:
        return PAPER_NAME.fullmatch(self.asked.name) is not None

    @property
    def tag(self) -> str:
        return self.list.image(self.asked.name)

    def entry(self) -> EnvironmentEntry:
        return self.list.entry(self.asked.name)

    def source_digest(self) -> str:
        """What the environment is made from, as a SHA-256. Raises SandboxError when that cannot be read."""
        if self.is_paper:
            parts = (self.asked.name, self.base_image)
            return hashlib.sha256("\n".join(parts).encode()).hexdigest()
        entry = self.entry()
        if entry.rootfs:
            return hashlib.sha256(f"{entry.rootfs}".encode()).hexdigest()
        return build_image.source_digest(entry, self.base_image)

    def is_made(self, digest: str) -> bool:
        """Whether the newest build was of the same source, and what it made is still there."""
        newest = newest_build(self.asked.name, sandbox=self.kind)
        if newest is None or newest.state != BuildState.BUILT or newest.source_digest != digest:
            return False
        try:
            self.sandbox.environment_digest(self.asked.name)
        except SandboxError:
            return False
        return self.kind != "docker" or image_id(self.tag) == newest.image

    def _has_image(self, digest: str) -> bool:
        """Whether the engine has an image of this very source, made by another data folder or by hand."""
        if self.again or image_source(self.tag) != digest:
            return False
        self.image = image_id(self.tag) or ""
        return bool(self.image)

    def make(self) -> None:
        """Make it anew, or complete it. Raises SandboxError."""
        if self.is_paper:
            self._make_paper()
        elif self.kind == "docker":
            self._make_image()
        elif self.entry().image and not (self.entry().packages or self.entry().requirements or self.entry().rootfs):
            self._unpack(self.entry().image)
        else:
            self.sandbox.environment_digest(self.asked.name)

    def _make_image(self) -> None:
        entry = self.entry()
        if self.tag != f"lmr-board-box-{entry.name}":
            self.image = image_id(self.tag) or ""
            if not self.image:
                raise SandboxError(f"the image {self.tag} is not here: docker pull {self.tag}")
            return
        if entry.rootfs:
            raise SandboxError(
                f"environment {entry.name!r} has a root file system only, which is for bubblewrap: name an image too"
            )
        if not self._has_image(build_image.source_digest(entry, self.base_image)):
            self.image = build_image.build(entry, base_image=self.base_image, scratch=scratch_folder())

    def _make_paper(self) -> None:
        if self.kind == "bubblewrap":
            try:
                _require_engine()
            except SandboxError as error:
                raise SandboxError(
                    "the paper has only a Dockerfile, and building it needs Docker, which does not answer. Give its "
                    "tasks an environment in the file that ENVIRONMENTS_FILE names, or build where Docker runs: "
                    "bubblewrap can use what was built (docs/operating.md)"
                ) from error
        if not self._has_image(self.source_digest()):
            self.log = build_paper_image(
                _paper_source(self.asked.revision),
                tag=self.tag,
                base_image=self.base_image,
                network=settings.ENVIRONMENT.build_network,
                seconds=settings.ENVIRONMENT.build_seconds,
                scratch=scratch_folder(),
                label=self.source_digest(),
                again=self.again,
            )
            self.image = image_id(self.tag) or ""
        if self.kind == "bubblewrap":
            self._unpack(self.tag)

    def _unpack(self, image: str) -> None:
        self.image = image_id(image) or ""
        if not self.image:
            raise SandboxError(f"the image {image} is not here: docker pull {image}")
        state_dir = sandbox_settings().state_dir
        state_dir.mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory(prefix="unpacked-", dir=state_dir) as folder:
            exported = Path(folder) / "root"
            unpack_image(image, exported)
            keep_exported(self.asked.name, self.image, image_path(image), exported, state_dir)

    def say_hello(self) -> None:
        """Run one box in it. Raises BuildFailedError when it is no place for tests, with the build's log."""
        self.sandbox = factory.make(self.kind, sandbox_settings())
        spec = BoxSpec(job_label(), ("python", "-c", _HELLO), (), limits=_HELLO_LIMITS, environment=self.asked.name)
        result = self.sandbox.run(spec)
        try:
            answer = json.loads(result.stdout)
            version, numpy = tuple(answer["python"]), answer["numpy"]
        except (ValueError, KeyError, TypeError):
            end = result.stderr.decode(errors="replace")[-400:].strip()
            raise BuildFailedError(f"no Python answers in a box of it ({result.ending}): {end}", self.log) from None
        text = ".".join(map(str, version))
        if version < _OLDEST_PYTHON:
            raise BuildFailedError(f"its Python is {text}; 3.9 or newer is needed", self.log)
        if numpy is None:
            raise BuildFailedError(f"its Python {text} cannot import numpy: {answer['why']}", self.log)
        self.log += f"\na box of it has Python {text} and NumPy {numpy}"


def _paper_source(revision: TaskRevision | None) -> PaperSource:
    assert revision is not None  # noqa: S101 - a paper's environment comes from a task
    try:
        return PaperSource(
            dockerfile=file_path(revision.dockerfile_hash),
            repository=tree_path(revision.repository_hash),
            folder=revision.task.paper.repository_folder or "repository",
        )
    except ContentMissingError as error:
        raise SandboxError(f"{error} (import the suite again)") from error


def _require_engine() -> None:
    if shutil.which("docker") is None:
        raise SandboxError("Docker is not installed")
    run_step(["docker", "info", "--format", "{{.ServerVersion}}"], "asking the Docker engine")
