"""The rooms: which way imports point, what stays free of Django, and how large a module may grow."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.conftest import PROJECT_ROOT

ROOMS = ("benchmark_tasks", "submissions", "evaluator", "reviews", "leaderboard")
PURE = (
    "benchmark_tasks/facts",
    "submissions/answers",
    "submissions/endpoints",
    "evaluator/attacks",
    "evaluator/testing/box",
    "evaluator/generation",
    "evaluator/grading",
    "evaluator/judging",
    "evaluator/providers",
    "evaluator/sandbox",
    "leaderboard/agreement",
    "leaderboard/published",
    "reviews/comparison",
)
LONGEST_MODULE = 400
WORKERS_LIBRARIES = (
    *("anthropic", "docker", "httpx2", "krippendorff", "numpy", "openai", "pandas", "pydantic", "pymupdf", "rs_bpe"),
    *("scipy", "statsmodels"),
)
"""What a web process must not load before a page needs it: agreement loads numpy, estimates a tokenizer, ..."""
WORKERS_PACKAGES = {
    # Package of machinery: the modules of it that pages show something from.
    "evaluator.attacks": {"types"},
    "evaluator.testing.box": set[str](),
    "evaluator.grading": {"types"},
    "evaluator.sandbox": {"environment_list", "ownership", "packages", "settings", "types"},
    "evaluator.providers": {"guard", "types"},
}
WORKERS_MODULES = (
    *(
        "evaluator.generation.answers",
        "evaluator.generation.asking",
        "evaluator.auditing.auditing",
        "evaluator.queue.claims",
    ),
    *(
        "evaluator.providers.stored_clients",
        "evaluator.testing.evaluate",
        "evaluator.testing.golden_store",
        "evaluator.testing.graders",
    ),
    *(
        "evaluator.judging.health_rounds",
        "evaluator.testing.scratch",
        "evaluator.auditing.measurements",
        "evaluator.jobs",
    ),
    "evaluator.generation.extraction",
)


def modules(folder: str) -> list[Path]:
    return [
        file
        for file in sorted((PROJECT_ROOT / folder).rglob("*.py"))
        if not {"suites", "migrations"} & set(file.relative_to(PROJECT_ROOT).parts[:-1])
    ]


def imported(file: Path) -> set[str]:
    """Every module that the file imports anywhere in it, relative imports resolved."""
    package = file.relative_to(PROJECT_ROOT).with_suffix("").parts[:-1]
    names: set[str] = set()
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else ()
            names.add(".".join((*base, *([node.module] if node.module else []))))
    return names


def dotted(file: Path) -> str:
    parts = file.relative_to(PROJECT_ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def test_imports_point_one_way() -> None:
    """The settings are everybody's: Django hands them to each room, so none imports them."""
    wrong = [
        f"{file.relative_to(PROJECT_ROOT)} imports {name}"
        for number, room in enumerate(ROOMS)
        for file in modules(room)
        for name in sorted(imported(file))
        if name.split(".")[0] in ROOMS[number + 1 :]
    ]
    assert wrong == []


def test_a_web_process_imports_only_what_it_serves_with(tmp_path: Path) -> None:
    """In a process of its own, as each of gunicorn's: what is imported there costs memory and start time, each time."""
    code = (
        "import sys, django; django.setup()\n"
        "from django.urls import get_resolver; assert get_resolver().url_patterns\n"
        "from leaderboard.wsgi import application; assert application\n"
        "print(*sorted(sys.modules))"
    )
    values = {"DATA_DIR": str(tmp_path), "ENV_FILE": os.devnull, "PATH": os.environ["PATH"]}
    result = subprocess.run(
        [sys.executable, "-c", code],
        cwd=PROJECT_ROOT,
        env={**values, "DJANGO_SETTINGS_MODULE": "leaderboard.settings"},
        capture_output=True,
        text=True,
        check=True,
    )
    loaded = result.stdout.split()
    assert [name for name in WORKERS_MODULES if find_spec(name) is None] == []
    assert "leaderboard.views.board" in loaded
    machinery = [
        name
        for name in loaded
        for package, shown in WORKERS_PACKAGES.items()
        if name.startswith(f"{package}.") and name.removeprefix(f"{package}.") not in shown
    ]
    assert (sorted({*WORKERS_LIBRARIES, *WORKERS_MODULES} & set(loaded)), machinery) == ([], [])


@pytest.mark.parametrize("folder", PURE)
def test_pure_packages_import_no_django(folder: str) -> None:
    """Imported for real, in a process of their own: an import deep inside another module counts too."""
    names = [dotted(file) for file in modules(folder)]
    assert names
    code = (
        "import importlib, sys\n"
        f"for name in {names!r}: importlib.import_module(name)\n"
        "print(sorted({name.split('.')[0] for name in sys.modules} & {'django', 'django_rq', 'rq'}))"
    )
    result = subprocess.run([sys.executable, "-c", code], cwd=PROJECT_ROOT, capture_output=True, text=True, check=False)
    assert (result.stdout, result.stderr) == ("[]\n", "")


def test_no_module_is_longer_than_a_reader_can_hold() -> None:
    long = {}
    for folder in (*ROOMS, "tests", "scripts"):
        for file in modules(folder):
            lines = len(file.read_text(encoding="utf-8").splitlines())
            if lines > LONGEST_MODULE:
                long[str(file.relative_to(PROJECT_ROOT))] = lines
    assert long == {}
