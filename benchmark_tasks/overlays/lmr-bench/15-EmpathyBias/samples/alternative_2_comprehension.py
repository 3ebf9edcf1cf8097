# Right: a nested comprehension with plain Python means, and scipy.stats.zscore over all cells.


def get_filtered_matrix(group_option, prompt_variation, model_id, excluded_ids):
    """Return the z-scores of the mean intensities, perceivers in rows, experiencers in columns."""
    dropped = set(excluded_ids)

    def cell(perceiver, experiencer):
        intensities = get_intensity_list(group_option, prompt_variation, model_id, perceiver, experiencer)[0]
        kept = [value for position, value in enumerate(intensities) if position not in dropped]
        return sum(kept) / len(kept)

    groups = group_mappings[group_option]
    return stats.zscore(np.array([[cell(p, e) for e in groups] for p in groups]), axis=None)
