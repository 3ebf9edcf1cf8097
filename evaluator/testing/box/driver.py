"""The first program of every sealed box: send a hello, then answer cases. Mounted at ``/box/driver.py``.

``driver.py MODE NONCE``, with ``MODE`` one of

``hello``      sends hello and ends: the box's interpreter, NumPy, BLAS and processor family.
``reference``  stdin is one frame, the list of seeds as text (they have 128 bits, a frame's integers 64). For each
               seed, ``cases(seed)`` of ``/box/cases.py`` makes the cases and ``run(case)`` of ``/box/run.py`` the
               outputs; one ``golden`` frame per case, or one ``failed`` frame.
``candidate``  stdin is one frame per case, ``{"case": id, "input": case}``; one ``output`` frame per case answers it,
               with the status ``ok``, ``raised`` or ``unsupported_output``.
``variants``   stdin is one frame ``{"file": goal file, "variants": count, "seconds": of processor time, "preload":
               names}``, a frame with the goal file's bytes for each variant, and then the frames of ``candidate``.
               Every variant answers all cases in its own fork; after its frames comes one ``ended`` frame. The first
               variant is the reference: the others get at most ten times its time. For audits only, whose variants
               the task's author made; a submitted variant could forge the next one's answers.

Frames are written to a private copy of stdout, made before anything else; file descriptor 1 then points to stderr, so
that the candidate's output goes to the log. The hello is sent before the repository can be imported: a box without one
never reached the candidate, which is an infrastructure error. Nothing here is secret from the candidate: expected
outputs are never in its box.

Python 3.9 or newer, standard library and NumPy.
"""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import os
import platform
import resource
import select
import shutil
import signal
import sys
import time
import traceback
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from evaluator.testing.box import frames
    from evaluator.testing.verdicts import Data

BOX = Path(__file__).resolve().parent
REPOSITORY = BOX / "repository"
WORKING_FOLDER = "/tmp"  # noqa: S108 - the box's own tmpfs, the only place that can be written
MAX_TYPE_CHARACTERS = 100
MAX_MESSAGE_CHARACTERS = 1000
MAX_TRACEBACK_LINES = 8
MAX_LINE_CHARACTERS = 200
WALL_PER_PROCESSOR_SECOND = 4
LEAST_VARIANT_SECONDS = 0.5
TIMES_REFERENCE = 10
_CPUINFO_KEYS = {
    *("vendor_id", "cpu family", "model", "flags"),
    *("CPU implementer", "CPU architecture", "CPU variant", "CPU part", "Features"),
}


def main(mode: str, nonce: str) -> None:
    """Run one mode to its end. Exits by ``os._exit``, so that no exit hook of the candidate runs afterwards."""
    answers = _private_stdout()
    _emit(answers, {"kind": "hello", "nonce": nonce, **describe_box()})
    stdin = sys.stdin.buffer.read()
    exit_code = 0
    if mode == "reference":
        exit_code = _answer_as_reference(answers, stdin)
    elif mode == "candidate":
        _answer_as_candidate(answers, frames.split(stdin)[0], REPOSITORY)
    elif mode == "variants":
        _answer_as_variants(answers, stdin)
    _flush(sys.__stdout__)
    _flush(sys.__stderr__)
    os._exit(exit_code)


def describe_box() -> dict[str, str]:
    """Describe the box's numerical platform; boxes with the same ``cpu_family`` may share golden outputs."""
    blas = _blas_name()
    fingerprint = cpu_fingerprint(_read_cpuinfo())
    return {
        "python": platform.python_version(),
        "numpy": np.__version__,
        "blas": blas,
        "cpu_family": f"{platform.machine()}-{blas}-{fingerprint}",
    }


def cpu_fingerprint(cpuinfo: str) -> str:
    """Hash the first processor's vendor, model and instruction sets, from the text of /proc/cpuinfo.

    A BLAS selects its kernels by these; frequency, microcode and processor count do not matter.
    """
    facts = []
    for line in cpuinfo.partition("\n\n")[0].splitlines():
        key, _, value = line.partition(":")
        if key.strip() in _CPUINFO_KEYS:
            facts.append(f"{key.strip()}={' '.join(sorted(value.split()))}")
    return hashlib.sha256("\n".join(sorted(facts)).encode()).hexdigest()[:16]


