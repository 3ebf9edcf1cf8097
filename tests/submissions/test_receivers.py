"""What this room does on news from the lower one."""

from __future__ import annotations

import pytest
from django.core.management import call_command

from benchmark_tasks.models import SuiteVersion
from submissions.domain.audit import history
from submissions.enums import Verb
from tests.conftest import PROJECT_ROOT


@pytest.mark.django_db(transaction=True)
def test_an_import_leaves_an_event_and_one_that_changes_nothing_leaves_none() -> None:
    folder = PROJECT_ROOT / "benchmark_tasks" / "suites" / "lmr-mini"
    for _ in range(2):
        call_command("import_suite", str(folder), "--slug", "mine")
    version = SuiteVersion.objects.get(suite__slug="mine")
    event = history(version).get()
    assert (event.verb, event.actor, event.subject_text) == (Verb.IMPORTED, None, str(version))
