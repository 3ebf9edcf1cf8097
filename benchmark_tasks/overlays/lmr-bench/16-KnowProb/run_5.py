"""Calls `generate_counter_parametric_knowledge_dataset` on a data frame of parametric knowledge."""

import pandas as pd
import torch
from probe_tools import absent, returned

# The file only names two of its classes in annotations.
absent("transformers")

from src.data import generate_counter_parametric_knowledge_dataset  # noqa: E402


def run(case):
    """Return the rows that were made: in the order of probability for each statement, the statements in any order."""
    knowledge = pd.DataFrame(case["rows"], index=case["labels"])
    # As `generate` returns them: a list of tensors without axes.
    knowledge["model_output_tokens_ids"] = [list(torch.tensor(ids)) for ids in knowledge["model_output_tokens_ids"]]
    found = generate_counter_parametric_knowledge_dataset(knowledge, case["wanted"])
    made = returned(found, pd.DataFrame, "a data frame is")
    return {"rows": sorted(made.to_dict("records"), key=lambda row: row["statement_subject"])}
