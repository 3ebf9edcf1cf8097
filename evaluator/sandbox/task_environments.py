"""Determine each task's environment, whether it is ready, and which state of it a submission is pinned to."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

from django.conf import settings
from django.db.models import Max, Q

from benchmark_tasks.domain.queries import current_version
from benchmark_tasks.models import Suite, TaskRevision
from evaluator.enums import BuildState
from evaluator.models import EnvironmentBuild, TestRun
from evaluator.sandbox.configuration import configured_sandbox, environment_list
from evaluator.sandbox.environment_list import PAPER_NAME, REQUIREMENTS
from evaluator.sandbox.interface import SandboxError, SandboxUnavailableError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from evaluator.models.runs import TestRunQuerySet
    from evaluator.sandbox.missing_modules import Missing

_SHOWN_CHARACTERS = 400
_DIGEST_CHARACTERS = 12


def environment_name(revision: TaskRevision) -> str:
    """Return the name of the environment for ``revision``, built or not.

    The task's own setting comes first, then the operator's ``[tasks]``, then the paper's Dockerfile.

    Raises:
        SandboxError: none of them names one; the message gives a remedy.
    """
    if revision.environment:
        return revision.environment
    task = f"{revision.task.suite.slug}/{revision.task.slug}"
    chosen = environment_list().environment_for(task)
    if chosen is not None:
        return chosen
    if revision.dockerfile_hash:
        return paper_environment(revision)
    raise SandboxError(
        f"{task} names no environment and its paper has no Dockerfile: give it one under [tasks] in the file that "
        "ENVIRONMENTS_FILE names (docs/operating.md)",
        public="the task names no environment that this site has",
    )


def environment_of(revision: TaskRevision) -> str:
    """Return the environment to measure ``revision`` in.

    Raises:
        SandboxUnavailableError: it is not built, or the build failed; the run waits and uses up no try.
        SandboxError: there is none.
    """
    name = environment_name(revision)
    why = why_not_ready(name, newest_build(name))
    if why:
        raise SandboxUnavailableError(why, public="the task's environment is not built")
    return name


def paper_environment(revision: TaskRevision) -> str:
    """Return the name of the environment made from the paper's Dockerfile and masked repository."""
    source = f"{revision.dockerfile_hash}{revision.repository_hash}"
    return f"paper-{hashlib.sha256(source.encode()).hexdigest()[:12]}"


def what_to_add(revision: TaskRevision, missing: Missing) -> str:
    """Return public instructions to add what the environment of ``revision`` lacks: no path of this machine."""
    name = environment_name(revision)
    needs = f"`{missing.package}`" if missing.package else f"the system package with `{missing.name}`"
    task = f"{revision.task.suite.slug}/{revision.task.slug}"
    requirements = environment_list().entry(name).requirements
    if PAPER_NAME.fullmatch(name):
        pip = f"`RUN python -m pip install {missing.package}`" if missing.package else f"a line that installs {needs}"
        how = f"Add {pip} to the paper's Dockerfile and import the suite again"
    elif requirements is None:
        how = f"Add {needs} to the image of environment `{name}`"
    elif missing.package and not requirements.is_relative_to(REQUIREMENTS):
        how = f"Add the line {needs}, with its hashes, to the requirements of environment `{name}`"
    else:
        how = (
            f"Name an environment that has {needs} for the task in the file that ENVIRONMENTS_FILE names: under "
            f'[tasks] `"{task}" = "NAME"`, and what NAME is made from under [environments.NAME]'
        )
    suite, slug = revision.task.suite.slug, revision.task.slug
    return (
        f"{how}. Then run `manage.py build_images --suite {suite} --task {slug}` and "
        f"`manage.py audit_tasks --suite {suite} --failed`."
    )


def revisions_with_files() -> list[TaskRevision]:
    """Return revisions that need an environment, with task and suite; also those whose audit failed without one."""
    found = TaskRevision.objects.exclude(repository_hash="").exclude(grading_hash="")
    return [each for each in found.select_related("task__suite", "task__paper") if not each.not_runnable_reasons]


def revisions_to_measure() -> list[TaskRevision]:
    """Return those in their suite's newest version, or with answers that were or will be measured."""
    newest = [version for version in map(current_version, Suite.objects.all()) if version]
    needed = TaskRevision.objects.filter(Q(suite_versions__in=newest) | Q(implementations__test_runs__isnull=False))
    pks = set(needed.values_list("pk", flat=True))
    return [each for each in revisions_with_files() if each.pk in pks]


def wanted_environments() -> list[str]:
    """Return the usable environments that the catalogue's tasks need, sorted."""
    names = set()
    for revision in revisions_with_files():
        try:
            names.add(environment_name(revision))
        except SandboxError:
            continue  # a task without an environment is not measured: its page gives the reason
    builds = newest_builds(names)
    return sorted(name for name in names if not why_not_ready(name, builds.get(name)))


