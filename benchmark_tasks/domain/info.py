"""Read a suite folder: upstream's ``info.json`` format with the optional keys protocol, environment and check.

Every error is listed with its line. No Django here. Peculiarities of upstream's files:
docs/design/published-numbers.md.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, TypeVar
from urllib.parse import urlsplit

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints, ValidationError, model_validator
from pydantic_core import PydanticCustomError

from benchmark_tasks.domain.folders import (
    MAXIMUM_NAME,
    MAXIMUM_SOURCE_BYTES,
    PathLeavesFolderError,
    UnusableFileError,
    clean_relative_path,
    read_regular,
)
from benchmark_tasks.domain.foreign_json import (
    LEAVES_FOLDER,
    JsonError,
    places,
    problems_of,
    read_json,
    unknown_key,
    without_nulls,
)
from benchmark_tasks.domain.problems import ImportProblem
from benchmark_tasks.facts.categories import UnknownCategoryError, normalise
from benchmark_tasks.facts.lmr_bench import lmr_bench

if TYPE_CHECKING:
    from pathlib import Path

    from benchmark_tasks.domain.foreign_json import KeyPath

INFO_FILE: Final = "info.json"
SUITE_FILE: Final = "suite.json"
MAXIMUM_SEED: Final = 2**31 - 1

_ENVIRONMENT: Final = re.compile(r"[a-z0-9][a-z0-9._-]{0,79}", re.ASCII)
_Model = TypeVar("_Model", bound=BaseModel)


def _clean_path(text: str) -> str:
    try:
        return clean_relative_path(text) if text else ""
    except PathLeavesFolderError as error:
        raise PydanticCustomError(LEAVES_FOLDER, "{error}", {"error": str(error)}) from None


def _web_address(text: str) -> str:
    """Accept only http and https, and nothing that a browser would run or open locally."""
    try:
        parts = urlsplit(text)
    except ValueError:
        parts = urlsplit("")
    is_web = parts.scheme in {"http", "https"} and parts.netloc and text.isprintable() and " " not in text
    if text and not is_web:
        raise ValueError(f"must be an http or https address, not {text[:80]!r}")
    return text


def _category(text: str) -> str:
    try:
        return normalise(text) or ""
    except UnknownCategoryError as error:
        raise ValueError(f"is none of the benchmark's. {error}") from None


def _instance_id(value: object) -> str:
    """Accept a number, as upstream has, or a short printable text."""
    text = str(value).strip() if type(value) in (int, str) else ""
    if value != "" and (not text or len(text) > 40 or not text.isprintable()):
        raise ValueError("must be a number or a short text")
    return text


def _different(seeds: list[int]) -> list[int]:
    if len(set(seeds)) != len(seeds):
        raise ValueError("must be different whole numbers")
    return seeds


def _environment(text: str) -> str:
    if text and not _ENVIRONMENT.fullmatch(text):
        raise ValueError("must be a short name such as 'numpy'")
    return text


def _output_name(text: str) -> str:
    if not text.isprintable() or not 1 <= len(text) <= 120:
        raise ValueError("is no name of an output; use a short printable one")
    return text


_Path = Annotated[str, StringConstraints(max_length=MAXIMUM_NAME), AfterValidator(_clean_path)]
_Short = Annotated[str, StringConstraints(max_length=120)]
_Tolerance = Annotated[float, Field(ge=0, le=1e300)]


class _Info(BaseModel):
    """Base of models that keep unknown keys, which are then reported."""

    model_config = ConfigDict(strict=True, extra="allow", str_strip_whitespace=True, frozen=True)


class StrictInfo(_Info):
    """Base of models that refuse unknown keys: a misspelt key would otherwise leave its default in force."""

    model_config = ConfigDict(extra="forbid")


class EquivalentMutant(StrictInfo):
    """A change of the golden function, as the audit writes it, and why it behaves like the original."""

    mutant: Annotated[str, StringConstraints(min_length=1, max_length=300)]
    reason: Annotated[str, StringConstraints(min_length=1, max_length=1000)]


class Rule(StrictInfo):
    """How outputs are compared. Missing values are those of the default rule."""

    exact: bool | None = None
    rtol: _Tolerance | None = None
    atol: _Tolerance | None = None
    ordered: bool | None = None
    equal_nan: bool | None = None

    @model_validator(mode="after")
    def _one_of_two(self) -> Rule:
        if self.exact and (self.rtol is not None or self.atol is not None):
            raise ValueError("cannot be exact and have tolerances; remove one")
        return self

    def complete(self, base: dict[str, Any]) -> dict[str, Any]:
        """Return the rule with missing values from ``base``. Tolerances without ``exact`` make the rule inexact."""
        rule = base | self.model_dump(exclude_none=True)
        tolerant = self.rtol is not None or self.atol is not None
        return rule | ({"exact": False} if tolerant and self.exact is None else {})


DEFAULT_RULE: Final[dict[str, Any]] = {
    "exact": False,
    "rtol": 1e-6,
    "atol": 1e-8,
    "ordered": True,
    "equal_nan": False,
}


class _Comparison(StrictInfo):
    default: Rule = Rule()
    outputs: dict[Annotated[str, AfterValidator(_output_name)], Rule] = {}


class CheckInfo(StrictInfo):
    """``check`` of a sealed task: test cases, seeds, comparison, limits. Defaults: docs/authoring-tasks.md."""

    cases_file: Annotated[_Path, StringConstraints(min_length=1)]
    public_seeds: Annotated[
        list[Annotated[int, Field(ge=0, le=MAXIMUM_SEED)]],
        Field(min_length=1, max_length=100),
        AfterValidator(_different),
    ]
    private_seeds: Annotated[int, Field(ge=1, le=100)] = 3
    comparison: _Comparison = _Comparison()
    wall_seconds: Annotated[float, Field(ge=0.1, le=3600)] = 30.0
    memory_mb: Annotated[int, Field(ge=32, le=65536)] = 512
    equivalent_mutants: list[EquivalentMutant] = []

    @property
    def settings(self) -> dict[str, Any]:
        """The settings of grading with every default filled in. Equivalent mutants change no grade and are left out."""
        default = self.comparison.default.complete(DEFAULT_RULE)
        outputs = {name: rule.complete(default) for name, rule in self.comparison.outputs.items()}
        return {
            "public_seeds": self.public_seeds,
            "private_seeds": self.private_seeds,
            "comparison": {"default": default, "outputs": outputs},
            "wall_seconds": self.wall_seconds,
            "memory_mb": self.memory_mb,
        }


_CHECK_KEYS: Final = (*CheckInfo.model_fields, *Rule.model_fields, *EquivalentMutant.model_fields)


class TaskInfo(_Info):
    """One masked function in info.json. Missing texts are empty.

    ``category`` is one of the nine slugs or empty. ``class_name`` is empty for a module-level function, and equal to
    ``goal_function`` if the whole class is masked. Paths are clean and relative: goal file and retrieval context
    to the repository, the others to the paper's folder. ``slug`` and ``line`` are added when the file is read.
    """

    slug: str
    line: int
    index: Annotated[int, Field(ge=1, le=999)]
    instruction: Annotated[str, StringConstraints(max_length=20_000)] = ""
    category: Annotated[str, AfterValidator(_category)] = ""
    category_source: Literal["upstream", "ours", "none"] = "none"
    goal_file: _Path = ""
    goal_function: _Short = ""
    class_name: _Short = ""
    golden_file: _Path = ""
    retrieval_context: list[_Path] = []
    retrieval_content: list[_Path] = []
    unit_test_file: _Path = ""
    protocol: Literal["sealed", "upstream"]
    environment: Annotated[str, AfterValidator(_environment)]
    check: CheckInfo | None = None
    equivalent_mutants: list[EquivalentMutant] = []

    @model_validator(mode="before")
    @classmethod
    def _defaults(cls, value: Any) -> Any:
        """Fill in protocol and environment. Upstream's own files have neither, nor a check: the operator chooses."""
        if not isinstance(value, dict):
            return value
        protocol = value.get("protocol", "sealed" if "check" in value else "upstream")
        return {"protocol": protocol, "environment": "numpy" if protocol == "sealed" else "", **value}

    @model_validator(mode="after")
    def _one_context(self) -> TaskInfo:
        """Refuse two different contexts: upstream spells the key in two ways."""
        context, content = self.retrieval_context, self.retrieval_content
        if context and content and context != content:
            raise ValueError("has both retrieval_context and retrieval_content, and they differ; keep one")
        return self

    @property
    def context(self) -> list[str]:
        """The files given to a system as context."""
        return self.retrieval_context or self.retrieval_content

    @property
    def mutants(self) -> list[EquivalentMutant]:
        """Equivalent mutants, which are part of the check if there is one."""
        return self.check.equivalent_mutants if self.check else self.equivalent_mutants


