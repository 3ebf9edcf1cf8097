"""Decide which paths of a task's repository an answer may not change, and why."""

from __future__ import annotations

import sys
from collections.abc import Collection
from fnmatch import fnmatchcase
from pathlib import PurePosixPath

PROTECTED_NAMES = (
    *("test*", "*_test.py", "*_tests.py", "unit_test*", "probe*", "info.json"),
    *("conftest.py", "sitecustomize.py", "usercustomize.py", "*.pth", "*.egg-link", "*.pyc", "*.pyo", "*.so", "*.pyd"),
    *("*.ini", "*.cfg", "pyproject.toml", "*pytest.toml", "setup.py", "noxfile.py", ".coveragerc", ".git*"),
)
"""Lower-case file names that affect how code is tested, found or loaded rather than what it computes."""

PROTECTED_FOLDERS = ("test", "tests", "testing", "unit_test", "unit_tests", "golden_files", "probes", "__pycache__")

INSTALLED_MODULES = frozenset(
    (
        *("_pytest", "pip", "pkg_resources", "pluggy", "pytest", "setuptools"),
        *("bs4", "joblib", "openai", "packaging", "pydantic", "requests", "six", "tqdm", "typing_extensions", "yaml"),
        *("cv2", "gensim", "matplotlib", "networkx", "nltk", "numpy", "pandas", "scipy", "seaborn", "sklearn", "spacy"),
        *("accelerate", "datasets", "einops", "evaluate", "huggingface_hub", "peft", "safetensors", "tensorflow"),
        *("sentence_transformers", "sentencepiece", "timm", "tokenizers", "transformers", "trl", "wandb"),
        *("torch", "torchaudio", "torchvision"),
    )
)
"""Import names of packages that a sandbox may have installed."""

_STANDARD_MODULES = frozenset(name.lower() for name in sys.stdlib_module_names)
_MODULE_SUFFIXES = (".py", ".pyi")
MAX_PATH_LENGTH = 200
"""Characters (all ASCII, so bytes) of a new path; file systems allow 255 bytes per name."""
MAX_PATH_DEPTH = 8
"""Parts of a new path, including the file name."""
_UNSAFE_CHARACTERS = frozenset('\\:"*?<>|')


def is_protected_name(path: str) -> bool:
    """Return whether the file ``path`` (relative, forward slashes) is protected by its own name or a folder's."""
    *folders, name = path.lower().split("/")
    if any(folder in PROTECTED_FOLDERS or folder == ".git" for folder in folders):
        return True
    return any(fnmatchcase(name, pattern) for pattern in PROTECTED_NAMES)


def shadowed_module(path: str, *, bases: Collection[str]) -> str:
    """Return the installed or standard module that a new file ``path`` would hide from code in ``bases``, or ``""``.

    ``bases`` are folders on the import path (``""`` is the repository's root).
    """
    for base in bases:
        prefix = f"{base}/" if base else ""
        if not path.startswith(prefix):
            continue
        first, _, rest = path[len(prefix) :].partition("/")
        if not rest and not first.lower().endswith(_MODULE_SUFFIXES):
            continue
        module = first if rest else PurePosixPath(first).stem
        if module.lower() in _STANDARD_MODULES or module.lower() in INSTALLED_MODULES:
            return module
    return ""


def unsafe_name(path: str) -> str:
    """Return why ``path`` is not a valid name of a repository file on every system, or ``""``."""
    if any(not " " <= character <= "~" for character in path):
        return "has characters outside printable ASCII, which can look like others"
    if _UNSAFE_CHARACTERS & set(path):
        return 'has one of the characters \\ : " * ? < > |'
    if any(part != part.strip() or part.endswith(".") or not part for part in path.split("/")):
        return "has a part that begins or ends with a space or ends with a dot"
    return ""


def too_long(path: str) -> str:
    """Return why ``path`` is too long for a new file, or ``""``."""
    if len(path.encode(errors="surrogateescape")) > MAX_PATH_LENGTH:
        return f"has a path of more than {MAX_PATH_LENGTH} characters, which is the limit for new files"
    if path.count("/") >= MAX_PATH_DEPTH:
        return f"has a path of more than {MAX_PATH_DEPTH} parts, which is the limit for new files"
    return ""
