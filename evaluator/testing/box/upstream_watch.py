"""Detect replaced comparison functions, and make random numbers the same in every run.

Functions by which a test compares and reports (unittest, logging, builtins, NumPy's and PyTorch's comparisons) are
remembered before the answer's code is imported, and the test's own classes and functions as soon as they are defined;
all of them are checked at the end, as are the models that the test inspects. This is a tripwire, not a wall: code in
the test's process can restore everything. Mounted beside ``upstream_child.py``; Python 3.8 or newer, standard library.
"""

from __future__ import annotations

import builtins
import importlib
import importlib.util
import logging
import math
import os
import random
import sys
import types
import unittest
import unittest.case
import unittest.runner
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from importlib.machinery import ModuleSpec

SEED = 0
_NOT_WATCHED = ("__dict__", "__weakref__", "_")
_NUMPY = ("allclose", "isclose", "array_equal", "array_equiv", "all", "any", "abs", "sum", "mean", "max")
_NUMPY_TESTING = ("assert_allclose", "assert_array_equal", "assert_array_almost_equal", "assert_almost_equal",
                  "assert_equal", "assert_array_less", "assert_approx_equal")  # fmt: skip
_TORCH = ("allclose", "isclose", "equal", "eq", "ne", "all", "any", "abs", "sum", "mean", "max", "load", "norm")
_TENSOR = ("allclose", "isclose", "equal", "eq", "__eq__", "__ne__", "item", "tolist", "all", "any", "abs", "sum")
_MODULE = ("parameters", "named_parameters", "buffers", "named_buffers", "children", "named_children",
           "modules", "named_modules", "state_dict")  # fmt: skip
_LOGGING = (
    "basicConfig",
    "getLogger",
    "log",
    "debug",
    "info",
    "warning",
    "error",
    "critical",
    "exception",
    "_logRecordFactory",
)


class Watch:
    """Remembers objects that must not be replaced."""

    def __init__(self) -> None:
        self._kept: list[tuple[str, Any, str, Any, object]] = []
        self._shadowed: set[str] = set()
        self._keep("builtins", builtins, vars(builtins))
        for owner in (unittest.case.TestCase, unittest.runner.TextTestRunner, unittest.result.TestResult):
            self._keep(f"unittest.{owner.__name__}", owner, vars(owner))
        self._keep("unittest.TestProgram", unittest.TestProgram, vars(unittest.TestProgram))
        self._keep("unittest", unittest, ("main", "TestCase", "TextTestRunner", "TestResult", "TextTestResult"))
        for kind in (logging.Logger, logging.Handler, logging.FileHandler, logging.StreamHandler, logging.LogRecord):
            self._keep(f"logging.{kind.__name__}", kind, vars(kind))
        self._keep("logging", logging, _LOGGING)
        self._keep("math", math, ("isclose", "isnan", "fabs"))
        self._keep("os", os, ("_exit", "write", "open", "remove", "unlink"))

    def keep_numpy(self) -> None:
        """Remember NumPy's comparisons."""
        self._keep("numpy", sys.modules["numpy"], _NUMPY)

    def keep_numpy_testing(self) -> None:
        """Remember ``numpy.testing``."""
        self._keep("numpy.testing", sys.modules["numpy.testing"], _NUMPY_TESTING)

    def keep_torch(self) -> None:
        """Remember PyTorch's comparisons."""
        torch: Any = sys.modules["torch"]
        self._keep("torch", torch, _TORCH)
        self._keep("torch.Tensor", torch.Tensor, _TENSOR)
        self._keep("torch.testing", importlib.import_module("torch.testing"), ("assert_close", "assert_allclose"))
        self._keep("torch.nn.Module", torch.nn.Module, _MODULE)
        inner = importlib.import_module("torch.testing._comparison")
        for name, value in vars(inner).items():
            if getattr(value, "__module__", "") == inner.__name__:
                self.keep_definition(name, value, owner=inner)

    def keep_definition(self, name: str, value: Any, owner: Any = None) -> None:
        """Remember a function or a class's methods, of the test file unless ``owner`` is another module."""
        module = owner or sys.modules["__main__"]
        self._keep(module.__name__, module, [name])
        if isinstance(value, type):
            kinds = (types.FunctionType, classmethod, staticmethod)
            methods = [each for each, found in vars(value).items() if isinstance(found, kinds)]
            self._keep(f"{module.__name__}.{name}", value, methods)

    def replaced(self) -> list[str]:
        """Return the names of replaced objects, at most twenty."""
        names = [label for label, owner, name, value, inner in self._kept if not _is_same(owner, name, value, inner)]
        if logging.root.manager.disable:
            names.append("logging.disable")
        return [*names, *sorted(self._shadowed)][:20]

    def look_at_models(self) -> None:
        """Remember which models of the callers have an instance attribute in place of a method.

        Called where a test asserts or logs "Passed", since the models are gone when it has ended.
        """
        torch: Any = sys.modules.get("torch")
        kind = getattr(getattr(torch, "nn", None), "Module", None)
        frame = sys._getframe(1)  # noqa: SLF001 - the documented way to the callers
        while kind is not None and frame is not None:
            found = list(frame.f_locals.values())
            found += getattr(frame.f_locals.get("self"), "__dict__", {}).values()
            frame = frame.f_back  # type: ignore[assignment]
            # By type: isinstance would call code of the objects themselves.
            for model in (each for each in found if issubclass(type(each), kind)):
                self._shadowed.update(f"{type(model).__name__}.{name}" for name in _MODULE if name in vars(model))

    def _keep(self, label: str, owner: Any, names: Iterable[str]) -> None:
        for name in list(names):
            value = getattr(owner, name, None)
            if value is not None and name not in _NOT_WATCHED and not isinstance(value, (bool, int, str, dict)):
                self._kept.append((f"{label}.{name}", owner, name, value, _inner(value)))


class AfterImport:
    """A finder that finds nothing itself, but runs an action after the module of that name has been imported."""

    def __init__(self, actions: dict[str, Callable[[], None]]) -> None:
        self._actions = actions

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:  # noqa: ARG002
        """Delegate to the other finders, and wrap what they find."""
        action = self._actions.pop(name, None)
        spec = importlib.util.find_spec(name) if action is not None else None
        if action is None or spec is None or spec.loader is None:
            return None
        load = spec.loader.exec_module

        def exec_module(module: types.ModuleType) -> None:
            load(module)
            action()

        spec.loader.exec_module = exec_module  # type: ignore[method-assign]
        return spec


def install(watch: Watch) -> None:
    """Seed the random number generators and watch the libraries, each as soon as it is imported."""
    random.seed(SEED)

    def numpy() -> None:
        importlib.import_module("numpy.random").seed(SEED)
        watch.keep_numpy()

    def torch() -> None:
        sys.modules["torch"].manual_seed(SEED)
        watch.keep_torch()

    actions = {"numpy": numpy, "numpy.testing": watch.keep_numpy_testing, "torch": torch}
    sys.meta_path.insert(0, AfterImport(actions))


def _inner(value: Any) -> object:
    """Return a Python function's behaviour, which can be changed while the function stays the same object."""
    if isinstance(value, types.FunctionType):
        return (value.__code__, value.__defaults__, value.__kwdefaults__ and dict(value.__kwdefaults__))
    return None


def _is_same(owner: Any, name: str, value: Any, inner: object) -> bool:
    found = getattr(owner, name, None)
    if isinstance(value, types.MethodType):  # a new object at every access
        return isinstance(found, types.MethodType) and found.__func__ is value.__func__
    return found is value and _inner(found) == inner
