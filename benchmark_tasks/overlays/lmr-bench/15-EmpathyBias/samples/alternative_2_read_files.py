# Right: the processed files are read here with pandas, whose skiprows leaves out the excluded rows.


def get_filtered_matrix(group_option, prompt_variation, model_id, excluded_ids):
    """Return the z-scores of the mean intensities, perceivers in rows, experiencers in columns."""
    skipped = {int(identifier) + 1 for identifier in excluded_ids}
    groups = group_mappings[group_option]
    table = pd.DataFrame(index=groups, columns=groups, dtype=float)
    for perceiver in groups:
        for experiencer in groups:
            path = f"processed_results/{group_option}_{prompt_variation}_{model_id}_{perceiver}_{experiencer}.tsv"
            frame = pd.read_csv(path, sep="\t", usecols=["intensity"], skiprows=lambda line: line in skipped)
            table.loc[perceiver, experiencer] = frame["intensity"].mean()
    values = table.to_numpy()
    return (values - np.mean(values)) / np.std(values)
