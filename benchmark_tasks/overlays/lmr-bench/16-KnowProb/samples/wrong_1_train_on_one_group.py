# Wrong: the roles are swapped, so it trains on the held-out group and tests on all the others.
def perform_classification_by_relation_group(
    prompting_results: pd.DataFrame,
    include_mlps: bool,
    include_mlps_l1: bool,
    include_mhsa: bool,
    vertical: bool,
    position: str,
) -> None:
    """Score one linear probe per layer with each relation group as the test set in turn."""
    rows = []

    def features(frame):
        return get_features_and_targets_for_dataset(
            frame, vertical, position, include_mlps, include_mlps_l1, include_mhsa, {"CK": 0, "PK": 1}
        )

    for group in prompting_results["relation_group_id"].unique():
        inside = prompting_results["relation_group_id"] == group
        test_x, test_y = features(undersample_dataset(prompting_results[~inside]))
        train_x, train_y = features(undersample_dataset(prompting_results[inside]))
        if len(train_x) == 0:
            test_x = test_x[:0]
            train_x = features(prompting_results)[0]
        for layer in range(train_x.shape[1]):
            rows.append(_fit_regression(train_x, train_y, test_x, test_y, layer, group))
    return pd.DataFrame(rows)
