"""Which folders of an archive are papers of the suite, by their names alone. No Django here."""

from __future__ import annotations

import difflib
import re
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from submissions.answers.intake import refuse
from submissions.answers.manifest import MANIFEST_FILE
from submissions.answers.task_names import paper_slug
from submissions.answers.tree_noise import CACHES, noise_of_name
from submissions.answers.types import Problem, Severity, closed_message

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from submissions.answers.tree_index import IndexedPaper, TreeIndex

_ANSWER_NAMES = ("answer.py", "answer.diff", "answer.patch")
_NUMBERED = re.compile(r"[0-9]{1,3}-[A-Za-z]")
_DEEPEST_ROOT = 3
_SHOWN = 5


@dataclass(frozen=True, slots=True)
class PaperFolder:
    """A paper's modified repository in an archive: ``place`` is its name there, ending in a slash."""

    paper: IndexedPaper
    place: str


@dataclass(frozen=True, slots=True)
class TreeLayout:
    """The papers that were found. ``problems`` refuse the upload, ``remarks`` say what was passed over."""

    folders: tuple[PaperFolder, ...] = ()
    problems: tuple[Problem, ...] = ()
    remarks: tuple[Problem, ...] = ()

    def place_of(self, name: str) -> tuple[PaperFolder, str] | None:
        """The paper that the member ``name`` belongs to, and its path in the repository."""
        for folder in self.folders:
            if name.startswith(folder.place):
                return folder, name[len(folder.place) :]
        return None


@dataclass(slots=True)
class _Level:
    """The folders directly below one folder: name to the names of everything inside it."""

    inside: defaultdict[str, list[str]] = field(default_factory=lambda: defaultdict(list))


def is_bundle_name(name: str) -> bool:
    """Whether a member of this name is only found in a bundle of answers."""
    parts = name.lower().split("/")
    in_answers = "answers" in parts[:2] and parts[-1] in _ANSWER_NAMES
    return in_answers or (parts[-1] == MANIFEST_FILE and len(parts) <= 2)


def looks_like_tree(names: Iterable[str]) -> bool:
    """Whether there are numbered folders with folders in them, as upstream's tools write them."""
    return any(
        _NUMBERED.match(part)
        for name in names
        for part in name.split("/")[:_DEEPEST_ROOT]
        if name.count("/") > name.split("/").index(part)
    )


def find_layout(names: Collection[str], index: TreeIndex) -> TreeLayout | None:
    """Where the papers of ``index`` lie among ``names``; None when there is not one of them.

    A paper's folder is called like its slug or upstream's folder (``1-DPO`` and ``01-DPO`` alike), or like its
    repository; folders around it all do not matter.
    """
    papers = _by_name(index.papers)
    for depth in range(_DEEPEST_ROOT + 1):
        root, level = _best_level(names, depth, papers)
        if level is not None:
            return _layout(root, level, papers, index)
    return None


def _by_name(papers: Sequence[IndexedPaper]) -> dict[str, IndexedPaper]:
    """Every name that a paper's folder may have, in small letters; a slug wins over a repository's name."""
    known = {paper.repository.lower(): paper for paper in papers if paper.repository}
    known |= {paper_slug(paper.folder): paper for paper in papers if paper_slug(paper.folder)}
    return known | {paper.slug: paper for paper in papers}


def _paper_of(folder: str, papers: Mapping[str, IndexedPaper]) -> IndexedPaper | None:
    return papers.get(paper_slug(folder)) or papers.get(folder.lower())


def _best_level(names: Collection[str], depth: int, papers: Mapping[str, IndexedPaper]) -> tuple[str, _Level | None]:
    """Of all folders at this depth, the one that holds most papers."""
    levels: defaultdict[str, _Level] = defaultdict(_Level)
    for name in names:
        parts = name.split("/", depth + 1)
        if len(parts) == depth + 2:
            root = "".join(f"{part}/" for part in parts[:depth])
            levels[root].inside[parts[depth]].append(parts[depth + 1])
    found = Counter(
        {root: sum(_paper_of(f, papers) is not None for f in level.inside) for root, level in levels.items()}
    )
    root, count = max(found.items(), key=lambda item: item[1], default=("", 0))
    return root, levels[root] if count else None


def _layout(root: str, level: _Level, papers: Mapping[str, IndexedPaper], index: TreeIndex) -> TreeLayout:
    folders: dict[str, PaperFolder] = {}
    problems: list[Problem] = []
    remarks: list[Problem] = []
    unknown: list[str] = []
    for name, inside in sorted(level.inside.items()):
        paper = _paper_of(name, papers)
        if paper is None:
            unknown += [] if noise_of_name(f"{name}/x.py") == CACHES else [name]
        elif paper.closed:
            remarks += [
                Problem(severity=Severity.REMARK, message=closed_message(reason), task=task, file=root + name)
                for task, reason in paper.closed.items()
            ]
        elif paper.slug in folders:
            earlier = folders[paper.slug].place.removeprefix(root).split("/")[0]
            problems.append(refuse(f"{earlier} and {name} are both the paper {paper.slug!r}; keep one.", file=name))
        else:
            folders[paper.slug] = PaperFolder(paper=paper, place=root + name + "/" + _repository(inside, paper))
    for name in unknown:
        misspelt = _misspelt(name, [paper.folder for paper in index.papers if paper.slug not in folders])
        if misspelt:
            problems.append(refuse(f"There is no paper {name!r} in {index.suite!r}; {misspelt}", file=name))
    if unknown and not problems:
        shown = ", ".join(name[:60] for name in unknown[:_SHOWN]) + (", ..." if len(unknown) > _SHOWN else "")
        message = f"Passed over, since no paper of {index.suite!r} is called so: {shown}"
        remarks.append(Problem(severity=Severity.REMARK, message=message))
    return TreeLayout(folders=tuple(folders.values()), problems=tuple(problems), remarks=tuple(remarks))


def _repository(inside: Sequence[str], paper: IndexedPaper) -> str:
    """Where in its folder the paper's repository lies: below a folder of its name, of any name, or at the top."""
    folders = sorted({name.split("/", 1)[0] for name in inside if "/" in name})
    named = next((folder for folder in folders if folder.lower() == paper.repository.lower()), None)
    if named is not None:
        return f"{named}/"
    files = set(inside)
    places = ["", *(f"{folder}/" for folder in folders)]
    return next((place for place in places if any(place + goal in files for goal in paper.goal_files)), "")


def _misspelt(name: str, folders: Sequence[str]) -> str:
    """``did you mean '01-DPO'?`` where a folder nearly has the name of a paper that is not there otherwise."""
    by_slug = {paper_slug(folder): folder for folder in folders}
    close = difflib.get_close_matches(paper_slug(name), tuple(by_slug), n=1, cutoff=0.8)
    return f"did you mean {by_slug[close[0]]!r}?" if close else ""
