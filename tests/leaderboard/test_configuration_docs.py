"""docs/configuration.md and .env.example name every variable that is read, with its default, and no other."""

from __future__ import annotations

import os
import re

import pytest

from leaderboard.settings.environment import Variables, read
from tests.conftest import PROJECT_ROOT

ENV_FILE = "ENV_FILE"


@pytest.fixture
def variables(monkeypatch: pytest.MonkeyPatch) -> dict[str, object]:
    """Names and defaults, as environs recorded them while reading an empty environment."""
    for name in list(os.environ):
        monkeypatch.delenv(name)
    env = Variables()
    read(env)
    return dict(env.dump())


def documented() -> dict[str, str]:
    """Name → default of each row of the tables."""
    text = (PROJECT_ROOT / "docs" / "configuration.md").read_text(encoding="utf-8")
    return dict(re.findall(r"^\| `([A-Z_]+)` \| ([^|]*?) \|", text, flags=re.MULTILINE))


def test_every_variable_is_documented_and_no_other(variables: dict[str, object]) -> None:
    assert sorted(documented()) == sorted([ENV_FILE, *variables])


def test_the_documented_defaults_are_the_real_ones(variables: dict[str, object]) -> None:
    wrong = {}
    for name, text in documented().items():
        if name in {ENV_FILE, "DATABASE_URL"}:
            continue
        value = variables[name]
        shown = ",".join(value) if isinstance(value, list) else str(value).lower() if isinstance(value, bool) else value
        expected = f"`{shown}`" if shown != "" else "empty"
        if text != expected:
            wrong[name] = (text, expected)
    assert wrong == {}


def test_the_example_file_names_known_variables_only(variables: dict[str, object]) -> None:
    text = (PROJECT_ROOT / ".env.example").read_text(encoding="utf-8")
    named = set(re.findall(r"^#?([A-Z_]+)=", text, flags=re.MULTILINE))
    assert named - set(variables) == set()
    assert {"PORT", "DATABASE_URL", "REDIS_URL"} <= named


def test_no_variable_is_read_elsewhere() -> None:
    """One place reads the environment, so that one place can check and document it."""
    reading = re.compile(r"""environ(?:\.get\(|\.setdefault\(|\[)\s*["'](\w+)|getenv\(\s*["'](\w+)""")
    found = set()
    for room in ("benchmark_tasks", "submissions", "evaluator", "reviews", "leaderboard"):
        for file in (PROJECT_ROOT / room).rglob("*.py"):
            if file.parent == PROJECT_ROOT / "evaluator" / "testing" / "box":
                continue  # runs in boxes, which have an environment of their own
            for match in reading.finditer(file.read_text(encoding="utf-8")):
                found.add(match[1] or match[2])
    assert found - {"PATH", "DJANGO_SETTINGS_MODULE", "XDG_RUNTIME_DIR"} == {ENV_FILE}
