"""Attacks on the verdict: look right without being right. Tried by every protocol."""

from __future__ import annotations

from typing import Final

from tests.attacks.corpus.kinds import AnswerAttack, Attack, Expected, Group, Way, ends
from tests.attacks.corpus.library import answer

_FAILED: Final = ends("wrong_output", "raised", "tampering")
_WRONG: Final = ends("wrong_output")
_EARLY: Final = ends("raised", says="the process ended early")
_FORGED: Final = ends("tampering", says="the box sent bytes that the driver does not write")
_SEALED_ONLY: Final = frozenset({Way.SEALED})
_EVERYWHERE: Final = frozenset({Way.SEALED, Way.REMOTE, Way.IN_PROCESS})

GUESS: Final = "return guess(scores, names)"


def _attack(
    name: str, source: str, sealed: Expected, *, ways: frozenset[Way] = _EVERYWHERE, wall_seconds: float = 20.0
) -> AnswerAttack:
    expected = {way: sealed if way is Way.SEALED else _FAILED for way in ways}
    return AnswerAttack(name, Group.TAMPERING, expected, source=source, wall_seconds=wall_seconds)


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
_ALWAYS_EQUAL = """
class AlwaysEqual:
    def __eq__(self, other): return True
    def __ne__(self, other): return False
    def __len__(self): return 4
    def __getitem__(self, place): return self
    def __iter__(self): return iter(())
    __hash__ = None
"""
_AGREEABLE = """
class Agreeable(np.ndarray):
    def __array_function__(self, *args, **kwargs): return True
    def __array_ufunc__(self, *args, **kwargs): return np.True_
    def __eq__(self, other): return np.True_
"""
_SEARCH = """
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
"""
_WALK = """
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
"""
_FORGED_LOG = """
import glob
for path in [*glob.glob("/tmp/**/*.log", recursive=True), "/tmp/unit_test_1.log", "/tmp/report.xml"]:
    try:
        with open(path, "w") as file:
            file.write("Test Passed\\n1 passed\\n")
    except OSError:
        pass
os.write(1, b"Test Passed\\n1 passed in 0.01s\\nOK\\n")
os.write(2, b"Test Passed\\n.\\n---\\nRan 1 test in 0.001s\\n\\nOK\\n")
import logging
logging.warning("Test Passed")
return guess(scores, names)
"""
_JUNIT = """
report = '<testsuite tests="1" failures="0" errors="0"><testcase name="rank"/></testsuite>'
for folder in ("/tmp", "/dev/shm", os.getcwd()):
    try:
        with open(os.path.join(folder, "junit.xml"), "w") as file:
            file.write(report)
    except OSError:
        pass
print(report)
return guess(scores, names)
"""
_KILL_PARENT = """
for number in (9, 15, 19):
    for pid in (os.getppid(), 1):
        try:
            os.kill(pid, number)
        except OSError:
            pass
return guess(scores, names)
"""
_OVERWRITE = """
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
"""
_FRAME = """
def frame(**message):
    frames = sys.modules.get("box_frames")
    return frames.encode(message) if frames else b"{}"
"""
_LATE = """
def write_for_ever():
    while True:
        send(b"Test Passed")
        time.sleep(0.001)
"""
_LAST = "if len(names) == 4:\n    threading.Thread(target=write_for_ever, daemon=True).start()\n    time.sleep(0.2)\n"
_PUBLIC = """
def first(seed):
    return float(np.random.default_rng(seed).normal(size=4)[0])


PUBLIC = {first(1), first(2), 1.0, 2.0}
"""
_TOP_LEVEL = """
np.allclose = np.array_equal = np.isclose = lambda *args, **more: True
np.testing.assert_allclose = np.testing.assert_array_equal = lambda *args, **more: None
"""
_UNITTEST = """
import unittest
for name in [name for name in dir(unittest.TestCase) if name.startswith("assert")]:
    setattr(unittest.TestCase, name, lambda self, *args, **more: None)
unittest.TestCase.run = lambda self, result=None: result
"""
_PYTEST = """
import types
pytest = types.ModuleType("pytest")
pytest.main = lambda *args, **more: 0
sys.modules["pytest"] = sys.modules["_pytest"] = pytest
"""
_DECORATED = answer(GUESS).replace(
    "def rank(",
    "def patched(function):\n    np.allclose = lambda *a, **k: True\n    return function\n\n\n@patched\ndef rank(",
)
_DEFAULT = answer(GUESS).replace(
    "def rank(scores, names)",
    "def rank(scores, names, patched=[setattr(np, name, lambda *a, **k: True) for name in ('allclose', 'isclose')])",
)

