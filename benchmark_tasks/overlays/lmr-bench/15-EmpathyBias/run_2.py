"""Calls `get_filtered_matrix`, which stands in a script that analyses files as soon as it is imported."""

import ast
import sys
from contextlib import chdir
from io import StringIO
from itertools import cycle
from operator import add
from pathlib import Path
from tempfile import TemporaryDirectory
from types import ModuleType
from unittest.mock import patch

import numpy as np
import pandas as pd
from probe_tools import absent

RESULTS = ("excluded_ids", "actual_matrix")
ROWS = 6050  # The script accepts no other number.


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


# A file of the script's without its last column. The script excludes rows by their place, not by `idx`.
BEGINNINGS = [f"{number + 12100}\tpride\tsystem\tuser\tA text.\t" for number in range(ROWS)]
HEADER = "idx\temotion\tsystem_prompt\tuser_input\tresponse\tintensity\n"
WITHOUT_INTENSITY = pd.read_csv(StringIO(HEADER + "\n".join(BEGINNINGS)), sep="\t")


def _files(case, groups):
    """The intensities of each pair of groups, under the path at which the script looks for them."""
    prefix = "_".join((case["group_option"], case["prompt_variation"], case["model_id"]))
    paths = [Path(f"processed_results/{prefix}_{persona}_{other}.tsv") for persona in groups for other in groups]
    return dict(zip(paths, case["intensities"], strict=True))


def run(case):
    """Return the standardised matrix. A case gives intensities and excluded places for one period, to be repeated."""
    if case["groups"]:
        analysis.group_mappings[case["group_option"]] = case["groups"]
    files = _files(case, analysis.group_mappings[case["group_option"]])
    pandas_read_csv = pd.read_csv

    def read_csv(path, *args, **options):
        # The script's own call gets its answer from memory, as parsing would take most of the test's time.
        if options != {"sep": "\t"} or args or not isinstance(path, (str, Path)) or Path(path) not in files:
            return pandas_read_csv(path, *args, **options)
        return WITHOUT_INTENSITY.assign(intensity=np.resize(files[Path(path)], ROWS))

    period = case["intensities"].shape[1]
    excluded = {start + place for start in range(0, ROWS, period) for place in case["excluded"]}
    options = [case[name] for name in ("group_option", "prompt_variation", "model_id")]
    with TemporaryDirectory() as folder, chdir(folder), patch.object(pd, "read_csv", read_csv):
        Path("processed_results").mkdir()
        for path, intensities in files.items():
            endings = cycle([f"{value}\n" for value in intensities.tolist()])
            path.write_text(HEADER + "".join(map(add, BEGINNINGS, endings)), encoding="utf-8")
        matrix = analysis.get_filtered_matrix(*options, excluded)
    return {"matrix": np.asarray(matrix, dtype=float)}