def _read_cpuinfo() -> str:
    try:
        return Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def _blas_name() -> str:
    try:
        config: Any = np.show_config(mode="dicts")  # type: ignore[call-overload,unused-ignore]
        return str(config["Build Dependencies"]["blas"]["name"])
    except (TypeError, KeyError):
        # NumPy before 1.25 can only print its configuration.
        return "unknown"


def _private_stdout() -> int:
    """Keep stdout for frames under a new number that child processes do not inherit; redirect fd 1 to the log."""
    private = os.dup(1)
    os.dup2(2, 1)
    # Line buffering keeps in the log what was printed before the box was killed.
    sys.stdout.reconfigure(line_buffering=True)  # type: ignore[union-attr]
    return private


def _emit(answers: int, message: dict[str, object]) -> None:
    _write_all(answers, frames.encode(message))


def _write_all(descriptor: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]


def _answer_as_reference(answers: int, stdin: bytes) -> int:
    """Emit one golden frame for each case of every seed; return the exit code, 1 after a failure."""
    seed = None
    try:
        seeds: Any = frames.decode(stdin)
        make_cases = _load_function(BOX / "cases.py", "cases")
        run = _load_run(REPOSITORY)
        for seed in seeds:
            for index, raw in enumerate(_encoded_cases(make_cases, int(seed))):
                output = run(frames.decode(raw))
                golden = {"kind": "golden", "seed": seed, "index": index, "case": frames.decode(raw), "output": output}
                _emit(answers, golden)
    except Exception as error:  # noqa: BLE001 - any error of the task's own code is reported to the operator
        _emit(answers, {"kind": "failed", "seed": seed, "error": _describe_error(error, inside=BOX)})
        return 1
    return 0


def _encoded_cases(make_cases: Callable[..., Any], seed: int) -> list[bytes]:
    cases = make_cases(seed)
    if not isinstance(cases, list) or not cases or not all(isinstance(case, dict) for case in cases):
        raise TypeError(f"cases({seed}) must return a list of at least one dict")
    return [frames.encode(case) for case in cases]


def _answer_as_candidate(answers: int, raw_cases: list[bytes], repository: Path) -> None:
    failure: dict[str, object] = {}
    run = None
    try:
        run = _load_run(repository)
    except BaseException as error:  # noqa: BLE001 - sys.exit() while importing is an answer too
        failure = _raised(error)
    for raw in raw_cases:
        # Each case is decoded separately, so that a call that changes its inputs affects no other.
        item: Any = frames.decode(raw)
        result = failure if run is None else _run_case(run, item["input"])
        _write_all(answers, _encode_result({"kind": "output", "case": item["case"], **result}))


def _answer_as_variants(answers: int, stdin: bytes) -> None:
    raw, _ = frames.split(stdin)
    order: Any = frames.decode(raw[0])
    texts, raw_cases = raw[1 : order["variants"] + 1], raw[order["variants"] + 1 :]
    for name in order["preload"]:
        try:
            importlib.import_module(name)
        except Exception:  # noqa: BLE001, S112 - imported for speed alone; the variant itself reports what is missing
            continue
    seconds = order["seconds"]
    for number, text in enumerate(texts):
        repository = Path(WORKING_FOLDER) / f"variant-{number}"
        _link_repository(repository, order["file"], frames.decode(text))
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        answer = partial(_answer_as_candidate, raw_cases=raw_cases, repository=repository)
        output, timeout = _in_a_fork(answer, seconds)
        if number == 0:
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            taken = after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime
            seconds = min(seconds, max(LEAST_VARIANT_SECONDS, TIMES_REFERENCE * taken))
        shutil.rmtree(repository, ignore_errors=True)
        _write_all(answers, b"".join(frames.split(output)[0]))
        _emit(answers, {"kind": "ended", "timeout": timeout})


def _link_repository(folder: Path, file: str, text: Any) -> None:
    """Build the repository in ``folder`` with the bytes ``text`` as ``file`` and links to everything else."""
    source, target = REPOSITORY, folder
    target.mkdir()
    for part in Path(file).parts:
        for entry in source.iterdir() if source.is_dir() else ():
            if entry.name != part:
                (target / entry.name).symlink_to(entry)
        source, target = source / part, target / part
        if source != REPOSITORY / file:
            target.mkdir()
    target.write_bytes(text.tobytes())


