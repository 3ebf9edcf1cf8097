"""The ids in the log, from an upload on the web to its verdict in a worker's job."""

from __future__ import annotations

import json
import logging
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.urls import reverse

from evaluator.models import TestRun
from leaderboard.settings.logs import logging_settings
from submissions.models import Submission, Upload
from tests.evaluator.processes import PATIENCE_SECONDS, PROJECT_ROOT, environment
from tests.submissions.factories import bundle

if TYPE_CHECKING:
    from django.test import Client

    from benchmark_tasks.models import SuiteVersion
    from evaluator.sandbox.interface import Sandbox
    from submissions.models import User

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.redis, pytest.mark.bubblewrap]


def worked() -> list[dict[str, Any]]:
    """Let a worker do all that waits, and return its log."""
    done = subprocess.run(
        [sys.executable, "manage.py", "worker", "--name", "one", "--no-audits", "--burst"],
        cwd=PROJECT_ROOT, check=True, timeout=PATIENCE_SECONDS, capture_output=True, text=True,
        env=environment(LOG_FORMAT="json", LOG_LEVEL="INFO", HOST_NAME="far"),
    )  # fmt: skip
    return [json.loads(line) for line in done.stderr.splitlines() if line.startswith("{")]


def lines(caplog: pytest.LogCaptureFixture) -> list[dict[str, Any]]:
    """The log of this process, as the web server writes it."""
    made: dict[str, Any] = logging_settings(level="INFO", form="json")["formatters"]
    form = made["structured"].pop("()")(**made["structured"])
    return [json.loads(form.format(record)) for record in caplog.records]


@pytest.mark.xdist_group("boxes-of-runs")
def test_from_an_upload_to_its_verdict(
    small_version: SuiteVersion,
    real_sandbox: Sandbox,
    redis_url: str,
    as_alice: Client,
    alice: User,
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO)
    as_alice.post(reverse("upload"), {"file": SimpleUploadedFile("answers.zip", bundle(suite="small"))})
    upload = Upload.objects.get()
    worked()
    assert Upload.objects.get().checked
    caplog.clear()
    response = as_alice.post(reverse("upload_check", args=[upload.pk]))
    submission, logged = Submission.objects.get(), lines(caplog)
    of_request = {"request_id": response["X-Request-ID"], "user_id": alice.pk}
    assert [each["event"] for each in logged] == ["request_started", "submitted", "request_finished"]
    assert [each | of_request for each in logged] == logged
    assert (logged[1]["upload"], logged[1]["submission"]) == (upload.pk, submission.pk)

    log = worked()
    assert {(each["host"], each["process"].rpartition("-")[0]) for each in log} == {("far", "one")}
    run = TestRun.objects.exclude(outcome="not_attempted").get()
    (ended,) = [each for each in log if each["event"] == "run_ended"]
    ids = {
        "submission": submission.pk,
        "run": run.pk,
        "attempt": 1,
        "queue": "default",
        "job": "evaluator.jobs.evaluate_next()",
    }
    assert ended | ids == ended


def test_a_refused_request_has_its_id_in_each_line_and_in_the_response(
    client: Client, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    response = client.get("/absent/", headers={"X-Request-ID": "forged"})
    logged = lines(caplog)
    assert [each["event"] for each in logged] == ["request_started", "request_finished", "Not Found: /absent/"]
    assert {each["request_id"] for each in logged} == {response["X-Request-ID"]}
    assert response["X-Request-ID"] != "forged"
