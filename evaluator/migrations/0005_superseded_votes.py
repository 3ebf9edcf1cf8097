from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('evaluator', '0004_models_asked_and_judges'),
    ]

    operations = [
        migrations.RemoveConstraint(
            model_name='judgevote',
            name='one_vote_per_sample',
        ),
        migrations.AddField(
            model_name='judgevote',
            name='superseded',
            field=models.CharField(blank=True, max_length=200),
        ),
        migrations.AddConstraint(
            model_name='judgevote',
            constraint=models.UniqueConstraint(condition=models.Q(('superseded', '')), fields=('judgement', 'variant', 'sample'), name='one_vote_that_counts_per_sample'),
        ),
    ]
