"""Calls `perform_classification_by_relation_group` on a data frame of activations."""

import joblib
import pandas as pd
from joblib.parallel import SequentialBackend
from src.classification.classifier import perform_classification_by_relation_group

# Starting worker processes takes longer than all the work in them: who asks for them gets the same results in this one.
for name in ("loky", "multiprocessing"):
    joblib.register_parallel_backend(name, SequentialBackend)


def _stored(case, by_position, row):
    """One row's activations as the repository stores them: for each layer a list of one vector, by position or not."""
    lists = {name: [[vector] for vector in layers[row]] for name, layers in by_position.items()}
    return lists if case["vertical"] else [layer for layers in lists.values() for layer in layers]


def run(case):
    """Return the metrics of each group and layer, in an order that the caller cannot choose."""
    rows = range(len(case["knowledge_source"]))
    results = pd.DataFrame(
        {
            "relation_group_id": case["relation_group_id"],
            "knowledge_source": case["knowledge_source"],
            **{
                module: [_stored(case, by_position, row) for row in rows]
                for module, by_position in case["activations"].items()
            },
        },
        index=case["labels"],
    )
    options = ("include_mlps", "include_mlps_l1", "include_mhsa", "vertical", "position")
    metrics = perform_classification_by_relation_group(results, **{name: case[name] for name in options})
    # List of dicts or data frame: both can be saved. A group with one source has no balanced test set, so it may be
    # named without numbers or left out.
    found = pd.DataFrame(metrics).dropna().sort_values(["relation_group_id", "layer"], kind="stable")
    return {
        "relation_group_id": [str(group) for group in found.relation_group_id],
        "layer": [int(layer) for layer in found.layer],
        "success_rate": [float(rate) for rate in found.success_rate],
        "nb_test_examples": [int(number) for number in found.nb_test_examples],
        "nb_train_examples": [int(number) for number in found.nb_train_examples],
    }
