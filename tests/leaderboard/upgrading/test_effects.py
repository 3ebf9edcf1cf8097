"""What single operations do, on made-up models."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from django.db import migrations, models
from django.db.migrations import operations as op
from django.db.models import Q

from leaderboard.upgrading.effects import Effect, effects

if TYPE_CHECKING:
    from django.db.migrations.operations.base import Operation

_COLOURS = [("red", "red"), ("blue", "blue")]
BEFORE = op.CreateModel(
    "Thing",
    [
        ("id", models.BigAutoField(primary_key=True)),
        ("name", models.CharField(max_length=20)),
        ("note", models.TextField(null=True)),
        ("colour", models.CharField(max_length=9, choices=_COLOURS, default="red")),
        ("file", models.FileField(upload_to="old/")),
    ],
)
TABLE = "shop_thing"


def made(*operations: Operation) -> Any:
    migration: Any = migrations.Migration("0002_more", "shop")
    migration.operations = list(operations)
    return migration


def found(*operations: Operation, vendor: str = "postgresql") -> list[Effect]:
    first: Any = migrations.Migration("0001_initial", "shop")
    first.operations = [BEFORE]
    return effects([first, made(*operations)], [made()], real_apps=set(), vendor=vendor)["shop.0002_more"]


def changed(name: str, field: models.Field[Any, Any]) -> op.AlterField:
    return op.AlterField("Thing", name, field)


LIVE_TOGETHER = [
    op.AddField("Thing", "extra", models.TextField(null=True)),
    op.AddField("Thing", "extra", models.IntegerField(default=1, db_default=1)),
    op.AddField("Thing", "others", models.ManyToManyField("shop.Thing")),
    changed("name", models.CharField(max_length=30)),
    changed("name", models.CharField(max_length=20, null=True)),
    changed("name", models.CharField(max_length=20, db_default="")),
    changed("colour", models.CharField(max_length=9, choices=[*_COLOURS, ("green", "green")], default="red")),
    changed("file", models.FileField(upload_to="")),
    op.AddIndex("Thing", models.Index(fields=["name"], name="by_name")),
    op.RemoveIndex("Thing", "by_name"),
    op.AlterModelOptions("Thing", {"ordering": ["name"]}),
    op.CreateModel("Other", [("id", models.BigAutoField(primary_key=True))]),
    op.SeparateDatabaseAndState(state_operations=[op.RemoveField("Thing", "note")]),
]
BREAKING = [
    (op.AddField("Thing", "extra", models.IntegerField(default=1)), "adds the required column shop_thing.extra"),
    (op.RemoveField("Thing", "note"), "drops the column shop_thing.note"),
    (op.RenameField("Thing", "note", "remark"), "renames the column shop_thing.note"),
    (op.DeleteModel("Thing"), "drops the table shop_thing"),
    (op.RenameModel("Thing", "Item"), "renames the table shop_thing"),
    (op.AlterModelTable("Thing", "items"), "renames the table shop_thing"),
    (changed("note", models.TextField()), "changes null of the column shop_thing.note"),
    (changed("name", models.CharField(max_length=19)), "changes max_length of the column shop_thing.name"),
    (changed("name", models.CharField(max_length=20, unique=True)), "changes unique of the column shop_thing.name"),
    (changed("name", models.TextField()), "changes type of the column shop_thing.name"),
    (
        changed("name", models.CharField(max_length=20, db_column="n")),
        "changes db_column of the column shop_thing.name",
    ),
    (
        op.AddConstraint("Thing", models.CheckConstraint(condition=~Q(name=""), name="named")),
        "adds a constraint to shop_thing that may refuse what older code writes",
    ),
    (op.AlterUniqueTogether("Thing", {("name", "colour")}), "adds a constraint to shop_thing"),
    (op.RunPython(op.RunPython.noop, op.RunPython.noop), "runs RunPython, and the check cannot read"),
    (op.RunSQL("SELECT 1", op.RunSQL.noop), "runs RunSQL, and the check cannot read"),
    (
        op.SeparateDatabaseAndState(database_operations=[op.RemoveField("Thing", "note")]),
        "drops the column shop_thing.note",
    ),
]


@pytest.mark.parametrize("vendor", ["sqlite", "postgresql"])
@pytest.mark.parametrize("operation", LIVE_TOGETHER, ids=lambda each: each.describe())
def test_older_code_lives_with(operation: Operation, vendor: str) -> None:
    assert [each.breaks for each in found(operation, vendor=vendor) if each.breaks] == []


@pytest.mark.parametrize("vendor", ["sqlite", "postgresql"])
@pytest.mark.parametrize(("operation", "why"), BREAKING, ids=lambda each: getattr(each, "__class__", each).__name__)
def test_older_code_cannot_live_with(operation: Operation, why: str, vendor: str) -> None:
    (effect,) = found(operation, vendor=vendor)
    assert effect.breaks.startswith(why)


def test_what_follows_the_creation_of_a_model_concerns_no_older_code() -> None:
    created = op.CreateModel("Other", [("id", models.BigAutoField(primary_key=True))])
    required = op.AddField("Other", "extra", models.IntegerField())
    assert found(created, required, op.DeleteModel("Other")) == [
        Effect("shop_other", "creates shop_other", drops="the table shop_other")
    ]


def test_later_operations_see_the_state_after_earlier_ones() -> None:
    wider, narrower = (changed("name", models.CharField(max_length=size)) for size in (40, 30))
    assert [each.breaks for each in found(wider, narrower)] == ["", "changes max_length of the column shop_thing.name"]


@pytest.mark.parametrize(
    ("operation", "vendors"),
    [
        (op.AddField("Thing", "extra", models.TextField(null=True)), set()),
        (op.AddField("Thing", "extra", models.IntegerField(default=1)), {"sqlite"}),
        (op.RemoveField("Thing", "note"), {"sqlite"}),
        (changed("file", models.FileField(upload_to="")), {"sqlite"}),
        (changed("name", models.CharField(max_length=30)), {"sqlite"}),
        (changed("name", models.TextField()), {"sqlite", "postgresql"}),
        (op.AddIndex("Thing", models.Index(fields=["name"], name="by_name")), set()),
    ],
    ids=lambda each: each.describe() if hasattr(each, "describe") else "",
)
def test_tables_that_are_written_again(operation: Operation, vendors: set[str]) -> None:
    rewriting = {
        vendor for vendor in ("sqlite", "postgresql") if any(each.rewrites for each in found(operation, vendor=vendor))
    }
    assert rewriting == vendors


def test_what_going_back_drops_and_leaves() -> None:
    added = op.AddField("Thing", "owner", models.ForeignKey("shop.Thing", null=True, on_delete=models.CASCADE))
    assert [each.drops for each in found(added)] == ["the column shop_thing.owner_id"]
    more = changed("colour", models.CharField(max_length=9, choices=[*_COLOURS, ("green", "green")], default="red"))
    assert [(each.column, each.values) for each in found(more)] == [("colour", ("green",))]


@pytest.mark.parametrize(
    ("operation", "expected"),
    [
        (op.RunPython(op.RunPython.noop), False),
        (op.RunPython(op.RunPython.noop, op.RunPython.noop), True),
        (op.RunSQL("SELECT 1"), False),
        (op.RemoveField("Thing", "name"), False),
        (op.RemoveField("Thing", "note"), True),
    ],
)
def test_what_cannot_be_undone(operation: Operation, expected: bool) -> None:
    assert [each.reversible for each in found(operation)] == [expected]
