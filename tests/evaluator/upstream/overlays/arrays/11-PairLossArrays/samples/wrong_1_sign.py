# Wrong: the sign of the margin is flipped in the loss.
def pair_loss(chosen, rejected, beta=0.1, seen=None):
    """Return the losses and the mean margin."""
    margin = chosen - rejected
    if seen is not None:
        seen += [float(np.mean(margin))]
    return np.logaddexp(0.0, beta * margin), np.mean(margin)
