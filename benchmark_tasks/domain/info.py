"""Reading a suite folder: upstream's ``info.json`` format with the optional keys protocol, environment and check.

No Django here. Source of the traps that are handled: DESIGN, section 6.
"""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from benchmark_tasks.domain.check_keys import read_check, read_equivalent_mutants
from benchmark_tasks.domain.folders import (
    MAXIMUM_SOURCE_BYTES,
    PathLeavesFolderError,
    UnusableFileError,
    read_regular,
)
from benchmark_tasks.domain.keys import Keys
from benchmark_tasks.domain.located_json import JsonError, read_document
from benchmark_tasks.domain.problems import ImportProblem
from benchmark_tasks.domain.suite_folder import PaperInfo, SuiteFolder, TaskInfo
from benchmark_tasks.domain.task_files import read_paper_folder
from benchmark_tasks.facts.categories import UnknownCategoryError, normalise
from benchmark_tasks.facts.lmr_bench import lmr_bench, paper_slug

if TYPE_CHECKING:
    from benchmark_tasks.domain.suite_folder import CategorySourceName, CheckInfo, EquivalentMutant, ProtocolName

INFO_FILE: Final = "info.json"
SUITE_FILE: Final = "suite.json"

_SLUG: Final = re.compile(r"[a-z0-9][a-z0-9_-]{0,79}", re.ASCII)
_ENVIRONMENT: Final = re.compile(r"[a-z0-9][a-z0-9._-]{0,79}", re.ASCII)
_DEFAULT_ENVIRONMENT: Final = "numpy"
_MAXIMUM_INSTRUCTION: Final = 20_000


def read_suite(folder: Path) -> SuiteFolder:
    """Read a whole suite folder. Never raises for what is in it: see ``problems`` and ``refused`` of the result."""
    suite = SuiteFolder(folder)
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
        _read_suite_file(root, suite)
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
        # Instead of what was said of its own folders, which are none of papers.
        suite.problems = [ImportProblem(folder.name or str(folder), message, whole=True)]
    elif not suite.papers and not suite.refused:
        message = f"holds no paper: each lies in a folder of its own with an {INFO_FILE}"
        suite.problems.append(ImportProblem(folder.name or str(folder), message, whole=True))
    return suite


def _read_suite_file(root: Path, suite: SuiteFolder) -> None:
    problems: list[ImportProblem] = []
    keys = _read_object(root, SUITE_FILE, SUITE_FILE, problems)
    if keys is not None:
        suite.title = keys.text("title", limit=120)
        suite.description = keys.text("description", limit=5000)
        suite.licence = keys.text("licence", limit=120)
        suite.source = keys.text("source", limit=300)
        suite.changelog = tuple(text for text, _ in keys.texts("changelog", limit=1000))
        keys.finish(fatal=False)
    suite.problems.extend(replace(problem, whole=problem.fatal) for problem in problems)


def _read_paper(root: Path, name: str, suite: SuiteFolder, owners: dict[str, str]) -> None:
    """Add the paper in the folder ``name``, or the reasons why it is left out."""
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
    keys = _read_object(root / name, INFO_FILE, f"{name}/{INFO_FILE}", found)
    paper = read_paper_folder(root / name, _paper_info(keys, name, slug), found) if keys is not None else None
    problems.extend(found)
    if paper is None or any(problem.fatal for problem in found):
        suite.left_out[slug] = name
    else:
        suite.papers.append(paper)


def _read_object(folder: Path, name: str, shown: str, problems: list[ImportProblem]) -> Keys | None:
    try:
        document = read_document(read_regular(folder, name, limit=MAXIMUM_SOURCE_BYTES))
    except JsonError as error:
        problems.append(ImportProblem(shown, error.message, error.line, error.column))
        return None
    except UnusableFileError as error:
        problems.append(ImportProblem(shown, str(error)))
        return None
    except PathLeavesFolderError as error:
        problems.append(ImportProblem(shown, str(error), whole=True))
        return None
    problems.extend(ImportProblem(shown, error.message, error.line, error.column) for error in document.repeated)
    keys = Keys(document.root, file=shown, name="", problems=problems)
    return keys if isinstance(document.root.value, dict) else None


def _paper_info(keys: Keys, folder_name: str, slug: str) -> PaperInfo:
    keys.ignore("folder_name")  # upstream's own value is wrong in places; the real folder's name counts
    instance = keys.take("instance_id", int, str)
    if not keys.has("implementations"):
        keys.complain("implementations is missing: list one object per masked function")
    tasks: list[TaskInfo] = []
    for task_keys in keys.objects("implementations"):
        task = _task_info(task_keys, folder_name, slug)
        if task is not None and any(other.index == task.index for other in tasks):
            task_keys.complain(f"repeats the index {task.index}; number the functions of a paper 1, 2, …")
        elif task is not None:
            tasks.append(task)
    info = PaperInfo(
        slug=slug,
        folder_name=folder_name,
        instance_id=_instance_id(keys, instance.value if instance else ""),
        title=keys.text("paper_name", limit=300) or folder_name,
        address=keys.address("paper_url"),
        year=keys.whole("year", low=1900, high=2999),
        repository_address=keys.address("repo_url"),
        repository_folder=keys.path("repo_folder_name"),
        tasks=tuple(tasks),
        refused_keys=frozenset(keys.refused),
    )
    keys.finish(fatal=False)
    return info


