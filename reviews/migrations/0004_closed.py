"""A case is closed, the word that its states and pages have."""

from __future__ import annotations

from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("reviews", "0003_keys_on_or_off")]

    operations = [migrations.RenameField(model_name="case", old_name="settled", new_name="closed")]
