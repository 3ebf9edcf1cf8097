"""The golden answers of lmr-mini, as texts."""

from __future__ import annotations

import json
from functools import cache

from benchmark_tasks.domain.goals import Goal, find_goal
from submissions.answers.splice import reindent
from submissions.answers.types import TaskFiles
from tests.conftest import PROJECT_ROOT
from tests.evaluator.generation.shapes import Golden

SUITE = PROJECT_ROOT / "benchmark_tasks" / "suites" / "lmr-mini"


@cache
def mini_goldens() -> tuple[tuple[TaskFiles, Golden], ...]:
    """The masked repository, with the goal in it, and the golden answer of every task of lmr-mini."""
    found = []
    for file in sorted(SUITE.glob("*/info.json")):
        info = json.loads(file.read_text(encoding="utf-8"))
        for task in info["implementations"]:
            repository = file.parent / info["repo_folder_name"]
            masked = (repository / task["goal_file"]).read_text(encoding="utf-8")
            golden = (file.parent / task["golden_file"]).read_text(encoding="utf-8")
            slug, name = f"{file.parent.name}/{task['index']}", task["goal_function"]
            goal = Goal(task=slug, file=task["goal_file"], function=name, class_name=task.get("class_name") or "")
            text = find_goal(golden.encode(), goal).text
            definition = "\n".join(reindent(text, indent="", unit="    ")) + "\n"
            found.append((TaskFiles(goal, repository), Golden(name, definition, golden, masked, goal.file)))
    return tuple(found)
