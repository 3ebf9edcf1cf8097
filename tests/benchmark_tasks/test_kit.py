"""Content of the task kit, which must not contain any grading files."""

from __future__ import annotations

import json
import zipfile
from typing import TYPE_CHECKING

import pytest

from benchmark_tasks.domain.catalogue import SHIPPED_SUITE, load_catalogue
from benchmark_tasks.domain.importing import import_suite
from benchmark_tasks.domain.kit import KitUnavailableError, build_kit, example_answer
from benchmark_tasks.domain.known_answers import SHIPPED_SUITES_FOLDER
from benchmark_tasks.domain.placeholders import KIT_PLACEHOLDERS
from benchmark_tasks.domain.queries import current_version
from benchmark_tasks.enums import AuditState
from benchmark_tasks.models import Suite, SuiteVersion
from tests.benchmark_tasks.factories import MASKED, PDF, TaskRevisionFactory
from tests.benchmark_tasks.upstream_layout import json_info, put, write_dataset

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.django_db

NAMES = [
    "README.md",
    "example-bundle/answers/alpha/1/answer.py",
    "example-bundle/answers/alpha/2/answer.py",
    "example-bundle/submission.json",
    "papers/alpha.pdf",
    "repositories/alpha/README.md",
    "repositories/alpha/scoring/__init__.py",
    "repositories/alpha/scoring/core.py",
    "repositories/alpha/scoring/tables.py",
    "tasks.json",
]


def version_of(folder: Path) -> SuiteVersion:
    version = import_suite(folder=folder, slug="small").version
    assert version is not None
    return version


