import django.db.models.deletion
from django.db import migrations, models


def keep_reasons(apps, schema_editor):
    """A decision's one reason becomes the only one of its list; so does that of a decision which is still a draft."""
    decisions = apps.get_model('reviews', 'Decision')._base_manager
    for reason in decisions.order_by().values_list('reason', flat=True).distinct():
        decisions.filter(reason=reason).update(reasons=[reason])
    assignments = apps.get_model('reviews', 'Assignment')._base_manager
    for assignment in assignments.filter(role='adjudicator').only('draft').iterator():
        if 'reason' in assignment.draft:
            reason = assignment.draft.pop('reason')
            assignment.draft['reasons'] = [reason] if reason else []
            assignments.filter(pk=assignment.pk).update(draft=assignment.draft)


class Migration(migrations.Migration):

    dependencies = [
        ('reviews', '0001_initial'),
    ]

    operations = [
        migrations.AddField(
            model_name='decision',
            name='reasons',
            field=models.JSONField(default=list),
        ),
        # Going back gives every decision this reason: one of several cannot be chosen.
        migrations.AlterField(
            model_name='decision',
            name='reason',
            field=models.CharField(default='annotator_slip', max_length=16),
        ),
        migrations.RunPython(keep_reasons, migrations.RunPython.noop),
        migrations.RemoveField(
            model_name='decision',
            name='reason',
        ),
        migrations.AlterField(
            model_name='taskflag',
            name='decision',
            field=models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='flags', to='reviews.decision'),
        ),
        migrations.AddConstraint(
            model_name='taskflag',
            constraint=models.UniqueConstraint(fields=('decision', 'reason'), name='one_flag_per_decision_and_reason'),
        ),
    ]
