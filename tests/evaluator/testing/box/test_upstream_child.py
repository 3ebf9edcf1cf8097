"""How a test file of upstream's is run: what it sees, and which events are reported. No box is needed for this."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from evaluator.testing import box

CHILD = Path(box.__file__).parent / "upstream_child.py"

UNITTEST = """
import unittest
from goal import goal

class TestGoal(unittest.TestCase):
{methods}

if __name__ == "__main__":
    unittest.main()
"""


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    (tmp_path / "unit_test").mkdir()
    (tmp_path / "goal.py").write_text("def goal(x):\n    return x\n")
    return tmp_path


def run(repository: Path, text: str | bytes, span: list[int] | None = None) -> tuple[list[dict[str, Any]], int, str]:
    """The events, the exit code and what was printed."""
    test = repository / "unit_test" / "unit_test_1.py"
    test.write_bytes(text.encode() if isinstance(text, str) else text)
    reader, writer = os.pipe()
    job = {
        "repository": str(repository),
        "unit_test": str(test),
        "argument": "unit_test/unit_test_1.py",
        "span": span,
        "path": [str(repository / "packages")],
        "events": writer,
        "calls": None,
        "answers": None,
    }
    done = subprocess.run(
        [sys.executable, "-s", "-B", str(CHILD), json.dumps(job)],
        pass_fds=[writer],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    os.close(writer)
    with os.fdopen(reader) as file:
        return [json.loads(line) for line in file], done.returncode, done.stdout


def kinds(events: list[dict[str, Any]]) -> list[str]:
    return [event["event"] for event in events]


def test_packages_of_a_search_path_are_as_if_installed(repository: Path) -> None:
    (repository / "packages").mkdir()
    (repository / "packages" / "extra.py").write_text("FOUND = 'a package'\n")
    (repository / "packages" / "goal.py").write_text("raise RuntimeError('the repository comes first')\n")
    text = "import sys\ndel sys.path[:1]\nimport extra, goal\nprint(extra.FOUND, goal.goal(2), sys.path[-1])\n"
    _, code, printed = run(repository, text)
    assert (code, printed.strip()) == (0, f"a package 2 {repository / 'packages'}")


def test_the_file_runs_as_upstreams_command_runs_it(repository: Path) -> None:
    text = "import os, sys\nprint(__name__, sys.argv, os.getcwd(), __file__, sys.path[:2], os.environ['PYTHONPATH'])\n"
    events, code, printed = run(repository, text)
    test = repository / "unit_test" / "unit_test_1.py"
    paths = [str(test.parent), str(repository)]
    assert printed.strip() == f"__main__ ['unit_test/unit_test_1.py'] {repository} {test} {paths} {repository}"
    assert (kinds(events), code) == (["ended", "left"], 0)


def test_assertions_are_counted_but_those_of_the_goals_own_lines(repository: Path) -> None:
    text = (
        "import numpy as np\n"
        "def goal(x):\n"
        "    assert x\n"
        "    assert x\n"
        "    return x\n"
        "class Check:\n"
        "    def assertGood(self, x): assert goal(x)\n"
        "if goal(1):\n"
        "    for _ in range(3):\n"
        "        assert goal(2)\n"
        "np.testing.assert_allclose(1, 1)\n"
        "Check().assertGood(1)\n"
        "try:\n"
        "    assert False\n"
        "except AssertionError:\n"
        "    pass\n"
    )
    events, _, _ = run(repository, text, span=[2, 5])
    assert events[0] == {"event": "ended", "assertions": 6}
    events, _, _ = run(repository, text)
    assert events[0] == {"event": "ended", "assertions": 16}


@pytest.mark.parametrize("text", ["import sys\ndef main():\n    sys.exit()\nmain()", "raise SystemExit"])
def test_the_tests_own_exit_is_an_end(text: str, repository: Path) -> None:
    events, code, _ = run(repository, text)
    assert (kinds(events), code) == (["ended", "left"], 0)


def test_an_exit_in_the_goals_lines_is_not_an_end(repository: Path) -> None:
    events, code, _ = run(repository, "import sys\ndef goal():\n    sys.exit(0)\ngoal()\n", span=[2, 3])
    assert (kinds(events), code) == (["exited", "left"], 0)


def test_every_unittest_is_reported(repository: Path) -> None:
    methods = """
    def test_a(self): self.assertEqual(goal(1), 1)
    def test_b(self): self.assertEqual(goal(1), 2)
    def test_c(self): goal()
    @unittest.skip("later")
    def test_d(self): pass
    def test_e(self): raise unittest.SkipTest("now")
    def test_f(self):
        for number in (1, 2):
            with self.subTest(number=number): self.assertEqual(goal(number), 1)
    @unittest.expectedFailure
    def test_g(self): self.assertTrue(False)
    @unittest.expectedFailure
    def test_h(self): self.assertTrue(True)
    """
    events, code, _ = run(repository, UNITTEST.format(methods=methods))
    reported = [
        (event["test"], event["event"], event.get("declared"), event.get("error", {}).get("type"))
        for event in events
        if event["event"] not in ("start", "stop", "ended", "left")
    ]
    assert reported == [
        ("TestGoal.test_a", "success", None, None),
        ("TestGoal.test_b", "failure", None, "AssertionError"),
        ("TestGoal.test_c", "error", None, "TypeError"),
        ("TestGoal.test_d", "skip", True, None),
        ("TestGoal.test_e", "skip", False, None),
        ("TestGoal.test_f", "failure", None, "AssertionError"),
        ("TestGoal.test_g", "success", None, None),
        ("TestGoal.test_h", "failure", None, "AssertionError"),
    ]
    assert kinds(events)[-2:] == ["ended", "left"]
    assert events[-2]["assertions"] == 3
    assert code == 1


def test_relevant_log_records_are_reported_at_once(repository: Path) -> None:
    text = (
        "import logging, os\n"
        "logging.basicConfig(filename='unit_test/x.log', filemode='w', level=logging.INFO)\n"
        "logging.info('nothing')\n"
        "logging.info('Test %s', 'Passed')\n"
        "logging.error('Test Failed: %d', 'no number')\n"
        "logging.debug('Test Failed, but below the level')\n"
        "os._exit(0)\n"
    )
    events, code, _ = run(repository, text)
    assert (events, code) == ([{"event": "logged", "text": "Test Passed"}], 0)
    assert "INFO:root:Test Passed" in (repository / "unit_test" / "x.log").read_text()


def test_random_numbers_repeat_unless_the_test_seeds(repository: Path) -> None:
    text = "import random, numpy\nprint(random.random(), numpy.random.rand(), sorted({hash('x')}))\n"
    _, _, first = run(repository, text)
    events, _, second = run(repository, text)
    assert first.split()[:2] == second.split()[:2]
    assert kinds(events) == ["ended", "left"]
    _, _, seeded = run(repository, text.replace("\n", "\nrandom.seed(5); numpy.random.seed(5)\n", 1))
    assert seeded.split()[:2] != first.split()[:2]


@pytest.mark.parametrize(
    "change",
    [
        "import unittest; unittest.TestCase.assertEqual = print",
        "import numpy.testing; numpy.testing.assert_allclose.__defaults__ = ()",
        "import logging; logging.disable()",
        "import os; os._exit = print",
        "import unittest\nclass Case(unittest.TestCase):\n    def test(self): 1 / 0\nCase.test = lambda self: None",
        "class Case:\n    @classmethod\n    def check(cls): 1 / 0\nCase.check = classmethod(lambda cls: None)",
        "class Case:\n    def check(self): 1 / 0\nCase.check.__code__ = (lambda self: None).__code__",
        "import sys\ndef check(): 1 / 0\nsys.modules['__main__'].check = print",
        "import sys\nclass Case: pass\nsys.modules['__main__'].Case = print",
    ],
)
def test_replacements_are_reported(change: str, repository: Path) -> None:
    events, _, _ = run(repository, change)
    assert len(events[-1]["replaced"]) == 1, events


def test_attributes_that_a_test_sets_on_its_own_classes_are_no_replacement(repository: Path) -> None:
    text = "class Case:\n    rows = []\n    def check(self): pass\nCase.rows = [1]\nCase.model = print\n"
    assert run(repository, text)[0][-1] == {"event": "left", "replaced": []}


def test_the_goal_in_the_test_file_is_not_watched(repository: Path) -> None:
    text = "def goal(): pass\ndef goal_again(): pass\ngoal = goal_again\n"
    assert run(repository, text, span=[1, 1])[0][-1]["replaced"] == []
    assert run(repository, text)[0][-1]["replaced"] == ["__main__.goal"]


def test_replacements_that_are_undone_are_not_reported(repository: Path) -> None:
    text = "from unittest import mock\nwith mock.patch('builtins.open'), mock.patch('logging.info'): pass\n"
    assert run(repository, text)[0][-1] == {"event": "left", "replaced": []}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("def broken(:\n", "SyntaxError"),
        (b"x = 1\0\n", "SyntaxError"),
        ("import nowhere\n", "ModuleNotFoundError"),
    ],
)
def test_an_exception_of_the_file_is_reported(text: str | bytes, expected: str, repository: Path) -> None:
    events, code, _ = run(repository, text)
    assert (events[0]["event"], events[0]["error"]["type"], code) == ("raised", expected, 1)


@pytest.mark.parametrize(
    "text",
    [
        b"\xef\xbb\xbfassert True\r\n",
        "# 注释\nassert '通过'\n".encode(),
        b"# -*- coding: latin-1 -*-\nassert '\xe9' == chr(233)\n",
        b'"""Doc."""\nfrom __future__ import annotations\nassert True\n',
    ],
    ids=["BOM and CRLF", "Chinese", "cookie", "future"],
)
def test_files_as_they_are_found(text: bytes, repository: Path) -> None:
    events, code, _ = run(repository, text)
    assert (events[0], code) == ({"event": "ended", "assertions": 1}, 0)
