import torch

import logging
from pathlib import Path

log_dir = Path(__file__).resolve().parent / "logs"
log_dir.mkdir(parents=True, exist_ok=True)
logging.basicConfig(
    filename=log_dir / "unit_test_1.log", filemode="w", level=logging.INFO, format="%(asctime)s - %(message)s"
)


def inputs():
    return torch.tensor([0.5, 2.0, -1.0]), torch.tensor([1.0, 3.0, -2.0])


def contrast(expert, amateur, alpha=0.1):
    """Expert minus amateur log-probabilities, minus infinity where the expert is below alpha times its best."""
    expert, amateur = torch.log_softmax(expert, -1), torch.log_softmax(amateur, -1)
    allowed = expert >= expert.max() + torch.log(torch.tensor(alpha))
    return torch.where(allowed, expert - amateur, torch.tensor(float("-inf")))


if __name__ == "__main__":
    expected = torch.tensor([0.3916, -0.1084, float("-inf")])
    found = contrast(*inputs())
    print(found)
    if torch.allclose(found, expected, atol=1e-3):
        logging.info(f"Test Passed: got {found}")
    else:
        logging.info(f"Test Failed: expected {expected}, got {found}")
