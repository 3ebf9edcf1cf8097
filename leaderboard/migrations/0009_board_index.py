import django.db.models.deletion
import django.db.models.functions.comparison
from django.db import migrations, models
from django.db.models import Case, F, OuterRef, Subquery, Value, When
from django.db.models.functions import Lower


def copy(apps, _schema):
    """Copy what boards are filtered and sorted by onto their metrics."""
    metrics = apps.get_model('leaderboard', 'EntryMetric').objects.all()
    entries = apps.get_model('leaderboard', 'Entry').objects.filter(pk=OuterRef('entry'))
    values = {
        'suite_version': F('suite_version'),
        'listed': Case(When(published=True, then=F('kind')), default=Value('')),
        'name': Lower('system__name'),
    }
    metrics.update(**{field: Subquery(entries.values_list(value)) for field, value in values.items()})


class Migration(migrations.Migration):

    dependencies = [
        ('benchmark_tasks', '0004_repository_metrics'),
        ('leaderboard', '0008_snapshots'),
    ]

    operations = [
        migrations.RemoveIndex(
            model_name='entrymetric',
            name='rows_by_tests',
        ),
        migrations.AddField(
            model_name='entrymetric',
            name='suite_version',
            field=models.ForeignKey(db_index=False, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='benchmark_tasks.suiteversion'),
        ),
        migrations.AddField(
            model_name='entrymetric',
            name='listed',
            field=models.CharField(blank=True, choices=[('ranked', 'ranked'), ('calibration', 'calibration sample')], default='', max_length=12),
            preserve_default=False,
        ),
        migrations.AddField(
            model_name='entrymetric',
            name='name',
            field=models.CharField(default='', max_length=120),
            preserve_default=False,
        ),
        migrations.AddField(
            model_name='entrymetric',
            name='tests_order',
            field=models.GeneratedField(db_persist=True, expression=django.db.models.functions.comparison.Coalesce('tests_rate', -1.0), output_field=models.FloatField()),
        ),
        migrations.RunPython(copy, migrations.RunPython.noop, elidable=True),
    ]
