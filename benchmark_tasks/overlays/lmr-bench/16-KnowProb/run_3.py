"""Calls `is_parametric_object_not_in_the_prompt` for several objects and one table of examples."""

import sys
from unittest.mock import MagicMock

import pandas as pd

# The file only names two of its classes in annotations.
sys.modules["transformers"] = MagicMock()

from src.parametric_knowledge import is_parametric_object_not_in_the_prompt  # noqa: E402


def run(case):
    """Return the answer for each object that is asked for."""
    columns = ("generation_object_1", "generation_subject_1")
    relations = pd.DataFrame({name: case[name] for name in columns}, index=case["labels"])
    return {
        "not_in_the_prompt": [bool(is_parametric_object_not_in_the_prompt(name, relations)) for name in case["asked"]]
    }
