"""The keys of the labelling page are fixed: a reviewer has them, or switches them off."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.db import migrations, models

if TYPE_CHECKING:
    from django.apps.registry import Apps
    from django.db.backends.base.schema import BaseDatabaseSchemaEditor


def keep_off(apps: Apps, _editor: BaseDatabaseSchemaEditor) -> None:
    """Whoever had switched all keys off still has."""
    reviewers = apps.get_model("reviews", "Reviewer")
    for reviewer in reviewers.objects.exclude(keys={}):
        reviewers.objects.filter(pk=reviewer.pk).update(keys_off=reviewer.keys.get("off") is True)


class Migration(migrations.Migration):
    dependencies = [("reviews", "0002_several_reasons_of_a_decision")]

    operations = [
        migrations.AddField("reviewer", "keys_off", models.BooleanField(default=False)),
        migrations.RunPython(keep_off, migrations.RunPython.noop),
        migrations.RemoveField("reviewer", "keys"),
    ]
