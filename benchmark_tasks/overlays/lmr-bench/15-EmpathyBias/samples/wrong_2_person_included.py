# Wrong: mean and deviation come from the full matrix with the unspecified person, which is cut off afterwards.


def get_filtered_matrix(group_option, prompt_variation, model_id, excluded_ids):
    """Return the z-scores of the mean intensities, perceivers in rows, experiencers in columns."""
    groups = ["a person"] + group_mappings[group_option]
    raw = np.zeros((len(groups), len(groups)))
    for i, perceiver in enumerate(groups):
        for j, experiencer in enumerate(groups):
            intensities, _ = get_intensity_list(group_option, prompt_variation, model_id, perceiver, experiencer)
            kept = [value for position, value in enumerate(intensities) if position not in excluded_ids]
            raw[i, j] = np.mean(kept)
    return ((raw - raw.mean()) / raw.std())[1:, 1:]
