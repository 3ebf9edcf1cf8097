import unittest

import numpy as np

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
        self.chosen = np.load("unit_test/arrays/chosen.npy")
        self.rejected = np.load("unit_test/arrays/rejected.npy")
        self.expected = np.load("unit_test/arrays/losses.npy")

    def test_single_pairs(self):
        for index in (0, 3, 5):
            loss, _ = pair_loss(self.chosen[index], self.rejected[index], beta=0.1)
            if np.allclose(loss, self.expected[index], rtol=0.01):
                logging.info(f"Index {index}: Test Passed: expected {self.expected[index]}, got {loss}")
            else:
                logging.info(f"Index {index}: Test Failed: expected {self.expected[index]}, got {loss}")

    def test_all_pairs(self):
        seen = []
        losses, margin = pair_loss(self.chosen, self.rejected, seen=seen)
        np.testing.assert_allclose(losses, self.expected, rtol=1e-4)
        self.assertAlmostEqual(seen[0], float(margin))
        logging.info("All pairs: Test Passed")


if __name__ == "__main__":
    unittest.main()
