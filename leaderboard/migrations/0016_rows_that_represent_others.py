from itertools import groupby

from django.db import migrations, models
from django.db.models import F


def choose(apps, _schema):
    """Store which rows represent the others of their system with the same inputs, as ``represent`` does from now on."""
    metrics = apps.get_model('leaderboard', 'EntryMetric').objects
    metrics.exclude(answered=None).update(represents=None)
    group = ('suite_version', 'listed', 'entry__system', 'entry__inputs')
    rows = metrics.filter(category=None, answered=None).values_list('entry', *group)
    newest = F('entry__date').desc(nulls_last=True)
    for _, same in groupby(rows.order_by(*group, 'strength', newest, '-entry').iterator(), key=lambda row: row[1:]):
        (first, *_), *others = same
        if others:
            metrics.filter(entry=first).update(represents=len(others))
            metrics.filter(entry__in=[row[0] for row in others]).update(represents=None)


class Migration(migrations.Migration):

    dependencies = [
        ('leaderboard', '0015_provenance'),
    ]

    operations = [
        migrations.AddField(
            model_name='entrymetric',
            name='represents',
            field=models.PositiveIntegerField(blank=True, default=0, null=True),
        ),
        migrations.RunPython(choose, migrations.RunPython.noop),
    ]
