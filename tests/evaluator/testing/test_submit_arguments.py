"""What ``manage.py submit`` says without a box: about its arguments, and about a queue that is not there."""

from __future__ import annotations

import io
import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from django.core.management import CommandError, call_command

from benchmark_tasks.domain.content import tree_files
from evaluator.management.commands.submit import NO_QUEUE, Command
from submissions.domain.samples import build_sample
from submissions.models import Implementation
from tests.leaderboard.test_settings import manage

if TYPE_CHECKING:
    from pathlib import Path

    from benchmark_tasks.models import SuiteVersion


@pytest.mark.parametrize("arguments", [[], ["x.zip", "--no-such-option"], ["x.zip", "--publish-as", "mine"]])
def test_wrong_arguments_end_with_one_for_two_means_held(arguments: list[str], tmp_path: Path) -> None:
    result = manage("submit", *arguments, DATA_DIR=str(tmp_path))
    assert (result.returncode, result.stdout) == (1, "")
    assert result.stderr.startswith("usage: manage.py submit ")
    assert "\nError: " in result.stderr
    assert "Traceback" not in result.stderr


def test_help_is_no_error(tmp_path: Path) -> None:
    result = manage("submit", "--help", DATA_DIR=str(tmp_path))
    assert (result.returncode, result.stderr) == (0, "")
    assert "--links URL" in result.stdout


@pytest.mark.django_db(transaction=True)
def test_without_a_queue_it_says_that_nothing_runs_yet(lmr_mini: SuiteVersion, tmp_path: Path, settings: Any) -> None:
    settings.RQ_QUEUES = replace(settings.ENVIRONMENT, redis_url="redis://127.0.0.1:1/0").rq_queues
    bundle = tmp_path / "sample.zip"
    bundle.write_bytes(build_sample("stub", lmr_mini).content)
    out, errors = io.StringIO(), io.StringIO()
    with pytest.raises(SystemExit) as end:
        call_command(Command(stdout=out, stderr=errors), str(bundle), "--json")
    assert end.value.code == 0
    assert json.loads(out.getvalue())["state"] == "queued"
    assert errors.getvalue() == f"{NO_QUEUE}\n"


@pytest.mark.django_db(transaction=True)
def test_a_folder_is_an_output_tree(lmr_mini: SuiteVersion, tmp_path: Path, settings: Any) -> None:
    settings.RQ_QUEUES = replace(settings.ENVIRONMENT, redis_url="redis://127.0.0.1:1/0").rq_queues
    revision = lmr_mini.revisions.select_related("task__paper").get(task__slug="dpo/1")
    paper = revision.task.paper
    repository = tmp_path / "gpt4o" / paper.folder_name.lstrip("0") / paper.repository_folder
    for name, file in tree_files(revision.repository_hash).items():
        (repository / name).parent.mkdir(parents=True, exist_ok=True)
        (repository / name).write_bytes(file.read_bytes())
    goal = repository / revision.goal_file
    goal.write_text(goal.read_text().replace("raise NotImplementedError", "return policy", 1))
    (repository / "run.log").write_text("noise")
    out = io.StringIO()
    arguments = ["--suite", "lmr-mini", "--system", "Agent", "--backbone", "model-1"]
    with pytest.raises(SystemExit) as end:
        call_command(Command(stdout=out, stderr=io.StringIO()), str(tmp_path / "gpt4o"), *arguments, "--json")
    assert end.value.code == 0
    assert [remark["message"] for remark in json.loads(out.getvalue())["remarks"]] == [
        "Passed over as no part of an answer - logs and results: 1 (run.log)."
    ]
    assert [answer.revision.task.slug for answer in Implementation.objects.filter(attempted=True)] == ["dpo/1"]


@pytest.mark.django_db
def test_what_is_no_file_and_no_folder_is_said(tmp_path: Path) -> None:
    with pytest.raises(CommandError, match=r"none\.zip is not a file or a folder\.$"):
        call_command("submit", str(tmp_path / "none.zip"))


@pytest.mark.redis
@pytest.mark.django_db(transaction=True)
def test_with_a_queue_it_says_nothing_of_it(lmr_mini: SuiteVersion, tmp_path: Path, redis_url: str) -> None:
    bundle = tmp_path / "sample.zip"
    bundle.write_bytes(build_sample("stub", lmr_mini).content)
    errors = io.StringIO()
    with pytest.raises(SystemExit):
        call_command(Command(stdout=io.StringIO(), stderr=errors), str(bundle))
    assert errors.getvalue() == ""
