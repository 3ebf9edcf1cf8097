"""Files for contributors and forges: links of Markdown files, versions, issue forms and pre-commit hooks."""

from __future__ import annotations

import re
import sys
from datetime import date
from pathlib import Path
from typing import Any

import pytest
import yaml

from submissions import markdown
from tests.conftest import PROJECT_ROOT

PAGES = sorted([*PROJECT_ROOT.glob("*.md"), *(PROJECT_ROOT / "docs").rglob("*.md")])
FORMS = sorted((PROJECT_ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.yml"))
FENCE = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\(([^()\s]+)\)")
RELEASE = re.compile(r"^## (\d+)\.(\d+)\.(\d+) - (\d{4}-\d{2}-\d{2})$", re.MULTILINE)


def anchors(page: Path) -> set[str]:
    return set(re.findall(r'id="([^"]+)"', markdown.render(page.read_text(encoding="utf-8")).body))


@pytest.mark.parametrize("source", PAGES, ids=lambda source: source.relative_to(PROJECT_ROOT).as_posix())
def test_links_have_an_existing_target(source: Path) -> None:
    broken = []
    for target in LINK.findall(FENCE.sub("", source.read_text(encoding="utf-8"))):
        path, _, anchor = target.partition("#")
        # Addresses of the site begin with a slash; other tests request them.
        if ":" in path or path.startswith("/"):
            continue
        file = (source.parent / path).resolve() if path else source
        if not file.exists() or (anchor and file.suffix == ".md" and anchor not in anchors(file)):
            broken.append(target)
    assert broken == []


def test_pages_of_a_folder_are_listed_in_its_readme() -> None:
    for folder in ("design", "decisions"):
        listed = (PROJECT_ROOT / "docs" / folder / "README.md").read_text(encoding="utf-8")
        files = {page.name for page in (PROJECT_ROOT / "docs" / folder).glob("*.md")} - {"README.md"}
        assert {name for name in files if f"({name})" not in listed} == set()


def test_the_changelog_s_releases_are_in_order() -> None:
    found = RELEASE.findall((PROJECT_ROOT / "CHANGELOG.md").read_text(encoding="utf-8"))
    versions = [tuple(map(int, each[:3])) for each in found]
    dates = [date.fromisoformat(each[3]) for each in found]
    assert versions == sorted(set(versions), reverse=True)
    assert dates == sorted(dates, reverse=True)


def test_issues_have_four_forms() -> None:
    assert [form.stem for form in FORMS] == ["bug", "config", "feature", "number", "task"]


@pytest.mark.parametrize("form", [form for form in FORMS if form.stem != "config"], ids=lambda form: form.stem)
def test_a_form_has_the_structure_that_forges_accept(form: Path) -> None:
    read: dict[str, Any] = yaml.safe_load(form.read_text(encoding="utf-8"))
    assert set(read) == {"name", "description", "labels", "body"}
    fields = [each for each in read["body"] if each["type"] != "markdown"]
    ids = [each["id"] for each in fields]
    assert len(ids) == len(set(ids))
    for each in fields:
        assert set(each) <= {"type", "id", "attributes", "validations"}
        assert each["type"] in {"input", "textarea", "dropdown"}
        assert each["attributes"]["label"]
        assert ("options" in each["attributes"]) is (each["type"] == "dropdown")
    assert any(each.get("validations", {}).get("required") for each in fields)


def test_hooks_run_programs_of_the_project() -> None:
    config = yaml.safe_load((PROJECT_ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8"))
    (local,) = config["repos"]
    assert local["repo"] == "local"
    for hook in local["hooks"]:
        program, *_ = hook["entry"].split()
        assert program.startswith(".venv/bin/")
        assert (Path(sys.executable).parent / Path(program).name).is_file()
