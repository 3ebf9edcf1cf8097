"""Calls `get_delta`, which stands in a script that analyses files as soon as it is imported."""

import ast
import sys
from pathlib import Path
from types import ModuleType

from probe_tools import absent

RESULTS = ("excluded_ids", "actual_matrix")


def _is_definition(statement):
    """Whether a statement belongs to the script's definitions: its analyses are loops, calls and two assignments."""
    if isinstance(statement, ast.Assign):
        return ast.unparse(statement.targets[0]) not in RESULTS
    return not isinstance(statement, ast.For | ast.Expr)


def _import_definitions(path):
    """The script as a module, without its analyses: these need files that the repository does not have."""
    tree = ast.parse(path.read_bytes())
    tree.body = [statement for statement in tree.body if _is_definition(statement)]
    module = ModuleType(path.stem)
    exec(compile(tree, str(path), "exec"), vars(module))  # noqa: S102 - nothing but the repository's own code
    return module


absent("matplotlib", "seaborn")
analysis = _import_definitions(Path(sys.path[0], "analysis", "analysis_after_processing.py"))


def run(case):
    """Return the gap between in-group and out-group, as a number."""
    return {"delta": float(analysis.get_delta(case["matrix"], case["group_option"]))}
