import numpy as np

import logging
from pathlib import Path

log_dir = Path(__file__).resolve().parent / "logs"
log_dir.mkdir(parents=True, exist_ok=True)
logging.basicConfig(
    filename=log_dir / "unit_test_1.log", filemode="w", level=logging.INFO, format="%(asctime)s - %(message)s"
)


def inputs():
    return np.array([0.5, 2.0, -1.0]), np.array([1.0, 3.0, -2.0])


def contrast(expert, amateur, alpha=0.1):
    """Expert minus amateur log-probabilities, minus infinity where the expert is below alpha times its best."""
    expert, amateur = (scores - np.log(np.exp(scores).sum()) for scores in (expert, amateur))
    allowed = expert >= expert.max() + np.log(alpha)
    return np.where(allowed, expert - amateur, -np.inf)


if __name__ == "__main__":
    expected = np.array([0.3916, -0.1084, -np.inf])
    found = contrast(*inputs())
    print(found)
    if np.allclose(found, expected, atol=1e-3):
        logging.info(f"Test Passed: got {found}")
    else:
        logging.info(f"Test Failed: expected {expected}, got {found}")
