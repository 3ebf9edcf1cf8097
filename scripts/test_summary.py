"""The end of ``make test``: every skip with its reason, and one last line in pytest's own form.

Reads the reports that ``tests/conftest.py`` writes with ``--report-file``, and a line per stage that could not run.
"""

from __future__ import annotations

import json
import os
import sys
from collections import Counter
from pathlib import Path

NO_SHARED = "no ../shared here"


def main() -> int:
    """``test_summary.py FOLDER SECONDS FAILED_STAGES…``: print the summary; 1 when anything failed."""
    folder, seconds, failed_stages = Path(sys.argv[1]), float(sys.argv[2]), sys.argv[3:]
    counts: Counter[str] = Counter()
    skips: dict[tuple[str, str], list[str]] = {}
    for file in sorted(folder.glob("*.json")):
        report = json.loads(file.read_text(encoding="utf-8"))
        for name, reason in report.pop("skips"):
            skips.setdefault((name, reason), []).append(file.stem)
        counts.update(report)
    stages = folder / "not-run"
    not_run = stages.read_text(encoding="utf-8").splitlines() if stages.exists() else []
    _print_skips(skips, not_run)
    forbidden = [reason for _, reason in skips if reason != NO_SHARED] + not_run
    if os.environ.get("REQUIRE_ALL") and forbidden:
        failed_stages.append("REQUIRE_ALL=1 forbids skips")
    if failed_stages:
        sys.stdout.write(f"\nFAILED: {'; '.join(failed_stages)}\n")
    failed = bool(failed_stages or counts["failed"] or counts["error"])
    sys.stdout.write(_last_line(counts, len(skips) + len(not_run), failed=failed, seconds=seconds))
    return int(failed)


def _print_skips(skips: dict[tuple[str, str], list[str]], not_run: list[str]) -> None:
    if not skips and not not_run:
        sys.stdout.write("\nNothing was skipped.\n")
        return
    sys.stdout.write(f"\n{' NOT EVERYTHING WAS TESTED ':!^80}\n")
    for line in not_run:
        sys.stdout.write(f"not run: {line}\n")
    for (name, reason), runs in skips.items():
        sys.stdout.write(f"skipped ({', '.join(runs)}): {name}: {reason}\n")
    sys.stdout.write("!" * 80 + "\n")


def _last_line(counts: Counter[str], skipped: int, *, failed: bool, seconds: float) -> str:
    words = {"failed": counts["failed"], "passed": counts["passed"], "skipped": skipped, "errors": counts["error"]}
    if failed and not counts["failed"] and not counts["error"]:
        # A stage outside pytest failed (lint, a server, a forbidden skip): whoever reads only this line must see it.
        words["errors"] = 1
    text = ", ".join(f"{number} {word}" for word, number in words.items() if number or word == "passed")
    return f"{f' {text} in {seconds:.2f}s ':=^80}\n"


if __name__ == "__main__":
    sys.exit(main())
