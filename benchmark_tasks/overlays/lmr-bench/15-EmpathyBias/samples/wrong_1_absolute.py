# Wrong: the absolute difference is returned, so a negative gap looks positive.


def get_delta(matrix, group_option):
    """Return the mean in-group intensity minus the mean out-group intensity."""
    n = len(matrix)
    same = np.array([check_in_group(group_option, k // n, k % n) for k in range(n * n)]).reshape(n, n)
    return abs(matrix[same].mean() - matrix[np.logical_not(same)].mean())
