"""What agents and their tools leave in a repository beside their answer. No Django here."""

from __future__ import annotations

from fnmatch import fnmatchcase

_CACHES = frozenset(
    {
        ".git",
        ".hg",
        ".svn",
        ".cache",
        ".idea",
        ".ipynb_checkpoints",
        ".mypy_cache",
        ".pytest_cache",
        ".ruff_cache",
        ".venv",
        ".vscode",
        "__macosx",
        "__pycache__",
        "env",
        "node_modules",
        "site-packages",
        "venv",
    }
)
_RESULTS = frozenset(
    {"checkpoints", "log", "logs", "output", "outputs", "result", "results", "runs", "tensorboard", "wandb"}
)
_RESULT_NAMES = ("*.log", "*.out", "*.err", "nohup*", "events.out.*")
_CACHE_NAMES = (".ds_store", "._*", "thumbs.db", "*.swp", "*.orig", "*.rej", "*~", "*.bak", "*.egg-info")
_NEW_SUFFIXES = (".py", ".pyi", ".json", ".yaml", ".yml", ".toml", ".txt", ".csv", ".tsv")

CACHES = "caches and editors' files"
RESULTS = "logs and results"
BINARY = "binary files"
OTHER = "new files of other kinds"


def noise_of_name(path: str) -> str:
    """Why a new file called ``path`` is no part of an answer, or an empty text."""
    *folders, name = path.lower().split("/")
    if any(folder in _CACHES or folder.endswith(".egg-info") for folder in folders) or _is_like(name, _CACHE_NAMES):
        return CACHES
    if any(folder in _RESULTS for folder in folders) or _is_like(name, _RESULT_NAMES):
        return RESULTS
    return "" if name.endswith(_NEW_SUFFIXES) else OTHER


def noise_of_content(path: str, content: bytes, *, is_new: bool) -> str:
    """Why this content is no part of an answer: it is not text, or a new file that says nothing."""
    if b"\0" in content:
        return BINARY
    try:
        content.decode("utf-8")
    except UnicodeDecodeError:
        # A program that is no longer text is a bad answer, and is said to be one where it is applied.
        return "" if path.lower().endswith(".py") else BINARY
    return "empty new files" if is_new and not content.strip() and not path.lower().endswith(".py") else ""


def _is_like(name: str, patterns: tuple[str, ...]) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in patterns)
