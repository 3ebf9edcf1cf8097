# Wrong: only the diagonal counts as in-group, also for ethnicity with several names for one group.


def get_delta(matrix, group_option):
    """Return the mean in-group intensity minus the mean out-group intensity."""
    diagonal = np.eye(len(matrix), dtype=bool)
    return matrix[diagonal].mean() - matrix[~diagonal].mean()
