"""Get a suite's folder from an operator's folder or from the address of a git repository. No Django here."""

from __future__ import annotations

import os
import shutil
import subprocess
from typing import TYPE_CHECKING, Final

from benchmark_tasks.domain.info import INFO_FILE
from benchmark_tasks.domain.suite_folder import has_papers, suite_root

if TYPE_CHECKING:
    from pathlib import Path

_GIT_SECONDS: Final = 3600


class SourceUnavailableError(Exception):
    """Raised if there is no suite at the given place. The message says what was tried."""


def suite_source(source: str, *, folder: Path, keep: Path) -> Path:
    """Return the folder of papers in ``source``, which is a folder or a git repository's address.

    In a repository the newest commit with papers is used, which may not be the last one: LMR-BENCH's own repository
    removed its data set. Its files are kept below ``keep``. Git LFS files stay pointers: sealed tests need none.

    Args:
        source: what the operator typed.
        folder: ``source`` as a path.
        keep: where clones are stored.

    Raises:
        SourceUnavailableError: there is no such folder or repository, or it has no papers.
    """
    root = suite_root(folder)
    if has_papers(root):
        return root
    if folder.exists() and not (folder / ".git").exists() and not (folder / "objects").is_dir():
        raise SourceUnavailableError(f"{folder} has no papers: each must be in its own folder with an {INFO_FILE}")
    if not folder.exists() and "://" not in source and "@" not in source:
        raise SourceUnavailableError(f"{source} is neither a folder nor a git address such as https://HOST/OWNER/NAME")
    return suite_root(_from_git(str(folder.resolve()) if folder.exists() else source, keep))


def _from_git(address: str, keep: Path) -> Path:
    """Fetch the files of the newest commit with papers into ``keep/<commit>``."""
    clone = keep / "clone"
    shutil.rmtree(clone, ignore_errors=True)
    keep.mkdir(parents=True, exist_ok=True)
    _git("clone", "--quiet", "--no-checkout", "--", address, str(clone))
    commit = _newest_with_papers(clone)
    if not commit:
        raise SourceUnavailableError(f"{address} never held a paper with an {INFO_FILE}")
    tree = keep / commit
    if not tree.is_dir():
        draft = keep / f".{commit}"
        shutil.rmtree(draft, ignore_errors=True)
        _git("-C", str(clone), "worktree", "add", "--quiet", "--detach", str(draft), commit)
        (draft / ".git").unlink()
        draft.rename(tree)
    shutil.rmtree(clone)
    return tree


def _newest_with_papers(clone: Path) -> str:
    """Return the last commit if it has papers, else the one before they were removed; empty if there were never any."""
    listed = _git("-C", str(clone), "ls-tree", "-r", "--name-only", "HEAD")
    if any(name.endswith(f"/{INFO_FILE}") for name in listed.splitlines()):
        return _git("-C", str(clone), "rev-parse", "HEAD").strip()
    removed = _git("-C", str(clone), "rev-list", "-1", "HEAD", "--", f":(glob)**/{INFO_FILE}").strip()
    return _git("-C", str(clone), "rev-parse", f"{removed}^").strip() if removed else ""


def _git(*arguments: str) -> str:
    """Run git without prompts and without Git LFS; return its output. Raises SourceUnavailableError."""
    environment = os.environ | {"GIT_TERMINAL_PROMPT": "0", "GIT_LFS_SKIP_SMUDGE": "1"}
    try:
        done = subprocess.run(
            ["git", *arguments],
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_GIT_SECONDS,
            check=False,
            stdin=subprocess.DEVNULL,
            env=environment,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise SourceUnavailableError(f"git {arguments[0]} failed: {error}") from error
    if done.returncode != 0:
        raise SourceUnavailableError(f"git failed: {done.stderr.strip()[-600:]}")
    return done.stdout
