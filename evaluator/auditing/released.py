"""Audits that were made for a release: an instance takes them over where everything that decides them is equal.

``released/<suite>.json`` holds the digest of the code that made them (:mod:`evaluator.auditing.deciding`) and, for each
task, its audit with the digests of its conditions. No code of a reference is in it: seeded bugs are named by line and
digest.
"""

from __future__ import annotations

import hashlib
import json
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from django.conf import settings

from benchmark_tasks.domain.content import ContentMissingError, tree_files, tree_hash
from benchmark_tasks.domain.kit import is_code
from benchmark_tasks.domain.known_answers import digest_of, known_answers
from benchmark_tasks.domain.queries import UNREADABLE, golden_definition
from benchmark_tasks.enums import AuditState
from benchmark_tasks.models import TaskRevision
from evaluator.auditing.deciding import code_digest
from evaluator.auditing.mutants import fingerprint, mutants_of
from evaluator.sandbox.box import BOX_SETTINGS_VERSION
from evaluator.sandbox.configuration import EVALUATOR_VERSION, configured_sandbox, environment_list
from evaluator.sandbox.environments import Interpreter, source_digest
from evaluator.sandbox.interface import SandboxError
from evaluator.sandbox.task_environments import environment_name

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

RELEASED: Final = Path(__file__).with_name("released")
_MUTANTS: Final = ("survivors", "equivalents")


class NotReleasableError(Exception):
    """Raised if a suite's audits cannot be shipped; the message says which and why."""


def conditions(revision: TaskRevision) -> dict[str, str]:
    """Return digests of everything that decides the audit of a sealed task, by kind.

    ``task``: the goal and the code of repository and reference; data, media and files over 1 MB are left out, because
    copies with and without Git LFS differ in them. ``test``: test cases, runner, check, declared bugs and known
    answers. ``environment``: its requirements and the minor version of Python. ``evaluator``: its version. ``sandbox``:
    kind and settings, and how many seeded bugs are tried.

    Raises:
        SandboxError: the environment is unknown here, or no sandbox works.
        ContentMissingError: the task's files are gone.
    """
    files = tree_files(revision.grading_hash)
    code = {
        name: path
        for name, path in files.items()
        if name.startswith("reference/") and is_code(name, path.stat().st_size)
    }
    test = {name: path for name, path in files.items() if not name.startswith("reference/")}
    goal = [revision.goal_file, revision.goal, revision.masked_source, revision.overlay.get("upstream_reasons", [])]
    declared = [revision.equivalent_mutants, digest_of(known_answers(revision))]
    python = Interpreter.of(settings.ENVIRONMENT.sandbox_python).version
    entry = environment_list().entry(environment_name(revision))
    return {
        "task": _digest([goal, tree_hash(code)]),
        "test": _digest([declared, tree_hash(test)]),
        "environment": _digest([source_digest(entry) if entry.requirements else "", python.split(".")[:2]]),
        "evaluator": EVALUATOR_VERSION,
        "sandbox": _digest([configured_sandbox().name, BOX_SETTINGS_VERSION, settings.ENVIRONMENT.audit_mutants]),
    }


def _digest(value: object) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()


@cache
def released(suite: str) -> dict[str, Any]:
    """Return what was released for a suite: ``code``, and ``audits`` by task; empty if nothing was."""
    file = RELEASED / f"{suite}.json"
    found: dict[str, Any] = json.loads(file.read_text(encoding="utf-8")) if file.is_file() else {}
    return found


def expected_seconds(revision: TaskRevision) -> float | None:
    """Return how long the audit took on the release's machine; None if it was not released."""
    audits = released(revision.task.suite.slug).get("audits", {})
    return audits[revision.task.slug]["audit"]["seconds"] if revision.task.slug in audits else None


def taken_over(revision: TaskRevision) -> dict[str, Any] | None:
    """Return the released audit of ``revision`` as it is stored here; None if a condition differs or is unknown."""
    found = released(revision.task.suite.slug).get("audits", {}).get(revision.task.slug)
    if found is None or _differing(revision, found["conditions"]):
        return None
    return {
        **_with_code(found["audit"], revision),
        "environment_digest": configured_sandbox().environment_digest(environment_name(revision)),
        "taken_over": True,
    }


def why_not_taken_over(revision: TaskRevision) -> str:
    """Return what differs from the released audit, as in ``environment and sandbox``; empty if nothing does."""
    found = released(revision.task.suite.slug).get("audits", {}).get(revision.task.slug)
    return "" if found is None else " and ".join(_differing(revision, found["conditions"]))


def _differing(revision: TaskRevision, known: dict[str, str]) -> list[str]:
    try:
        here = conditions(revision)
    except (SandboxError, ContentMissingError, OSError):
        return ["environment"]
    return [kind for kind, digest in here.items() if known.get(kind) != digest]


def release(suite: str, revisions: Iterable[TaskRevision]) -> tuple[Path, int]:
    """Write the audits of ``revisions`` that passed to the suite's file; return its path and their number.

    Raises :class:`NotReleasableError` for an audit that was itself taken over or made by other code, and for wrong
    declarations of seeded bugs, whose remarks quote the reference.
    """
    audits = {}
    for revision in revisions:
        audit = revision.audit
        if revision.audit_state != AuditState.PASSED:
            continue
        if audit.get("taken_over") or audit.get("code") != code_digest():
            how = "was taken over" if audit.get("taken_over") else "was made by other code of the evaluator"
            raise NotReleasableError(f"The audit of {revision.task.slug} {how}: repeat it (audit_tasks --again).")
        if audit["answers_digest"] != digest_of(known_answers(revision)):
            raise NotReleasableError(f"The known answers to {revision.task.slug} have changed: repeat the audit.")
        if audit["mutants"]["refuted"] or audit["mutants"]["unknown"]:
            raise NotReleasableError(f"Correct the declared bugs of {revision.task.slug} first.")
        audits[revision.task.slug] = {"conditions": conditions(revision), "audit": _without_code(audit)}
    file = RELEASED / f"{suite}.json"
    text = json.dumps({"code": code_digest(), "audits": audits}, indent=1, sort_keys=True)
    file.write_text(f"{text}\n", encoding="utf-8")
    released.cache_clear()
    return file, len(audits)


def _without_code(audit: dict[str, Any]) -> dict[str, Any]:
    """Return the audit with seeded bugs named by line and digest, and without their differences."""

    def named(mutant: dict[str, Any]) -> dict[str, Any]:
        return {**{key: mutant[key] for key in mutant if key != "diff"}, "id": fingerprint(mutant["id"])}

    kept = {key: value for key, value in audit.items() if key != "environment_digest"}
    return kept | {"mutants": _mutants(audit, named)}


def _with_code(audit: dict[str, Any], revision: TaskRevision) -> dict[str, Any]:
    """Return a released audit with the seeded bugs as the operator's own copy gives them."""
    try:
        made = {fingerprint(each.id): each for each in mutants_of(golden_definition(revision))}
    except UNREADABLE:
        made = {}

    def shown(mutant: dict[str, Any]) -> dict[str, Any]:
        known = made.get(mutant["id"])
        return {**mutant, **({"id": known.id, "diff": known.diff} if known else {"diff": ""})}

    return {**audit, "mutants": _mutants(audit, shown)}


def _mutants(audit: dict[str, Any], change: Callable[[dict[str, Any]], dict[str, Any]]) -> dict[str, Any]:
    mutants = audit["mutants"]
    return {**mutants, **{kind: [change(each) for each in mutants[kind]] for kind in _MUTANTS}}
