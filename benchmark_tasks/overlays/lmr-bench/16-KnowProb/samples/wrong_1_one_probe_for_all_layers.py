# Wrong: one classifier, fitted on the last layer, is tested on every layer.
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
        last = train_x[:, -1:]
        for layer in range(train_x.shape[1]):
            row = _fit_regression(
                last, train_y, test_x[:, layer : layer + 1] if len(test_y) else test_x, test_y, 0, group
            )
            if row["layer"] is not None:
                row["layer"] = layer
            rows.append(row)
    return pd.DataFrame(rows)
