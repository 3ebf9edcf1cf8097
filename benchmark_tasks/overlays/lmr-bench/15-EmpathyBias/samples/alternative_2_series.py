# Right: pandas drops the excluded rows, and the matrix is standardised with its population deviation.


def get_filtered_matrix(group_option, prompt_variation, model_id, excluded_ids):
    """Return the z-scores of the mean intensities, perceivers in rows, experiencers in columns."""
    names = group_mappings[group_option]
    matrix = np.empty((len(names), len(names)))
    for row, perceiver in enumerate(names):
        for column, experiencer in enumerate(names):
            series, _ = get_intensity_list(group_option, prompt_variation, model_id, perceiver, experiencer)
            values = pd.Series(np.asarray(series, dtype=float))
            matrix[row, column] = values[~values.index.isin(list(excluded_ids))].mean()
    return (matrix - matrix.mean()) / matrix.std()
