"""Linear rescaling of raw scores with a baseline."""


def rescale(score, baseline):
    """Map `baseline` to 0 and 1 to 1."""
    return (score - baseline) / (1.0 - baseline)
