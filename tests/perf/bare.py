"""An answer's test as a plain process, and as upstream runs tests: what boxes and suites are measured beside."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from evaluator.testing.verdicts import Data
    from submissions.models import Implementation

_START = (
    "import runpy, sys; sys.path.append(sys.argv.pop(1)); del sys.argv[0]; "
    "runpy.run_path(sys.argv[0], run_name='__main__')"
)


@dataclass(frozen=True, slots=True)
class BareTest:
    """The sealed test of one answer on all its cases, public and private, laid out in ``folder`` as in a box."""

    folder: Path
    argv: tuple[str, ...]
    stdin: bytes
    cases: int
    files: dict[str, str]
    packages: Path
    image: str

    def run(self) -> None:
        """Run the test in one process of the box's interpreter, with the box's packages, and without a box."""
        from django.conf import settings

        from evaluator.sandbox.box import BOX_VARIABLES, INTERPRETER_OPTIONS

        python = str(settings.ENVIRONMENT.sandbox_python)
        program = str(self.folder / self.argv[0])
        command = [python, *INTERPRETER_OPTIONS, "-c", _START, str(self.packages), program, *self.argv[1:]]
        self._check(subprocess.run(command, input=self.stdin, capture_output=True, env=BOX_VARIABLES, check=False))

    def run_as_upstream(self) -> None:
        """Copy the project, write the answer into the copy, and run the test there in a new container.

        The paper describes this in sections 3.2 and 3.3. The test is ours, since most of upstream's cannot run here.
        """
        with tempfile.TemporaryDirectory(prefix="lmr-board-benchmark-") as place:
            copy = Path(place) / "project"
            shutil.copytree(self.folder, copy)
            for name, text in self.files.items():
                (copy / "repository" / name).write_text(text, encoding="utf-8", newline="")
            command = ["docker", "run", "--rm", "--interactive", "--user=0", f"--volume={copy}:/box"]
            command += [self.image, "python3", "-I", "-B", f"/box/{self.argv[0]}", *self.argv[1:]]
            self._check(subprocess.run(command, input=self.stdin, capture_output=True, check=False))

    def _check(self, done: subprocess.CompletedProcess[bytes]) -> None:
        """End the part unless every case was answered: a test that stops early would look quick."""
        from evaluator.testing.box import frames

        answers = [frames.decode(each) for each in frames.split(done.stdout)[0]]
        good = sum(isinstance(each, dict) and each.get("status") == "ok" for each in answers)
        if good != self.cases:
            sys.exit(f"{good} of {self.cases} cases were answered: {done.stderr[-400:].decode(errors='replace')}")


def bare_test(implementation: Implementation, folder: Path) -> BareTest:
    """Lay out the test of a stored answer in ``folder``, with cases from the golden outputs of bubblewrap's boxes."""
    from django.conf import settings

    from evaluator.sandbox.configuration import (
        configured_sandbox,
        environment_list,
        golden_folder,
        sandbox_state_folder,
    )
    from evaluator.sandbox.environments import prepare_environment
    from evaluator.sandbox.trees import reachable_state_dir
    from evaluator.testing import boxes
    from evaluator.testing.evaluate import candidate_tree
    from evaluator.testing.golden import GoldenFolder, compute_golden
    from evaluator.testing.graders import Grader

    grader = Grader(implementation.revision, implementation.submission.suite_version.seed_epoch)
    task, label = grader.task, "benchmark"
    seeds = (*task.check.public_seeds, *grader.private_seeds)
    found = compute_golden(
        sandbox=configured_sandbox(), task=task, seeds=seeds, golden=GoldenFolder(golden_folder()), label=label
    )
    cases: list[Data] = [case.case for seed in seeds for case in found[seed]]
    folder.mkdir()
    with candidate_tree(implementation) as tree:
        spec, _ = boxes.candidate_box(task, tree=tree, cases=cases, expected_bytes=0, label=label)
        for mount in spec.mounts:
            copy = shutil.copytree if mount.source.is_dir() else shutil.copyfile
            copy(mount.source, folder / PurePosixPath(mount.target).relative_to("/box"))
    root = prepare_environment(
        task.environment,
        reachable_state_dir(sandbox_state_folder()),
        python=settings.ENVIRONMENT.sandbox_python,
        environments=environment_list(),
    ).root
    argv = tuple(each.removeprefix("/box/") for each in spec.argv[1:])
    return BareTest(
        folder, argv, spec.stdin, len(cases), dict(implementation.files or {}),
        next(root.rglob("numpy/__init__.py")).parents[1], environment_list().image(task.environment),
    )  # fmt: skip
