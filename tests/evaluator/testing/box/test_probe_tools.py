"""Stand-ins for absent packages in probes: what they allow, and the sentences with which they refuse the rest."""

from __future__ import annotations

import importlib
import sys
from typing import TYPE_CHECKING, Any

import pytest

from evaluator.testing.box import frames, probe_tools
from evaluator.testing.box.probe_tools import NotInThisTestError, absent

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

MISSING = "this test's stand-in for drawing has no `figure().title`"


@pytest.fixture
def drawing() -> Iterator[Any]:
    """A package that is absent but for one function; modules and finders are restored afterwards."""
    modules, finders = dict(sys.modules), list(sys.meta_path)
    absent("drawing", given=len)
    yield importlib.import_module("drawing")
    sys.meta_path[:] = finders
    for name in set(sys.modules) - set(modules):
        del sys.modules[name]


def test_the_given_function_exists(drawing: Any) -> None:
    assert drawing.given("abc") == 3


def test_every_submodule_can_be_imported(drawing: Any) -> None:
    below = importlib.import_module("drawing.axes.three")
    assert (below.__name__, drawing.axes.three is below) == ("drawing.axes.three", True)
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module("drawings")


def test_a_submodule_with_a_value_of_its_own(drawing: Any) -> None:
    absent("drawing.colours", red=1)
    assert drawing.colours.red == 1
    with pytest.raises(NotInThisTestError, match=r"stand-in for drawing\.colours has no `blue`"):
        float(drawing.colours.blue)


def test_a_repository_can_be_imported_with_it(drawing: Any) -> None:
    log = drawing.logging.get_logger("x")
    log.info("%s", log["level"])
    drawing.rcParams["font"] = 12
    with drawing.style("dark") as style:
        assert style

    class Figure(drawing.Figure, dict):
        size: drawing.Size | None = None

    assert type(Figure()) is Figure
    assert Figure.__mro__ == (Figure, dict, object)
    assert not hasattr(Figure, "unknown")
    assert not isinstance(3, drawing.Number)


@pytest.mark.parametrize(
    "use",
    [
        float,
        int,
        len,
        list,
        lambda thing: thing + 1,
        lambda thing: 2.0 * thing,
        lambda thing: thing < 3,
        lambda thing: "a" in thing,
        lambda thing: range(3)[thing],
    ],
)
def test_no_value_of_it_gets_into_a_result(drawing: Any, use: Callable[[Any], Any]) -> None:
    with pytest.raises(NotInThisTestError) as refused:
        use(drawing.figure().title)
    assert str(refused.value) == MISSING


def test_errors_that_name_a_type_name_the_missing_package(drawing: Any) -> None:
    name = r"`figure\(\)` \(which this test's stand-in for drawing does not have\)"
    with pytest.raises(frames.FrameError, match=f"a {name} is not plain data"):
        frames.encode({"output": drawing.figure()})
    with pytest.raises(TypeError, match=name):
        "a".join(["b", drawing.figure()])
    assert repr(drawing.figure()) == "<`figure()`, which this test's stand-in for drawing does not have>"


def test_missing_attributes_can_be_tested_for() -> None:
    class Word:
        def __getattr__(self, name: str) -> Any:
            raise probe_tools.missing("spaCy", name)

    assert not hasattr(Word(), "similarity")
    assert getattr(Word(), "similarity", "_") == "_"
    with pytest.raises(NotInThisTestError, match="this test's stand-in for spaCy has no `similarity`"):
        _ = Word().similarity


@pytest.mark.parametrize(
    ("value", "kind", "message"),
    [
        (None, str, "returned None where a text is expected"),
        (None, object, "returned None where a text is expected"),
        (None, 2, "returned None where a text is expected"),
        (1, str, "returned a value of type int where a text is expected"),
        (1, 2, "returned a value of type int where a text is expected"),
        ((1, "a", None), 2, "returned (int, str, None) where a text is expected"),
        ([1, None], 2, "returned (int, None) where a text is expected"),
        (range(9), 2, "returned a value of type tuple where a text is expected"),
    ],
)
def test_a_returned_value_of_another_kind_is_named(value: Any, kind: Any, message: str) -> None:
    with pytest.raises(probe_tools.WrongReturnError) as refused:
        probe_tools.returned(value, kind, "a text is")
    assert str(refused.value) == message


def test_a_returned_value_of_the_kind_is_used() -> None:
    assert probe_tools.returned("", str, "a text is") == ""
    assert probe_tools.returned([1, 2], (list, tuple), "a list is") == [1, 2]
    assert probe_tools.returned(iter("ab"), 2, "two texts are") == ("a", "b")


def test_outputs_other_than_tensors_are_unchanged() -> None:
    assert probe_tools.without_gradient(0.5) == 0.5
