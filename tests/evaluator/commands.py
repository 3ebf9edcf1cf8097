"""Management commands as a script would call them."""

from __future__ import annotations

import io
import json
from typing import Any

from django.core.management import call_command


def run(name: str, *arguments: str) -> tuple[int, str]:
    """Exit code and output of a command. Raises its ``CommandError``."""
    out = io.StringIO()
    try:
        call_command(name, *arguments, stdout=out, stderr=io.StringIO())
    except SystemExit as end:
        return int(str(end.code)), out.getvalue()
    return 0, out.getvalue()


def submit(*arguments: str) -> tuple[int, dict[str, Any]]:
    """Exit code and JSON of ``submit --json`` with these arguments."""
    code, text = run("submit", *arguments, "--json")
    return code, json.loads(text)
