"""Turn the report of an upstream test's box into a verdict.

Upstream's rule is that the log contains "Passed" and not "Failed". The rule here is stricter: the file ran to its end
with exit code 0, no test failed or raised, "Failed" occurs nowhere, "Passed" occurs or at least one assertion was
executed, and no file of the repository was changed.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any

from evaluator.outcomes import Outcome
from evaluator.sandbox.interface import Ending
from evaluator.testing.logs import MAX_LOG_BYTES, clean_log, clean_text, error_text
from evaluator.testing.sealed import (
    MAX_ERROR_CHARACTERS,
    MAX_REASON_CHARACTERS,
    OUTCOME_OF_ENDING,
    ending_text,
)
from evaluator.testing.verdicts import CaseResult, Verdict

if TYPE_CHECKING:
    from collections.abc import Iterator

    from evaluator.sandbox.interface import BoxResult, BoxSpec

MAX_CASES = 500
MAX_NAME_CHARACTERS = 200
NOTHING_SHOWN = "the test ran to its end, but asserted nothing and logged no “Passed”"
_FIELDS = {"exit_code", "signal", "events", "flooded", "logs", "printed", "changed", "kind"}


@dataclass
class _Case:
    """One test whose events are being read."""

    name: str
    outcome: Outcome | None = None
    error: str = ""

    def fails(self, outcome: Outcome, error: str) -> None:
        """Record a failure; the first one stays."""
        if self.outcome in (None, Outcome.PASSED):
            self.outcome, self.error = outcome, error


@dataclass
class _Reading:
    """Summary of the events and logs. ``script`` is the test file as a whole."""

    script: _Case
    cases: dict[str, _Case] = field(default_factory=dict)
    running: str = ""
    skipped: set[str] = field(default_factory=set)
    assertions: int = 0
    ended: bool = False
    exited: bool = False
    left: bool = False
    passed: bool = False
    replaced: list[str] = field(default_factory=list)

    @property
    def current(self) -> _Case:
        """The running test, or else the file."""
        return self.cases.get(self.running, self.script)


def judge(report: Any, *, name: str, result: BoxResult, spec: BoxSpec) -> Verdict:
    """Return the verdict on a box's ``report``, or on its end if there is none.

    ``name`` is the unit test file's path. The report is untrusted and may have any form.
    """
    script = PurePosixPath(name).name
    if result.ending is not Ending.EXITED or not isinstance(report, dict):
        return stopped(script, OUTCOME_OF_ENDING[result.ending], ending_text(result, spec), result)
    if not _is_report(report):
        return _tampered(script, "the box sent a report that its driver does not write", result)
    reading = read_events(report, script)
    if reading is None:
        return _tampered(script, "the test's process sent events that its runner does not write", result)
    if report["changed"]:
        names = ", ".join(str(name) for name in report["changed"])
        return _tampered(script, f"protected files were changed while the test ran: {names}", result, report["logs"])
    if reading.replaced:
        names = ", ".join(reading.replaced)
        return _tampered(script, f"comparison functions of the test were replaced: {names}", result, report["logs"])
    _read_end(report, reading)
    cases = [case for case in reading.cases.values() if case.name not in reading.skipped]
    if reading.script.outcome is not None or not cases:
        cases.append(reading.script)
    for case in cases:
        case.outcome = case.outcome or Outcome.PASSED
    return _verdict(cases, result, logs=report["logs"])


def _tampered(name: str, why: str, result: BoxResult, logs: Any = ()) -> Verdict:
    """Return a verdict of tampering, which a maintainer inspects."""
    return stopped(name, Outcome.TAMPERING, why, result, logs)


def stopped(name: str, outcome: Outcome, error: str, result: BoxResult | None, logs: Any = ()) -> Verdict:
    """Return the verdict where the end of a box decides, and nothing that it sent is trusted."""
    return _verdict([_Case(name, outcome, error)], result, logs=logs)


def read_events(report: dict[str, Any], script: str) -> _Reading | None:
    """Read the events in order; return None when one of them cannot be the runner's."""
    reading = _Reading(_Case(script))
    try:
        if report["flooded"]:
            return None
        for event in _parsed(report["events"]):
            _read_event(event, reading)
            if len(reading.cases) > MAX_CASES:
                return None
    except (KeyError, TypeError, ValueError, RecursionError):
        return None
    return reading


def _parsed(events: list[str]) -> Iterator[dict[str, Any]]:
    for text in events:
        event = json.loads(str(text))
        if not isinstance(event, dict):
            raise TypeError("an event is an object")
        yield event


