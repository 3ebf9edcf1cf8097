"""Submit answers made by the site, for the practice round and for trying out reviewing."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Final

from benchmark_tasks.domain.queries import current_version
from benchmark_tasks.domain.zips import zipped
from benchmark_tasks.models import Suite
from reviews.exceptions import ReviewError
from submissions.domain.operators import local_operator
from submissions.domain.submitting import submit
from submissions.domain.uploads import BundleRefusedError
from submissions.enums import Kind, SubmissionState
from submissions.models import Submission

if TYPE_CHECKING:
    from collections.abc import Mapping

    from benchmark_tasks.models import SuiteVersion

LICENCE: Final = "AGPL-3.0-or-later"


def version_of(suite: str) -> SuiteVersion | None:
    """Return the newest version of the suite with this slug; None if there is no such suite or version."""
    found = Suite.objects.filter(slug=suite).first()
    return current_version(found) if found else None


def submitted_before(*, suite: str, system: str, notes: str) -> Submission | None:
    """Return the operator's calibration submission with these notes, on any version of the suite."""
    mine = Submission.objects.filter(
        owner__username=local_operator().username,
        kind=Kind.CALIBRATION,
        system__name=system,
        suite_version__suite__slug=suite,
        notes=notes,
    )
    return mine.exclude(state=SubmissionState.CANCELLED).order_by("pk").last()


def submit_answers(
    *, version: SuiteVersion, answers: Mapping[tuple[str, int], str], system: str, notes: str, publish: bool
) -> Submission:
    """Submit ``answers`` ((task slug, trial) to source) as the operator's calibration sample.

    ``publish`` shows it, unranked, once it is scored. Raises :class:`ReviewError` if it is refused, such as before the
    tasks' audit.
    """
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "answers.zip"
        path.write_bytes(_zip(version, answers, system=system, notes=notes))
        try:
            return submit(owner=local_operator(), path=path, publish_licence=LICENCE if publish else "").submission
        except BundleRefusedError as error:
            messages = dict.fromkeys(problem.message for problem in error.checked.problems)
            raise ReviewError(" ".join(messages)) from None


def _zip(version: SuiteVersion, answers: Mapping[tuple[str, int], str], *, system: str, notes: str) -> bytes:
    manifest = {
        "suite": version.suite.slug,
        "suite_version": version.number,
        "system": system,
        "backbone": "none",
        "scaffold": "none",
        "inputs": "full",
        "kind": Kind.CALIBRATION.value,
        "notes": notes,
    }
    files = {"submission.json": json.dumps(manifest, indent=2) + "\n"}
    files |= {f"answers/{task}/trial-{trial}/answer.py": source for (task, trial), source in answers.items()}
    return zipped(files)
