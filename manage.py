#!/usr/bin/env python
"""The command line of LMR-Board."""

from __future__ import annotations

import os
import sys

from django.core.management import execute_from_command_line


def main() -> None:
    """Run a management command."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "leaderboard.settings")
    execute_from_command_line(sys.argv)


if __name__ == "__main__":
    main()
