from django.db import migrations, models


def name_the_earlier_rule(apps, schema_editor):
    """What was taken from replies until now was taken by the rule that mended code before it was tested."""
    requests = apps.get_model("evaluator", "AnswerRequest").objects
    requests.filter(generation__scaffold="none").exclude(taken="").update(rule="1")


class Migration(migrations.Migration):
    dependencies = [
        ("evaluator", "0005_superseded_votes"),
    ]

    operations = [
        migrations.AddField(
            model_name="answerrequest",
            name="rule",
            field=models.CharField(blank=True, max_length=20),
        ),
        migrations.AlterField(
            model_name="trajectory",
            name="source",
            field=models.CharField(
                choices=[
                    ("agent", "this site's agent"),
                    ("openhands", "OpenHands"),
                    ("generic", "an agent of another kind"),
                ],
                max_length=10,
            ),
        ),
        migrations.AlterField(
            model_name="judgeconfig",
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
        migrations.RunPython(name_the_earlier_rule, migrations.RunPython.noop),
    ]
