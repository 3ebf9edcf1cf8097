import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    # PostgreSQL alters no table whose rows were written in the same transaction.

    dependencies = [
        ('benchmark_tasks', '0004_repository_metrics'),
        ('leaderboard', '0009_board_index'),
    ]

    operations = [
        migrations.AlterField(
            model_name='entrymetric',
            name='suite_version',
            field=models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='benchmark_tasks.suiteversion'),
        ),
        migrations.AddIndex(
            model_name='entrymetric',
            index=models.Index(fields=['suite_version', 'category', 'listed', '-tests_order', 'name', 'entry'], name='rows_by_tests'),
        ),
    ]
