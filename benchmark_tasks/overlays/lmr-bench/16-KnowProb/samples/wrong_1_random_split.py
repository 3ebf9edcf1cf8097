# Wrong: each group is split into a random train and test half instead of training on the other groups.
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

    for group, members in prompting_results.groupby("relation_group_id", sort=False):
        balanced = undersample_dataset(members)
        test_part = balanced.groupby("knowledge_source").sample(frac=0.5, random_state=0)
        train_part = balanced.drop(index=test_part.index)
        fits = len(test_part) > 0 and train_part["knowledge_source"].nunique() == 2
        train_x, train_y = features(train_part if fits else members)
        test_x, test_y = features(test_part if fits else members.iloc[:0])
        for layer in range(train_x.shape[1]):
            rows.append(_fit_regression(train_x, train_y, test_x, test_y, layer, group))
    return pd.DataFrame(rows)
