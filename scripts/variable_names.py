"""Print the name of every environment variable that LMR-Board reads."""

from __future__ import annotations

import sys
from dataclasses import fields
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from leaderboard.settings.environment import Environment

sys.stdout.write("\n".join(["ENV_FILE", *(field.name.upper() for field in fields(Environment))]) + "\n")
