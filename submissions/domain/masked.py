"""The masked repositories of a suite as an output tree is compared with them, kept from one upload to the next."""

from __future__ import annotations

import json
import secrets
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING

from django.conf import settings

from benchmark_tasks.domain.content import tree_files
from benchmark_tasks.domain.queries import revisions_of
from submissions.answers.intake import ArchiveLimits
from submissions.answers.tree_index import (
    MAX_FILE_BYTES,
    FileMark,
    IndexedPaper,
    TreeIndex,
    dump_marks,
    load_marks,
    mark_of,
)
from submissions.answers.tree_reader import TREE_LIMITS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from benchmark_tasks.models import SuiteVersion, TaskRevision

_MEGABYTE = 1024 * 1024
_DIFFERS = FileMark(size=-1)


def tree_limits() -> ArchiveLimits:
    """What reading one output tree may cost, by the operator's settings."""
    environment = settings.ENVIRONMENT
    return ArchiveLimits(
        upload=environment.output_tree_upload_mb * _MEGABYTE,
        total=environment.output_tree_unpacked_mb * _MEGABYTE,
        member=TREE_LIMITS.member,
        trajectory=TREE_LIMITS.trajectory,
        members=environment.output_tree_files,
        entries=environment.output_tree_files,
        path=TREE_LIMITS.path,
        depth=TREE_LIMITS.depth,
    )


def index_of(version: SuiteVersion) -> TreeIndex:
    """Every paper of ``version`` with the hashes of its masked files. Raises ContentMissingError."""
    papers: defaultdict[int, list[TaskRevision]] = defaultdict(list)
    for revision in revisions_of(version):
        papers[revision.task.paper_id].append(revision)
    return TreeIndex(suite=version.suite.slug, papers=tuple(_paper(revisions) for revisions in papers.values()))


def closed_reason(revision: TaskRevision) -> str:
    """Why ``revision`` takes no answers; an empty text where it does."""
    if revision.runnable:
        return ""
    return "; ".join(revision.not_runnable_reasons) or revision.why_left_out


def _paper(revisions: Sequence[TaskRevision]) -> IndexedPaper:
    paper = revisions[0].task.paper
    opened = [revision for revision in revisions if revision.runnable]
    trees = [_marks(tree) for tree in dict.fromkeys(revision.repository_hash for revision in opened)]
    return IndexedPaper(
        slug=paper.slug,
        folder=paper.folder_name,
        repository=paper.repository_folder,
        goal_files=tuple(dict.fromkeys(revision.goal_file for revision in opened)),
        files=_merged(trees),
        closed={} if opened else {each.task.slug: closed_reason(each) for each in revisions},
    )


def _merged(trees: Sequence[dict[str, FileMark]]) -> dict[str, FileMark]:
    """One list of a paper's masked files; what its tasks do not have alike is like no content."""
    paths = {path for tree in trees for path in tree}
    merged = {}
    for path in sorted(paths):
        marks = {tree.get(path, _DIFFERS) for tree in trees}
        merged[path] = marks.pop() if len(marks) == 1 else _DIFFERS
    return merged


def _marks(tree: str) -> dict[str, FileMark]:
    """The marks of a stored tree, from the file in which they are kept once they were made."""
    kept = Path(settings.DATA_DIR) / "cache" / "marks" / f"{tree}.json"
    try:
        return load_marks(json.loads(kept.read_bytes()))
    except (OSError, ValueError):
        pass
    marks = {name: _mark(path) for name, path in tree_files(tree).items()}
    draft = kept.with_name(f".{kept.name}-{secrets.token_hex(6)}")
    try:
        kept.parent.mkdir(parents=True, exist_ok=True)
        draft.write_text(json.dumps(dump_marks(marks), separators=(",", ":")), encoding="ascii")
        draft.rename(kept)
    except OSError:
        # A disk that is full, or not ours to write to, costs time only.
        draft.unlink(missing_ok=True)
    return marks


def _mark(path: Path) -> FileMark:
    size = path.stat().st_size
    return FileMark(size=size) if size > MAX_FILE_BYTES else mark_of(path.read_bytes())
