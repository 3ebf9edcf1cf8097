import numpy as np


def decayed(weights, rate):
    """Weight i times rate to the power of i."""
    raise NotImplementedError("not implemented")
