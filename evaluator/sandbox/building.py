"""Make the environments that the catalogue needs, and store the results."""

from __future__ import annotations

import hashlib
import json
import time
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

import structlog
from django.conf import settings

from benchmark_tasks.domain.bucket import StorageUnavailableError
from benchmark_tasks.domain.content import ContentMissingError, file_path, tree_path
from evaluator.enums import BuildState
from evaluator.models import EnvironmentBuild
from evaluator.queue.processes import job_label
from evaluator.sandbox.configuration import (
    KINDS,
    Kind,
    configured_sandbox,
    environment_list,
    make_sandbox,
    scratch_folder,
)
from evaluator.sandbox.environment_list import IMAGE_PREFIX
from evaluator.sandbox.environments import run_step
from evaluator.sandbox.images import (
    LOG_CHARACTERS,
    BuildFailedError,
    PaperSource,
    build_image,
    build_paper_image,
    find_image,
    image_source_digest,
)
from evaluator.sandbox.interface import BoxSpec, Limits, SandboxError, SandboxUnavailableError
from evaluator.sandbox.task_environments import environment_name, newest_build, revisions_to_measure

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
    """A needed environment: the tasks that need it (``<suite>/<paper>/<index>``), and one of their revisions."""

    name: str
    tasks: tuple[str, ...]
    revision: TaskRevision | None


