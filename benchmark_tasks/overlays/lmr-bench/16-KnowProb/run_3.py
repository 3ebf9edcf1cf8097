"""Calls `is_parametric_object_not_in_the_prompt` for several objects and one table of examples."""

import pandas as pd
from probe_tools import absent

# The file only names two of its classes in annotations.
absent("transformers")

from src.parametric_knowledge import is_parametric_object_not_in_the_prompt  # noqa: E402


def run(case):
    """Return the answers for names of both columns or neither, and whether names of one column get one answer.

    The instruction calls a name of one column included, the reference does not: either is accepted for both columns.
    """
    columns = ("generation_object_1", "generation_subject_1")
    relations = pd.DataFrame({name: case[name] for name in columns}, index=case["labels"])

    def answers(names):
        return [bool(is_parametric_object_not_in_the_prompt(name, relations)) for name in names]

    return {
        "not_in_the_prompt": answers(case["asked"]),
        "columns_count_alike": len(set(answers(case["asked_object"] + case["asked_subject"]))) <= 1,
    }
