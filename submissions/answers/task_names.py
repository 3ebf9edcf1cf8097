"""How a bundle names a task: the slug ``dpo/1``, also written with upstream's numbered folder (``01-DPO/1``)."""

from __future__ import annotations

import re

LARGEST_TRIAL = 20

_PAPER = re.compile(r"(?:[0-9]+-)?([a-z0-9][a-z0-9._-]{0,79})")
_TASK = re.compile(r"([^/]+)/0*([1-9][0-9]{0,2})")


def paper_slug(folder: str) -> str:
    """The slug of a paper's folder: small letters, upstream's leading number removed; empty if it is no such name."""
    match = _PAPER.fullmatch(folder.lower())
    return match[1] if match else ""


def task_slug(written: str) -> str:
    """``01-DPO/1`` and ``DPO/01`` as ``dpo/1``; empty if ``written`` is no task name."""
    match = _TASK.fullmatch(written.strip())
    paper = paper_slug(match[1]) if match else ""
    return f"{paper}/{match[2]}" if match and paper else ""
