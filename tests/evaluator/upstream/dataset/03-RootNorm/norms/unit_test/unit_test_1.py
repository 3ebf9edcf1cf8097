import unittest

import torch

from norm import RootNorm

import logging
from pathlib import Path

log_dir = Path(__file__).resolve().parent / "logs"
log_dir.mkdir(parents=True, exist_ok=True)
logging.basicConfig(
    filename=log_dir / "unit_test_1.log", filemode="w", level=logging.INFO, format="%(asctime)s - %(message)s"
)


class TestRootNorm(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(1)
        self.x = torch.randn(5, 8)

    def test_unit_scale(self):
        out = RootNorm(8)(self.x)
        try:
            torch.testing.assert_close(out.pow(2).mean(-1), torch.ones(5), rtol=1e-3, atol=1e-3)
            logging.info("Test Passed: unit scale")
        except AssertionError as error:
            logging.error(f"Test Failed: unit scale: {error}")
            raise

    def test_weight_is_learned(self):
        norm = RootNorm(8)
        norm(self.x).sum().backward()
        self.assertEqual(norm.weight.grad.shape, (8,))
        logging.info("Test Passed: weight")


if __name__ == "__main__":
    unittest.main()