class PaperInfo(_Info):
    """One paper in info.json. ``slug`` and ``folder_name`` are the actual folder's, not the file's."""

    slug: str
    folder_name: str
    instance_id: Annotated[Any, AfterValidator(_instance_id)] = ""
    paper_name: Annotated[str, StringConstraints(max_length=300)] = ""
    paper_url: Annotated[str, StringConstraints(max_length=500), AfterValidator(_web_address)] = ""
    year: Annotated[int, Field(ge=1900, le=2999)] | None = None
    repo_url: Annotated[str, StringConstraints(max_length=500), AfterValidator(_web_address)] = ""
    repo_folder_name: _Path = ""
    implementations: list[TaskInfo]

    @model_validator(mode="after")
    def _different_indices(self) -> PaperInfo:
        indices = [task.index for task in self.implementations]
        for index in sorted(set(indices)):
            if indices.count(index) > 1:
                raise ValueError(f"repeats the index {index}; number the functions of a paper 1, 2, …")
        return self


class SuiteInfo(_Info):
    """The content of suite.json."""

    title: _Short = ""
    description: Annotated[str, StringConstraints(max_length=5000)] = ""
    licence: _Short = ""
    source: Annotated[str, StringConstraints(max_length=300)] = ""
    changelog: list[Annotated[str, StringConstraints(max_length=1000)]] = []


