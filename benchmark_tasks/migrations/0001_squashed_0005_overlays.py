import benchmark_tasks.models.catalogue
import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    replaces = [
        ('benchmark_tasks', '0001_initial'),
        ('benchmark_tasks', '0002_upstream_protocol_and_audit'),
        ('benchmark_tasks', '0003_environment_incomplete'),
        ('benchmark_tasks', '0004_repository_metrics'),
        ('benchmark_tasks', '0005_overlays'),
    ]
    initial = True

    dependencies = []

    operations = [
        migrations.CreateModel(
            name='Category',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('slug', models.SlugField(unique=True)),
                ('title', models.CharField(max_length=80, unique=True)),
                ('definition', models.TextField()),
                ('position', models.PositiveSmallIntegerField()),
            ],
            options={
                'verbose_name_plural': 'categories',
                'ordering': ['position'],
            },
        ),
        migrations.CreateModel(
            name='Suite',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('slug', models.SlugField(unique=True)),
                ('title', models.CharField(max_length=120)),
                ('description', models.TextField(blank=True)),
                ('licence', models.CharField(blank=True, max_length=120)),
                ('source', models.CharField(blank=True, max_length=300)),
                ('position', models.PositiveSmallIntegerField(default=100)),
            ],
            options={
                'ordering': ['position', 'slug'],
            },
        ),
        migrations.CreateModel(
            name='SeedEpoch',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('number', models.PositiveIntegerField()),
                ('key', models.CharField(default=benchmark_tasks.models.catalogue.new_epoch_key, max_length=64)),
                ('created', models.DateTimeField(auto_now_add=True)),
                ('suite', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='seed_epochs', to='benchmark_tasks.suite')),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('suite', 'number'), name='one_epoch_per_number')],
            },
        ),
        migrations.CreateModel(
            name='Paper',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('slug', models.SlugField(max_length=80)),
                ('instance_id', models.CharField(max_length=40)),
                ('folder_name', models.CharField(max_length=120)),
                ('title', models.CharField(max_length=300)),
                ('address', models.URLField(blank=True, max_length=500)),
                ('year', models.PositiveSmallIntegerField(blank=True, null=True)),
                ('repository_address', models.URLField(blank=True, max_length=500)),
                ('repository_folder', models.CharField(blank=True, max_length=200)),
                ('suite', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='papers', to='benchmark_tasks.suite')),
            ],
            options={
                'ordering': ['suite', 'folder_name'],
                'constraints': [models.UniqueConstraint(fields=('suite', 'slug'), name='one_paper_per_slug')],
            },
        ),
        migrations.CreateModel(
            name='Task',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('index', models.PositiveSmallIntegerField()),
                ('slug', models.CharField(max_length=100)),
                ('paper', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='tasks', to='benchmark_tasks.paper')),
                ('suite', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='tasks', to='benchmark_tasks.suite')),
            ],
            options={
                'ordering': ['paper__folder_name', 'index'],
                'constraints': [models.UniqueConstraint(fields=('suite', 'slug'), name='one_task_per_slug')],
            },
        ),
        migrations.CreateModel(
            name='TaskRevision',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('number', models.PositiveIntegerField()),
                ('instruction', models.TextField(blank=True)),
                ('category_source', models.CharField(choices=[('upstream', 'as published'), ('ours', 'assigned here, upstream is silent'), ('none', 'outside the nine')], default='none', max_length=10)),
                ('goal_file', models.CharField(max_length=300)),
                ('goal_function', models.CharField(max_length=120)),
                ('class_name', models.CharField(blank=True, max_length=120)),
                ('retrieval_context', models.JSONField(blank=True, default=list)),
                ('protocol', models.CharField(choices=[('sealed', 'sealed'), ('upstream', 'upstream'), ('none', 'not shipped')], default='none', max_length=10)),
                ('environment', models.CharField(blank=True, max_length=80)),
                ('check_settings', models.JSONField(blank=True, default=dict)),
                ('masked_source', models.TextField(blank=True)),
                ('masked_line', models.PositiveIntegerField(default=0)),
                ('statement_hash', models.CharField(max_length=64)),
                ('repository_hash', models.CharField(blank=True, max_length=64)),
                ('grading_hash', models.CharField(blank=True, max_length=64)),
                ('paper_hash', models.CharField(blank=True, max_length=64)),
                ('not_runnable_reasons', models.JSONField(blank=True, default=list)),
                ('audit_state', models.CharField(choices=[('unaudited', 'not audited'), ('passed', 'audited'), ('weak', 'weak test'), ('failed', 'failed its audit'), ('incomplete', 'environment incomplete')], default='unaudited', max_length=10)),
                ('audit', models.JSONField(blank=True, default=dict)),
                ('created', models.DateTimeField(auto_now_add=True)),
                ('category', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='revisions', to='benchmark_tasks.category')),
                ('task', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='revisions', to='benchmark_tasks.task')),
                ('dockerfile_hash', models.CharField(blank=True, max_length=64)),
                ('equivalent_mutants', models.JSONField(blank=True, default=list)),
                ('unit_test_file', models.CharField(blank=True, max_length=300)),
                ('repository_metrics', models.JSONField(blank=True, default=dict)),
                ('overlay', models.JSONField(blank=True, default=dict)),
            ],
            options={
                'ordering': ['task', 'number'],
                'constraints': [models.UniqueConstraint(fields=('task', 'number'), name='one_revision_per_number')],
            },
        ),
        migrations.CreateModel(
            name='SuiteVersion',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('number', models.PositiveIntegerField()),
                ('changes', models.TextField(blank=True)),
                ('created', models.DateTimeField(auto_now_add=True)),
                ('seed_epoch', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='versions', to='benchmark_tasks.seedepoch')),
                ('suite', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='versions', to='benchmark_tasks.suite')),
                ('revisions', models.ManyToManyField(related_name='suite_versions', to='benchmark_tasks.taskrevision')),
            ],
            options={
                'ordering': ['suite', '-number'],
                'constraints': [models.UniqueConstraint(fields=('suite', 'number'), name='one_version_per_number')],
            },
        ),
    ]
