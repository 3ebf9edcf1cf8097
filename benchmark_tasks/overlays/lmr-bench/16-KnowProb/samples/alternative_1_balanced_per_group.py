# Right: balances every relation group once, so the training set joins the other balanced groups.
def perform_classification_by_relation_group(
    prompting_results: pd.DataFrame,
    include_mlps: bool,
    include_mlps_l1: bool,
    include_mhsa: bool,
    vertical: bool,
    position: str,
) -> None:
    """Score one linear probe per layer with each relation group as the test set in turn."""
    groups = list(dict.fromkeys(prompting_results["relation_group_id"]))
    balanced = {
        group: undersample_dataset(prompting_results[prompting_results["relation_group_id"] == group])
        for group in groups
    }
    settings = (vertical, position, include_mlps, include_mlps_l1, include_mhsa, {"CK": 0, "PK": 1})

    metrics = []
    for group in groups:
        others = pd.concat([rows for other, rows in balanced.items() if other != group])
        train = get_features_and_targets_for_dataset(others, *settings)
        test = get_features_and_targets_for_dataset(balanced[group], *settings)
        metrics += [_fit_regression(*train, *test, layer, group) for layer in range(train[0].shape[1])]
    return pd.DataFrame(metrics)
