"""Move uploaded files and trajectories into the content store, where their names are their hashes."""

from __future__ import annotations

from typing import Any

from django.db import migrations, models

from benchmark_tasks.domain.content_files import adopt_media, give_back_media


FIELDS = {"Upload": ("file", "result"), "Submission": ("bundle",), "Implementation": ("trajectory",)}


def move(apps: Any, _: Any) -> None:
    """Store every file again that has a name from before."""
    for model, fields in FIELDS.items():
        adopt_media(apps.get_model("submissions", model), *fields)


def back(apps: Any, _: Any) -> None:
    """Let the older code find the files where it looks for them."""
    for model, fields in FIELDS.items():
        give_back_media(apps.get_model("submissions", model), *fields)


class Migration(migrations.Migration):
    dependencies = [("submissions", "0017_events_name_annotators")]

    operations = [
        migrations.AlterField("upload", "file", models.FileField(max_length=300, upload_to="")),
        migrations.AlterField("upload", "result", models.FileField(blank=True, max_length=300, upload_to="")),
        migrations.AlterField("submission", "bundle", models.FileField(blank=True, max_length=300, upload_to="")),
        migrations.AlterField("implementation", "trajectory", models.FileField(blank=True, max_length=300, upload_to="")),
        migrations.RunPython(move, back),
    ]
