# Right: two lists of intensities, gathered with itertools and averaged with the statistics module.
from itertools import product
from statistics import fmean


def get_delta(matrix, group_option):
    """Return the mean in-group intensity minus the mean out-group intensity."""
    in_group, out_group = [], []
    for i, j in product(range(matrix.shape[0]), range(matrix.shape[1])):
        (in_group if check_in_group(group_option, i, j) else out_group).append(float(matrix[i, j]))
    return fmean(in_group) - fmean(out_group)
