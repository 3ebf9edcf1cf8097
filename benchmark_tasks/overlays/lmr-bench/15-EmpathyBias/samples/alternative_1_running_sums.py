# Right: running sums and counts over all cells.


def get_delta(matrix, group_option):
    """Return the mean in-group intensity minus the mean out-group intensity."""
    totals = {True: 0.0, False: 0.0}
    counts = {True: 0, False: 0}
    for (perceiver, experiencer), intensity in np.ndenumerate(matrix):
        inside = bool(check_in_group(group_option, perceiver, experiencer))
        totals[inside] += intensity
        counts[inside] += 1
    return totals[True] / counts[True] - totals[False] / counts[False]
