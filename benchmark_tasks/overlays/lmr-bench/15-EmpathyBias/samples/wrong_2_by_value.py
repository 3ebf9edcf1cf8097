# Wrong: an intensity is dropped when its value, not its position, is among the excluded IDs.


def get_filtered_matrix(group_option, prompt_variation, model_id, excluded_ids):
    """Return the z-scores of the mean intensities, perceivers in rows, experiencers in columns."""
    groups = group_mappings[group_option]
    raw = np.zeros((len(groups), len(groups)))
    for i, perceiver in enumerate(groups):
        for j, experiencer in enumerate(groups):
            intensities, _ = get_intensity_list(group_option, prompt_variation, model_id, perceiver, experiencer)
            kept = [value for value in intensities if value not in excluded_ids]
            raw[i, j] = np.mean(kept)
    return (raw - raw.mean()) / raw.std()
