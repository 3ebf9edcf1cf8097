"""Calls `generate_counter_parametric_knowledge_dataset` on a data frame of parametric knowledge."""

import numpy as np
import pandas as pd
import torch
from probe_tools import absent, returned

# The file only names two of its classes in annotations.
absent("transformers")

from src.data import generate_counter_parametric_knowledge_dataset  # noqa: E402

# What the repository's helper returns and its later steps read. Others are open: the docstring lists some more.
COLUMNS = (
    *("statement_subject", "rel_lemma", "statement_object", "counter_knowledge_object"),
    *("statement", "statement_query", "parametric_knowledge_object", "relation_group_id"),
)


def _knowledge(case):
    """The data frame with all columns that `generate_parametric_knowledge_dataset` gives it."""
    knowledge = pd.DataFrame(case["rows"], index=case["labels"])
    ids = knowledge["model_output_tokens_ids"]
    best = knowledge["log_probas"].map(lambda rows: [max(row) for row in rows])
    return knowledge.assign(
        relation=knowledge["rel_lemma"],
        model_output=knowledge["parametric_object"].str.capitalize() + ".",
        confidence_score=[float(np.subtract(*np.sort(np.exp(rows[0]))[:-3:-1])) for rows in knowledge["log_probas"]],
        log_likelihood_sequence=best.map(sum),
        perplexity_sequence=np.exp(-best.map(np.mean)),
        log_probas=knowledge["log_probas"].map(tuple),
        model_output_tokens=ids.map(lambda row: [f"token {number}" for number in row]),
        # As `generate` returns them: a list of tensors without axes.
        model_output_tokens_ids=[list(torch.tensor(row)) for row in ids],
        log_probability_parametric_object_first_token=knowledge["log_probas"].map(lambda rows: rows[0]),
    )


def run(case):
    """Return the rows that were made: in the order of probability for each statement, the statements in any order."""
    found = generate_counter_parametric_knowledge_dataset(_knowledge(case), case["wanted"])
    made = returned(found, pd.DataFrame, "a data frame is")
    rows = [{name: row.get(name) for name in COLUMNS} for row in made.to_dict("records")]
    statement = ("statement_subject", "statement", "parametric_knowledge_object")
    return {"rows": sorted(rows, key=lambda row: [str(row[name]) for name in statement])}
