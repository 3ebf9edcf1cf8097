import torch

from decay import decayed

import logging
from pathlib import Path

log_dir = Path(__file__).resolve().parent / "logs"
log_dir.mkdir(parents=True, exist_ok=True)
logging.basicConfig(
    filename=log_dir / "unit_test_1.log", filemode="w", level=logging.INFO, format="%(asctime)s - %(message)s"
)

cases = [(torch.tensor([1.0, 2.0, 3.0]), 0.5, torch.tensor([1.0, 1.0, 0.75])), (torch.tensor([4.0, 4.0]), 1.0, torch.tensor([4.0, 4.0]))]
for number, (weights, rate, expected) in enumerate(cases):
    try:
        found = decayed(weights, rate)
        if torch.allclose(found, expected):
            logging.info(f"Test Passed: case {number}")
        else:
            logging.info(f"Test Failed: case {number}: expected {expected}, got {found}")
    except Exception as error:
        logging.error(f"Test Failed: case {number}: {error}")
