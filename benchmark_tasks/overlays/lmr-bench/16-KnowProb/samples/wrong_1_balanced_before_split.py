# Wrong: the data is balanced once before the split, so train and test sets end up unbalanced.
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

    balanced = undersample_dataset(prompting_results)
    for group in prompting_results["relation_group_id"].unique():
        inside = balanced["relation_group_id"] == group
        train_x, train_y = features(balanced[~inside])
        test_x, test_y = features(balanced[inside])
        for layer in range(train_x.shape[1]):
            rows.append(_fit_regression(train_x, train_y, test_x, test_y, layer, group))
    return pd.DataFrame(rows)
