# Wrong: the layers are fitted from the last to the first but numbered from zero.
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
        train_x, train_y = features(undersample_dataset(prompting_results[~inside]))
        test_x, test_y = features(undersample_dataset(prompting_results[inside]))
        train_x, test_x = train_x[:, ::-1], test_x[:, ::-1] if len(test_y) else test_x
        for layer in range(train_x.shape[1]):
            rows.append(_fit_regression(train_x, train_y, test_x, test_y, layer, group))
    return pd.DataFrame(rows)