def _read_event(event: dict[str, Any], reading: _Reading) -> None:
    kind = event["event"]
    if kind == "start":
        reading.running = str(event["test"])
        reading.cases.setdefault(reading.running, _Case(reading.running))
    elif kind == "stop":
        reading.running = ""
    elif kind in ("success", "failure", "error", "skip"):
        _read_test(kind, event, reading)
    elif kind == "logged":
        _read_line(str(event["text"]), reading)
    elif kind == "raised":
        failed = bool(event.get("failed"))
        reading.script.fails(Outcome.WRONG_OUTPUT if failed else Outcome.RAISED, error_text(event["error"]))
    elif kind == "ended":
        reading.ended, reading.assertions = True, int(event["assertions"])
    elif kind == "exited":
        reading.exited = True
    elif kind == "left":
        reading.left, reading.replaced = True, [str(name) for name in event["replaced"]]
    else:
        raise ValueError(kind)


def _read_test(kind: str, event: dict[str, Any], reading: _Reading) -> None:
    case = reading.cases.setdefault(str(event["test"]), _Case(str(event["test"])))
    if kind == "success":
        case.outcome = case.outcome or Outcome.PASSED
    elif kind == "skip" and event["declared"]:
        reading.skipped.add(case.name)
    elif kind == "skip":
        case.fails(Outcome.RAISED, "the test was skipped by something that raised SkipTest while it ran")
    else:
        case.fails(Outcome.WRONG_OUTPUT if kind == "failure" else Outcome.RAISED, error_text(event["error"]))


def _read_line(text: str, reading: _Reading) -> None:
    if "Failed" in text:
        reading.current.fails(Outcome.WRONG_OUTPUT, f"the test logged: {text}")
    elif "Passed" in text:
        reading.passed = True


def _read_end(report: dict[str, Any], reading: _Reading) -> None:
    """Evaluate logs, exit code and the way the process ended, beyond the single tests."""
    logs = [str(text) for _, text in report["logs"]]
    texts = logs or [str(report["printed"])]  # a test that writes no log may print instead
    reading.passed = reading.passed or any("Passed" in text for text in texts)
    has_failed = any(case.outcome not in (None, Outcome.PASSED) for case in (reading.script, *reading.cases.values()))
    for case in reading.cases.values():
        if case.outcome is None and case.name not in reading.skipped:
            case.fails(Outcome.RAISED, "the test did not end")
    if not has_failed and any("Failed" in text for text in texts):
        reading.script.fails(Outcome.WRONG_OUTPUT, f"the test's log contains: {_first_failed(texts)}")
    if reading.exited or not reading.left or (not reading.ended and reading.script.outcome is None):
        reading.script.fails(Outcome.RAISED, f"the test's process ended before the test did ({_code(report)})")
    elif not has_failed and report["exit_code"] != 0:
        reading.script.fails(Outcome.RAISED, f"the test's process ended with {_code(report)}")
    elif not has_failed and not reading.passed and not reading.assertions:
        reading.script.fails(Outcome.WRONG_OUTPUT, NOTHING_SHOWN)


def _first_failed(texts: list[str]) -> str:
    lines = (line for text in texts for line in text.splitlines())
    return next(line for line in lines if "Failed" in line).strip()


def _code(report: dict[str, Any]) -> str:
    return f"signal {report['signal']}" if report["exit_code"] is None else f"exit code {report['exit_code']}"


def _is_report(report: dict[str, Any]) -> bool:
    """Return whether the fields are the driver's; their texts may hold anything."""
    if set(report) != _FIELDS or report["kind"] != "report":
        return False
    lists = all(isinstance(report[key], list) for key in ("events", "logs", "changed"))
    codes = all(report[key] is None or type(report[key]) is int for key in ("exit_code", "signal"))
    texts = isinstance(report["printed"], str) and isinstance(report["flooded"], bool)
    logs = report["logs"]
    return lists and codes and texts and isinstance(logs, list) and all(_is_log(log) for log in logs)


def _is_log(log: Any) -> bool:
    return isinstance(log, list) and len(log) == 2 and all(isinstance(part, str) for part in log)


def _verdict(cases: list[_Case], result: BoxResult | None, *, logs: Any) -> Verdict:
    results = tuple(
        CaseResult(
            None,
            index,
            True,
            case.outcome or Outcome.PASSED,
            error=clean_text(case.error)[:MAX_ERROR_CHARACTERS],
            name=clean_text(case.name)[:MAX_NAME_CHARACTERS],
        )
        for index, case in enumerate(cases)
    )
    failing = next((case for case in results if case.outcome is not Outcome.PASSED), None)
    reason = f"{failing.name}: {failing.error.partition(chr(10))[0]}"[:MAX_REASON_CHARACTERS] if failing else ""
    return Verdict(
        outcome=failing.outcome if failing else Outcome.PASSED,
        cases=results,
        log=_log(result, logs) if result else "",
        seconds=result.wall_seconds if result else 0.0,
        reason=reason,
    )


def _log(result: BoxResult, logs: Any) -> str:
    """Return the test's logs, then its terminal output."""
    written = [f"{name}\n{text}\n" for name, text in logs if text]
    raw = "\n".join(written).encode() + (b"\n" if written and result.stderr else b"") + result.stderr
    return clean_log(raw, truncated=result.stderr_truncated and len(raw) > MAX_LOG_BYTES)
