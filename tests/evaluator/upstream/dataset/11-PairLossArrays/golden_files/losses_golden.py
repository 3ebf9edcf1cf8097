import numpy as np

from helpers import margins


def pair_loss(chosen, rejected, beta=0.1, seen=None):
    """Loss of every pair and the mean margin: -log sigmoid of beta times the margin. Adds the mean to the list seen."""
    margin = margins(chosen, rejected)
    losses = np.logaddexp(0.0, -beta * margin)
    if seen is not None:
        seen.append(float(margin.mean()))
    return losses, margin.mean()
