# Right: balances by hand, fits its own logistic regressions and fills a table column by column.
def _balanced(rows):
    sources = rows["knowledge_source"]
    size = min((sources == "CK").sum(), (sources == "PK").sum())
    return pd.concat([rows[sources == name].sample(n=size, random_state=0) for name in ("CK", "PK")])


def perform_classification_by_relation_group(
    prompting_results: pd.DataFrame,
    include_mlps: bool,
    include_mlps_l1: bool,
    include_mhsa: bool,
    vertical: bool,
    position: str,
) -> None:
    """Score one linear probe per layer with each relation group as the test set in turn."""
    names = ["layer", "relation_group_id", "success_rate", "nb_test_examples", "nb_train_examples"]
    table = {name: [] for name in names}

    def encode(rows):
        return get_features_and_targets_for_dataset(
            dataset=rows,
            vertical=vertical,
            position=position,
            include_mlps=include_mlps,
            include_mlps_l1=include_mlps_l1,
            include_mhsa=include_mhsa,
            label_encoder={"CK": 0, "PK": 1},
        )

    for group, members in prompting_results.groupby("relation_group_id", sort=False):
        train = _balanced(prompting_results[prompting_results["relation_group_id"] != group])
        test = _balanced(members)
        inputs, labels = encode(train)
        for layer in range(inputs.shape[1]):
            row = [None, group, None, None, None]
            if len(test):
                test_inputs, test_labels = encode(test)
                probe = LogisticRegression(random_state=16, max_iter=10000)
                probe.fit(inputs[:, layer, 0], labels)
                accuracy = probe.score(test_inputs[:, layer, 0], test_labels)
                row = [layer, group, accuracy, len(test), len(train)]
            for name, value in zip(names, row):
                table[name].append(value)
    return pd.DataFrame(table)
