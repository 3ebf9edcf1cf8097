from __future__ import annotations

import contextlib

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from benchmark_tasks.domain.goals import Goal, find_goal
from benchmark_tasks.domain.python_source import SourceError
from submissions.answers.contents import AnswerError
from submissions.answers.splice import splice
from tests.conftest import examples

FUNCTION = Goal("dpo/1", "a.py", "f")
METHOD = Goal("dpo/1", "a.py", "f", "A")
CLASS = Goal("dpo/1", "a.py", "A", "A")

STUB = 'def f(x):\n    """Doc."""\n    # TODO: implement\n    raise NotImplementedError\n'
MODULE = f"import os\n\n{STUB}\n\nY = 1\n"
IN_CLASS = (
    "class A:\n    z = 1\n\n    @staticmethod\n    def f(x):\n        raise NotImplementedError\n\n"
    "    def g(self):\n        return 2\n\n\nclass B:\n    def f(self):\n        return 3\n\n\ndef f():\n    return 4\n"
)

CASES: dict[str, tuple[Goal, str, str, str]] = {
    "function": (FUNCTION, MODULE, "def f(x):\n    return x\n", "import os\n\ndef f(x):\n    return x\n\n\nY = 1\n"),
    "imports, constants and helpers go before": (
        FUNCTION,
        MODULE,
        (
            '"""Notes."""\nimport numpy as np\nK: int = 3\nL = [-1, (2.0, "x")]\n\n\n'
            "# halves\ndef half(x):\n    return x / 2\ndef f(x):\n    return half(x)\nclass Later:\n    pass\n"
        ),
        (
            'import os\n\nimport numpy as np\nK: int = 3\nL = [-1, (2.0, "x")]\n'
            "\n\n# halves\ndef half(x):\n    return x / 2\n\n\nclass Later:\n    pass\n"
            "\n\ndef f(x):\n    return half(x)\n\n\nY = 1\n"
        ),
    ),
    "what the file has word for word is left out": (
        FUNCTION,
        f"{MODULE}log = print()\n",
        "import os\nimport re\n\ndef f(x):\n    return x\n\nY = 1\nlog = print()\n",
        "import os\n\nimport re\n\n\ndef f(x):\n    return x\n\n\nY = 1\nlog = print()\n",
    ),
    "bare method keeps its decorator": (
        METHOD,
        IN_CLASS,
        "def f(x):\n    return x\n",
        IN_CLASS.replace("raise NotImplementedError", "return x"),
    ),
    "indented method": (
        METHOD,
        IN_CLASS,
        "# cut out\n    def f(x):\n        return x\n",
        IN_CLASS.replace("raise NotImplementedError", "return x"),
    ),
    "method in its class": (
        METHOD,
        IN_CLASS,
        (
            'class A(object):\n    """A."""\n    z = 1\n'
            "    def g(self):\n        return 2\n    def f(x):\n        return x\n"
        ),
        IN_CLASS.replace("raise NotImplementedError", "return x"),
    ),
    "decorators of its own": (
        METHOD,
        IN_CLASS,
        "import functools\n@classmethod\n@functools.cache\ndef f(cls, x):\n    return x\n",
        "import functools\n\n\n"
        + IN_CLASS.replace("@staticmethod", "@classmethod\n    @functools.cache").replace(
            "def f(x):\n        raise NotImplementedError", "def f(cls, x):\n        return x"
        ),
    ),
    "windows line ends": (
        FUNCTION,
        MODULE.replace("\n", "\r\n"),
        'import re\ndef f(x):\n    """a\n  b"""\n    return x\n',
        'import os\r\n\r\nimport re\r\n\r\n\r\ndef f(x):\r\n    """a\r\n  b"""\r\n    return x\r\n\r\n\r\nY = 1\r\n',
    ),
    "tabs stand before it, and what it has itself stays": (
        METHOD,
        "class A:\n\tdef f(self):\n\t\tpass\n",
        "def f(self):\n  if self:\n    # deep\n    return (1,\n            2)\n  # end\n",
        "class A:\n\tdef f(self):\n\t  if self:\n\t    # deep\n\t    return (1,\n\t            2)\n\t  # end\n",
    ),
    "strings keep their lines": (
        METHOD,
        "class A:\n    def f(self):\n        pass\n",
        'def f(self):\n  s = """a\n b\n\tc\n"""\n  t = "x\\\n y"\n  return s, t, f"""\n{s}\n  """\n',
        (
            "class A:\n    def f(self):\n"
            '      s = """a\n b\n\tc\n"""\n      t = "x\\\n y"\n      return s, t, f"""\n{s}\n  """\n'
        ),
    ),
    "future import that is there already": (
        FUNCTION,
        "from __future__ import annotations\ndef f(): pass\n",
        "from __future__ import annotations\nimport re\ndef f(): return re\n",
        "from __future__ import annotations\nimport re\n\n\ndef f(): return re\n",
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_answer_is_placed(case: str) -> None:
    goal, pristine, answer, expected = CASES[case]
    assert splice(pristine.encode(), goal, answer.encode()).decode() == expected


def test_a_coding_line_in_the_answer_cannot_change_how_the_file_is_read() -> None:
    answer = "# coding: latin-1\nimport re\ndef f(): return 'é'\n"
    with pytest.raises(AnswerError, match="declares the encoding iso-8859-1; use UTF-8, or remove that line"):
        splice(b"def f(): pass\n", FUNCTION, answer.encode())


@pytest.mark.parametrize(
    ("goal", "pristine", "answer", "line", "message"),
    [
        (FUNCTION, MODULE, b"", None, "The answer is empty."),
        (METHOD, IN_CLASS, b"def g():\n    pass\n", None, "does not define 'f', by itself or inside class 'A'."),
        (FUNCTION, MODULE, b"```python\ndef f(): pass\n```\n", 1, "wrapped in a Markdown fence"),
        (FUNCTION, MODULE, b"def f(x):\n    return (\n", 2, "not valid Python: '(' was never closed"),
        (FUNCTION, MODULE, b"    def f(x):\n        return x\nimport re\n", 1, "continues unindented"),
        (FUNCTION, MODULE, b"def f():\n    x = '\xff'\n", 2, "The answer is not UTF-8 text."),
        (FUNCTION, MODULE, b"def f(): pass\n\ndef f(): pass\n", 3, "'f' is defined twice; keep one."),
        (FUNCTION, MODULE, b"class f: pass\n", 1, "'f' is a class here; the goal is a function."),
        (FUNCTION, MODULE, b"def f(x): return x\nprint(f(1))\n", 2, "move this statement into a function"),
        (FUNCTION, MODULE, b"def f(x): return x\nif __name__ == '__main__':\n    f(1)\n", 2, "'if __name__ == ...'"),
        (FUNCTION, MODULE, b"from __future__ import annotations\ndef f(x): return x\n", 1, "is not in the masked file"),
        (FUNCTION, MODULE, b"def f(x): return " + b"-" * 50_000 + b"1\n", None, "nested too deeply"),
        (FUNCTION, MODULE, b"#" * 300_000, None, "larger than 256 KB"),
        (FUNCTION, MODULE, b"'doc'; import re\ndef f(x): return re\n", None, "on lines of its own"),
    ],
)
def test_answers_that_are_refused(goal: Goal, pristine: str, answer: bytes, line: int | None, message: str) -> None:
    with pytest.raises(AnswerError) as caught:
        splice(pristine.encode(), goal, answer)
    assert message in caught.value.message
    assert caught.value.line == line


@pytest.mark.parametrize(
    ("goal", "pristine", "message"),
    [
        (FUNCTION, b"x = 1\n", "a.py does not define the function 'f' at module level."),
        (FUNCTION, b"print 'old'\n", "a.py, line 1, is not valid Python"),
    ],
)
def test_masked_files_without_the_goal(goal: Goal, pristine: bytes, message: str) -> None:
    with pytest.raises(AnswerError) as caught:
        splice(pristine, goal, b"def f(): return 1\n")
    assert caught.value.message.startswith(message)
    assert (caught.value.file, caught.value.line) == ("a.py", None)
    with pytest.raises(SourceError):
        find_goal(pristine, goal)


PIECES = st.sampled_from(
    ["def f(x):", "class A:", "    def f(self):", "  ", "\t", "    ", "return x", "pass", "import re", "K = 1",
     '"""', "f'{x}'", "#", "@d", "\\", "\n", "\n", "\n", "\r", "\f", ";", "(", ")", "if x:", "else:",
     "async ", "é", "\ufeff", "lambda: 0"]
)  # fmt: skip


@settings(max_examples=examples(100))
@given(
    st.lists(PIECES, max_size=25).map("".join),
    st.sampled_from(
        [(FUNCTION, MODULE), (METHOD, IN_CLASS), (CLASS, IN_CLASS), (METHOD, IN_CLASS.replace("\n", "\r\n"))]
    ),
    st.sampled_from(["", "def f(x):\n    return x\n", "class A:\n    def f(self):\n        return 1\n"]),
)
@example("\\", (FUNCTION, MODULE), "")
def test_any_answer_is_placed_correctly_or_refused(text: str, target: tuple[Goal, str], tail: str) -> None:
    goal, pristine = target
    with contextlib.suppress(AnswerError):
        result = splice(pristine.encode(), goal, (text + tail).encode())
        assert find_goal(result, goal).text.strip()
        assert result.endswith(pristine.encode()[-5:]) or goal is CLASS


@settings(max_examples=examples(100))
@given(
    st.lists(PIECES, max_size=12).map("".join),
    st.sampled_from(["def f(x):\n    pass\n", "class A:\n    @d\n    def f(self):\n        pass\n"]),
    st.lists(PIECES, max_size=8).map("".join),
    st.sampled_from([FUNCTION, METHOD]),
)
def test_a_file_whose_goal_is_found_accepts_an_answer(before: str, stub: str, after: str, goal: Goal) -> None:
    """If the importer accepts a file as runnable, no answer fails because of the file."""
    pristine = f"{before}\n{stub}{after}".encode()
    with contextlib.suppress(SourceError):
        find_goal(pristine, goal)
        splice(pristine, goal, b"import re\ndef f(self, x=1):\n    return self\n")
