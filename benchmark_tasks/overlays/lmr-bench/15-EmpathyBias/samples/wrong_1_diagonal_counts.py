# Wrong: the sums are divided by n and n * (n - 1), which are not the numbers of cells for ethnicity.


def get_delta(matrix, group_option):
    """Return the mean in-group intensity minus the mean out-group intensity."""
    n = matrix.shape[0]
    inside = outside = 0.0
    for i in range(n):
        for j in range(n):
            if check_in_group(group_option, i, j):
                inside += matrix[i, j]
            else:
                outside += matrix[i, j]
    return inside / n - outside / (n * (n - 1))
