"""The contents of an agent's box (never a test or a reference), and the answer made from what the agent changed."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from benchmark_tasks.domain.goals import Goal
from evaluator.enums import AnswerTaken
from evaluator.generation.agent import AgentResult, opening
from evaluator.generation.agent_answers import read_result
from evaluator.generation.agent_box import AgentLimits, Changes
from evaluator.generation.agent_workspace import AgentTask, definition_alone, prepared
from evaluator.generation.answers import Answer
from evaluator.sandbox.interface import Sandbox, SandboxError
from submissions.answers.contents import TaskFiles
from submissions.trajectories.steps import AgentRun
from tests.conftest import PROJECT_ROOT
from tests.evaluator.generation.agent_runs import FILES, GOLDEN, SUBMIT, make_task, run, work
from tests.evaluator.upstream.tasks import DATASET

LMR_MINI = PROJECT_ROOT / "benchmark_tasks" / "suites" / "lmr-mini"


def files_of(task: AgentTask, scratch: Path | None = None) -> dict[str, str]:
    """Return the text of each mounted file, by its path in the box."""
    with prepared(task, scratch=scratch) as workspace:
        return {
            f"{mount.target}/{path.relative_to(mount.source)}": path.read_text(errors="replace")
            for mount in workspace.mounts
            for path in mount.source.rglob("*")
            if path.is_file()
        }


def task_in(folder: Path, *, upstream: bool) -> AgentTask:
    """Return the first task of a folder that has the benchmark's layout."""
    facts: dict[str, Any] = json.loads((folder / "info.json").read_text())
    implementation = facts["implementations"][0]
    return AgentTask(
        goal=Goal(
            "a/1", implementation["goal_file"], implementation["goal_function"], implementation["class_name"] or ""
        ),
        instruction=implementation["instruction"],
        repository=folder / facts["repo_folder_name"],
        paper_pdf=folder / "paper.pdf" if (folder / "paper.pdf").exists() else None,
        paper_text="The paper.",
        environment="numpy",
        inputs="full",
        unit_test_file=implementation["unit_test_file"] if upstream else "",
    )


def long_lines(folder: Path) -> set[str]:
    """Return the long lines of a task's tests and golden files that occur in no file the agent may read."""
    secret = [path for path in folder.rglob("*.py") if {"golden_files", "unit_test", "samples"} & set(path.parts)]
    seen = "".join(path.read_text() for path in folder.rglob("*.py") if path not in secret)
    lines = {line.strip() for path in secret for line in path.read_text().splitlines()}
    return {line for line in lines if len(line) > 20 and line not in seen}


@pytest.mark.parametrize("inputs", ["full", "paper_goal_file", "paper_only"])
def test_each_kind_of_inputs_has_its_files_and_scratch_is_left_empty(tmp_path: Path, inputs: str) -> None:
    task, scratch = make_task(tmp_path, inputs=inputs), tmp_path / "scratch"
    scratch.mkdir()
    goal = FILES["ranking/goal.py"]
    expected = {
        "full": FILES,
        "paper_goal_file": {"ranking/goal.py": goal},
        "paper_only": {"ranking/goal.py": goal[goal.index("def rank") :]},
    }[inputs]
    assert files_of(task, scratch) == {
        **{f"/box/repository/{name}": text for name, text in expected.items()},
        "/box/paper/paper.txt": "Rank by score, best first.",
    }
    assert list(scratch.iterdir()) == []
    assert (task.repository / task.goal.file).read_text() == goal


def test_a_method_alone_is_dedented() -> None:
    source = b"import os\nfrom a import (\n    b,\n)\n\n\nclass A:\n    @property\n    def b(self):\n        pass\n"
    goal = Goal("a/1", "a.py", "b", "A")
    assert definition_alone(source, goal, with_imports=False) == "@property\ndef b(self):\n    pass\n"
    assert definition_alone(source, goal, with_imports=True) == (
        "import os\nfrom a import (\n    b,\n)\n\n\n@property\ndef b(self):\n    pass\n"
    )


@pytest.mark.parametrize("goal", [Goal("ranking/1", "nothing.py", "rank"), Goal("ranking/1", "ranking/goal.py", "no")])
def test_a_task_without_its_goal_is_an_infrastructure_error(tmp_path: Path, goal: Goal) -> None:
    with pytest.raises(SandboxError, match="ranking/1: the agent's folder cannot be made"):
        files_of(make_task(tmp_path, goal=goal, inputs="paper_only"))


def test_no_mini_task_shows_a_line_of_its_tests() -> None:
    for folder in sorted(path for path in LMR_MINI.iterdir() if path.is_dir()):
        text = "\n".join(files_of(task_in(folder, upstream=False)).values())
        secret = long_lines(folder)
        assert len(secret) > 10
        assert [line for line in secret if line in text] == []


