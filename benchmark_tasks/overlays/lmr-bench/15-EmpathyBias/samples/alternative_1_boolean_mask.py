# Right: a Boolean mask of in-group cells, and the difference of the two means.


def get_delta(matrix, group_option):
    """Return the mean in-group intensity minus the mean out-group intensity."""
    rows, columns = matrix.shape
    same = np.array([[bool(check_in_group(group_option, r, c)) for c in range(columns)] for r in range(rows)])
    return matrix[same].mean() - matrix[~same].mean()
