"""Attacks on the verdict: wrong answers that try to pass. Fired under every protocol."""

from __future__ import annotations

from typing import Final

from tests.attacks.corpus.attack import Attack, Group, Way
from tests.attacks.corpus.library import answer, read

_FAILED: Final = frozenset({"wrong_output", "raised", "tampering"})
_WRONG: Final = frozenset({"wrong_output"})
_EVERYWHERE: Final = (Way.SEALED, Way.UPSTREAM)

GUESS: Final = "return guess(scores, names)"


def _attack(
    name: str,
    source: str,
    sealed: frozenset[str] = _WRONG,
    reason_part: str = "",
    seconds: float = 20.0,
    ways: tuple[Way, ...] = _EVERYWHERE,
) -> Attack:
    outcomes = {way: sealed if way is Way.SEALED else _FAILED for way in ways}
    return Attack(name, Group.TAMPERING, source, outcomes, reason_part=reason_part, wall_seconds=seconds)


_READS_TEST = """
import re
for place in ("/tmp", "/box"):
    for folder, _, files in os.walk(place):
        if "unit_test_1.py" in files:
            with open(os.path.join(folder, "unit_test_1.py")) as file:
                text = file.read()
            weights = re.search(r"expected = np.array\\((.*)\\)", text)[1]
            return np.array(eval(weights)), eval(re.search(r"order == (.*):", text)[1])
return guess(scores, names)
"""
_PUBLIC = """
def first(seed):
    return float(np.random.default_rng(seed).normal(size=4)[0])


PUBLIC = {first(1), first(2), 1.0, 2.0}
"""
_DECORATED = answer(GUESS).replace(
    "def rank(",
    "def patched(function):\n    np.allclose = lambda *a, **k: True\n    return function\n\n\n@patched\ndef rank(",
)
_DEFAULT = answer(GUESS).replace(
    "def rank(scores, names)",
    "def rank(scores, names, patched=[setattr(np, name, lambda *a, **k: True) for name in ('allclose', 'isclose')])",
)