def members(kit: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(kit) as archive:
        assert archive.testzip() is None
        return {name: archive.read(name) for name in archive.namelist()}


def test_exact_names_and_contents(suite_folder: Path, data_dir: Path) -> None:
    kit = build_kit(version_of(suite_folder))
    assert kit.parent == data_dir / "kits"
    assert kit.name.startswith("small-v1-")
    found = members(kit)
    assert list(found) == NAMES
    assert found["repositories/alpha/scoring/core.py"].decode() == MASKED
    assert found["papers/alpha.pdf"] == PDF
    assert "Small Suite, version 1" in found["README.md"].decode()


def test_data_and_media_of_a_repository_are_listed_and_left_out(tmp_path: Path) -> None:
    root = write_dataset(tmp_path / "upstream", {"05-SimPO": json_info({"retrieval_content": ["data/figure.png"]})})
    repository = root / "05-SimPO/SimPO"
    for name, size in {"weights/model.PT": 9, "data/large.csv": 2**20 + 1, "data/small.csv": 2**20}.items():
        put(repository / name, b"x" * size)
    put(repository / "data/figure.png", b"named as context")
    found = members(build_kit(version_of(root)))
    assert sorted(name for name in found if name.startswith("repositories/")) == [
        "repositories/simpo/README.md",
        "repositories/simpo/data/figure.png",
        "repositories/simpo/data/small.csv",
        "repositories/simpo/paper.json",
        "repositories/simpo/src/trainers.py",
        "repositories/simpo/unit_test/unit_test_1.py",
    ]
    listed = [line.split() for line in found["left-out.txt"].decode().splitlines()]
    assert listed == [
        ["4", "repositories/simpo/data/archive.tar.gz"],
        ["22", "repositories/simpo/data/archive.zip"],
        ["1048577", "repositories/simpo/data/large.csv"],
        [str(len(PDF)), "repositories/simpo/paper.pdf"],
        ["9", "repositories/simpo/weights/model.PT"],
    ]


def test_tasks(suite_folder: Path) -> None:
    tasks = json.loads(members(build_kit(version_of(suite_folder)))["tasks.json"])
    assert (tasks["suite"], tasks["version"]) == ("small", 1)
    assert [task["task"] for task in tasks["tasks"]] == ["alpha/1", "alpha/2"]
    assert tasks["tasks"][0] == {
        "task": "alpha/1",
        "title": "Alpha: A Score",
        "category": "Evaluation Metrics",
        "instruction": "Implement double.",
        "goal_file": "scoring/core.py",
        "goal_function": "double",
        "class_name": "",
        "goal_line": 8,
        "retrieval_context": ["scoring/tables.py"],
        "protocol": "sealed",
        "unit_test_file": "",
        "repository": "repositories/alpha",
        "paper": "papers/alpha.pdf",
        "paper_address": "https://example.org/alpha",
    }


def test_the_example_bundle_holds_the_stubs(suite_folder: Path) -> None:
    found = members(build_kit(version_of(suite_folder)))
    assert found["example-bundle/answers/alpha/2/answer.py"].decode() == (
        'def score(self, x):\n    """The weighted score."""\n    # TODO: implement\n    raise NotImplementedError\n'
    )
    manifest = json.loads(found["example-bundle/submission.json"])
    assert (manifest["suite"], manifest["suite_version"], manifest["inputs"]) == ("small", 1, "full")
    assert {key: manifest[key] for key in KIT_PLACEHOLDERS} == KIT_PLACEHOLDERS
    assert "/docs/submitting/" in found["README.md"].decode()


def test_the_kit_contains_no_grading_files(suite_folder: Path) -> None:
    secrets = (b"golden-double", b"golden-score", b"Secret cases", b"def run", b"sample-wrong", b"fsum")
    kit = members(build_kit(version_of(suite_folder)))
    assert [name for name, data in kit.items() if any(secret in data for secret in secrets)] == []


def test_no_golden_line_of_the_shipped_suite_is_in_its_kit() -> None:
    report = load_catalogue()
    version = current_version(report.shipped.suite)
    assert version is not None
    kit = members(build_kit(version))
    assert len([name for name in kit if name.endswith("/answer.py")]) == 9
    assert len([name for name in kit if name.startswith("papers/") and name.endswith(".pdf")]) == 9
    text = {name: data for name, data in kit.items() if not name.endswith(".pdf")}
    root = SHIPPED_SUITES_FOLDER / SHIPPED_SUITE
    hidden = [*root.glob("*/golden_files/*.py"), *root.glob("*/unit_test/*.py"), *root.glob("*/samples/*.py")]
    assert len(hidden) >= 27
    whole = {path.read_bytes() for path in hidden}
    assert [name for name, data in text.items() if data in whole] == []
    for info_file in sorted(root.glob("*/info.json")):
        facts = json.loads(info_file.read_text())
        for task in facts["implementations"]:
            golden = (info_file.parent / task["golden_file"]).read_text()
            masked = (info_file.parent / facts["repo_folder_name"] / task["goal_file"]).read_text()
            added = [line.strip() for line in golden.splitlines() if line not in masked.splitlines()]
            distinctive = [line.encode() for line in added if len(line) > 30]
            assert distinctive
            assert [name for name, data in text.items() for line in distinctive if line in data] == []


def test_a_stub_is_dedented_despite_text_at_the_margin() -> None:
    revision = TaskRevisionFactory(masked_source='\t@wraps\n\tdef f(self):\n\t\t"""One.\nTwo."""\n\n\t\traise E\n')
    assert example_answer(revision) == '@wraps\ndef f(self):\n\t"""One.\nTwo."""\n\n\traise E\n'


def test_equal_content_gives_equal_bytes(suite_folder: Path) -> None:
    version = version_of(suite_folder)
    kit = build_kit(version)
    first = kit.read_bytes()
    kit.unlink()
    assert build_kit(version) == kit
    assert kit.read_bytes() == first


def test_the_example_answers_no_task_that_failed_its_audit(suite_folder: Path) -> None:
    version = version_of(suite_folder)
    version.revisions.filter(task__index=1).update(audit_state=AuditState.FAILED)
    found = members(build_kit(version))
    assert [task["task"] for task in json.loads(found["tasks.json"])["tasks"]] == ["alpha/1", "alpha/2"]
    answers = [name for name in found if name.startswith("example-bundle/answers/")]
    assert answers == ["example-bundle/answers/alpha/2/answer.py"]


class TestUpstreamTasks:
    @pytest.fixture
    def kit(self, tmp_path: Path) -> dict[str, bytes]:
        """The kit of one paper in upstream's layout."""
        return members(build_kit(version_of(write_dataset(tmp_path / "benchmark", {"05-SimPO": json_info()}))))

    def test_the_unit_test_is_handed_out_and_named(self, kit: dict[str, bytes]) -> None:
        (task,) = json.loads(kit["tasks.json"])["tasks"]
        assert (task["protocol"], task["unit_test_file"]) == ("upstream", "unit_test/unit_test_1.py")
        assert b"Test Passed" in kit["repositories/simpo/unit_test/unit_test_1.py"]
        readme = kit["README.md"].decode()
        assert "- `upstream` (1 of 1 tasks): the unit test that the benchmark's authors publish" in readme
        assert "`sealed`" not in readme

    def test_golden_files_dockerfile_and_litter_are_not_in_it(self, kit: dict[str, bytes]) -> None:
        assert [name for name, data in kit.items() if b"solved-" in data or b"FROM python" in data] == []
        assert [name for name in kit if name.endswith((".pyc", ".DS_Store")) or "checkpoint" in name] == []


def test_a_suite_of_facts_has_no_kit() -> None:
    load_catalogue()
    version = current_version(Suite.objects.get(slug="lmr-bench"))
    assert version is not None
    with pytest.raises(KitUnavailableError, match="lmr-bench v1 ships no code"):
        build_kit(version)
