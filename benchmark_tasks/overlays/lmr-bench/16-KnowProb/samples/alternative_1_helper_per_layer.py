# Right: balances each split and calls _fit_regression for every layer; the result is a DataFrame.
def perform_classification_by_relation_group(
    prompting_results: pd.DataFrame,
    include_mlps: bool,
    include_mlps_l1: bool,
    include_mhsa: bool,
    vertical: bool,
    position: str,
) -> None:
    """Score one linear probe per layer with each relation group as the test set in turn."""
    options = {
        "vertical": vertical,
        "position": position,
        "include_mlps": include_mlps,
        "include_mlps_l1": include_mlps_l1,
        "include_mhsa": include_mhsa,
        "label_encoder": {"CK": 0, "PK": 1},
    }
    records = []
    for held_out in prompting_results["relation_group_id"].unique():
        in_group = prompting_results["relation_group_id"] == held_out
        x_train, y_train = get_features_and_targets_for_dataset(
            undersample_dataset(prompting_results[~in_group]), **options
        )
        x_test, y_test = get_features_and_targets_for_dataset(
            undersample_dataset(prompting_results[in_group]), **options
        )
        for layer_index in range(x_train.shape[1]):
            records.append(_fit_regression(x_train, y_train, x_test, y_test, layer_index, held_out))
    return pd.DataFrame(records)
