# Right: the layers of each held-out group run through joblib; the result is a list of dictionaries.
def perform_classification_by_relation_group(
    prompting_results: pd.DataFrame,
    include_mlps: bool,
    include_mlps_l1: bool,
    include_mhsa: bool,
    vertical: bool,
    position: str,
) -> None:
    """Score one linear probe per layer with each relation group as the test set in turn."""

    def features(rows):
        return get_features_and_targets_for_dataset(
            undersample_dataset(rows),
            vertical,
            position,
            include_mlps,
            include_mlps_l1,
            include_mhsa,
            {"PK": 0, "CK": 1},
        )

    scores = []
    group_of = prompting_results.relation_group_id
    for group in group_of.drop_duplicates():
        train_x, train_y = features(prompting_results.loc[group_of != group])
        test_x, test_y = features(prompting_results.loc[group_of == group])
        jobs = (delayed(_fit_regression)(train_x, train_y, test_x, test_y, k, group) for k in range(train_x.shape[1]))
        scores.extend(Parallel(n_jobs=2, prefer="threads")(jobs))
    return scores
