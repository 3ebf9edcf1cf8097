from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("submissions", "0007_checks_by_workers"),
    ]

    operations = [
        migrations.AlterField(
            model_name="endpoint",
            name="api",
            field=models.CharField(
                choices=[
                    ("chat", "OpenAI Chat Completions"),
                    ("responses", "OpenAI Responses"),
                    ("messages", "Anthropic Messages"),
                ],
                max_length=12,
            ),
        ),
    ]
