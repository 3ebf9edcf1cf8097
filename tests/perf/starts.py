"""Measure the start of ``make run`` and the time from an upload to its first outcome.

Starts an instance in a new data folder, starts it again, and uploads the golden sample of LMR-Mini to it through the
API, as the client does.
"""

from __future__ import annotations

import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from http.client import HTTPConnection
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.perf.rows import Row, progress
from tests.perf.suites import MINI, PROJECT_ROOT, TIMEOUT_SECONDS, golden_bundle, mark_as_audited

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

PORT = 18_742
BOUNDARY = "benchmark"


@contextmanager
def running(folder: Path) -> Iterator[float]:
    """Run ``make run`` and yield the seconds until its first page."""
    os.environ |= {
        "DJANGO_SETTINGS_MODULE": "leaderboard.settings", "DATA_DIR": str(folder), "ENV_FILE": os.devnull,
        "PORT": str(PORT), "WORKERS": "2", "DAILY_SUBMISSIONS": "1000",
    }  # fmt: skip
    begun = time.perf_counter()
    with (folder.parent / "log").open("w") as log:
        process = subprocess.Popen(
            ["make", "run"], cwd=PROJECT_ROOT, stdout=log, stderr=subprocess.STDOUT, start_new_session=True
        )
    try:
        wait_for(first_page, "the first page", process)
        yield time.perf_counter() - begun
    finally:
        os.killpg(process.pid, signal.SIGINT)
        process.wait()


def first_page() -> bool:
    """Return whether the site answers with its first page."""
    try:
        return request("GET", "/")[0] == 200
    except OSError:
        return False


def wait_for(happened: Callable[[], bool], what: str, process: subprocess.Popen[bytes] | None = None) -> None:
    """Wait; end the part if it takes too long, or the process ends meanwhile."""
    deadline = time.monotonic() + TIMEOUT_SECONDS
    while not happened():
        if time.monotonic() > deadline or (process and process.poll() is not None):
            sys.exit(f"waited in vain for {what}")
        time.sleep(0.005)


def request(method: str, path: str, body: bytes = b"", **headers: str) -> tuple[int, bytes]:
    """Return status and body of a response of the instance."""
    connection = HTTPConnection("127.0.0.1", PORT, timeout=60)
    try:
        connection.request(method, path, body, headers)
        response = connection.getresponse()
        return response.status, response.read()
    finally:
        connection.close()


def post(path: str, body: bytes, token: str, kind: str) -> dict[str, Any]:
    """Return the API's answer to a request that must succeed."""
    headers = {"Authorization": f"Bearer {token}", "Content-Type": kind}
    status, content = request("POST", f"/api/v1{path}", body, **headers)
    if status != 201:
        sys.exit(f"{path} answered {status}: {content[:300].decode(errors='replace')}")
    answer: dict[str, Any] = json.loads(content)
    return answer


def first_outcome(bundle: Path, token: str) -> float:
    """Seconds from the upload's request to the first outcome in the database."""
    from evaluator.models import TestRun
    from submissions.enums import SubmissionState
    from submissions.models import Submission, Upload

    head = f'--{BOUNDARY}\r\nContent-Disposition: form-data; name="file"; filename="golden.zip"\r\n\r\n'
    body = head.encode() + bundle.read_bytes() + f"\r\n--{BOUNDARY}--\r\n".encode()
    begun = time.perf_counter()
    upload = post("/uploads", body, token, f"multipart/form-data; boundary={BOUNDARY}")["id"]
    wait_for(lambda: Upload.objects.get(pk=upload).checked, "the check of the upload")
    submission = post(f"/uploads/{upload}/submit", b"{}", token, "application/json")["submission"]
    outcomes = TestRun.objects.filter(implementation__submission=submission, state="done", attempts__isnull=False)
    wait_for(outcomes.exists, "the first outcome")
    took = time.perf_counter() - begun
    mine = Submission.objects.filter(pk=submission)
    wait_for(mine.filter(state=SubmissionState.SCORED).exists, "the score")
    mine.update(state=SubmissionState.CANCELLED)  # the same bundle can then be submitted again
    return took


def measure(*, rounds: int, **_: object) -> list[Row]:
    """Return the rows: both starts once, the median of the uploads after a first one that makes golden outputs."""
    with tempfile.TemporaryDirectory(prefix="lmr-board-benchmark-") as place:
        folder = Path(place) / "var"
        folder.mkdir()
        progress("  new data folder")
        with running(folder) as new:
            pass
        import django

        django.setup()
        mark_as_audited()  # so that the workers of the second start have nothing else to do
        progress("  second start and uploads")
        with running(folder) as again, golden_bundle(MINI) as bundle:
            from submissions.domain import tokens
            from submissions.enums import Scope
            from submissions.models import User

            # The operator has submitted the same answers already, as the samples of the set-up.
            owner = User.objects.get(username="maintainer")
            scopes = [Scope.READ, Scope.SUBMIT]
            token = tokens.make(owner=owner, name="benchmark", scopes=scopes, days=1)[1]
            uploads = [first_outcome(bundle, token) for _ in range(rounds + 1)][1:]
    return [
        Row("make run, new data folder, to its first page", new),
        Row("make run, second start, to its first page", again),
        Row("upload through the API to the first outcome", statistics.median(uploads)),
    ]
