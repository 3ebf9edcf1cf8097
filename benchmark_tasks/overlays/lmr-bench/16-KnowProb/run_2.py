"""Calls `remove_object_subject_overlap` on a data frame of parametric knowledge."""

import pandas as pd
from probe_tools import absent, returned

# The file only names two of its classes in annotations.
absent("transformers")

from src.data import remove_object_subject_overlap  # noqa: E402

COLUMNS = ("statement_subject", "parametric_object", "statement_object", "row")


def run(case):
    """Return the rows that stay, without their labels: whether they are numbered anew is open."""
    dataset = pd.DataFrame({name: case[name] for name in COLUMNS[:-1]}, index=case["labels"])
    dataset["row"] = range(len(dataset))
    kept = returned(remove_object_subject_overlap(dataset, **case["options"]), pd.DataFrame, "a data frame is")
    return {"columns": sorted(kept.columns), **{name: kept[name].tolist() for name in COLUMNS}}
