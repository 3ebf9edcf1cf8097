# Wrong: only the upper triangle is read, although the matrix is not symmetric.


def get_delta(matrix, group_option):
    """Return the mean in-group intensity minus the mean out-group intensity."""
    inside, outside = [], []
    for i in range(len(matrix)):
        for j in range(i, len(matrix)):
            (inside if check_in_group(group_option, i, j) else outside).append(matrix[i, j])
    return np.mean(inside) - np.mean(outside)
