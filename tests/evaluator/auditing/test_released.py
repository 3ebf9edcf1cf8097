"""Audits made for a release: what decides whether they hold here, and what is stored if they do."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from django.core.management import CommandError, call_command

from benchmark_tasks.domain.importing import import_suite
from benchmark_tasks.domain.queries import golden_definition
from benchmark_tasks.enums import AuditState
from benchmark_tasks.models import TaskRevision
from evaluator.auditing import deciding, released
from evaluator.auditing.auditing import audit_revision, audit_waiting_revision, take_over, waiting
from evaluator.auditing.mutants import fingerprint, mutants_of
from evaluator.auditing.released import NotReleasableError, conditions, expected_seconds, release
from evaluator.sandbox.configuration import EVALUATOR_VERSION
from tests.benchmark_tasks.factories import write_suite

if TYPE_CHECKING:
    from collections.abc import Iterator

    from benchmark_tasks.models import SuiteVersion
    from evaluator.sandbox.interface import Sandbox

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.bubblewrap]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Where this release's audits are, in place of the shipped ones."""
    place = tmp_path / "released"
    place.mkdir()
    with monkeypatch.context() as patch:
        patch.setattr(released, "RELEASED", place)
        released.released.cache_clear()
        yield place
    released.released.cache_clear()


def first(version: SuiteVersion) -> TaskRevision:
    return version.revisions.select_related("task__suite", "task__paper").get(task__index=1)


@pytest.fixture
def audited(small_version: SuiteVersion, folder: Path, real_sandbox: Sandbox) -> TaskRevision:
    """A revision whose audit is in the release; the other one of the suite is not."""
    revision = first(small_version)
    result = audit_revision(revision, small_version.seed_epoch)
    assert result.reasons == ()
    TaskRevision.objects.exclude(pk=revision.pk).update(audit_state=AuditState.UNAUDITED)
    assert release("small", [revision]) == (folder / "small.json", 1)
    return revision


def forget(revision: TaskRevision) -> TaskRevision:
    """The revision as after an import elsewhere: not audited."""
    TaskRevision.objects.update(audit_state=AuditState.UNAUDITED, audit={})
    return first(revision.suite_versions.get())


def test_an_equal_task_takes_the_audit_over(audited: TaskRevision, real_sandbox: Sandbox) -> None:
    made = audited.audit
    revision = forget(audited)
    assert take_over(revision)
    revision.refresh_from_db()
    assert revision.audit_state == AuditState.PASSED
    assert revision.audit == {**made, "taken_over": True}
    assert expected_seconds(revision) == made["seconds"]
    # Workers take it over, too, and measure the others.
    assert [each.task.slug for each, _ in waiting()] == ["alpha/2"]
    assert [each.task.slug for each, _ in waiting(full=True)] == ["alpha/1", "alpha/2"]
    forget(audited)
    assert audit_waiting_revision(audited.pk) is None
    assert first(audited.suite_versions.get()).audit["taken_over"] is True


def test_the_file_quotes_no_code_of_the_reference(audited: TaskRevision, folder: Path) -> None:
    text = (folder / "small.json").read_text()
    found = json.loads(text)
    assert found["code"] == deciding.code_digest()
    assert list(found["audits"]) == ["alpha/1"]
    assert "fsum" not in text
    assert "`" not in text
    assert "environment_digest" not in text
    mutants = audited.audit["mutants"]
    assert mutants["total"] > 0


def test_seeded_bugs_get_their_code_back_from_the_operators_copy(audited: TaskRevision, folder: Path) -> None:
    mutant = mutants_of(golden_definition(audited))[0]
    file = folder / "small.json"
    found = json.loads(file.read_text())
    found["audits"]["alpha/1"]["audit"]["mutants"]["equivalents"] = [
        {"id": fingerprint(mutant.id), "reason": "The same."},
        {"id": "line 99: 0123456789ab", "reason": "Not of this file."},
    ]
    file.write_text(json.dumps(found))
    released.released.cache_clear()
    revision = forget(audited)
    assert take_over(revision)
    revision.refresh_from_db()
    assert revision.audit["mutants"]["equivalents"] == [
        {"id": mutant.id, "reason": "The same.", "diff": mutant.diff},
        {"id": "line 99: 0123456789ab", "reason": "Not of this file.", "diff": ""},
    ]


