import django.db.models.deletion
import django.db.models.functions.comparison
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    replaces = [
        ('leaderboard', '0001_initial'),
        ('leaderboard', '0002_tasks_left_out'),
        ('leaderboard', '0003_reported_words'),
        ('leaderboard', '0004_board_rows_by_age'),
        ('leaderboard', '0005_counting_of_rows'),
        ('leaderboard', '0006_board_read_model'),
        ('leaderboard', '0007_analysis_reports'),
        ('leaderboard', '0008_snapshots'),
        ('leaderboard', '0009_board_index'),
        ('leaderboard', '0010_board_index_built'),
        ('leaderboard', '0011_notices'),
        ('leaderboard', '0012_answers_files'),
        ('leaderboard', '0013_notices_of_acts'),
        ('leaderboard', '0014_notices_of_showing_again'),
    ]
    initial = True

    dependencies = [
        ('benchmark_tasks', '0004_repository_metrics'),
        ('reviews', '0005_conflicts_confirmed'),
        ('submissions', '0011_api_tokens'),
    ]

    operations = [
        migrations.CreateModel(
            name='ReportedRun',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('slug', models.SlugField(max_length=120, unique=True)),
                ('inputs', models.CharField(choices=[('full', 'paper, repository and instruction'), ('paper_only', 'paper only'), ('paper_goal_file', 'paper and goal file')], default='full', max_length=20)),
                ('source_address', models.URLField(max_length=500)),
                ('printed_table', models.CharField(blank=True, max_length=20)),
                ('remarks', models.JSONField(blank=True, default=list)),
                ('suite', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='reported_runs', to='benchmark_tasks.suite')),
                ('system', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='reported_runs', to='submissions.system')),
            ],
            options={
                'ordering': ['slug'],
            },
        ),
        migrations.CreateModel(
            name='Entry',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('inputs', models.CharField(choices=[('full', 'paper, repository and instruction'), ('paper_only', 'paper only'), ('paper_goal_file', 'paper and goal file')], max_length=20)),
                ('kind', models.CharField(choices=[('ranked', 'ranked'), ('calibration', 'calibration sample')], max_length=12)),
                ('published', models.BooleanField(default=False)),
                ('computed', models.DateTimeField(auto_now=True)),
                ('submission', models.OneToOneField(blank=True, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='entry', to='submissions.submission')),
                ('suite_version', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='entries', to='benchmark_tasks.suiteversion')),
                ('system', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='entries', to='submissions.system')),
                ('reported_run', models.OneToOneField(blank=True, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='entry', to='leaderboard.reportedrun')),
                ('left_out', models.JSONField(blank=True, default=list)),
                ('counting', models.PositiveSmallIntegerField(default=0)),
                ('cost', models.FloatField(blank=True, null=True)),
                ('date', models.DateTimeField(blank=True, null=True)),
                ('marks', models.JSONField(blank=True, default=dict)),
                ('tokens', models.BigIntegerField(blank=True, null=True)),
                ('trial_passes', models.JSONField(blank=True, default=list)),
            ],
            options={
                'verbose_name_plural': 'entries',
                'ordering': ['pk'],
                'indexes': [models.Index(fields=['computed'], name='rows_by_age')],
                'constraints': [models.CheckConstraint(condition=models.Q(('submission__isnull', False), ('reported_run__isnull', False), _connector='XOR'), name='either_measured_or_reported')],
            },
        ),
        migrations.CreateModel(
            name='EntryMetric',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('tasks', models.PositiveIntegerField()),
                ('tests_rate', models.FloatField(blank=True, null=True)),
                ('tests_passed', models.FloatField(blank=True, null=True)),
                ('tests_low', models.FloatField(blank=True, null=True)),
                ('tests_high', models.FloatField(blank=True, null=True)),
                ('labels', models.JSONField(blank=True, default=dict)),
                ('category', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.CASCADE, to='benchmark_tasks.category')),
                ('entry', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='metrics', to='leaderboard.entry')),
                ('rank_from', models.PositiveIntegerField(blank=True, null=True)),
                ('rank_to', models.PositiveIntegerField(blank=True, null=True)),
                ('suite_version', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='benchmark_tasks.suiteversion')),
                ('listed', models.CharField(blank=True, choices=[('ranked', 'ranked'), ('calibration', 'calibration sample')], max_length=12)),
                ('name', models.CharField(max_length=120)),
                ('tests_order', models.GeneratedField(db_persist=True, expression=django.db.models.functions.comparison.Coalesce('tests_rate', -1.0), output_field=models.FloatField())),
            ],
            options={
                'ordering': ['entry', 'category__position'],
                'constraints': [models.UniqueConstraint(fields=('entry', 'category'), name='one_metric_per_entry_and_category'), models.UniqueConstraint(condition=models.Q(('category__isnull', True)), fields=('entry',), name='one_overall_metric_per_entry')],
                'indexes': [models.Index(fields=['suite_version', 'category', 'listed', '-tests_order', 'name', 'entry'], name='rows_by_tests')],
            },
        ),
        migrations.CreateModel(
            name='ReportedResult',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('tests_passed', models.BooleanField(blank=True, null=True)),
                ('tests_note', models.CharField(blank=True, max_length=200)),
                ('judge_label', models.CharField(blank=True, choices=[('CC', 'completely correct'), ('LC', 'logically correct'), ('LI', 'logically incorrect')], max_length=2)),
                ('human_label', models.CharField(blank=True, choices=[('CC', 'completely correct'), ('LC', 'logically correct'), ('LI', 'logically incorrect')], max_length=2)),
                ('task', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='reported_results', to='benchmark_tasks.task')),
                ('run', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='results', to='leaderboard.reportedrun')),
                ('human_annotator', models.PositiveSmallIntegerField(blank=True, null=True)),
                ('human_comment', models.TextField(blank=True)),
                ('judge_text', models.TextField(blank=True)),
            ],
            options={
                'ordering': ['run', 'task'],
                'constraints': [models.UniqueConstraint(fields=('run', 'task'), name='one_reported_result_per_task')],
            },
        ),
        migrations.CreateModel(
            name='ReportedAggregate',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('measure', models.CharField(max_length=12)),
                ('count', models.PositiveIntegerField(blank=True, null=True)),
                ('printed', models.DecimalField(blank=True, decimal_places=1, max_digits=5, null=True)),
                ('run', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='aggregates', to='leaderboard.reportedrun')),
            ],
            options={
                'ordering': ['run', 'measure'],
                'constraints': [models.UniqueConstraint(fields=('run', 'measure'), name='one_total_per_measure')],
            },
        ),
        migrations.CreateModel(
            name='BoardState',
            fields=[
                ('suite_version', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='board_state', serialize=False, to='benchmark_tasks.suiteversion')),
                ('changed', models.PositiveBigIntegerField(default=1)),
                ('surroundings', models.PositiveBigIntegerField(default=1)),
                ('results', models.PositiveBigIntegerField(default=1)),
                ('ranked', models.PositiveBigIntegerField(default=0)),
                ('pass_rates', models.JSONField(blank=True, default=list)),
            ],
        ),
        migrations.CreateModel(
            name='AnalysisReport',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('digest', models.CharField(max_length=64)),
                ('entries', models.JSONField(default=list)),
                ('data', models.JSONField(default=dict)),
                ('computed', models.DateTimeField()),
                ('suite_version', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, related_name='analysis_report', to='benchmark_tasks.suiteversion')),
            ],
            options={
                'ordering': ['suite_version'],
            },
        ),
        migrations.CreateModel(
            name='Snapshot',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('number', models.PositiveIntegerField()),
                ('title', models.CharField(max_length=120)),
                ('note', models.TextField()),
                ('document', models.JSONField()),
                ('archive', models.CharField(max_length=64)),
                ('created', models.DateTimeField()),
                ('created_by', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('suite', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='snapshots', to='benchmark_tasks.suite')),
                ('suite_version', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='snapshots', to='benchmark_tasks.suiteversion')),
                ('supersedes', models.OneToOneField(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='superseded_by', to='leaderboard.snapshot')),
            ],
            options={
                'ordering': ['suite', '-number'],
                'constraints': [models.UniqueConstraint(fields=('suite', 'number'), name='one_snapshot_per_number')],
            },
        ),
        migrations.CreateModel(
            name='MailChoice',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('kind', models.CharField(choices=[('scored', 'a submission of yours was scored'), ('held', 'a submission of yours is held'), ('paused', 'a run of yours has paused'), ('hidden', 'a submission of yours was hidden'), ('unhidden', 'a submission of yours is no longer hidden'), ('judged', 'the judges have labelled a submission of yours'), ('appeal', 'an appeal of yours was decided'), ('review', 'answers wait for your label')], max_length=10)),
                ('user', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='mail_choices', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'ordering': ['user', 'kind'],
                'constraints': [models.UniqueConstraint(fields=('user', 'kind'), name='one_mail_choice_of_each_kind')],
            },
        ),
        migrations.CreateModel(
            name='Notice',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('kind', models.CharField(choices=[('scored', 'a submission of yours was scored'), ('held', 'a submission of yours is held'), ('paused', 'a run of yours has paused'), ('hidden', 'a submission of yours was hidden'), ('unhidden', 'a submission of yours is no longer hidden'), ('judged', 'the judges have labelled a submission of yours'), ('appeal', 'an appeal of yours was decided'), ('review', 'answers wait for your label')], max_length=10)),
                ('key', models.CharField(max_length=40)),
                ('made', models.DateTimeField()),
                ('read', models.DateTimeField(blank=True, null=True)),
                ('mail_due', models.DateTimeField(blank=True, null=True)),
                ('mail_tries', models.PositiveSmallIntegerField(default=0)),
                ('mailed', models.DateTimeField(blank=True, null=True)),
                ('case', models.ForeignKey(null=True, on_delete=django.db.models.deletion.CASCADE, related_name='notices', to='reviews.case')),
                ('recipient', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='notices', to=settings.AUTH_USER_MODEL)),
                ('submission', models.ForeignKey(null=True, on_delete=django.db.models.deletion.CASCADE, related_name='notices', to='submissions.submission')),
            ],
            options={
                'ordering': ['-made', '-pk'],
                'indexes': [models.Index(fields=['recipient', '-made'], name='notices_of_somebody'), models.Index(condition=models.Q(('read', None)), fields=['recipient'], name='unread_notices'), models.Index(condition=models.Q(('mail_due__isnull', False)), fields=['mail_due'], name='notices_to_mail'), models.Index(fields=['made'], name='notices_by_age')],
                'constraints': [models.UniqueConstraint(fields=('recipient', 'kind', 'key'), name='one_notice_of_each_occasion')],
            },
        ),
        migrations.CreateModel(
            name='AnswersFile',
            fields=[
                ('suite', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='answers_file', serialize=False, to='benchmark_tasks.suite')),
                ('changed', models.PositiveBigIntegerField()),
                ('entries', models.JSONField(default=list)),
                ('file', models.FileField(max_length=200, upload_to='')),
                ('digest', models.CharField(max_length=64)),
                ('size', models.PositiveBigIntegerField()),
                ('answers', models.PositiveIntegerField()),
                ('made', models.DateTimeField()),
            ],
            options={
                'ordering': ['suite'],
            },
        ),
    ]
