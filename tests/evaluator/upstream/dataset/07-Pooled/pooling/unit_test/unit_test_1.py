import unittest

import torch

from pooling import pooled

import logging
from pathlib import Path

log_dir = Path(__file__).resolve().parent / "logs"
log_dir.mkdir(parents=True, exist_ok=True)
logging.basicConfig(
    filename=log_dir / "unit_test_1.log", filemode="w", level=logging.INFO, format="%(asctime)s - %(message)s"
)


class TestPooled(unittest.TestCase):
    def test_pooled(self):
        states = torch.arange(12.0).reshape(3, 4)
        found = pooled(states)
        self.assertTrue(torch.allclose(pooled(states), found))
        logging.info("Test Passed: pooled")


if __name__ == "__main__":
    unittest.main()