def _instance_id(keys: Keys, value: object) -> str:
    """Upstream has numbers, and one text; the texts here are short and printable."""
    text = str(value) if not isinstance(value, int) or abs(value) < 10**18 else "x" * 41
    if len(text) > 40 or not text.isprintable():
        keys.complain("instance_id must be a number or a short text")
        return ""
    return text.strip()


def _task_info(keys: Keys, folder_name: str, paper: str) -> TaskInfo | None:
    index = keys.whole("index", low=1, high=999)
    if index is None and "index" in keys.refused:
        return None
    if index is None:
        keys.complain(f"{keys.name}.index is missing: number the functions of a paper 1, 2, …")
        return None
    goal_function = keys.text("goal_function", limit=120)
    category, category_source = _category(keys, folder_name, index, goal_function)
    protocol = _protocol(keys)
    check = _check(keys)
    task = TaskInfo(
        slug=f"{paper}/{index}",
        index=index,
        line=keys.node.line,
        instruction=keys.text("instruction", limit=_MAXIMUM_INSTRUCTION),
        category=category,
        category_source=category_source,
        goal_file=keys.path("goal_file"),
        goal_function=goal_function,
        class_name=keys.text("class_name", limit=120),
        golden_file=keys.path("golden_file"),
        retrieval_context=_retrieval_context(keys),
        unit_test_file=keys.path("unit_test_file"),
        protocol=protocol,
        environment=_environment(keys, _DEFAULT_ENVIRONMENT if protocol == "sealed" else ""),
        check=check,
        equivalent_mutants=_equivalent_mutants(keys, check, protocol),
        refused_keys=frozenset(keys.refused),
    )
    keys.finish(fatal=False)
    return task


def _category(keys: Keys, folder_name: str, index: int, goal_function: str) -> tuple[str, CategorySourceName]:
    node = keys.take("category", str)
    try:
        slug = normalise(str(node.value)) if node is not None else None
    except UnknownCategoryError as error:
        keys.complain(f"{keys.name}.category: {error}", node)
        return "", "none"
    if slug is not None:
        return slug, "upstream"
    paper = lmr_bench().paper_of_folder(folder_name)
    for task in paper.tasks if paper else ():
        if task.index == index and task.goal_function == goal_function:
            return task.category, task.category_source
    return "", "none"


def _protocol(keys: Keys) -> ProtocolName:
    """What the file says; else ``sealed`` where a check is declared, as upstream's own files declare none."""
    default: ProtocolName = "sealed" if keys.has("check") else "upstream"
    node = keys.take("protocol", str)
    if node is None:
        return default
    if node.value == "sealed":
        return "sealed"
    if node.value != "upstream":
        keys.complain(f"{keys.name}.protocol must be 'sealed' or 'upstream', not {ascii(node.value)[:60]}", node)
    return "upstream"


def _environment(keys: Keys, default: str) -> str:
    """What the file says. Upstream's files say nothing: their environments are the operator's to choose."""
    node = keys.take("environment", str)
    if node is None:
        return default
    if not _ENVIRONMENT.fullmatch(str(node.value)):
        keys.complain(f"{keys.name}.environment must be a short name such as 'numpy'", node)
    return str(node.value)


def _check(keys: Keys) -> CheckInfo | None:
    check = keys.object("check")
    return None if check is None else read_check(check)


def _equivalent_mutants(keys: Keys, check: CheckInfo | None, protocol: ProtocolName) -> tuple[EquivalentMutant, ...]:
    """They lie in the check where there is one."""
    if protocol == "upstream":
        return read_equivalent_mutants(keys)
    return check.equivalent_mutants if check is not None else ()


def _retrieval_context(keys: Keys) -> tuple[str, ...]:
    """Upstream spells the key in two ways."""
    found = {key: keys.texts(key, limit=300) for key in ("retrieval_context", "retrieval_content")}
    paths = {
        key: tuple(path for text, node in items if (path := keys.clean(text, node, key)))
        for key, items in found.items()
    }
    context, content = paths["retrieval_context"], paths["retrieval_content"]
    if context and content and context != content:
        keys.complain(f"{keys.name} has both retrieval_context and retrieval_content, and they differ; keep one")
    return context or content


def _shown(name: str) -> str:
    return name if name.isprintable() else ascii(name)