def test_the_command_writes_the_newest_version_of_a_suite(
    audited: TaskRevision, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = folder / "small.json"
    written = file.read_text()
    file.unlink()
    call_command("release_audits", "small")
    assert capsys.readouterr().out == "1 of 2 audits are in small.json; commit it.\n"
    assert file.read_text() == written
    with pytest.raises(CommandError, match=r"There is no suite 'large'\. Known: small\."):
        call_command("release_audits", "large")


@pytest.mark.parametrize(
    ("kind", "change"),
    [
        ("task", {"masked_source": "def double(x):\n    pass\n"}),
        ("task", {"overlay": {"upstream_reasons": ["It needs a GPU."]}}),
        ("test", {"equivalent_mutants": [{"mutant": "line 1: a", "reason": "b"}]}),
    ],
)
def test_a_difference_in_the_task_or_its_test_is_measured(
    kind: str, change: dict[str, Any], audited: TaskRevision
) -> None:
    revision = forget(audited)
    for name, value in change.items():
        setattr(revision, name, value)
    assert not take_over(revision)
    assert released.why_not_taken_over(revision) == kind
    assert first(audited.suite_versions.get()).audit == {}


def test_a_difference_in_this_instance_is_measured(
    audited: TaskRevision, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    revision = forget(audited)
    known = conditions(revision)
    assert set(known) == {"task", "test", "environment", "evaluator", "sandbox"}
    assert known["evaluator"] == EVALUATOR_VERSION
    with monkeypatch.context() as patch:
        patch.setattr(released, "EVALUATOR_VERSION", "0")
        patch.setattr(released, "source_digest", lambda _: "other requirements")
        assert released.why_not_taken_over(revision) == "environment and evaluator"
    settings.ENVIRONMENT = replace(settings.ENVIRONMENT, audit_mutants=81)
    assert released.why_not_taken_over(revision) == "sandbox"
    settings.ENVIRONMENT = replace(settings.ENVIRONMENT, sandbox_python=Path("/nowhere/python3"))
    assert released.why_not_taken_over(revision) == "environment"
    assert not take_over(revision)


def test_data_and_media_of_a_repository_decide_nothing_but_its_code_does(audited: TaskRevision, tmp_path: Path) -> None:
    def imported(**files: bytes | str) -> dict[str, str]:
        names = {f"scoring-repo/{name.replace('__', '.')}": content for name, content in files.items()}
        version = import_suite(folder=write_suite(tmp_path / "other", files=names), slug="small").version
        assert version is not None
        return conditions(first(version))

    known = conditions(audited)
    assert imported(weights__pt=b"1", figure__png=b"2", table__csv="1" * 1_100_000) == known
    changed = imported(more__py="x = 1\n")
    assert changed == {**known, "task": changed["task"]}
    assert changed["task"] != known["task"]


def test_only_audits_that_were_made_here_by_this_code_can_be_released(audited: TaskRevision, folder: Path) -> None:
    revision = forget(audited)
    file, number = release("empty", [revision])
    assert (json.loads(file.read_text()), number) == ({"audits": {}, "code": deciding.code_digest()}, 0)
    take_over(revision)
    with pytest.raises(NotReleasableError, match=r"The audit of alpha/1 was taken over: repeat it"):
        release("small", [revision])
    with pytest.raises(CommandError, match=r"^Nothing was written\. The audit of alpha/1 was taken over"):
        call_command("release_audits", "small")
    revision.audit = {**audited.audit, "code": "0" * 64}
    with pytest.raises(NotReleasableError, match="was made by other code of the evaluator"):
        release("small", [revision])
    revision.audit = {**audited.audit, "answers_digest": "0" * 64}
    with pytest.raises(NotReleasableError, match=r"The known answers to alpha/1 have changed: repeat the audit\."):
        release("small", [revision])
    for kind in ("refuted", "unknown"):
        revision.audit = {**audited.audit, "mutants": {**audited.audit["mutants"], kind: ["line 1: `a` -> `b`"]}}
        with pytest.raises(NotReleasableError, match=r"Correct the declared bugs of alpha/1 first\."):
            release("small", [revision])