class InfoFile:
    """A JSON file of a suite folder while it is read. Its errors are added to ``problems``.

    With ``whole``, for a file that concerns all papers, errors refuse the whole import.
    """

    def __init__(
        self, folder: Path, name: str, *, shown: str, problems: list[ImportProblem], whole: bool = False
    ) -> None:
        self._shown = shown
        self._problems = problems
        self._whole = whole
        self._places: dict[KeyPath, tuple[int, int]] = {}
        self.value: Any = None
        """The file's value, without keys whose value is null; None if the file cannot be read."""
        try:
            content = read_regular(folder, name, limit=MAXIMUM_SOURCE_BYTES)
            self.value = without_nulls(read_json(content))
            self._places = places(content.decode("utf-8-sig"))
        except JsonError as error:
            problems.append(ImportProblem(shown, error.message, error.line, error.column, whole=whole))
        except UnusableFileError as error:
            problems.append(ImportProblem(shown, str(error), whole=whole))
        except PathLeavesFolderError as error:
            problems.append(ImportProblem(shown, str(error), whole=True))

    def validated(self, model: type[_Model], more: dict[str, Any]) -> _Model | None:
        """Return the value, with the keys ``more`` added, as ``model``; None if there is any error."""
        if self.value is None:
            return None
        try:
            return model.model_validate(self.value | more if isinstance(self.value, dict) else self.value)
        except ValidationError as error:
            for wrong in problems_of(error, _CHECK_KEYS):
                self.report_problem(wrong.path, wrong.message, whole=wrong.kind == LEAVES_FOLDER)
            return None

    def report_problem(self, path: KeyPath, message: str, *, fatal: bool = True, whole: bool = False) -> None:
        """Add a problem at ``path``, or at the nearest value that contains it."""
        line, column = self.place(path)
        self._problems.append(
            ImportProblem(self._shown, message, line, column, fatal, whole or (fatal and self._whole))
        )

    def place(self, path: KeyPath) -> tuple[int, int]:
        """Return the line and column where the value at ``path``, or the nearest one that contains it, begins."""
        known = (path[:length] for length in range(len(path), -1, -1) if path[:length] in self._places)
        return self._places.get(next(known, ()), (1, 1))

    def report_unknown_keys(self, found: BaseModel, path: KeyPath = ()) -> None:
        """Report unknown keys: a misspelt key would otherwise be ignored silently."""
        for key in found.model_extra or {}:
            message = unknown_key((*path, key), tuple(type(found).model_fields))
            self.report_problem((*path, key), f"{message} (ignored)", fatal=False)


def read_paper_info(folder: Path, *, slug: str, problems: list[ImportProblem]) -> PaperInfo | None:
    """Read ``info.json`` of the paper in ``folder``; add errors to ``problems`` and return None if there are any."""
    file = InfoFile(folder, INFO_FILE, shown=f"{folder.name}/{INFO_FILE}", problems=problems)
    more: dict[str, Any] = {"slug": slug, "folder_name": folder.name}
    tasks = file.value.get("implementations") if isinstance(file.value, dict) else None
    if isinstance(tasks, list):
        more["implementations"] = [
            {**task, "slug": f"{slug}/{task.get('index')}", "line": file.place(("implementations", number))[0]}
            if isinstance(task, dict)
            else task
            for number, task in enumerate(tasks)
        ]
    info = file.validated(PaperInfo, more)
    if info is None:
        return None
    for number, task in enumerate(info.implementations):
        file.report_unknown_keys(task, ("implementations", number))
    file.report_unknown_keys(info)
    return info.model_copy(
        update={
            "paper_name": info.paper_name or folder.name,
            "implementations": [_with_category(task, folder.name) for task in info.implementations],
        }
    )


def _with_category(task: TaskInfo, folder_name: str) -> TaskInfo:
    """Return the task with the category from the shipped facts if its file has none."""
    if task.category:
        return task.model_copy(update={"category_source": "upstream"})
    paper = lmr_bench().paper_of_folder(folder_name)
    for facts in paper.tasks if paper else ():
        if facts.index == task.index and facts.goal_function == task.goal_function:
            return task.model_copy(update={"category": facts.category, "category_source": facts.category_source})
    return task.model_copy(update={"category_source": "none"})
