"""Outcomes are stored with the words that every page shows for them."""

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('evaluator', '0010_differences_are_computed'),
    ]

    operations = [
        migrations.AlterField(
            model_name='testrun',
            name='outcome',
            field=models.CharField(blank=True, choices=[('passed', 'passed'), ('wrong_output', 'wrong output'), ('raised', 'raised an error'), ('timeout', 'timed out'), ('out_of_memory', 'out of memory'), ('output_limit', 'too much output'), ('bad_patch', 'answer does not apply'), ('not_attempted', 'not attempted'), ('tampering', 'tampering')], max_length=15),
        ),
    ]