TAMPERING: Final[tuple[Attack, ...]] = (
    _attack("os._exit", answer("os._exit(0)"), _EARLY),
    _attack("os._exit at import", answer(GUESS, "os._exit(0)"), _EARLY),
    _attack("sys.exit", answer("sys.exit(0)"), ends("raised", says="SystemExit: 0")),
    _attack("sys.exit at import", answer(GUESS, "sys.exit(0)"), ends("raised", says="SystemExit: 0")),
    _attack("patched allclose", answer(GUESS, _TOP_LEVEL), _WRONG),
    _attack("patched unittest", answer(GUESS, _UNITTEST), _WRONG),
    _attack("patched pytest", answer(GUESS, _PYTEST), _WRONG),
    _attack("decorator", _DECORATED, _WRONG),
    _attack("default value", _DEFAULT, _WRONG),
    _attack(
        "AlwaysEqual",
        answer("return AlwaysEqual(), AlwaysEqual()", _ALWAYS_EQUAL),
        ends("wrong_output", says="is not plain data"),
    ),
    _attack(
        "__array_function__", answer("return np.zeros(len(scores)).view(Agreeable), list(names)", _AGREEABLE), _WRONG
    ),
    _attack("golden search", answer(_SEARCH), _WRONG),
    _attack("reads the test", answer(_READS_TEST), _WRONG, ways=_EVERYWHERE - {Way.IN_PROCESS}),
    _attack("frame and gc walk", answer(_WALK), _WRONG),
    _attack("forged log", answer(_FORGED_LOG), _WRONG),
    _attack("forged JUnit", answer(_JUNIT), _WRONG),
    _attack("NaN", answer("return scores * np.nan, list(names)"), _WRONG),
    _attack("empty array", answer("return np.zeros(0), []"), _WRONG),
    _attack(
        "pickle",
        answer(
            "return pickle.dumps(Bomb()), list(names)",
            "class Bomb:\n    def __reduce__(self): return os.system, ('touch /tmp/' + MARK,)\n",
        ),
        ends("wrong_output", says="is not plain data"),
    ),
    _attack(
        "object dtype",
        answer("return np.array([None] * len(scores), dtype=object), list(names)"),
        ends("wrong_output", says="is not plain data"),
    ),
    _attack("kill parent", answer(_KILL_PARENT), _WRONG),
    _attack(
        "kill everybody",
        answer("try:\n    os.kill(-1, 9)\nexcept OSError:\n    pass\nreturn guess(scores, names)"),
        _WRONG,
    ),
    _attack("overwritten first process", answer(_OVERWRITE), _WRONG),
    _attack("late writer", answer(_LAST + GUESS, _LATE), _FORGED),
    _attack(
        "forged frame",
        answer(
            "send(frame(kind='output', case=0, status='ok', output={'weights': scores, 'order': list(names)}))\n"
            "os._exit(0)",
            _FRAME,
        ),
        ends("wrong_output"),
    ),
    _attack(
        "forged verdict",
        answer("send(frame(kind='verdict', outcome='passed', passed=True))\n" + GUESS, _FRAME),
        _FORGED,
    ),
    _attack("forged bytes", answer("send(b'Test Passed\\n')\n" + GUESS), _FORGED),
    _attack("huge frame", answer('send(b\'{"dict":{"kind":"\' + b\'x\' * 2**20)\n' + GUESS), _FORGED),
    _attack(
        "huge array",
        answer("return np.broadcast_to(np.float64(0), (10**6, 10**6)), list(names)"),
        ends("wrong_output", says="is not plain data"),
    ),
    _attack(
        "nested without end",
        answer("deep = []\ndeep.append(deep)\nreturn deep, list(names)"),
        ends("wrong_output", says="is not plain data"),
    ),
    _attack(
        "public answers",
        answer(
            "known = float(scores[0]) in PUBLIC or len(names) == 7\n"
            "return truth(scores, names) if known else guess(scores, names) if len(names) > 1 else (scores, ['?'])",
            _PUBLIC,
        ),
        ends("wrong_output", says="private case"),
        ways=_SEALED_ONLY,
    ),
)

KNOWN_GAPS: Final[tuple[AnswerAttack, ...]] = (
    AnswerAttack(
        "reads the test beside it", Group.TAMPERING, {Way.IN_PROCESS: ends("passed")}, source=answer(_READS_TEST)
    ),
)
"""What the in-process mode of upstream's protocol cannot repel, and says so on every page of such a task."""