@pytest.mark.parametrize("name", sorted(path.name for path in DATASET.iterdir() if path.is_dir()))
def test_no_upstream_task_shows_a_line_of_its_tests(name: str) -> None:
    task = task_in(DATASET / name, upstream=True)
    found = files_of(task)
    secret = {
        line
        for path in (DATASET / name).rglob("*.py")
        if "golden_files" in path.parts or "unit_test" in path.parts
        for line in (line.strip() for line in path.read_text().splitlines())
        if any(word in line for word in ("assert", "Passed", "Failed", "golden"))
    }
    text = "\n".join(found.values())
    assert secret
    assert [line for line in secret if line in text] == []
    assert f"/box/repository/{task.goal.file}" in found
    assert not [path for path in found if "unit_test" in path and not path.endswith(task.goal.file)]


@pytest.mark.bubblewrap
@pytest.mark.parametrize(("folder", "upstream"), [(LMR_MINI / "01-DPO", False), (DATASET / "11-PairLossArrays", True)])
def test_no_box_holds_a_test(folder: Path, *, upstream: bool, bubblewrap: Sandbox) -> None:
    """Search all files that the agent can read, from inside the box."""
    task = task_in(folder, upstream=upstream)
    words = ("cases(seed", "def run(case", "Test Passed", "_golden")
    pattern = "|".join(word.replace("(", r"\(") for word in words)
    search = f"grep -rlE '{pattern}' /box /tmp; find /box /tmp -name '*golden*' -o -name '*unit_test*'"
    worked = work(bubblewrap, task, run(f"({search}) 2>/dev/null"), SUBMIT)
    found = {line for line in worked.observations[0].splitlines()[1:] if "/box/tools/" not in line}
    assert found == set()
    sources = "".join(path.read_text() for path in folder.rglob("*.py"))
    assert any(word in sources for word in words)


@pytest.mark.bubblewrap
def test_a_goal_in_a_file_of_tests_is_shown_without_the_tests(bubblewrap: Sandbox, tmp_path: Path) -> None:
    folder = tmp_path / "task"
    shutil.copytree(DATASET / "15-ContrastArrays", folder)
    task = task_in(folder, upstream=True)
    assert task.goal.file == task.unit_test_file
    answer = f"def {task.goal.function}():\n    return 1\n"
    write = run(f"cat > {task.goal.file} <<'END'\n{answer}END")
    worked = work(bubblewrap, task, run(f"cat {task.goal.file}"), write, SUBMIT)
    shown = worked.observations[0]
    assert f"def {task.goal.function}(" in shown
    assert "unittest.TestCase" not in shown
    assert worked.result.is_definition
    assert worked.changed == {task.goal.file: answer.encode()}
    prompt = worked.requests[0].messages[0].text
    assert "Its tests are left out. The function stands in a file of tests: here that file holds its imports" in prompt
    assert "Of the repository only" not in prompt


@pytest.mark.parametrize(
    ("inputs", "unit_test_file", "expected"),
    [
        ("full", "", "- The repository, in which your commands start. Its tests are left out, and so is the"),
        ("full", "ranking/goal.py", "- The repository, in which your commands start. Its tests are left out. The"),
        ("paper_goal_file", "", "- Of the repository only this one file."),
        ("paper_goal_file", "ranking/goal.py", "- Of the repository only the imports of this one file and the func"),
        ("paper_only", "", "- Of the repository only the function's masked definition, alone in its file."),
        ("paper_only", "ranking/goal.py", "- Of the repository only the function's masked definition, alone in its"),
    ],
)
def test_the_prompt_states_which_part_of_the_repository_is_available(
    tmp_path: Path, inputs: str, unit_test_file: str, expected: str
) -> None:
    made = make_task(tmp_path, inputs=inputs, unit_test_file=unit_test_file)
    assert f"What you have:\n{expected}" in opening(made, AgentLimits()).text


@pytest.mark.parametrize(
    ("text", "pdf", "expected"),
    [
        ("Text.", True, "- The paper as text in `../paper/paper.txt` and as PDF in `../paper/paper.pdf`."),
        ("Text.", False, "- The paper as text in `../paper/paper.txt`."),
        ("", True, "- The paper as PDF in `../paper/paper.pdf`."),
        ("", False, "- The paper is not available."),
    ],
)
def test_the_prompt_names_the_available_files_of_the_paper(
    tmp_path: Path, text: str, expected: str, *, pdf: bool
) -> None:
    file = tmp_path / "file.pdf"
    file.write_bytes(b"%PDF-")
    made = make_task(tmp_path, paper_text=text, paper_pdf=file if pdf else None)
    lines = opening(made, AgentLimits()).text.splitlines()
    assert [line for line in lines if line.startswith("- The paper")] == [expected]
    given = {"paper.txt": text, "paper.pdf": "%PDF-" if pdf else ""}
    found = {path: content for path, content in files_of(made).items() if path.startswith("/box/paper")}
    assert found == {f"/box/paper/{name}": content for name, content in given.items() if content}
    with prepared(made) as workspace:
        assert "/box/paper" in {mount.target for mount in workspace.mounts}


