"""The process that one of upstream's test files runs in. Started by ``upstream_driver.py``, which outlives it.

``upstream_child.py JOB`` with a JSON object: ``repository`` and ``unit_test`` (absolute paths), ``argument`` (the test
as upstream's command names it), ``span`` (the goal's lines in the test file, or null), ``events`` (the descriptor that
takes one JSON object a line) and, for a remote goal, ``calls`` (where calls go as frames) and ``answers``.

Events leave at once, so that nothing can take them back. Python 3.8 or newer, standard library only.
"""

from __future__ import annotations

import importlib.util
import json
import logging
import os
import random
import sys
import traceback
import unittest
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from types import ModuleType

BOX = os.path.dirname(os.path.abspath(__file__))  # noqa: PTH100, PTH120
MAX_TEXT_CHARACTERS = 1000
MAX_TRACEBACK_LINES = 8
MAX_LINE_CHARACTERS = 200
VARIABLES = {
    "HF_HUB_OFFLINE": "1",
    "HF_DATASETS_OFFLINE": "1",
    "TRANSFORMERS_OFFLINE": "1",
    "MPLBACKEND": "Agg",
    "TOKENIZERS_PARALLELISM": "false",
}


def main(job: dict[str, Any]) -> None:
    """Run the test and leave by ``os._exit``, so that no exit hook of the answer runs afterwards."""
    leave, write = os._exit, os.write
    repository = job["repository"]

    def send(event: str, error: BaseException | None = None, **facts: object) -> None:
        if error is not None:
            facts["error"] = describe_error(error, inside=repository)
        line = json.dumps({"event": event, **facts}) + "\n"
        write(job["events"], line.encode())

    _settle(job)
    script_module = _sibling("upstream_script")
    watch_module = _sibling("upstream_watch")
    if job.get("calls") is not None:
        sys.modules["lmr_board_remote"] = _remote(job, send)
    unittest.TextTestRunner.resultclass = script_module.recording_result(send)
    _record_logging(send)
    watch = watch_module.Watch()
    watch_module.install(watch)
    random.seed(watch_module.SEED)
    code = _run(script_module, job, send)
    logging.shutdown()
    flush(sys.stdout)
    flush(sys.stderr)
    send("left", replaced=watch.replaced())
    leave(code)


def _run(script_module: Any, job: dict[str, Any], send: Any) -> int:
    """Run the test file; return the exit code that Python would have ended with."""
    try:
        span = tuple(job["span"]) if job["span"] else None
        script = script_module.Script(job["unit_test"], job["argument"], span)
    except Exception as error:  # noqa: BLE001 - whatever cannot be compiled is reported
        send("raised", error=error)
        return 1
    code = 0
    try:
        script.run()
    except SystemExit as error:
        code = _exit_code(error)
        if script.ended_by(error):
            send("ended", assertions=script.assertions)
        else:
            send("exited")
    except BaseException as error:  # noqa: BLE001 - the test's verdict, or the answer's mistake
        send("raised", error=error, failed=isinstance(error, AssertionError))
        code = 1
    else:
        send("ended", assertions=script.assertions)
    return code


def _settle(job: dict[str, Any]) -> None:
    """Make this process look like ``cd <repository>; PYTHONPATH=$(pwd) python unit_test/unit_test_1.py``."""
    os.chdir(job["repository"])
    os.environ.update(VARIABLES, PYTHONPATH=job["repository"])
    elsewhere = [place for place in sys.path if os.path.abspath(place) != BOX]  # noqa: PTH100
    sys.path[:] = [os.path.dirname(job["unit_test"]), job["repository"], *elsewhere]  # noqa: PTH120


def _record_logging(send: Any) -> None:
    """Tell of every log record that speaks of ``Passed`` or ``Failed`` before any handler has it."""
    make = logging.getLogRecordFactory()

    def factory(*args: Any, **kwargs: Any) -> logging.LogRecord:
        record = make(*args, **kwargs)
        text = _text_of(record)
        if "Passed" in text or "Failed" in text:
            send("logged", text=plain(text, MAX_TEXT_CHARACTERS))
        return record

    logging.setLogRecordFactory(factory)


def _text_of(record: logging.LogRecord) -> str:
    try:
        return record.getMessage()
    except Exception:  # noqa: BLE001 - logging itself reports what cannot be formatted, and goes on
        return ""


def _remote(job: dict[str, Any], send: Any) -> ModuleType:
    frames = _sibling("frames", "box_frames")
    _sibling("travel", "box_travel")
    remote: Any = _sibling("remote_stub")
    remote.connect(frames, job["calls"], job["answers"], job["repository"], send)
    module: ModuleType = remote
    return module


def _sibling(stem: str, name: str = "") -> Any:
    """Import a file beside this one by its path: the box's folder is not on ``sys.path``."""
    specification = importlib.util.spec_from_file_location(name or f"box_{stem}", f"{BOX}/{stem}.py")
    if specification is None or specification.loader is None:
        raise ImportError(f"{BOX}/{stem}.py cannot be imported")
    module = importlib.util.module_from_spec(specification)
    sys.modules[specification.name] = module
    specification.loader.exec_module(module)
    return module


def describe_error(error: BaseException, *, inside: str) -> dict[str, object]:
    """Type, message and traceback, all bounded; of the traceback only the lines of files below ``inside``."""
    try:
        message = str(error)
    except Exception:  # noqa: BLE001 - the exception's class is the answer's
        message = "(its message cannot be printed)"
    lines = [
        plain(f"{entry.filename[len(inside) + 1 :]}:{entry.lineno} in {entry.name}: {entry.line}", MAX_LINE_CHARACTERS)
        for entry in traceback.extract_tb(error.__traceback__)
        if entry.filename.startswith(f"{inside}/")
    ]
    remote = [plain(str(line), MAX_LINE_CHARACTERS) for line in getattr(error, "remote_lines", [])]
    return {
        "type": plain(type(error).__name__, 100),
        "message": plain(message, MAX_TEXT_CHARACTERS),
        "traceback": (lines + remote)[-MAX_TRACEBACK_LINES:],
    }


def plain(text: str, limit: int) -> str:
    """Cut ``text`` and replace lone surrogates, which no frame carries."""
    return text[:limit].encode("utf-8", "replace").decode("utf-8")


def _exit_code(error: SystemExit) -> int:
    if error.code is None:
        return 0
    return error.code & 0xFF if isinstance(error.code, int) else 1


def flush(stream: Any) -> None:
    """Write out what the stream still holds."""
    try:
        stream.flush()
    except (OSError, ValueError, AttributeError):
        # The answer may have closed or replaced it.
        return


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
