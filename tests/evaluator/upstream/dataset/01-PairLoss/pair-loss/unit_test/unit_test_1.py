import random
import unittest

import torch

from losses import pair_loss

import logging
from pathlib import Path

log_dir = Path(__file__).resolve().parent / "logs"
log_dir.mkdir(parents=True, exist_ok=True)
logging.basicConfig(
    filename=log_dir / "unit_test_1.log", filemode="w", level=logging.INFO, format="%(asctime)s - %(message)s"
)


class TestPairLoss(unittest.TestCase):
    def setUp(self):
        random.seed(3)
        self.chosen = torch.load("unit_test/tensors/chosen.pt")
        self.rejected = torch.load("unit_test/tensors/rejected.pt")
        self.expected = torch.load("unit_test/tensors/losses.pt")

    def test_single_pairs(self):
        for index in random.sample(range(len(self.chosen)), 3):
            loss, _ = pair_loss(self.chosen[index], self.rejected[index], beta=0.1)
            if torch.allclose(loss, self.expected[index], rtol=0.01):
                logging.info(f"Index {index}: Test Passed: expected {self.expected[index]}, got {loss}")
            else:
                logging.info(f"Index {index}: Test Failed: expected {self.expected[index]}, got {loss}")

    def test_all_pairs(self):
        losses, margin = pair_loss(self.chosen, self.rejected)
        torch.testing.assert_close(losses, self.expected, rtol=1e-4, atol=1e-5)
        self.assertEqual(margin.shape, torch.Size([]))
        logging.info("All pairs: Test Passed")


if __name__ == "__main__":
    unittest.main()
