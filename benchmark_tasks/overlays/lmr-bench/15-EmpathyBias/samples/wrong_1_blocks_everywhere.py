# Wrong: the ethnicity check is used for every option, so neighbouring religions or nations count as one group.


def get_delta(matrix, group_option):
    """Return the mean in-group intensity minus the mean out-group intensity."""
    n = len(matrix)
    names = len(group_mappings["ethnicity"])
    same = np.eye(n, dtype=bool)
    for i in range(min(n, names)):
        for j in range(min(n, names)):
            same[i, j] = check_in_group("ethnicity", i, j)
    rest = matrix[~same]
    return matrix[same].mean() - (rest.mean() if rest.size else 0.0)
