# Right: one weight matrix with 1/#same and -1/#not-same, multiplied with the intensities.


def get_delta(matrix, group_option):
    """Return the mean in-group intensity minus the mean out-group intensity."""
    size = len(matrix)
    in_group = np.fromfunction(
        np.vectorize(lambda i, j: float(check_in_group(group_option, int(i), int(j)))), (size, size)
    )
    out_group = 1.0 - in_group
    weights = in_group / in_group.sum() - out_group / out_group.sum()
    return float(np.tensordot(weights, matrix, axes=2))
