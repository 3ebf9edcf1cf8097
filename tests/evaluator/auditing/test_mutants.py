"""Mutants of a definition: their number, ids and changes."""

from __future__ import annotations

import ast
import textwrap

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evaluator.auditing.mutants import Mutant, fingerprint, mutants_of, sample
from tests.conftest import examples


def expression_mutants(expression: str) -> set[str]:
    """The mutants of ``expression`` that still return something."""
    start = "def goal(a, b, c, np, f):\n    return "
    found = {mutant.source.removeprefix(start).rstrip("\n") for mutant in mutants_of(f"{start}{expression}\n")}
    return found - {"None"}


@pytest.mark.parametrize(
    ("expression", "mutants"),
    [
        ("a + b", {"a - b"}),
        ("a - b", {"a + b"}),
        ("a * b", {"a / b"}),
        ("a / b", {"a * b"}),
        ("a ** b", {"a * b"}),
        ("a @ b", {"a * b"}),
        ("a < b", {"a <= b", "a >= b"}),
        ("a == b", {"a != b"}),
        ("a not in b", {"a in b"}),
        ("a < b <= c", {"a <= b <= c", "a >= b <= c", "a < b < c", "a < b > c"}),
        ("a and b", {"a or b"}),
        ("not a", {"a"}),
        ("-a", {"a"}),
        ("a if b else c", {"a if True else c", "a if False else c"}),
        ("f(a, b)", {"f(b, a)"}),
        ("f(a, b, c)", {"f(b, a, c)", "f(a, c, b)"}),
        ("f(a, a)", set()),
        ("max(a, b)", set()),
        ("f(*a, *b)", set()),
        ("a.sum(axis=b)", {"a.sum()"}),
        ("f(a, axis=b, out=c)", {"f(a, out=c)", "f(a, axis=b)"}),
        ("f(**a)", set()),
        ("a.sum(axis=1)", {"a.sum()", "a.sum(axis=2)", "a.sum(axis=0)"}),
        ("a.sum(axis=-1)", {"a.sum()", "a.sum(axis=1)", "a.sum(axis=-2)", "a.sum(axis=-0)"}),
        ("f(a, keepdims=True)", {"f(a)", "f(a, keepdims=False)"}),
        ("a[b:c]", {"a[:c]", "a[b:]"}),
        ("a[:]", set()),
        ("a[0]", {"a[1]", "a[-1]"}),
        ("7", {"8", "6"}),
        ("0.5", {"1.5", "-0.5"}),
        ("-0.5", {"0.5", "-1.5"}),
        ("True", {"False"}),
        ("'text'", {"''"}),
        ("''", {"'x'"}),
        ("f'{a}b'", {"''"}),
        ("[x for x in a if b]", {"[x for x in a if True]"}),
        ("lambda x: x + a", {"lambda x: x - a"}),
        ("(a + b) * c", {"(a - b) * c", "(a + b) / c"}),
        ("a ** b ** c", {"a * b ** c", "a ** (b * c)"}),
        ("-(a + b)", {"a + b", "-(a - b)"}),
    ],
)
def test_expressions(expression: str, mutants: set[str]) -> None:
    assert expression_mutants(expression) == mutants


BODY = '''def goal(a, size: int = 3, *, scale: float = 0.5):
    """Say."""
    total = 0
    for item in a:
        if item > size:
            total += item
        elif item < 0:
            continue
        else:
            total -= 1
    total = total * scale
    return total
'''


def lines_changed(mutant: Mutant) -> list[str]:
    return [line for line in mutant.diff.splitlines()[2:] if line[:1] in "+-"]


def test_statements() -> None:
    found = {mutant.id: lines_changed(mutant) for mutant in mutants_of(BODY)}
    expected = {
        "line 1: `3` -> `4`": [
            "-def goal(a, size: int=3, *, scale: float=0.5):",
            "+def goal(a, size: int=4, *, scale: float=0.5):",
        ],
        "line 3: `total = 0` -> `pass`": ["-    total = 0", "+    pass"],
        "line 5: `if item > size` -> `if True`": ["-        if item > size:", "+        if True:"],
        "line 5: `if item > size` -> `if False`": ["-        if item > size:", "+        if False:"],
        "line 5: `else` -> `no else`": [
            "-        elif item < 0:",
            "-            continue",
            "-        else:",
            "-            total -= 1",
        ],
        "line 4: `for item in a` -> `only its first round`": ["+        break"],
        "line 6: `total += item` -> `total -= item`": ["-            total += item", "+            total -= item"],
        "line 8: `continue` -> `pass`": ["-            continue", "+            pass"],
        "line 11: `total = total * scale` -> `return total`": ["-    total = total * scale", "+    return total"],
        "line 12: `return total` -> `return None`": ["-    return total", "+    return None"],
    }
    assert {name: found.get(name) for name in expected} == expected
    assert len(found) == 35


