from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('submissions', '0012_audit_of_snapshots'),
    ]

    operations = [
        migrations.AddField(
            model_name='system',
            name='weights',
            field=models.CharField(blank=True, choices=[('open', 'open weights'), ('closed', 'closed weights')], default='', max_length=6),
            preserve_default=False,
        ),
        migrations.AddField(
            model_name='system',
            name='knowledge_cutoff',
            field=models.CharField(blank=True, default='', max_length=7),
            preserve_default=False,
        ),
        # Null, not empty, for the answers that are there: the sweep compares them.
        migrations.AddField(
            model_name='implementation',
            name='similarity',
            field=models.JSONField(blank=True, default=None, null=True),
        ),
        migrations.AlterField(
            model_name='implementation',
            name='similarity',
            field=models.JSONField(blank=True, default=dict, null=True),
        ),
    ]
