"""Whether the list of conflicts is confirmed is a fact of its own. Reviewers of before confirm it with their next change."""

from __future__ import annotations

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("reviews", "0004_closed")]

    operations = [migrations.AddField("reviewer", "conflicts_confirmed", models.BooleanField(default=False))]
