# Wrong: medians instead of means.


def get_delta(matrix, group_option):
    """Return the in-group intensity minus the out-group intensity."""
    n = len(matrix)
    same = np.array([[check_in_group(group_option, i, j) for j in range(n)] for i in range(n)])
    return np.median(matrix[same]) - np.median(matrix[~same])
