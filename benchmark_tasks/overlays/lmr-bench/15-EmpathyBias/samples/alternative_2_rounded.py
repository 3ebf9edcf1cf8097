# Right: cell means rounded to two decimals before standardising, as the heatmap function does.
from itertools import product


def get_filtered_matrix(group_option, prompt_variation, model_id, excluded_ids):
    """Return the z-scores of the mean intensities, perceivers in rows, experiencers in columns."""
    groups = list(group_mappings[group_option])
    means = []
    for pair in product(groups, repeat=2):
        column, _folder = get_intensity_list(group_option, prompt_variation, model_id, *pair)
        array = np.array(column, dtype=float)
        keep = np.ones(len(array), dtype=bool)
        for identifier in excluded_ids:
            keep[identifier] = False
        means.append(round(float(array[keep].mean()), 2))
    raw = np.reshape(means, (len(groups), len(groups)))
    centred = raw - np.mean(raw)
    return centred / np.sqrt(np.mean(centred**2))
