"""The answers with known verdicts: how they are read, and those that ship beside LMR-BENCH's overlays."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from benchmark_tasks.domain import known_answers as known
from benchmark_tasks.domain import overlays
from benchmark_tasks.domain.goals import Goal
from benchmark_tasks.domain.importing import import_suite
from benchmark_tasks.domain.known_answers import KnownAnswer, answers_in, digest_of, known_source
from benchmark_tasks.facts.lmr_bench import paper_slug
from submissions.answers.splice import splice
from tests.benchmark_tasks.factories import write_suite

HELPED = '''def half(x):
    """A helper."""
    return x / 2


def double(x):
    """Four halves.

    More of it.
    """
    return 4 * half(x)
'''


def test_right_answers_come_first_and_only_those_of_the_index(tmp_path: Path) -> None:
    for name in (
        "wrong_1_b",
        "wrong_1_a",
        "wrong_10_a",
        "alternative_1",
        "alternative_2",
        "alternative_1_z",
        "other_1",
    ):
        (tmp_path / f"{name}.py").write_text(f"# Right: {name}.\n")
    (tmp_path / "wrong_1.txt").write_text("")
    found = answers_in(tmp_path, 1)
    assert [(each.name, each.right) for each in found] == [
        ("alternative_1", True),
        ("alternative_1_z", True),
        ("wrong_1_a", False),
        ("wrong_1_b", False),
    ]
    assert answers_in(tmp_path / "absent", 1) == ()


@pytest.mark.parametrize(
    ("source", "about"),
    [
        ("# Wrong: the sign is flipped.\nimport math\n", "the sign is flipped."),
        ("# A plain comment.\n", "A plain comment."),
        (HELPED, "Four halves."),
        ("def double(x):\n    return 2 * x\n", ""),
        ("x = 1\n", ""),
    ],
)
def test_the_first_comment_or_the_docstring_says_what_an_answer_is(source: str, about: str, tmp_path: Path) -> None:
    (tmp_path / "wrong_3.py").write_text(source)
    assert answers_in(tmp_path, 3) == (KnownAnswer("wrong_3", False, about, source),)


def test_the_digest_changes_with_names_and_sources() -> None:
    one = KnownAnswer("wrong_1", False, "", "x")
    digests = {digest_of(each) for each in ((), (one,), (KnownAnswer("wrong_2", False, "", "x"),), (one, one))}
    assert len(digests) == 4
    assert digest_of([KnownAnswer("wrong_1", True, "other words", "x")]) == digest_of([one])


@pytest.mark.django_db
def test_a_shipped_suites_answers_lie_in_its_folder_and_an_overlays_beside_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    version = import_suite(folder=write_suite(tmp_path / "suite"), slug="small").version
    assert version is not None
    revision = version.revisions.select_related("task__suite", "task__paper").get(task__index=1)
    assert (known.known_answers(revision), known_source(revision, right=True)) == ((), "")
    monkeypatch.setattr(known, "SHIPPED_SUITES_FOLDER", tmp_path / "suites")
    monkeypatch.setattr(overlays, "OVERLAYS_FOLDER", tmp_path / "overlays")
    for folder, text in (("suites/small/02-Alpha", "suite"), ("overlays/small/77-Alpha", "overlay")):
        (tmp_path / folder / "samples").mkdir(parents=True)
        (tmp_path / folder / "samples/alternative_1.py").write_text(text)
    (tmp_path / "overlays/small/77-Alpha/overlay.json").write_text("{}")
    (tmp_path / "suites/small/02-Alpha").rename(tmp_path / "suites/small" / revision.task.paper.folder_name)
    assert (known_source(revision, right=True), known_source(revision, right=False)) == ("suite", "")
    revision.overlay = {"tests": "What it compares."}
    assert known_source(revision, right=True) == "overlay"


WITHOUT_REPOSITORY = {"10-TimeDistill", "19-Native-Sparse-Attention", "21-TimeMixer"}
FOLDERS = sorted(file.parent for file in overlays.OVERLAYS_FOLDER.glob(f"lmr-bench/*/{overlays.OVERLAY_FILE}"))


@pytest.mark.parametrize(
    "folder", [each for each in FOLDERS if each.name not in WITHOUT_REPOSITORY], ids=lambda f: f.name
)
class TestShipped:
    """Those of LMR-BENCH, without the repositories that they are written for: ``make lmr-bench`` runs them."""

    def test_each_task_has_three_right_and_eight_wrong_ones_and_no_file_is_left_over(self, folder: Path) -> None:
        listed = set()
        for task in overlays.read_overlay(folder, []).tasks:
            answers = answers_in(folder / "samples", task.index)
            assert sum(each.right for each in answers) >= 3, task.index
            assert sum(not each.right for each in answers) >= 8, task.index
            listed |= {f"{each.name}.py" for each in answers}
        assert listed == {path.name for path in (folder / "samples").iterdir() if path.name != "__pycache__"}

    def test_each_says_in_a_line_what_it_is_and_has_the_form_of_an_answer(self, folder: Path) -> None:
        for task in overlays.read_overlay(folder, []).tasks:
            for each in answers_in(folder / "samples", task.index):
                kind = "Right" if each.right else "Wrong"
                assert re.match(rf"# {kind}: [^\n]{{15,110}}[.]\n", each.source), each.name
                stub = f"def {task.goal_function}():\n    pass\n"
                assert splice(stub.encode(), Goal("", "goal.py", task.goal_function), each.source.encode())


def test_every_paper_with_an_overlay_is_listed() -> None:
    assert {paper_slug(name) for name in WITHOUT_REPOSITORY} == {"timedistill", "native-sparse-attention", "timemixer"}
    assert len(FOLDERS) == 29
