"""Read a folder of papers as a suite, with every error in it. No Django here."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

from benchmark_tasks.domain.info import INFO_FILE, SUITE_FILE, InfoFile, SuiteInfo, read_paper_info
from benchmark_tasks.domain.overlays import NO_OVERLAYS, Overlays
from benchmark_tasks.domain.problems import ImportProblem
from benchmark_tasks.domain.task_files import read_paper_folder
from benchmark_tasks.facts.lmr_bench import paper_slug

if TYPE_CHECKING:
    from benchmark_tasks.domain.paper_folder import PaperFolder

_UPSTREAM_PLACES: Final = ("benchmark", "datasets", "benchmark/datasets")
_SLUG: Final = re.compile(r"[a-z0-9][a-z0-9_-]{0,79}", re.ASCII)


@dataclass(slots=True)
class SuiteFolder:
    """A whole suite folder, with every problem found in it, in the order of its files.

    ``left_out`` maps the slugs of papers with format errors to their folders.
    """

    path: Path
    overlays: Overlays = NO_OVERLAYS
    info: SuiteInfo = field(default_factory=SuiteInfo)
    papers: list[PaperFolder] = field(default_factory=list)
    left_out: dict[str, str] = field(default_factory=dict)
    problems: list[ImportProblem] = field(default_factory=list)

    @property
    def has_errors(self) -> bool:
        """Whether there is a format error."""
        return any(problem.fatal for problem in self.problems)

    @property
    def refused(self) -> bool:
        """Whether nothing can be imported: an error concerns the whole folder, or errors leave no paper."""
        return any(problem.whole for problem in self.problems) or (self.has_errors and not self.papers)


def has_papers(folder: Path) -> bool:
    """Return whether there are papers' folders directly below ``folder``."""
    return any(folder.glob(f"*/{INFO_FILE}"))


def suite_root(folder: Path) -> Path:
    """Return the folder that contains the papers' folders: ``folder`` itself, or upstream's place in a repository."""
    places = [folder, *(folder / name for name in _UPSTREAM_PLACES)]
    return next(filter(has_papers, places), folder)


def read_suite(folder: Path, overlays: Overlays = NO_OVERLAYS) -> SuiteFolder:
    """Read a whole suite folder, with ``overlays`` on its tasks.

    Never raises for what is in it: see ``problems`` and ``refused`` of the result.
    """
    suite = SuiteFolder(folder, overlays)
    try:
        root = folder.resolve(strict=True)
        names = sorted(entry.name for entry in root.iterdir())
    except FileNotFoundError:
        suite.problems.append(ImportProblem(str(folder), "there is no such folder", whole=True))
        return suite
    except (OSError, RuntimeError, ValueError) as error:
        why = getattr(error, "strerror", None) or error
        suite.problems.append(ImportProblem(str(folder), f"is not a folder that can be read ({why})", whole=True))
        return suite
    if SUITE_FILE in names:
        file = InfoFile(root, SUITE_FILE, shown=SUITE_FILE, problems=suite.problems, whole=True)
        found = file.validated(SuiteInfo, {})
        if found is not None:
            suite.info = found
            file.report_unknown_keys(found)
    owners: dict[str, str] = {}
    for name in names:
        try:
            if not name.startswith((".", "__")) and (root / name).is_dir():
                _read_paper(root, name, suite, owners)
        except OSError as error:
            suite.problems.append(ImportProblem(_shown(name), f"cannot be read ({error.strerror})"))
            suite.left_out.setdefault(paper_slug(name), name)
    if not suite.papers and not suite.refused and INFO_FILE in names:
        message = "this is one paper's folder: give the folder above it"
        # Replaces the remarks on its subfolders, which are not papers.
        suite.problems = [ImportProblem(folder.name or str(folder), message, whole=True)]
    elif not suite.papers and not suite.refused:
        message = f"has no papers: each must be in its own folder with an {INFO_FILE}"
        suite.problems.append(ImportProblem(folder.name or str(folder), message, whole=True))
    return suite


def _read_paper(root: Path, name: str, suite: SuiteFolder, owners: dict[str, str]) -> None:
    """Add the paper in the folder ``name`` to ``suite``, or the reasons why it is left out."""
    problems = suite.problems
    if (root / name).is_symlink():
        problems.append(ImportProblem(_shown(name), "is a symbolic link to a folder; left out", fatal=False))
        return
    if not (root / name / INFO_FILE).is_symlink() and not (root / name / INFO_FILE).exists():
        problems.append(ImportProblem(_shown(name), f"has no {INFO_FILE}; left out", fatal=False))
        return
    slug = paper_slug(name)
    if not _SLUG.fullmatch(slug):
        message = "names a paper's folder: use letters, digits, '-' and '_' only, such as 01-DPO"
        problems.append(ImportProblem(_shown(name), message))
        return
    if slug in owners:
        message = f"gives the same task slugs as the folder {owners[slug]} ({slug}/1, …); rename one"
        problems.append(ImportProblem(name, message, whole=True))
        return
    owners[slug] = name
    found: list[ImportProblem] = []
    info = read_paper_info(root / name, slug=slug, problems=found)
    paper = None
    if info is not None:
        info, overlays = suite.overlays.applied(info, found)
        paper = read_paper_folder(root / name, info, found, overlays)
    problems.extend(found)
    if paper is None or any(problem.fatal for problem in found):
        suite.left_out[slug] = name
    else:
        suite.papers.append(paper)


def _shown(name: str) -> str:
    return name if name.isprintable() else ascii(name)
