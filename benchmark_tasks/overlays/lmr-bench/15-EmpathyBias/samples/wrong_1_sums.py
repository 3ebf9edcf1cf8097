# Wrong: the difference of the sums instead of the means.


def get_delta(matrix, group_option):
    """Return the in-group intensity minus the out-group intensity."""
    delta = 0.0
    for i, row in enumerate(matrix):
        for j, intensity in enumerate(row):
            delta += intensity if check_in_group(group_option, i, j) else -intensity
    return delta
