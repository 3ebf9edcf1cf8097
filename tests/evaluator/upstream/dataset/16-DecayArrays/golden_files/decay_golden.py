import numpy as np


def decayed(weights, rate):
    """Weight i times rate to the power of i."""
    return weights * rate ** np.arange(len(weights))
