"""Move the files of all answers into the content store, where their names are their hashes."""

from __future__ import annotations

from typing import Any

from django.db import migrations

from benchmark_tasks.domain.content_files import adopt_media, give_back_media


def move(apps: Any, _: Any) -> None:
    """Store every file again that has a name from before."""
    adopt_media(apps.get_model("leaderboard", "AnswersFile"), "file")


def back(apps: Any, _: Any) -> None:
    """Let the older code find the files where it looks for them."""
    give_back_media(apps.get_model("leaderboard", "AnswersFile"), "file")


class Migration(migrations.Migration):
    dependencies = [("leaderboard", "0018_newest_rows")]

    operations = [migrations.RunPython(move, back)]
