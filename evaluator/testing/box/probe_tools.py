"""Helpers shared by probes (``run_N.py``): stand-ins for missing packages and a GPU, returned values, gradients.

The driver loads this file before a probe, which imports it as ``probe_tools``. Runs in boxes: Python 3.9 or newer and
the standard library; PyTorch only where the probe uses it.
"""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

CARRIES_GRADIENT = "carries a gradient"
STAND_IN = "this test's stand-in for"
"""Part of every error about something that a stand-in lacks; such a test case has an outcome of its own."""


class NotInThisTestError(NotImplementedError, AttributeError):
    """The answer used something that the test's stand-in for a package lacks; ``hasattr`` is false for it."""


def missing(package: str, name: str) -> NotInThisTestError:
    """Return the error for ``name``, which the stand-in for ``package`` lacks."""
    return NotInThisTestError(f"{STAND_IN} {package} has no `{name}`")


def _refuse(thing: Any, *_args: Any, **_options: Any) -> Any:
    raise missing(*thing.place)


class Absent(type):
    """Type of everything in an absent package. Names, calls and subscripts return more of it; using a value raises.

    A repository's file can therefore be imported, derive classes from it and test for it with ``isinstance``, and an
    answer may log or draw with it; but no made-up number or text gets into a result.
    """

    place: tuple[str, str]

    def __new__(cls, name: str, bases: tuple[type, ...], body: dict[str, Any]) -> Any:
        """Return an ordinary class where a repository derives one from something absent."""
        if not bases:
            return super().__new__(cls, name, bases, body)
        return type(name, tuple(base for base in bases if not isinstance(base, Absent)), body)

    def __getattr__(cls, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        package, path = cls.place
        return absent_thing(package, f"{path}.{name}")

    def __call__(cls, *_args: Any, **_options: Any) -> Any:
        package, path = cls.place
        return absent_thing(package, f"{path}()")

    def __getitem__(cls, _key: Any) -> Any:
        package, path = cls.place
        return absent_thing(package, f"{path}[]")

    def __setitem__(cls, _key: Any, _value: Any) -> None:
        """Do nothing: repositories set figure styles this way."""

    def __enter__(cls) -> Any:
        return cls

    def __exit__(cls, *_error: object) -> None:
        return None

    def __bool__(cls) -> bool:
        """Return true: repositories test at import time whether a package is available."""
        return True

    def __repr__(cls) -> str:
        package, path = cls.place
        return f"<`{path}`, which {STAND_IN} {package} does not have>"

    __float__ = __int__ = __index__ = __complex__ = __len__ = __iter__ = __contains__ = _refuse
    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = _refuse
    __matmul__ = __rmatmul__ = __pow__ = __rpow__ = __neg__ = __abs__ = _refuse
    __lt__ = __le__ = __gt__ = __ge__ = _refuse


def absent_thing(package: str, path: str) -> Any:
    """Return a placeholder for ``path`` of a missing package."""
    # Python, PyTorch and the driver name the type of an unusable value, so the type's name states what is missing.
    kind: Any = type(f"`{path}` (which {STAND_IN} {package} does not have)", (Absent,), {})
    return kind(path, (), {"place": (package, path)})


class AbsentModule(ModuleType):
    """A module of an absent package; it has what a probe gives it, and :class:`Absent` things for everything else."""

    def __init__(self, name: str, package: str) -> None:
        super().__init__(name)
        self.__path__ = []
        self._absent_package = package

    def __getattr__(self, name: str) -> Any:
        """Return a module below this one, or something absent; special names are Python's own and are missing."""
        if name.startswith("__"):
            raise AttributeError(name)
        below = sys.modules.get(f"{self.__name__}.{name}")
        if below is not None:
            return below
        package = self._absent_package
        return absent_thing(package, f"{self.__name__}.{name}".removeprefix(f"{package}."))


class _Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds the modules below an absent package."""

    def __init__(self, package: str) -> None:
        self._package = package

    def find_spec(self, name: str, _path: Any = None, _target: Any = None) -> Any:
        if not name.startswith(f"{self._package}."):
            return None
        return importlib.machinery.ModuleSpec(name, self, is_package=True)

    def create_module(self, spec: Any) -> ModuleType:
        return AbsentModule(spec.name, self._package)

    def exec_module(self, module: ModuleType) -> None:
        """Do nothing: the module is complete."""


def absent(*names: str, **has: Any) -> None:
    """Replace these packages or modules, and all modules below them, by stand-ins that have only ``has``."""
    for name in names:
        module = sys.modules[name] = AbsentModule(name, name)
        vars(module).update(has)
        sys.meta_path.insert(0, _Finder(name))


def gpu_on_processor() -> Any:
    """Return a context in which everything moved to or created on a GPU stays on the processor.

    It accepts all forms: ``x.cuda()``, ``x.to("cuda:0")``, ``x.to(0)``, ``model.to(device=…)``, ``device="cuda"``.
    """
    torch: Any = sys.modules["torch"]

    def on_processor(value: Any) -> Any:
        is_gpu = isinstance(value, (str, torch.device)) and str(value).partition(":")[0] == "cuda"
        return torch.device("cpu") if is_gpu else value

    class OnProcessor(torch.overrides.TorchFunctionMode):  # type: ignore[misc]
        def __torch_function__(
            self, function: Any, _types: Any, args: Sequence[Any] = (), kwargs: Mapping[str, Any] | None = None
        ) -> Any:
            args, kwargs = [on_processor(value) for value in args], dict(kwargs or {})
            if function is torch.device:
                # It may have a device number, which the processor does not have.
                return args[0] if isinstance(args[0], torch.device) else function(*args, **kwargs)
            if function is torch.Tensor.cuda:
                return args[0]
            if function is torch.Tensor.to and len(args) > 1 and type(args[1]) is int:
                args[1] = "cpu"
            if "device" in kwargs:
                device = kwargs["device"]
                kwargs["device"] = "cpu" if type(device) is int else on_processor(device)
            return function(*args, **kwargs)

    return OnProcessor()


class WrongReturnError(TypeError):
    """The answer returned something that a test cannot read."""


def returned(value: Any, kind: Any, expected: str) -> Any:
    """Return the answer's ``value`` if it has the ``kind``: a class, or a number of parts, returned as a tuple.

    None has no kind. Raises :class:`WrongReturnError`, which names what was ``expected``.
    """
    if value is not None:
        if not isinstance(kind, int):
            if isinstance(value, kind):
                return value
        elif hasattr(value, "__iter__"):
            value = tuple(value)
            if len(value) == kind and all(part is not None for part in value):
                return value
    raise WrongReturnError(f"returned {_named(value)} where {expected} expected")


def _named(value: Any) -> str:
    if isinstance(value, (tuple, list)) and len(value) <= 8:
        return f"({', '.join('None' if part is None else type(part).__name__ for part in value)})"
    return "None" if value is None else f"a value of type {type(value).__name__}"


def without_gradient(output: Any) -> Any:
    """Return an output's array, or an error text if the tensor carries a gradient."""
    if not hasattr(output, "requires_grad"):
        return output
    return CARRIES_GRADIENT if output.requires_grad else output.numpy()


def gradients(total: Any, leaves: Mapping[str, Any]) -> dict[str, Any]:
    """Return the gradient of ``total`` with respect to each leaf as arrays, zeros where it does not depend on it."""
    torch: Any = sys.modules["torch"]
    if not total.requires_grad:
        return {name: torch.zeros_like(leaf).numpy() for name, leaf in leaves.items()}
    found = torch.autograd.grad(total, list(leaves.values()), allow_unused=True)
    return {
        name: (torch.zeros_like(leaf) if gradient is None else gradient).numpy()
        for (name, leaf), gradient in zip(leaves.items(), found)  # noqa: B905 - Python 3.9 has no strict
    }
