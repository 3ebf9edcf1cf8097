# Wrong: the sign is flipped: out-group minus in-group.


def get_delta(matrix, group_option):
    """Return the difference of the two mean intensities."""
    size = len(matrix)
    same = np.array([[check_in_group(group_option, i, j) for j in range(size)] for i in range(size)])
    return matrix[~same].mean() - matrix[same].mean()
