from itertools import groupby

from django.db import migrations
from django.db.models import Case, F, Value, When


def choose(apps, _schema):
    """Store which row leads its system's others, as ``represent`` does from now on, and have ranks computed again."""
    metrics = apps.get_model('leaderboard', 'EntryMetric').objects
    rows = metrics.filter(category=None).values_list('entry', 'represents', 'suite_version', 'listed', 'entry__system')
    partial = Case(When(answered=None, then=Value(0)), default=Value(1))
    reduced = Case(When(entry__inputs='full', then=Value(0)), default=Value(1))
    newest = F('entry__date').desc(nulls_last=True)
    ordered = rows.order_by('suite_version', 'listed', 'entry__system', partial, reduced, 'strength', newest, '-entry')
    for _, same in groupby(ordered.iterator(), key=lambda row: row[2:]):
        first, *others = same
        for number, chosen in ((len(others), [first]), (None, others)):
            if entries := [entry for entry, stored, *_ in chosen if stored != number]:
                metrics.filter(entry__in=entries).update(represents=number)
    apps.get_model('leaderboard', 'BoardState').objects.update(results=F('results') + 1, changed=F('changed') + 1)


class Migration(migrations.Migration):

    dependencies = [
        ('leaderboard', '0016_rows_that_represent_others'),
    ]

    operations = [
        migrations.RunPython(choose, migrations.RunPython.noop),
    ]
