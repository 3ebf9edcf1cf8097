"""Trajectories that came with a bundle become rows, once, and fill in what was not declared."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest
from django.core.files.base import ContentFile

from evaluator.generation.reading_trajectories import read_uploaded
from evaluator.models import Trajectory
from tests.submissions.factories import ImplementationFactory, SubmissionFactory

if TYPE_CHECKING:
    from pathlib import Path

    from submissions.models import Implementation

pytestmark = pytest.mark.django_db

EVENT = {"id": 1, "source": "agent", "action": "run", "args": {"command": "ls"}}
METRICS = {"accumulated_cost": 0.25, "accumulated_token_usage": {"prompt_tokens": 700, "completion_tokens": 70}}


def run(name: str = "3", command: str = "ls") -> bytes:
    """One line of output.jsonl."""
    event = {**EVENT, "args": {"command": command}}
    return json.dumps({"instance_id": name, "history": [event], "metrics": METRICS}).encode() + b"\n"


@pytest.fixture
def _media(settings: Any, tmp_path: Path) -> None:
    settings.MEDIA_ROOT = tmp_path


def answer(content: bytes | None, **fields: Any) -> Implementation:
    implementation = ImplementationFactory(**fields)
    if content is not None:
        implementation.trajectory.save("one.trajectory", ContentFile(content))
    return implementation


@pytest.mark.usefixtures("_media")
def test_an_openhands_file_becomes_a_trajectory_and_usage() -> None:
    implementation = answer(run(), usage={"cost_usd": 9.0, "seconds": 5.0})
    assert [read_uploaded(implementation.submission_id) for _ in range(2)] == [1, 0]
    row = Trajectory.objects.get(implementation=implementation)
    assert (row.source, row.counts["run"], row.ending) == ("openhands", 1, "stopped without finishing")
    assert (row.input_tokens, row.output_tokens, row.dollars) == (700, 70, Decimal("0.25"))
    assert row.steps["steps"][0]["input"] == "ls"
    implementation.refresh_from_db()
    assert implementation.usage == {
        "cost_usd": 9.0,
        "seconds": 5.0,
        "input_tokens": 700.0,
        "output_tokens": 70.0,
        "read": ["input_tokens", "output_tokens"],
    }


@pytest.mark.usefixtures("_media")
def test_answers_without_a_file_and_other_submissions_are_left_alone() -> None:
    submission = SubmissionFactory()
    answer(None, submission=submission)
    other = answer(run())
    assert read_uploaded(submission.pk) == 0
    assert not Trajectory.objects.exists()
    other.refresh_from_db()
    assert other.usage == {}


@pytest.mark.usefixtures("_media")
def test_of_several_runs_the_papers_own_is_taken() -> None:
    implementation = answer(None)
    number = implementation.revision.task.paper.instance_id
    implementation.trajectory.save("all.trajectory", ContentFile(run("none", "wrong") + run(number, "right")))
    assert read_uploaded(implementation.submission_id) == 1
    assert Trajectory.objects.get().steps["steps"][0]["input"] == "right"


@pytest.mark.usefixtures("_media")
def test_a_lost_file_is_passed_over(caplog: pytest.LogCaptureFixture) -> None:
    implementation = answer(run())
    implementation.trajectory.storage.delete(implementation.trajectory.name or "")
    assert read_uploaded(implementation.submission_id) == 0
    assert f"The trajectory of implementation {implementation.pk} cannot be read." in caplog.text


@pytest.mark.usefixtures("_media")
@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"a log, no trajectory", "Nothing in the trajectory can be shown as an agent's steps."),
        (
            json.dumps({"trajectory": [], "history": [], "info": {"exit_status": "submitted"}}).encode(),
            "This looks like an SWE-agent trajectory, which is not read yet: it is kept as it is",
        ),
        (run("none") + run("other"), "2 runs are in the file, and none is called "),
    ],
)
def test_steps_that_are_not_known_are_stored_as_such_with_the_reason(content: bytes, why: str) -> None:
    implementation = answer(content)
    assert read_uploaded(implementation.submission_id) == 1
    row = Trajectory.objects.get()
    assert (row.steps["steps"], row.counts, row.steps["unread"].startswith(why)) == (None, {}, True)
    implementation.refresh_from_db()
    assert implementation.usage == {}