@dataclass(frozen=True, slots=True)
class Built:
    """Result of making one environment. ``what`` is ``built``, ``unchanged`` or ``failed``.

    ``why`` explains a failure, ``log_end`` has the last lines of its log. ``source`` is the digest of what it was made
    from, ``digest`` that of the environment, which is stored with measured answers.
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
    """Return the environments that tasks with files need, by name, and tasks without an environment with the reason.

    Of a suite's older versions, only environments in which answers were or will be measured are included.

    Args:
        suite: a suite's slug, or all.
        pattern: such as ``dpo/*`` or ``lmr-bench/dpo/1``; ``*`` matches any text.
    """
    found: dict[str, list[tuple[str, TaskRevision]]] = {}
    without = []
    for revision in revisions_to_measure():
        slug, task = revision.task.suite.slug, f"{revision.task.suite.slug}/{revision.task.slug}"
        if suite not in {None, slug} or not matches(task, revision.task.slug, pattern):
            continue
        try:
            found.setdefault(environment_name(revision), []).append((task, revision))
        except SandboxError as error:
            without.append((task, str(error)))
    names = sorted(found, key=lambda name: (name != NUMPY, name))
    needed = [Wanted(name, tuple(sorted({task for task, _ in found[name]})), found[name][-1][1]) for name in names]
    return needed, without


def matches(task: str, slug: str, pattern: str | None) -> bool:
    """Return whether ``pattern`` (None: any) matches ``task`` (``<suite>/<paper>/<index>``) or its ``slug``."""
    return pattern is None or fnmatchcase(task, pattern) or fnmatchcase(slug, pattern)


def sandbox_in_use() -> Kind:
    """Return the sandbox to build for: the configured one; with ``auto`` the one that works, else Docker if available.

    Raises ``SandboxUnavailableError`` when there is neither.
    """
    kind = settings.ENVIRONMENT.evaluator_sandbox
    if kind in KINDS:
        return kind
    try:
        return "docker" if configured_sandbox().name == "docker" else "bubblewrap"
    except SandboxUnavailableError as error:
        try:
            run_step(["docker", "info", "--format", "{{.ServerVersion}}"], "asking the Docker engine")
        except SandboxError:
            raise error from None
        return "docker"


def lacks_numpy() -> bool:
    """Return whether the engine lacks the image of ``numpy``. Raises ``SandboxError`` when it does not answer."""
    return not find_image(environment_list().image(NUMPY))[0]


def build(needed: Wanted, *, kind: Kind, base_image: str = "", again: bool = False, keep_failure: bool = True) -> Built:
    """Make the environment, try one box in it, and store the result. A failure is returned and stored, not raised.

    A stored failure closes the environment on all hosts, so a host that only follows another does not keep its own.

    Raises:
        SandboxUnavailableError: no box can be started here at all, which is not an error of this environment.
    """
    begun = time.monotonic()
    base_image = base_image or settings.ENVIRONMENT.base_image
    build = EnvironmentBuild(name=needed.name, sandbox=kind, state=BuildState.BUILT)
    why = ""
    try:
        build.source_digest = _source_digest(needed.name, kind, base_image)
        if kind == "docker":
            _make_image(needed, build, base_image, again=again)
        newest = newest_build(needed.name, sandbox=kind)
        made_of = (BuildState.BUILT, build.source_digest, build.image)
        if not again and newest and (newest.state, newest.source_digest, newest.image) == made_of:
            digest = make_sandbox(kind).environment_digest(needed.name)
            return Built(needed.name, needed.tasks, "unchanged", source=build.source_digest, digest=digest)
        digest = _try_box(build, kind)
    except SandboxUnavailableError:
        raise
    except SandboxError as error:
        why = str(error)
        build.state, build.source_digest = BuildState.FAILED, ""
        build.log = error.log if isinstance(error, BuildFailedError) else build.log
    log_end = "\n".join(build.log.strip().splitlines()[-_SHOWN_LINES:])
    build.log = f"{build.log}\n{why}".strip()[-LOG_CHARACTERS:]
    build.seconds = round(time.monotonic() - begun, 2)
    if keep_failure or not why:
        build.save()
    log.info("environment_build", environment=needed.name, sandbox=kind, state=build.state)
    if why:
        return Built(needed.name, needed.tasks, "failed", why=why, log_end=log_end, seconds=build.seconds)
    return Built(needed.name, needed.tasks, "built", source=build.source_digest, digest=digest, seconds=build.seconds)


def _source_digest(name: str, kind: Kind, base_image: str) -> str:
    """Return the SHA-256 of what the environment is made from. Raises SandboxError when that cannot be read."""
    entry = environment_list().entry(name)
    if entry.requirements and not (kind == "docker" and entry.image):
        return image_source_digest(entry, base_image)
    return hashlib.sha256("\n".join((entry.image or name, base_image)).encode()).hexdigest()


def _make_image(needed: Wanted, build: EnvironmentBuild, base_image: str, *, again: bool) -> None:
    """Provide the environment's image: the operator's own, an existing one of this exact source, or a new one. Raises
    SandboxError."""
    tag = environment_list().image(needed.name)
    build.image, source = find_image(tag)
    if tag != f"{IMAGE_PREFIX}{needed.name}":
        if not build.image:
            raise SandboxError(f"the image {tag} is not here: docker pull {tag}")
    elif again or not build.image or source != build.source_digest:
        entry = environment_list().entry(needed.name)
        if entry.requirements:
            build.image = build_image(entry, base_image=base_image, scratch=scratch_folder())
            return
        build.log = build_paper_image(
            _paper_source(needed.revision),
            tag=tag,
            base_image=base_image,
            network=settings.ENVIRONMENT.build_network,
            seconds=settings.ENVIRONMENT.build_seconds,
            scratch=scratch_folder(),
            label=build.source_digest,
            again=again,
        )
        build.image, _ = find_image(tag)


def _try_box(build: EnvironmentBuild, kind: Kind) -> str:
    """Run one box in the environment; return its digest. Raises BuildFailedError if tests cannot run in it."""
    sandbox = make_sandbox(kind)
    spec = BoxSpec(job_label(), ("python", "-c", _HELLO), (), limits=_HELLO_LIMITS, environment=build.name)
    result = sandbox.run(spec)
    try:
        answer = json.loads(result.stdout)
        version, numpy = tuple(answer["python"]), answer["numpy"]
    except (ValueError, KeyError, TypeError):
        end = result.stderr.decode(errors="replace")[-400:].strip()
        raise BuildFailedError(f"Python does not run in its box ({result.ending}): {end}", build.log) from None
    text = ".".join(map(str, version))
    if version < _OLDEST_PYTHON:
        raise BuildFailedError(f"its Python is {text}; 3.9 or newer is needed", build.log)
    if numpy is None:
        raise BuildFailedError(f"its Python {text} cannot import numpy: {answer['why']}", build.log)
    build.log += f"\nits box has Python {text} and NumPy {numpy}"
    return sandbox.environment_digest(build.name)


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
    except StorageUnavailableError as error:
        raise SandboxError(str(error), public=error.public) from error
