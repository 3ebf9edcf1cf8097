"""What went wrong on the host while a box was made or run, in words for the operator and for everybody else."""

from __future__ import annotations

import errno
from typing import Final

from evaluator.sandbox.types import SandboxError

DISK_IS_FULL: Final = "the host's disk is full"
HOST_FAILED: Final = "the host failed"

_FULL: Final = frozenset({errno.ENOSPC, errno.EDQUOT})


def host_fault(what: str, error: OSError) -> SandboxError:
    """The fault of ours behind ``error``, which befell ``what``; to be raised from ``error``."""
    if means_full(error):
        return SandboxError(
            f"{what}: the host's disk is full, or its quota is used up: make room below DATA_DIR and the "
            f"folders of the sandboxes (docs/sandboxes.md) ({error})",
            public=DISK_IS_FULL,
        )
    return SandboxError(f"{what}: the host failed it: {error}", public=HOST_FAILED)


def means_full(error: OSError) -> bool:
    """Whether a disk is full or a quota used up. ``shutil.copytree`` keeps only the texts of what went wrong."""
    return error.errno in _FULL or any(f"[Errno {number}]" in str(error) for number in _FULL)
