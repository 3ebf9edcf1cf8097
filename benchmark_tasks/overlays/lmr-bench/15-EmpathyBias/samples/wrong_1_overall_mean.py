# Wrong: the in-group mean is compared with the mean of all cells, which includes the in-group cells.


def get_delta(matrix, group_option):
    """Return the mean in-group intensity minus the mean of the matrix."""
    size = len(matrix)
    inside = [matrix[i, j] for i in range(size) for j in range(size) if check_in_group(group_option, i, j)]
    return np.mean(inside) - np.mean(matrix)
