"""``manage.py submit`` as a script would call it."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest
from django.core.management import call_command


def submit(*arguments: str) -> tuple[int, dict[str, Any]]:
    """Exit code and JSON of ``submit --json`` with these arguments."""
    out = io.StringIO()
    with pytest.raises(SystemExit) as end:
        call_command("submit", *arguments, "--json", stdout=out)
    assert isinstance(end.value.code, int)
    return end.value.code, json.loads(out.getvalue())