def test_folders_of_the_benchmark_s_tests_are_left_out_at_any_depth(tmp_path: Path) -> None:
    task = make_task(tmp_path)
    for folder in ("unit_test", "deep/golden_files"):
        (task.repository / folder).mkdir(parents=True)
        (task.repository / folder / "a.py").write_text("secret")
    assert sorted(files_of(task)) == sorted([*(f"/box/repository/{name}" for name in FILES), "/box/paper/paper.txt"])


SOLVED = {"ranking/goal.py": GOLDEN.encode()}


@pytest.fixture
def task(tmp_path: Path) -> TaskFiles:
    made = make_task(tmp_path)
    return TaskFiles(goal=Goal("ranking/1", "ranking/goal.py", "rank"), repository=made.repository)


def answer(task: TaskFiles, changes: Changes, *, finished: bool = True, is_definition: bool = False) -> Answer:
    result = AgentResult(changes, AgentRun("agent"), finished, "It ended.", is_definition)
    return read_result(result, task)


def test_changes_are_applied_and_unusable_ones_are_set_aside_with_the_reason(task: TaskFiles) -> None:
    changed = {
        **SOLVED,
        "ranking/helpers.py": FILES["ranking/helpers.py"].replace("max", "min").encode(),
        "ranking/more.py": b"more = 1\n",
        "tests/test_goal.py": b"def test_rank():\n    pass\n",
        "conftest.py": b"x = 1\n",
        "out.log": b"text\n",
        "data.json": b"\x00",
        "numpy.py": b"x = 1\n",
        "b c.py ": b"x = 1\n",
    }
    made = answer(task, Changes(changed, ("README.md",), (("link", "is a link or special file"),)))
    assert (made.taken, made.note, made.error) == (AnswerTaken.CODE, "Taken from the agent's repository. It ended.", {})
    assert made.applied is not None
    assert sorted(made.applied.files) == ["ranking/goal.py", "ranking/helpers.py", "ranking/more.py"]
    assert made.applied.files["ranking/goal.py"] == GOLDEN
    assert made.text.startswith("diff --git a/ranking/goal.py b/ranking/goal.py\n")
    protected = "is protected (tests, configuration and files that Python loads on its own are not part of an answer)"
    assert {aside["file"]: aside["message"] for aside in made.aside} == {
        "link": "Not applied: it is a link or special file.",
        "tests/test_goal.py": f"Not applied: it {protected}.",
        "conftest.py": f"Not applied: it {protected}.",
        "out.log": "Not applied: it is never part of an answer (logs and results).",
        "data.json": "Not applied: it is never part of an answer (binary files).",
        "numpy.py": "Not applied: it would hide the installed module 'numpy'.",
        "b c.py ": "Not applied: it has a part that begins or ends with a space or ends with a dot.",
        "the agent's repository": "Deleted files are put back: 1 (README.md).",
    }


@pytest.mark.parametrize(("finished", "taken"), [(True, AnswerTaken.EMPTY), (False, AnswerTaken.LIMIT)])
def test_an_unchanged_goal_was_not_attempted(task: TaskFiles, *, finished: bool, taken: AnswerTaken) -> None:
    made = answer(task, Changes({"ranking/helpers.py": b"x = 1\n"}), finished=finished)
    assert (made.taken, made.applied, made.note) == (taken, None, "The goal is as it was masked. It ended.")
    assert made.error["message"] == made.note


@pytest.mark.parametrize("is_definition", [True, False])
@pytest.mark.parametrize(
    ("changes", "why"),
    [
        (Changes(deleted=("ranking/goal.py",)), "ranking/goal.py, which holds the goal, was deleted."),
        (Changes({"ranking/goal.py": b"def rank(:\n"}), "invalid syntax"),
    ],
)
def test_a_deleted_goal_or_invalid_python_is_a_bad_answer(
    task: TaskFiles, changes: Changes, why: str, *, is_definition: bool
) -> None:
    made = answer(task, changes, is_definition=is_definition)
    assert (made.taken, made.applied) == (AnswerTaken.CODE, None)
    assert why in made.error["message"]


def test_a_definition_alone_is_inserted_into_its_file(task: TaskFiles) -> None:
    content = b"import math\n\n\ndef rank(scores):\n    return [math.floor(score) for score in scores]\n"
    made = answer(task, Changes({"ranking/goal.py": content, "try.py": b"x\n"}), is_definition=True)
    assert made.applied is not None
    assert list(made.applied.files) == ["ranking/goal.py"]
    assert "from ranking.helpers import shift" in made.applied.files["ranking/goal.py"]
    assert "math.floor" in made.applied.goal_source
    assert made.aside == [
        {"message": "Not applied: it is not the definition, the only file that counts.", "file": "try.py", "diff": ""}
    ]
