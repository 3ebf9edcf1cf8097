import django.db.models.deletion
from django.db import migrations, models
from django.db.models import Q

OUTCOMES = [('passed', 'passed'), ('wrong_output', 'wrong output'), ('raised', 'raised an error'), ('test_lacks', 'used what the test lacks'), ('timeout', 'timed out'), ('out_of_memory', 'out of memory'), ('output_limit', 'too much output'), ('bad_patch', 'answer does not apply'), ('not_attempted', 'not attempted'), ('tampering', 'tampering')]
PROVENANCES = [('run_here', 'run by this site'), ('with_trajectories', 'graded here, with trajectories'), ('graded_here', 'graded here'), ('remeasured', 're-measured from a publication'), ('reported', 'reported')]


def of_submissions(apps, _schema):
    """Write the provenance of each submission's row; rows of reported runs have the default."""
    answers = apps.get_model('submissions', 'Implementation').objects.filter(attempted=True)
    unread = answers.filter(Q(steps=None) | Q(steps__source='generic', steps__counts={}))
    uploaded = Q(submission__source='bundle')
    with_trajectories = Q(submission__in=answers.values('submission')) & ~Q(submission__in=unread.values('submission'))
    entries = apps.get_model('leaderboard', 'Entry').objects
    metrics = apps.get_model('leaderboard', 'EntryMetric').objects
    for strength, provenance, rows in (
        (0, 'run_here', Q(submission__source='endpoint')),
        (1, 'with_trajectories', uploaded & with_trajectories),
        (2, 'graded_here', uploaded & ~with_trajectories),
    ):
        entries.filter(rows).update(provenance=provenance)
        metrics.filter(entry__provenance=provenance).update(strength=strength)


def without_remeasured(apps, schema_editor):
    """Delete re-measured runs, which older code would show as reported; the next upgrade loads them again."""
    runs = list(apps.get_model('leaderboard', 'ReportedRun').objects.exclude(remeasures=None).values_list('pk', flat=True))
    # Table by table: on the way back, delete() does not find rows of a model that refers to itself.
    for model, key in (
        ('EntryMetric', 'entry__reported_run'),
        ('Entry', 'reported_run'),
        ('ReportedAggregate', 'run'),
        ('ReportedResult', 'run'),
        ('ReportedRun', 'pk'),
    ):
        rows = apps.get_model('leaderboard', model).objects.filter(**{f'{key}__in': runs})
        rows._raw_delete(rows.db)
    # PostgreSQL alters no table while checks of its rows are outstanding.
    schema_editor.connection.check_constraints()


class Migration(migrations.Migration):

    dependencies = [
        ('evaluator', '0016_trajectories_know_their_reader'),
        ('leaderboard', '0001_squashed_0014_notices_of_showing_again'),
    ]

    operations = [
        migrations.AddField(
            model_name='reportedrun',
            name='remeasures',
            field=models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='measured_again', to='leaderboard.reportedrun'),
        ),
        migrations.AddField(
            model_name='reportedrun',
            name='evaluator_version',
            field=models.CharField(blank=True, default='', max_length=20),
            preserve_default=False,
        ),
        migrations.AddField(
            model_name='reportedrun',
            name='measured',
            field=models.DateField(blank=True, null=True),
        ),
        migrations.AddField(
            model_name='reportedresult',
            name='outcome',
            field=models.CharField(blank=True, choices=OUTCOMES, default='', max_length=15),
            preserve_default=False,
        ),
        migrations.AddField(
            model_name='entry',
            name='provenance',
            field=models.CharField(choices=PROVENANCES, default='reported', max_length=20),
            preserve_default=False,
        ),
        migrations.RemoveIndex(
            model_name='entrymetric',
            name='rows_by_tests',
        ),
        migrations.AddField(
            model_name='entrymetric',
            name='strength',
            field=models.PositiveSmallIntegerField(default=4),
            preserve_default=False,
        ),
        migrations.AddField(
            model_name='entrymetric',
            name='answered',
            field=models.PositiveIntegerField(blank=True, null=True),
        ),
        migrations.AddIndex(
            model_name='entrymetric',
            index=models.Index(fields=['suite_version', 'category', 'listed', '-tests_order', 'strength', 'name', 'entry'], name='rows_by_tests'),
        ),
        # Last: PostgreSQL alters no table whose rows were written in the same transaction.
        migrations.RunPython(of_submissions, without_remeasured, elidable=True),
    ]