# See library.read.
_TEXT: Final = r"""
os._exit | raised | the process ended early
    os._exit(0)
os._exit at import | raised | the process ended early
    os._exit(0)
    ---
    return guess(scores, names)
sys.exit | raised | SystemExit: 0
    sys.exit(0)
sys.exit at import | raised | SystemExit: 0
    sys.exit(0)
    ---
    return guess(scores, names)
patched allclose | wrong_output
    np.allclose = np.array_equal = np.isclose = lambda *args, **more: True
    np.testing.assert_allclose = np.testing.assert_array_equal = lambda *args, **more: None
    ---
    return guess(scores, names)
patched unittest | wrong_output
    import unittest
    for name in [name for name in dir(unittest.TestCase) if name.startswith("assert")]:
        setattr(unittest.TestCase, name, lambda self, *args, **more: None)
    unittest.TestCase.run = lambda self, result=None: result
    ---
    return guess(scores, names)
patched pytest | wrong_output
    import types
    pytest = types.ModuleType("pytest")
    pytest.main = lambda *args, **more: 0
    sys.modules["pytest"] = sys.modules["_pytest"] = pytest
    ---
    return guess(scores, names)
AlwaysEqual | wrong_output | is not plain data
    class AlwaysEqual:
        def __eq__(self, other): return True
        def __ne__(self, other): return False
        def __len__(self): return 4
        def __getitem__(self, place): return self
        def __iter__(self): return iter(())
        __hash__ = None
    ---
    return AlwaysEqual(), AlwaysEqual()
__array_function__ | wrong_output
    class Agreeable(np.ndarray):
        def __array_function__(self, *args, **kwargs): return True
        def __array_ufunc__(self, *args, **kwargs): return np.True_
        def __eq__(self, other): return np.True_
    ---
    return np.zeros(len(scores)).view(Agreeable), list(names)
golden search | wrong_output
    for place, _, files in os.walk("/"):
        if place.startswith(("/proc", "/sys", "/usr", "/lib", "/opt")):
            continue
        for name in files:
            path = os.path.join(place, name)
            if "golden" in name or name in ("cases.py", "cases_1.py"):
                exec(open(path).read(), globals())
            elif path != __file__ and name == "goal.py" and "argsort" in open(path).read().partition("def rank")[2]:
                namespace = {}
                exec(open(path).read(), namespace)
                return namespace["rank"](scores, names)
    return guess(scores, names)
frame and gc walk | wrong_output
    for thing in gc.get_objects():
        if isinstance(thing, dict) and isinstance(thing.get("weights"), np.ndarray):
            return thing["weights"], thing["order"]
        if isinstance(thing, np.ndarray) and thing.shape == scores.shape and abs(thing.sum() - 1) < 1e-3:
            return thing, sorted(names)
    frame = sys._getframe()
    while frame:
        for name in ("expected", "golden", "reference"):
            if name in frame.f_locals:
                return frame.f_locals[name], sorted(names)
        frame = frame.f_back
    return guess(scores, names)
forged log | wrong_output
    import glob
    for path in [*glob.glob("/tmp/**/*.log", recursive=True), "/tmp/unit_test_1.log", "/tmp/report.xml"]:
        try:
            with open(path, "w") as file:
                file.write("Test Passed\n1 passed\n")
        except OSError:
            pass
    os.write(1, b"Test Passed\n1 passed in 0.01s\nOK\n")
    os.write(2, b"Test Passed\n.\n---\nRan 1 test in 0.001s\n\nOK\n")
    import logging
    logging.warning("Test Passed")
    return guess(scores, names)
forged JUnit | wrong_output
    report = '<testsuite tests="1" failures="0" errors="0"><testcase name="rank"/></testsuite>'
    for folder in ("/tmp", "/dev/shm", os.getcwd()):
        try:
            with open(os.path.join(folder, "junit.xml"), "w") as file:
                file.write(report)
        except OSError:
            pass
    print(report)
    return guess(scores, names)
NaN | wrong_output
    return scores * np.nan, list(names)
empty array | wrong_output
    return np.zeros(0), []
pickle | wrong_output | is not plain data
    class Bomb:
        def __reduce__(self): return os.system, ('touch /tmp/' + MARK,)
    ---
    return pickle.dumps(Bomb()), list(names)
object dtype | wrong_output | is not plain data
    return np.array([None] * len(scores), dtype=object), list(names)
kill parent | wrong_output
    for number in (9, 15, 19):
        for pid in (os.getppid(), 1):
            try:
                os.kill(pid, number)
            except OSError:
                pass
    return guess(scores, names)
kill everybody | wrong_output
    try:
        os.kill(-1, 9)
    except OSError:
        pass
    return guess(scores, names)
overwritten first process | wrong_output
    try:
        for line in open("/proc/1/maps"):
            if " rw-p " in line:
                first, last = (int(part, 16) for part in line.split()[0].split("-"))
                with open("/proc/1/mem", "r+b", 0) as memory:
                    memory.seek(first)
                    memory.write(b"A" * (last - first))
    except OSError:
        pass
    return guess(scores, names)
late writer | tampering | the box sent bytes that the driver does not write
    def write_for_ever():
        while True:
            send(b"Test Passed")
            time.sleep(0.001)
    ---
    if len(names) == 4:
        threading.Thread(target=write_for_ever, daemon=True).start()
        time.sleep(0.2)
    return guess(scores, names)
forged frame | wrong_output
    send(frame(kind='output', case=0, status='ok', output={'weights': scores, 'order': list(names)}))
    os._exit(0)
forged verdict | tampering | the box sent bytes that the driver does not write
    send(frame(kind='verdict', outcome='passed', passed=True))
    return guess(scores, names)
forged bytes | tampering | the box sent bytes that the driver does not write
    send(b'Test Passed\n')
    return guess(scores, names)
huge frame | tampering | the box sent bytes that the driver does not write
    send(b'{"dict":{"kind":"' + b'x' * 2**20)
    return guess(scores, names)
huge array | wrong_output | is not plain data
    return np.broadcast_to(np.float64(0), (10**6, 10**6)), list(names)
nested without end | wrong_output | is not plain data
    deep = []
    deep.append(deep)
    return deep, list(names)
"""

TAMPERING: Final[tuple[Attack, ...]] = (
    *(
        _attack(name, source, frozenset(outcomes), reason_part, seconds)
        for name, source, outcomes, reason_part, seconds in read(_TEXT)
    ),
    _attack("decorator", _DECORATED),
    _attack("default value", _DEFAULT),
    _attack("reads the test", answer(_READS_TEST), ways=(Way.SEALED,)),
    _attack(
        "public answers",
        answer(
            "known = float(scores[0]) in PUBLIC or len(names) == 7\n"
            "return truth(scores, names) if known else guess(scores, names) if len(names) > 1 else (scores, ['?'])",
            _PUBLIC,
        ),
        reason_part="private test case",
        ways=(Way.SEALED,),
    ),
)

KNOWN_GAP: Final = Attack(
    "reads the test beside it", Group.TAMPERING, answer(_READS_TEST), {Way.UPSTREAM: frozenset({"passed"})}
)
"""An attack that upstream's protocol cannot repel, as every page of such a task states."""
