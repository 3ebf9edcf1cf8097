from django.db import migrations, models


def mark_answers_with_code(apps, schema_editor):
    """Raters may have been shown a part of any answer that is stored by now; the sweep looks at each once."""
    apps.get_model('submissions', 'Implementation').objects.filter(files__isnull=False).update(shown_in_part=True)


class Migration(migrations.Migration):

    dependencies = [
        ('submissions', '0005_verbs_of_reviewing'),
    ]

    operations = [
        migrations.AddField(
            model_name='implementation',
            name='shown_in_part',
            field=models.BooleanField(db_index=True, default=False),
        ),
        migrations.RunPython(mark_answers_with_code, migrations.RunPython.noop),
    ]
