from django.db import migrations, models

_UNREAD = {
    "source": "generic",
    "steps": None,
    "ending": "",
    "input_tokens": None,
    "output_tokens": None,
    "dollars": None,
    "left_out": 0,
    "unread": "An earlier version of this site could not read it. The site will try it again.",
    "remarks": [],
}


def add_unread(apps, schema_editor):
    """Give each file that could not be read a row of reader 0, as those have that were read: the sweep reads it again."""
    trajectories = apps.get_model("evaluator", "Trajectory").objects
    answers = apps.get_model("submissions", "Implementation").objects
    without = answers.filter(submission__state="scored", steps__isnull=True).exclude(trajectory="")
    for pk in list(without.values_list("pk", flat=True)):
        trajectories.create(implementation_id=pk, source="generic", steps=_UNREAD, counts={})


class Migration(migrations.Migration):

    dependencies = [
        ('evaluator', '0015_unreported_tokens_are_unknown'),
    ]

    operations = [
        migrations.AddField(
            model_name='trajectory',
            name='reader',
            field=models.PositiveSmallIntegerField(default=0),
        ),
        migrations.AlterField(
            model_name='trajectory',
            name='source',
            field=models.CharField(choices=[('agent', "this site's agent"), ('openhands', 'OpenHands'), ('openhands_v1', 'OpenHands V1'), ('swe_agent', 'SWE-agent'), ('atif', 'an agent that writes ATIF'), ('claude_code', 'Claude Code'), ('generic', 'an agent of another kind')], max_length=20),
        ),
        migrations.RunPython(add_unread, migrations.RunPython.noop),
    ]
