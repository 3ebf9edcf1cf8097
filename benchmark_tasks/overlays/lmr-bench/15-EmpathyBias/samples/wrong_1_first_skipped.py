# Wrong: the first row and column are skipped as if they stood for the unspecified person.


def get_delta(matrix, group_option):
    """Return the mean in-group intensity minus the mean out-group intensity."""
    inside, outside = [], []
    for i in range(1, len(matrix)):
        for j in range(1, len(matrix)):
            (inside if check_in_group(group_option, i, j) else outside).append(matrix[i, j])
    return np.mean(inside) - np.mean(outside)
