#!/usr/bin/env python
"""Run LMR-Board's management commands."""

from __future__ import annotations

import os
import sys

from django.core.management import execute_from_command_line

from leaderboard.management.errors import explained


def main() -> None:
    """Run a management command; errors of database and storage are explained in a line, or with ``--traceback``."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "leaderboard.settings")
    try:
        execute_from_command_line(sys.argv)
    except Exception as error:
        explanation = explained(error)
        if not explanation or "--traceback" in sys.argv:
            raise
        sys.exit(explanation)


if __name__ == "__main__":
    main()
