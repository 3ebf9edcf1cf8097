"""Run a supervisor over small programs, in a process of its own: ``python -m tests.leaderboard.programs FOLDER``.

A supervisor adopts and kills all processes below it, so it cannot run inside the test process. ``FOLDER/programs.json``
is a list of ``{"name", "code", "stage", "grace", "ready", …}``; ``ready`` names a file to wait for. After the argument
``console``, the programs have no log files.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from leaderboard.supervision import SupervisionError
from leaderboard.supervision.programs import Program
from leaderboard.supervision.supervisor import Supervisor


def main() -> None:
    """Exit 3 with the message when a program fails to start."""
    folder = Path(sys.argv[1])
    programs = [
        Program(
            name=each["name"],
            argv=(sys.executable, "-u", "-c", each["code"]),
            stage=each.get("stage", 0),
            grace_seconds=each.get("grace", 5),
            loss=each.get("loss", ""),
            nice=each.get("nice", 0),
            ready=(folder / each["ready"]).exists if "ready" in each else None,
        )
        for each in json.loads((folder / "programs.json").read_text(encoding="utf-8"))
    ]
    log_folder = None if "console" in sys.argv[2:] else folder / "logs"
    supervisor = Supervisor(programs, log_folder=log_folder, report=_report)
    try:
        supervisor.run(on_ready=lambda: (folder / "up").touch())
    except SupervisionError as error:
        sys.stdout.write(f"{error}\n")
        sys.exit(3)


def _report(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