def _in_a_fork(work: Callable[[int], None], seconds: float) -> tuple[bytes, bool]:
    """Run ``work`` in a child process; return what it writes to its descriptor, and whether its time ran out.

    It gets ``seconds`` of processor time. The wall-clock limit is longer: a busy machine must not look like an endless
    loop.
    """
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.setsid()
            os.close(reading)
            # Ends the process by SIGPROF.
            signal.setitimer(signal.ITIMER_PROF, seconds)
            work(writing)
        finally:
            # In every case, the child must not continue with the parent's work.
            os._exit(0)
    os.close(writing)
    output = bytearray()
    deadline = time.monotonic() + WALL_PER_PROCESSOR_SECOND * seconds
    complete = False
    while not complete and select.select([reading], [], [], max(0.0, deadline - time.monotonic()))[0]:
        piece = os.read(reading, 1024 * 1024)
        output += piece
        complete = not piece
    os.close(reading)
    if not complete:
        os.killpg(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    return bytes(output), not complete or os.waitstatus_to_exitcode(status) == -signal.SIGPROF


def _run_case(run: Callable[..., Any], case: Data) -> dict[str, object]:
    try:
        return {"status": "ok", "output": run(case)}
    except BaseException as error:  # noqa: BLE001 - sys.exit() in the goal function is an answer too
        return _raised(error)


def _raised(error: BaseException) -> dict[str, object]:
    return {"status": "raised", "error": _describe_error(error, inside=REPOSITORY)}


def _encode_result(result: dict[str, object]) -> bytes:
    try:
        return frames.encode(result)
    except Exception as error:  # noqa: BLE001 - an output may be any object, with any behaviour
        description = _describe_error(error, inside=REPOSITORY)
        return frames.encode(
            {"kind": "output", "case": result["case"], "status": "unsupported_output", "error": description}
        )


def _load_run(repository: Path) -> Callable[..., Any]:
    _load_module(BOX / "probe_tools.py", "probe_tools")
    os.chdir(WORKING_FOLDER)
    sys.dont_write_bytecode = True
    sys.argv = ["run.py"]
    sys.path.insert(0, str(repository))
    return _load_function(BOX / "run.py", "run")


def _load_function(path: Path, name: str) -> Callable[..., Any]:
    function: Callable[..., Any] = getattr(_load_module(path, f"box_{path.stem}"), name)
    return function


def _load_module(path: Path, name: str) -> Any:
    """Import one file by its path: only the repository is ever on ``sys.path``."""
    specification = importlib.util.spec_from_file_location(name, path)
    if specification is None or specification.loader is None:
        raise ImportError(f"{path} cannot be imported")
    module = importlib.util.module_from_spec(specification)
    sys.modules[name] = module
    specification.loader.exec_module(module)
    return module


def _describe_error(error: BaseException, *, inside: Path) -> dict[str, object]:
    """Return type, message and traceback of ``error``, all bounded; traceback lines only of files ``inside``."""
    try:
        message = str(error)
    except Exception:  # noqa: BLE001 - the exception's class is the candidate's
        message = "(its message cannot be printed)"
    return {
        "type": _plain(type(error).__name__, MAX_TYPE_CHARACTERS),
        "message": _plain(message, MAX_MESSAGE_CHARACTERS),
        "traceback": _traceback_lines(error, inside=inside),
    }


def _traceback_lines(error: BaseException, *, inside: Path) -> list[str]:
    prefix = f"{inside}{os.sep}"
    lines = []
    for entry in traceback.extract_tb(error.__traceback__):
        if entry.filename.startswith(prefix):
            place = f"{entry.filename[len(prefix) :]}:{entry.lineno} in {entry.name}: {entry.line}"
            lines.append(_plain(place, MAX_LINE_CHARACTERS))
    return lines[-MAX_TRACEBACK_LINES:]


def _plain(text: str, limit: int) -> str:
    """Cut ``text`` and replace lone surrogates, which frames do not allow."""
    return text[:limit].encode("utf-8", "replace").decode("utf-8")


def _flush(stream: Any) -> None:
    try:
        stream.flush()
    except (OSError, ValueError, AttributeError):
        # The candidate may have closed it; the log then ends here.
        return


if __name__ == "__main__":
    frames = _load_module(BOX / "frames.py", "box_frames")
    main(sys.argv[1], sys.argv[2])
