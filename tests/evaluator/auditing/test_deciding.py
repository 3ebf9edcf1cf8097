"""The files that decide verdicts: a release's audits hold for them alone."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from evaluator.auditing import deciding
from evaluator.auditing.deciding import ROOT, code_digest, deciding_files
from evaluator.auditing.released import RELEASED
from evaluator.sandbox.configuration import EVALUATOR_VERSION

if TYPE_CHECKING:
    from pathlib import Path

SHIPPED = sorted(RELEASED.glob("*.json"))


@pytest.mark.parametrize("file", SHIPPED, ids=lambda file: file.stem)
def test_a_changed_file_needs_a_new_evaluator_version_or_new_audits(file: Path) -> None:
    found = json.loads(file.read_text())
    released = {audit["conditions"]["evaluator"] for audit in found["audits"].values()}
    assert EVALUATOR_VERSION not in released or found["code"] == code_digest(), (
        "A file that decides verdicts is not the one that made the released audits (evaluator/auditing/deciding.py "
        "lists these files). If verdicts can change, raise EVALUATOR_VERSION in evaluator/sandbox/configuration.py. "
        "Then make the audits again: make lmr-bench AUDIT=full, and manage.py release_audits."
    )


def test_the_audits_of_all_runnable_tasks_are_released() -> None:
    audits = {file.stem: json.loads(file.read_text())["audits"] for file in SHIPPED}
    assert {suite: len(found) for suite, found in audits.items()} == {"lmr-bench": 31, "lmr-mini": 9}


def test_released_audits_judged_the_known_answers_that_ship_rightly() -> None:
    for task, released in json.loads((RELEASED / "lmr-bench.json").read_text())["audits"].items():
        answers = released["audit"]["answers"]
        assert {each["right"] for each in answers} == {True, False}, task
        assert all(each["right"] == (each["outcome"] == "passed") for each in answers), task


@pytest.fixture
def one_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The only file that decides."""
    monkeypatch.setattr(deciding, "ROOT", tmp_path)
    file = tmp_path / "evaluator/testing/comparison.py"
    file.parent.mkdir(parents=True)
    file.write_text(TEXT)
    return file


TEXT = '''"""What it is."""

LIMIT = 3
"""How many."""


def close(one, other):
    """Compare."""
    return abs(one - other) < LIMIT
'''


def digest_of(file: Path, text: str) -> str:
    file.write_text(text)
    return code_digest.__wrapped__()


def test_comments_docstrings_and_layout_decide_nothing(one_file: Path) -> None:
    before = code_digest.__wrapped__()
    text = TEXT.replace("Compare.", "Compares.").replace("How many.", "More.").replace("What it is.", "Other words.")
    assert (
        digest_of(one_file, f"# A comment.\n{text}".replace("abs(one - other)", "abs(\n        one - other\n    )"))
        == before
    )
    assert digest_of(one_file, TEXT.replace('    """Compare."""\n', "")) == before


@pytest.mark.parametrize(("old", "new"), [("LIMIT = 3", "LIMIT = 4"), ("<", "<="), ("one - other", "one + other")])
def test_any_other_change_decides(old: str, new: str, one_file: Path) -> None:
    before = code_digest.__wrapped__()
    assert digest_of(one_file, TEXT.replace(old, new)) != before


def test_a_file_that_is_added_or_renamed_decides(one_file: Path) -> None:
    before = code_digest.__wrapped__()
    more = one_file.with_name("more.py")
    more.write_text("")
    added = code_digest.__wrapped__()
    one_file.rename(one_file.with_name("renamed.py"))
    assert len({before, added, code_digest.__wrapped__()}) == 3
    more.rename(one_file.with_name("claims.py"))
    one_file.with_name("renamed.py").rename(one_file)
    assert code_digest.__wrapped__() == before, "claims.py hands out work and decides nothing"


def test_the_list_names_existing_files_and_what_grades_is_on_it() -> None:
    names = {path.relative_to(ROOT).as_posix() for path in deciding_files()}
    for folder, others in deciding._OTHERS.items():
        for name in others.split():
            assert (ROOT / folder / f"{name}.py").is_file(), f"{folder}/{name}.py"
            assert f"{folder}/{name}.py" not in names
    wanted = {
        *("evaluator/auditing/auditor.py", "evaluator/auditing/mutants.py", "evaluator/testing/box/driver.py"),
        *("evaluator/testing/comparison.py", "evaluator/testing/sealed.py", "evaluator/sandbox/bubblewrap.py"),
        *("benchmark_tasks/domain/seeds.py", "submissions/answers/splice.py", "evaluator/outcomes.py"),
    }
    assert wanted <= names
