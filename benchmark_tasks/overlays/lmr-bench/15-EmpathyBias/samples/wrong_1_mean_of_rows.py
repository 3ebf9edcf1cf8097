# Wrong: the gap is averaged over the rows, which weighs the cells of unequal groups unequally.


def get_delta(matrix, group_option):
    """Return the mean in-group intensity minus the mean out-group intensity."""
    gaps = []
    for i, row in enumerate(matrix):
        same = np.array([check_in_group(group_option, i, j) for j in range(len(row))])
        gaps.append(row[same].mean() - row[~same].mean())
    return np.mean(gaps)
