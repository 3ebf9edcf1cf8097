"""Calls `return_entity_overlap_between_relation_groups` on a data frame of parametric knowledge."""

import pandas as pd
from probe_tools import absent, returned

# The file only names two of its classes in annotations.
absent("transformers")

from src.data import return_entity_overlap_between_relation_groups  # noqa: E402


def run(case):
    """Return the number of shared examples for each two groups."""
    columns = ("relation_group_id", "statement_subject", "parametric_object", "statement_object")
    dataset = pd.DataFrame({name: case[name] for name in columns}, index=case["labels"])
    counts = returned(return_entity_overlap_between_relation_groups(dataset), object, "a dictionary is")
    return {
        "groups": sorted(counts),
        # "Another group": what stands for a group and itself is open.
        "counts": {
            group: {other: int(count) for other, count in row.items() if other != group}
            for group, row in counts.items()
        },
    }
