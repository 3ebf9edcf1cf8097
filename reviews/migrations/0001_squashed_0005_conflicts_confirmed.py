import django.db.models.deletion
import reviews.models.cases
import uuid
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    replaces = [
        ('reviews', '0001_initial'),
        ('reviews', '0002_several_reasons_of_a_decision'),
        ('reviews', '0003_keys_on_or_off'),
        ('reviews', '0004_closed'),
        ('reviews', '0005_conflicts_confirmed'),
    ]
    initial = True

    dependencies = [
        ('benchmark_tasks', '0002_upstream_protocol_and_audit'),
        ('submissions', '0005_verbs_of_reviewing'),
    ]

    operations = [
        migrations.CreateModel(
            name='GuidelineRevision',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('number', models.PositiveIntegerField(unique=True)),
                ('text', models.TextField()),
                ('changes', models.TextField(blank=True)),
                ('created', models.DateTimeField(auto_now_add=True)),
                ('created_by', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'ordering': ['-number'],
            },
        ),
        migrations.CreateModel(
            name='Reviewer',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('identifier', models.UUIDField(default=uuid.uuid4, editable=False, unique=True)),
                ('pseudonym', models.CharField(max_length=60, unique=True)),
                ('name', models.CharField(blank=True, max_length=120)),
                ('shows_name', models.BooleanField(default=False)),
                ('affiliation', models.CharField(blank=True, max_length=160)),
                ('expertise', models.TextField(blank=True)),
                ('is_annotator', models.BooleanField(default=False)),
                ('is_adjudicator', models.BooleanField(default=False)),
                ('active', models.BooleanField(default=True)),
                ('joined', models.DateTimeField(auto_now_add=True)),
                ('user', models.OneToOneField(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='reviewer', to=settings.AUTH_USER_MODEL)),
                ('keys_off', models.BooleanField(default=False)),
                ('conflicts_confirmed', models.BooleanField(default=False)),
            ],
            options={
                'ordering': ['pseudonym'],
            },
        ),
        migrations.CreateModel(
            name='Case',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('identifier', models.UUIDField(default=uuid.uuid4, editable=False, unique=True)),
                ('kind', models.CharField(choices=[('review', 'review'), ('repeat', 'repeat'), ('practice', 'practice')], default='review', max_length=10)),
                ('round', models.PositiveSmallIntegerField(default=1)),
                ('state', models.CharField(choices=[('queued', 'waiting for an annotator'), ('leased', 'being labelled'), ('one_label', 'one label'), ('two_labels', 'two labels'), ('agreed', 'agreed'), ('disputed', 'waiting for an adjudicator'), ('adjudicating', 'being adjudicated'), ('final', 'decided'), ('void', 'void'), ('reopened', 'reopened')], default='queued', max_length=12)),
                ('severity', models.PositiveSmallIntegerField(choices=[(10, 'audit'), (20, 'one step apart'), (30, 'judge unsure'), (40, 'contradiction'), (50, 'direct conflict'), (60, 'appeal')], default=10)),
                ('place', models.PositiveIntegerField(default=reviews.models.cases._any_place)),
                ('labels_wanted', models.PositiveSmallIntegerField(default=2)),
                ('known_label', models.CharField(blank=True, choices=[('CC', 'completely correct'), ('LC', 'logically correct'), ('LI', 'logically incorrect')], max_length=2)),
                ('explanation', models.TextField(blank=True)),
                ('label', models.CharField(blank=True, choices=[('CC', 'completely correct'), ('LC', 'logically correct'), ('LI', 'logically incorrect')], max_length=2)),
                ('source', models.CharField(blank=True, choices=[('decision', "adjudicator's decision"), ('agreed', 'two annotators agree'), ('single', 'a single annotator'), ('judge', 'judge')], max_length=10)),
                ('created', models.DateTimeField(auto_now_add=True)),
                ('closed', models.DateTimeField(blank=True, null=True)),
                ('implementation', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='cases', to='submissions.implementation')),
                ('reserved_for', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='reserved_cases', to='reviews.reviewer')),
            ],
            options={
                'ordering': ['pk'],
                'indexes': [models.Index(fields=['state', '-severity', 'place'], name='cases_to_label')],
                'constraints': [models.UniqueConstraint(condition=models.Q(('kind', 'review')), fields=('implementation', 'round'), name='one_case_per_answer_and_round'), models.UniqueConstraint(condition=models.Q(('kind', 'repeat')), fields=('implementation', 'reserved_for'), name='one_repeat_per_person'), models.UniqueConstraint(condition=models.Q(('kind', 'practice')), fields=('implementation',), name='one_practice_per_answer')],
            },
        ),
        migrations.CreateModel(
            name='Invitation',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('secret_digest', models.CharField(max_length=64, unique=True)),
                ('annotator', models.BooleanField(default=True)),
                ('adjudicator', models.BooleanField(default=False)),
                ('note', models.CharField(blank=True, max_length=200)),
                ('created', models.DateTimeField(auto_now_add=True)),
                ('expires', models.DateTimeField()),
                ('used', models.DateTimeField(blank=True, null=True)),
                ('revoked', models.DateTimeField(blank=True, null=True)),
                ('created_by', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('used_by', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='invitations', to='reviews.reviewer')),
            ],
            options={
                'ordering': ['-created', '-pk'],
            },
        ),
        migrations.CreateModel(
            name='Decision',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('identifier', models.UUIDField(default=uuid.uuid4, unique=True)),
                ('label', models.CharField(choices=[('CC', 'completely correct'), ('LC', 'logically correct'), ('LI', 'logically incorrect')], max_length=2)),
                ('note', models.TextField(blank=True)),
                ('decided', models.DateTimeField()),
                ('case', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, related_name='decision', to='reviews.case')),
                ('guideline', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='decisions', to='reviews.guidelinerevision')),
                ('adjudicator', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='decisions', to='reviews.reviewer')),
                ('reasons', models.JSONField(default=list)),
            ],
            options={
                'ordering': ['decided', 'pk'],
            },
        ),
        migrations.CreateModel(
            name='CaseEvent',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('before', models.CharField(blank=True, choices=[('queued', 'waiting for an annotator'), ('leased', 'being labelled'), ('one_label', 'one label'), ('two_labels', 'two labels'), ('agreed', 'agreed'), ('disputed', 'waiting for an adjudicator'), ('adjudicating', 'being adjudicated'), ('final', 'decided'), ('void', 'void'), ('reopened', 'reopened')], max_length=12)),
                ('after', models.CharField(choices=[('queued', 'waiting for an annotator'), ('leased', 'being labelled'), ('one_label', 'one label'), ('two_labels', 'two labels'), ('agreed', 'agreed'), ('disputed', 'waiting for an adjudicator'), ('adjudicating', 'being adjudicated'), ('final', 'decided'), ('void', 'void'), ('reopened', 'reopened')], max_length=12)),
                ('what', models.CharField(blank=True, max_length=200)),
                ('created', models.DateTimeField(auto_now_add=True)),
                ('case', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='events', to='reviews.case')),
                ('reviewer', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='reviews.reviewer')),
            ],
            options={
                'ordering': ['pk'],
            },
        ),
        migrations.CreateModel(
            name='Assignment',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('role', models.CharField(choices=[('annotator', 'annotator'), ('adjudicator', 'adjudicator')], default='annotator', max_length=12)),
                ('state', models.CharField(choices=[('active', 'at work'), ('evidence', 'blind label locked, deciding'), ('done', 'done'), ('returned', 'handed back'), ('expired', 'expired'), ('skipped', 'skipped')], default='active', max_length=10)),
                ('token', models.UUIDField(default=uuid.uuid4)),
                ('lease_until', models.DateTimeField(blank=True, null=True)),
                ('draft', models.JSONField(blank=True, default=dict)),
                ('draft_version', models.PositiveIntegerField(default=0)),
                ('draft_saved', models.DateTimeField(blank=True, null=True)),
                ('active_seconds', models.PositiveIntegerField(default=0)),
                ('skip_reason', models.TextField(blank=True)),
                ('created', models.DateTimeField(auto_now_add=True)),
                ('ended', models.DateTimeField(blank=True, null=True)),
                ('case', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='assignments', to='reviews.case')),
                ('reviewer', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='assignments', to='reviews.reviewer')),
            ],
            options={
                'ordering': ['pk'],
                'indexes': [models.Index(fields=['state', 'lease_until'], name='assignments_by_lease')],
                'constraints': [models.UniqueConstraint(fields=('case', 'reviewer'), name='one_assignment_per_person')],
            },
        ),
        migrations.CreateModel(
            name='TaskFlag',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('reason', models.CharField(choices=[('bad_test', 'bad test'), ('bad_golden', 'bad golden function'), ('ambiguous_paper', 'ambiguous paper'), ('rubric_gap', 'gap in the rubric'), ('annotator_slip', "annotator's slip"), ('judge_error', "judge's error"), ('equivalent', 'equivalent implementation')], max_length=16)),
                ('created', models.DateTimeField(auto_now_add=True)),
                ('lifted', models.DateTimeField(blank=True, null=True)),
                ('lifted_because', models.TextField(blank=True)),
                ('decision', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='flags', to='reviews.decision')),
                ('lifted_by', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('revision', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='flags', to='benchmark_tasks.taskrevision')),
            ],
            options={
                'ordering': ['pk'],
                'constraints': [models.UniqueConstraint(fields=('decision', 'reason'), name='one_flag_per_decision_and_reason')],
            },
        ),
        migrations.CreateModel(
            name='Trigger',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('kind', models.CharField(choices=[('humans_differ', 'the annotators differ'), ('judge_opposes', 'annotators and judge are two steps apart'), ('tests_oppose', 'a label contradicts the unit tests'), ('judge_unsure', 'the judge is split, abstained or suspects influence'), ('appeal', 'an appeal'), ('judge_gap', 'sampled: one step between labels'), ('audit', 'sampled at random'), ('sample', 'a calibration sample')], max_length=14)),
                ('detail', models.TextField(blank=True)),
                ('inclusion_probability', models.FloatField(default=1.0)),
                ('created', models.DateTimeField(auto_now_add=True)),
                ('case', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='triggers', to='reviews.case')),
                ('raised_by', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'ordering': ['pk'],
                'constraints': [models.UniqueConstraint(fields=('case', 'kind'), name='one_trigger_per_kind')],
            },
        ),
        migrations.CreateModel(
            name='Review',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('identifier', models.UUIDField(default=uuid.uuid4, unique=True)),
                ('role', models.CharField(choices=[('annotator', 'annotator'), ('adjudicator', 'adjudicator')], max_length=12)),
                ('label', models.CharField(choices=[('CC', 'completely correct'), ('LC', 'logically correct'), ('LI', 'logically incorrect')], max_length=2)),
                ('confidence', models.PositiveSmallIntegerField(choices=[(1, 'low'), (2, 'medium'), (3, 'high')])),
                ('findings', models.JSONField(blank=True, default=list)),
                ('note', models.TextField(blank=True)),
                ('active_seconds', models.PositiveIntegerField(default=0)),
                ('locked', models.DateTimeField()),
                ('assignment', models.OneToOneField(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='review', to='reviews.assignment')),
                ('case', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='reviews', to='reviews.case')),
                ('guideline', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='reviews', to='reviews.guidelinerevision')),
                ('reviewer', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='reviews', to='reviews.reviewer')),
            ],
            options={
                'ordering': ['locked', 'pk'],
                'constraints': [models.UniqueConstraint(fields=('case', 'reviewer'), name='one_label_per_person')],
            },
        ),
        migrations.CreateModel(
            name='GuidelineReading',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('created', models.DateTimeField(auto_now_add=True)),
                ('revision', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='readings', to='reviews.guidelinerevision')),
                ('reviewer', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='readings', to='reviews.reviewer')),
            ],
            options={
                'ordering': ['pk'],
                'constraints': [models.UniqueConstraint(fields=('reviewer', 'revision'), name='one_reading_per_revision')],
            },
        ),
        migrations.CreateModel(
            name='Conflict',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('organisation', models.CharField(blank=True, max_length=160)),
                ('system', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='submissions.system')),
                ('reviewer', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='conflicts', to='reviews.reviewer')),
            ],
            options={
                'ordering': ['pk'],
                'constraints': [models.CheckConstraint(condition=models.Q(('system__isnull', True), ('organisation', ''), _connector='XOR'), name='system_or_organisation'), models.UniqueConstraint(condition=models.Q(('system__isnull', False)), fields=('reviewer', 'system'), name='one_conflict_per_system'), models.UniqueConstraint(condition=models.Q(('organisation', ''), _negated=True), fields=('reviewer', 'organisation'), name='one_conflict_per_organisation')],
            },
        ),
    ]
