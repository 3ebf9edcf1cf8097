"""Recognise that a test stopped at a module or library that its environment lacks. No Django here."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from pathlib import Path


_MODULE: Final = re.compile(r"No module named '([\w.]+)'|No package metadata was found for ([\w.-]+)")
_LIBRARY: Final = re.compile(r"([\w.+-]+\.so[\w.]*): cannot open shared object file")
_PACKAGES: Final = {
    "PIL": "pillow",
    "attr": "attrs",
    "bs4": "beautifulsoup4",
    "cv2": "opencv-python-headless",
    "dateutil": "python-dateutil",
    "skimage": "scikit-image",
    "sklearn": "scikit-learn",
    "yaml": "pyyaml",
}
"""Packages of modules with a different name."""


@dataclass(frozen=True, slots=True)
class Missing:
    """A missing module, with the ``package`` that usually provides it, or a missing shared library."""

    name: str
    package: str = ""

    def __str__(self) -> str:
        """Return a text for pages, such as ``the module 'yaml' is missing``."""
        return f"the {'module' if self.package else 'shared library'} '{self.name}' is missing"


def missing_in_text(text: str, repository: Path) -> Missing | None:
    """Find what is missing in the text of an error or log."""
    found = _MODULE.search(text)
    if found is not None:
        module = (found[1] or found[2]).partition(".")[0]
        return None if is_module_of(repository, module) else Missing(found[1] or module, _PACKAGES.get(module, module))
    library = _LIBRARY.search(text)
    return Missing(library[1]) if library else None


def is_module_of(repository: Path, module: str) -> bool:
    """Return whether the repository has a source file or folder, at any depth, that is imported by this name."""
    files = (path.relative_to(repository) for path in repository.rglob("*.py"))
    return any(path.stem == module or module in path.parts[:-1] for path in files)