def newest_build(name: str, *, sandbox: str | None = None) -> EnvironmentBuild | None:
    """Return the newest build of the environment ``name`` for ``sandbox``, by default for any sandbox usable here."""
    return newest_builds([name], sandbox=sandbox).get(name)


def newest_builds(names: Iterable[str], *, sandbox: str | None = None) -> dict[str, EnvironmentBuild]:
    """Return the newest builds of several environments by name, in one query; those never built are left out."""
    builds = EnvironmentBuild.objects.filter(name__in=list(names))
    kind = sandbox or settings.ENVIRONMENT.evaluator_sandbox
    if kind != "auto":
        builds = builds.filter(sandbox=kind)
    newest = builds.order_by().values("name").annotate(newest=Max("pk")).values("newest")
    return {build.name: build for build in EnvironmentBuild.objects.filter(pk__in=newest)}


def why_not_ready(name: str, build: EnvironmentBuild | None) -> str:
    """Return why the environment ``name`` cannot be used, by its newest ``build``; empty if nothing is known."""
    if build is not None and build.state == BuildState.FAILED:
        end = build.log.strip()[-_SHOWN_CHARACTERS:]
        return f"environment {name} could not be built (manage.py build_images tries again): {end}"
    if build is None and PAPER_NAME.fullmatch(name):
        return f"environment {name} is not built: run manage.py build_images, or name another one (docs/operating.md)"
    return ""


def require_same(run: TestRun, *, environment: str, digest: str) -> None:
    """Raise ``SandboxError`` if runs that count together with ``run`` used another state of ``environment``."""
    pinned = _peers(run, environment).exclude(environment_digest=digest).values_list("environment_digest", flat=True)
    other = pinned.order_by("pk").first()
    if other is None:
        return
    pinned_to, offered = short_digest(other), short_digest(digest)
    what, since, remedy = (
        ("submission", "its first run", "Bring the old environment back, or cancel the submission and submit again.")
        if run.reevaluation_id is None
        else ("re-evaluation", "it was planned", "Cancel it and plan it again.")
    )
    msg = (
        f"This {what} is pinned to the environment {pinned_to}, and this worker offers {offered}: the interpreter, a "
        f"package or the image changed since {since}. {remedy}"
    )
    raise SandboxError(msg, public="the environment changed between two runs of this submission")


def short_digest(digest: str) -> str:
    """Return the first characters of an environment's digest, enough to distinguish environments."""
    return digest.removeprefix("sha256:")[:_DIGEST_CHARACTERS]


def _peers(run: TestRun, environment: str) -> TestRunQuerySet:
    """Return the decided runs that share a score with ``run``. Runs decided without a box have no digest."""
    decided = TestRun.objects.filter(
        implementation__submission=run.implementation.submission_id, environment=environment
    ).exclude(environment_digest="")
    if run.reevaluation_id is None:
        return decided.filter(reevaluation__isnull=True)
    repeated = TestRun.objects.filter(reevaluation=run.reevaluation_id).values("implementation")
    kept = TestRun.objects.current().exclude(implementation__in=repeated).values("pk")
    return decided.filter(Q(reevaluation=run.reevaluation_id) | Q(pk__in=kept))


@dataclass(frozen=True, slots=True)
class Offer:
    """An environment's name, and the digest of what it is made of."""

    name: str
    digest: str


class _Offers:
    """Looks up the environment offered for a revision, once per environment; ``problems`` lists the failures."""

    def __init__(self) -> None:
        self._known: dict[str, Offer | None] = {}
        self.problems: list[str] = []

    def __call__(self, revision: TaskRevision) -> Offer | None:
        name = ""
        try:
            name = environment_name(revision)
            if name not in self._known:
                digest = self._digest(name)
                self._known[name] = Offer(name, digest) if digest else None
        except SandboxError as error:
            problem = f"environment {name}: {error}" if name else str(error)
            self.problems += [problem] if problem not in self.problems else []
            self._known[name] = None
        return self._known[name]

    def _digest(self, name: str) -> str | None:
        raise NotImplementedError


class OfferedHere(_Offers):
    """Environments that this machine's sandbox offers."""

    def _digest(self, name: str) -> str:
        return configured_sandbox().environment_digest(name)


class LastSeen(_Offers):
    """Environments that workers last used. Web processes may have no sandbox, so they read the table."""

    def _digest(self, name: str) -> str | None:
        newest = TestRun.objects.filter(environment=name).exclude(environment_digest="").order_by("-finished")
        return newest.values_list("environment_digest", flat=True).first()