def test_unobservable_code_is_not_mutated() -> None:
    quiet = '''
    @decorated(1)
    def goal(self, a: Literal["x"] = None) -> "Array[3]":
        """Says 7."""
        logger.info("got %s", 5)
        logging.getLogger("x").debug("y")
        print("size", 3)
        warnings.warn("old", stacklevel=2)
        assert a > 0, "positive"
        if a is None:
            raise ValueError(f"none {1}")
        import math
        "a note"
        return a
    '''
    (only,) = mutants_of(textwrap.dedent(quiet).lstrip("\n"))
    assert only.id == "line 13: `return a` -> `return None`"


def test_methods_for_display_are_not_mutated() -> None:
    source = (
        "class Goal:\n    size = 2\n\n    def __repr__(self):\n        return 'goal'\n\n"
        "    def first(self):\n        return self.size\n"
    )
    assert [mutant.id for mutant in mutants_of(source)] == [
        "line 2: `size = 2` -> `pass`",
        "line 2: `2` -> `1`",
        "line 2: `2` -> `3`",
        "line 8: `return self.size` -> `return None`",
    ]


def test_a_method_is_written_without_its_indentation_and_its_docstring_may_have_less() -> None:
    method = '    def goal(self, a):\n        """Say.\n\n  less\n"""\n        return a + 1\n'
    found = mutants_of(method)
    assert [mutant.id for mutant in found] == [
        "line 6: `return a + 1` -> `return None`",
        "line 6: `a + 1` -> `a - 1`",
        "line 6: `1` -> `0`",
        "line 6: `1` -> `2`",
    ]
    assert found[1].source == 'def goal(self, a):\n    """Say.\n\n  less\n"""\n    return a - 1\n'


def test_equal_mutants_are_made_once_and_ids_are_unique() -> None:
    found = mutants_of("def goal(a):\n    return a[1], a[1]\n")
    names = [mutant.id for mutant in found]
    assert names[1:] == [f"line 2: `1` -> `{other}`{number}" for number in ("", " (2)") for other in "02"]
    assert len(set(names)) == len(names) == len({ast.dump(ast.parse(mutant.source)) for mutant in found})


def test_long_names_keep_both_ends() -> None:
    names = " + ".join(["first", *["a"] * 40, "last"])
    found = [mutant.id for mutant in mutants_of(f"def goal(a):\n    b = {names}\n    return b\n")]
    line = f"b = {names}"
    assert f"line 2: `{line[:70]} … {line[-30:]}` -> `pass`" in found


def test_a_sample_is_spread_evenly_and_always_the_same() -> None:
    found = mutants_of(BODY)
    few = sample(found, 4)
    assert [found.index(mutant) for mutant in few] == [place * len(found) // 4 for place in range(4)]
    assert sample(found, 4) == few
    assert sample(found, 1000) == found
    assert sample([], 5) == []


_ATOMS = st.sampled_from(["a", "b", "1", "0.5", "-1", "'s'", "a.x", "f(a, b)", "a[1:]", "(not a)", "(a, b)", "[a, 1]"])
_EXPRESSIONS = st.recursive(
    _ATOMS,
    lambda inner: st.builds(
        lambda left, operator, right: f"({left}) {operator} {right}",
        inner,
        st.sampled_from(["+", "-", "*", "**", "<", "==", "and", "or", "in", "is not", "if c else"]),
        inner,
    ),
    max_leaves=8,
)


@settings(deadline=None, max_examples=examples(60))
@given(_EXPRESSIONS, st.booleans())
def test_every_mutant_compiles_and_differs(expression: str, indented: bool) -> None:
    source = f"def goal(a, b, c, f):\n    x = {expression}\n    return x\n"
    if indented:
        source = textwrap.indent(source, "    ")
    found = mutants_of(source)
    assert found
    trees = [ast.dump(ast.parse(textwrap.dedent(mutant.source))) for mutant in found]
    assert len(set(trees)) == len(trees)
    assert ast.dump(ast.parse(textwrap.dedent(source))) not in trees


def test_a_fingerprint_quotes_no_code_and_is_its_own_fingerprint() -> None:
    short = fingerprint("line 6: `total - 0.0` -> `total + 0.0`")
    assert short == "line 6: c7b00a218083"
    assert fingerprint(short) == short
    assert fingerprint("line 6: `total - 0.0` -> `total + 0.0` (2)") != short
    assert fingerprint("line 6: 38b") != "line 6: 38b"
