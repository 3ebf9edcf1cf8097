# Wrong: for ethnicity, cells with the same name on both sides are left out of the in-group mean.


def get_delta(matrix, group_option):
    """Return the mean in-group intensity minus the mean out-group intensity."""
    n = len(matrix)
    cells = [(i, j) for i in range(n) for j in range(n)]
    inside = [matrix[c] for c in cells if check_in_group(group_option, *c) and c[0] != c[1]]
    if not inside:
        inside = list(np.diag(matrix))
    outside = [matrix[c] for c in cells if not check_in_group(group_option, *c)]
    return np.mean(inside) - np.mean(outside)
